"""What the process of a run does, on either port: job and machine from the run's spec, and the outcome into a file.

The functional and the timed port run `main` of this module in a child process, so that a crash of C code becomes a
failed result; the RTL port goes through prismem.tb.runner.bench inside the simulator.
"""

import os
import sys
import time
import traceback
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from prismem.errors import MisuseError, PrismemError
from prismem.lib import timed as timed_port
from prismem.lib import transactions
from prismem.lib.emu import Machine
from prismem.paths import found
from prismem.tb.job import CheckFailed, Context, Failure, Request
from prismem.tb.runner import timed, trace_events
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.processes import die_with_parent
from prismem.tb.runner.spec import RunSpec

RUN_DIR_VARIABLE = "PRISMEM_RUN_DIR"
SPEC_FILE = "spec.json"
OUTCOME_FILE = "outcome.json"
EVENT_LOG_FILE = "events.log"


class Outcome(BaseModel):
    """How the process of a run ended, as far as it could say itself."""

    verdict: Literal["passed", "failed", "misuse"]
    metrics: dict[str, Any] = {}
    failure: Failure | None = None


class Session:
    """One run in this process: `prepare`, let the machine run, `finish`, `leave`."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.spec = RunSpec.model_validate_json((run_dir / SPEC_FILE).read_text(encoding="utf-8"))
        self.job = self.spec.job()
        self.request = self.spec.request()
        self.outcome: Outcome | None = None
        self._ctx: Context | None = None
        self._start_s = self._start_cpu_s = 0.0

    @property
    def ctx(self) -> Context:
        """The run in progress."""
        assert self._ctx is not None, "prepare comes first"
        return self._ctx

    def prepare(self) -> None:
        """Create the machine and let the job fill it."""
        machine = Machine(self.job.machine_config(self.request))
        if self.spec.log:
            machine.log_open(self.run_dir / EVENT_LOG_FILE)
        if self.job.records_transactions:
            transactions.record(machine, transactions.TRANSACTIONS_MAX)
        elif self.spec.trace_events:
            transactions.record(machine, trace_events.TRACED_MAX)
        known = {field.name: getattr(self.request, field.name) for field in fields(Request)}
        self._ctx = Context(**known, machine=machine, run_dir=self.run_dir)
        self.job.prepare(self._ctx)
        self._start_s, self._start_cpu_s = time.monotonic(), time.process_time()

    def finish(self, cycles: int | None = None) -> dict[str, Any]:
        """Metrics of a machine that has ended; `cycles` were clocked on the RTL. Raises CheckFailed."""
        run_s, cpu_s = time.monotonic() - self._start_s, time.process_time() - self._start_cpu_s
        report = self.ctx.machine.report()
        run: dict[str, Any] = {key: report.get(key) for key in ("state_name", "now_ns", "steps", "switches", "digest")}
        run |= {"run_s": round(run_s, 3), "cpu_s": round(cpu_s, 4)}
        if cycles is not None:
            run |= {"cycles": cycles, "cycles_per_s": round(cycles / run_s) if run_s else 0}
        if self.spec.trace_events:
            traced = transactions.recorded(self.ctx.machine)
            trace_events.write(found(self.spec.trace_events), *traced, self.request.hosts, self.request.modules)
        self.job.check_state(self.ctx, self.ctx.machine.state())
        metrics: dict[str, Any] = {"run": run}
        if self.request.port != "functional":
            metrics["counters"] = report["counters"]
            if self.job.probes:
                metrics["latency"] = _latency_that_adds_up(self.ctx.machine)
        return metrics | self.job.finish(self.ctx)

    def attempt(self, error: BaseException | None, metrics: dict[str, Any] | None = None) -> Outcome:
        """The outcome that an error, or none, stands for."""
        match error:
            case None:
                return Outcome(verdict="passed", metrics=metrics or {})
            case CheckFailed():
                return Outcome(verdict="failed", failure=error.failure)
            case MisuseError():
                return Outcome(verdict="misuse", failure=Failure(str(error)))
            case PrismemError():
                return Outcome(verdict="failed", failure=Failure(str(error)))
            case _:
                where = traceback.extract_tb(error.__traceback__)[-1]
                component = f"{Path(where.filename).name}:{where.lineno}"
                return Outcome(verdict="failed", failure=Failure(f"{type(error).__name__}: {error}", None, component))

    def say(self, error: BaseException) -> None:
        """Print an error to the log: a finding as its text, anything else with where it comes from."""
        if isinstance(error, PrismemError):
            print(f"{type(error).__name__}: {error}", flush=True)
        else:
            traceback.print_exception(error)

    def leave(self, outcome: Outcome) -> None:
        """Write the outcome and destroy the machine."""
        self.outcome = outcome
        write_atomic(self.run_dir / OUTCOME_FILE, outcome.model_dump_json(indent=1) + "\n")
        if self._ctx is not None:
            self._ctx.machine.close()


def _latency_that_adds_up(machine: Machine) -> dict[str, Any]:
    """Latencies of an RTL run. Raises CheckFailed unless the stages of every transaction add up to its time."""
    latency = machine.latency_report()
    if latency["sum_errors"] or not latency["sums_checked"]:
        raise CheckFailed(
            f"the stages of a transaction do not add up to its time: {latency['first_sum_error'] or 'none was seen'}",
            component="probes",
            expected="every transaction adds up",
            actual=f"{latency['sum_errors']} of {latency['sums_checked']} do not",
        )
    return latency


def main() -> int:
    """Functional and timed port: the whole run. The exit code is 0 unless this process itself broke."""
    die_with_parent()
    session = Session(Path(os.environ[RUN_DIR_VARIABLE]))
    try:
        model = timed.load(session.request) if session.request.port == "timed" else None
        session.prepare()
        if model is not None:
            timed_port.run(session.ctx.machine, model)
        else:
            session.ctx.machine.run()
        outcome = session.attempt(None, session.finish())
    except Exception as error:  # whatever it was, it is the outcome of the run
        session.say(error)
        outcome = session.attempt(error)
    session.leave(outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main())
