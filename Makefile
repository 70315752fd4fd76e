# The commands of prismem. Everything real is done by the `prismem` command and by software/Makefile; this file prepares the
# environment on first use and passes variables on. Generated files go to build/ and .venv/ alone.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
READY := .venv/ready
PYTEST_WORKERS ?= 2
PYTEST_FLAGS ?=
# Variables of `make sim` reach the command as options only; left in the environment they would switch cocotb as well. They
# are text of the user's: taken unexpanded, and quoted, so that neither make nor the shell runs what stands in them.
quoted = '$(subst ','\'',$(1))'
option = $(if $(value $(1)),$(2)$(call quoted,$(3)$(value $(1))))
flag = $(if $(filter-out 0 1,$(value $(1))),$(error $(1): '$(value $(1))' is neither 0 nor 1; write $(1)=1))$(if \
  $(filter 1,$(value $(1))),$(2))
SIM_OPTIONS = $(call option,HOSTS,--hosts=) $(call option,MODULES,--modules=) $(call option,PROFILE,--profile=) \
  $(call option,PORT,--port=) $(call option,SEED,--seed=) $(call option,POLICY,--policy=) \
  $(call option,TRACE,--opt=,trace=) $(call option,MUTANT,--mutant=) $(call option,SET,--set=) \
  $(call flag,WAVES,--waves) $(call flag,COHERENT,--coherent) $(call flag,LOG,--log) \
  $(call flag,EVERY_CYCLE,--every-cycle) $(call option,TRACE_EVENTS,--trace-events=) \
  $(foreach text,$(value OPTS),--opt=$(call quoted,$(text)))
unexport QUICK RESUME BASELINE SEEDS TEST HOSTS MODULES PROFILE PORT SEED POLICY TRACE MUTANT WAVES COHERENT LOG EVERY_CYCLE TRACE_EVENTS \
  SET OPTS

.PHONY: help demo test sim regress report coverage mutants rtl-mutants litmus-rtl bench bench-native bench-locks crash-sweep lint format doctor software clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  make sim TEST=kv_share HOSTS=4 MODULES=4 PROFILE=pfma PORT=rtl|functional SEED=7 WAVES=1"
	@echo "           TRACE=file.jsonl MUTANT=name|help COHERENT=1 LOG=1 TRACE_EVENTS=file.json"
	@echo "           SET='path.fibre_length=15 m' OPTS='name=value ...'"

$(READY): requirements.lock pyproject.toml src/bootstrap.sh
	@src/bootstrap.sh

software: ## build the C library and the host emulator
	@$(MAKE) -s -C software all

demo: $(READY) ## hosts share KV blocks through the RTL, every byte checked; then one flush is removed and caught
	@$(BIN)/prismem demo

sim: $(READY) ## one simulation: TEST= HOSTS= MODULES= PROFILE= PORT= SEED= WAVES= ...
	@$(BIN)/prismem sim $(SIM_OPTIONS) $(call option,TEST,-- )

test: $(READY) ## the regression that passes on a clean checkout
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) -m "not regress" $(PYTEST_FLAGS)

regress: $(READY) ## everything, the long tests too
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) $(PYTEST_FLAGS)

report: $(READY) ## latency and bandwidth characterization -> build/report/index.html: QUICK=1 PROFILE= SEED= RESUME=0 BASELINE=
	@$(BIN)/prismem report $(call flag,QUICK,--quick) $(call option,PROFILE,--profile=) $(call option,SEED,--seed=) \
	  $(call option,BASELINE,--baseline=) $(if $(filter 0,$(value RESUME)),--fresh)

coverage: $(READY) ## lines of rtl/ and bins of the plan that the regression reaches -> build/coverage/summary.json
	@$(BIN)/prismem coverage

mutants: $(READY) ## each verb and lock step of the library dropped, weakened, moved; all must be noticed -> build/mutants/result.json
	@$(BIN)/prismem mutants $(if $(filter 0,$(value RESUME)),--fresh)

rtl-mutants: $(READY) ## each seeded fault of the hardware is built and has to fail a test -> build/rtl_mutants/result.json
	@$(BIN)/prismem rtl-mutants

crash-sweep: $(READY) ## a host dies before every store, flush and fence of the library -> build/crash_sweep/result.json
	@$(MAKE) --no-print-directory -C software tests
	@$(BIN)/python -m prismem.lib.crash_sweep

litmus-rtl: $(READY) ## the litmus catalogue in front of the RTL against the memory model -> build/litmus_rtl/result.json
	@$(BIN)/prismem litmus-rtl $(call option,SEEDS,--seeds=) $(call option,SEED,--seed=)

bench: $(READY) ## cycles a second, cost of the hooks, accesses a second -> build/bench/result.json
	@$(BIN)/prismem bench

bench-native: $(READY) ## the library beside dict, Redis and memcpy, lines flushed -> build/bench_native/result.json
	@$(BIN)/prismem bench --library

bench-locks: $(READY) ## the three tiers of the locks at 2 to 32 hosts, simulated time -> build/bench_locks/result.json
	@$(BIN)/prismem bench --locks

lint: $(READY) ## ruff, mypy, verible, verilator --lint-only -Wall, clang-format and clang-tidy
	@$(BIN)/prismem lint

format: $(READY) ## let ruff and clang-format rewrite the sources
	@$(BIN)/prismem lint --fix

doctor: $(READY) ## tools found, versions, what is missing and the command that installs it
	@$(BIN)/prismem doctor

clean: ## remove build/
	@rm -rf build

distclean: clean ## remove build/ and .venv/
	@rm -rf .venv
