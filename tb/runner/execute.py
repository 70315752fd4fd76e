"""Runs one spec and makes its Result: child process, log, verdict, files.

A run passed if and only if its process ended with 0, said "passed" in its outcome, and, on the RTL, cocotb's results
name one test without failure. A process that dies without a word is a failure with the end of its log.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cocotb_tools.check_results import get_results

from prismem.errors import MisuseError, PrismemError
from prismem.paths import SOFTWARE, impersonal, relative
from prismem.tb.job import Failure
from prismem.tb.runner.build import Build, build_bench, build_software, progress
from prismem.tb.runner.files import link_atomic, locked, write_atomic
from prismem.tb.runner.processes import parent_environment
from prismem.tb.runner.result import LOG_FILE, Result, tail
from prismem.tb.runner.session import OUTCOME_FILE, RUN_DIR_VARIABLE, SPEC_FILE, Outcome
from prismem.tb.runner.spec import RunSpec
from prismem.tb.runner.toolchain import clean_environment, commit, find_verilator, tool_versions
from prismem.tb.runner.verilator import VerilatorRunner, cocotb_environment

LOCK_FILE = ".lock"
COCOTB_RESULTS_FILE = "results.xml"
BENCH_TEST = "prismem.tb.runner.bench"
EXPECTED_TESTS = 1
PS_PER_NS = 1000  # the simulator prints time in its precision, 1 ps
# Verilator's own words for a failed assertion, $error and $fatal.
_HDL_ERROR = re.compile(
    r"^\[(?P<time>\d+)\] %(?:Error|Fatal): (?P<file>[\w./-]+):(?P<line>\d+): (?:Assertion failed in )?(?P<text>.*)$",
    re.MULTILINE,
)


def execute(spec: RunSpec, *, coverage: Path | None = None) -> Result:
    """Build what is needed, run, and leave result.json, junit.xml and run.log in the run's folder.

    `coverage`: file for the line coverage of the hardware, which takes a build of its own.

    Raises MisuseError for a request that the job refuses (nothing is written) and PrismemError if a build fails.
    """
    request = spec.request()
    build_software()
    if goal := spec.job().emulator_goal:
        build_software(SOFTWARE / "emu", goal)
    build = None
    if spec.port == "rtl":
        parameters = request.profile.parameters(spec.hosts, spec.modules)
        build = build_bench(parameters, waves=spec.waves, coverage=coverage is not None)
    run_dir = spec.run_dir
    with locked(run_dir / LOCK_FILE):
        _empty(run_dir)
        write_atomic(run_dir / SPEC_FILE, spec.model_dump_json(indent=1) + "\n")
        progress(f"running {spec.label} on the {spec.port} port; log {relative(run_dir / LOG_FILE)}")
        start_s = time.monotonic()
        problem = _run_functional(run_dir) if build is None else _run_rtl(spec, build, run_dir, coverage)
        result = _judge(spec, run_dir, problem, time.monotonic() - start_s, build)
        result.write(run_dir)
        link_atomic(run_dir.with_name(spec.label), run_dir.name)
    return result


def _empty(run_dir: Path) -> None:
    for path in run_dir.iterdir():
        if path.is_file() and path.name != LOCK_FILE:
            path.unlink()


def _run_functional(run_dir: Path) -> str | None:
    """Run the child; returns what is wrong with the way it ended, or None."""
    environment = clean_environment() | {RUN_DIR_VARIABLE: str(run_dir)} | parent_environment()
    with (run_dir / LOG_FILE).open("w", encoding="utf-8") as log:
        done = subprocess.run(
            [sys.executable, "-m", "prismem.tb.runner.session"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode == 0:
        return None
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    return f"the process of the run ended with {how}"


def simulate(
    build: Build,
    test_module: str,
    run_dir: Path,
    *,
    seed: int,
    plusargs: Mapping[str, int | str],
    environment: dict[str, str],
    coverage: Path | None = None,
) -> str | None:
    """Run a cocotb test module on a build, into `run_dir`. Returns what is wrong with the way it ended, or None.

    `coverage`: where a build with coverage leaves its counts.
    """
    results = run_dir / COCOTB_RESULTS_FILE
    try:
        with cocotb_environment():
            runner = VerilatorRunner(find_verilator())
            runner.log.setLevel("CRITICAL")
            runner.test(
                test_module=test_module,
                hdl_toplevel=build.top,
                hdl_toplevel_lang="verilog",
                build_dir=build.directory,
                test_dir=Path.cwd(),  # so that a relative path in an option means the same as outside
                results_xml=str(results),
                seed=seed % (1 << 31),
                plusargs=[
                    *(f"+{name}={value}" for name, value in plusargs.items()),
                    *([f"+verilator+coverage+file+{coverage}"] if coverage else []),
                ],
                test_args=["--trace-file", str(run_dir / build.wave_file)] if build.wave_file else [],
                waves=build.wave_file is not None,
                extra_env=environment,
                log_file=run_dir / LOG_FILE,
            )
    except (RuntimeError, SystemExit) as error:
        return f"the simulator failed: {error}"
    return _check_cocotb(results)


def _run_rtl(spec: RunSpec, build: Build, run_dir: Path, coverage: Path | None) -> str | None:
    request = spec.request()
    plusargs = request.profile.straps(spec.modules)
    plusargs |= {"every_cycle": int(spec.every_cycle), "probes": int(spec.job().probes)}
    plusargs |= spec.job().plusargs(request)
    environment = {RUN_DIR_VARIABLE: str(run_dir)} | parent_environment()
    return simulate(
        build, BENCH_TEST, run_dir, seed=spec.seed, plusargs=plusargs, environment=environment, coverage=coverage
    )


def _check_cocotb(results: Path) -> str | None:
    """What cocotb's results say against a run, or None."""
    try:
        tests, failed = get_results(results)
    except Exception as error:  # a process that died leaves no file or half of one
        return f"cocotb left no usable results: {error}"
    if tests != EXPECTED_TESTS:
        return f"cocotb ran {tests} tests, expected {EXPECTED_TESTS}"
    return f"cocotb counts {failed} failed tests" if failed else None


def first_hdl_error(log: str) -> Failure | None:
    """The first assertion, $error or $fatal of the hardware in a log."""
    match = _HDL_ERROR.search(log)
    if match is None:
        return None
    where = f"{relative(Path(match['file']))}:{match['line']}"
    return Failure(f"{match['text'].strip()} ({where})", int(match["time"]) // PS_PER_NS, _hierarchy(match["text"]))


def _hierarchy(text: str) -> str | None:
    match = re.match(r"([\w.\[\]]+)(?::|$)", text)
    return match[1] if match else None


def _impersonal(value: Any) -> Any:
    return impersonal(value) if isinstance(value, str) else value


def _judge(spec: RunSpec, run_dir: Path, problem: str | None, wall_s: float, build: Build | None) -> Result:
    log = run_dir / LOG_FILE
    try:
        outcome = Outcome.model_validate_json((run_dir / OUTCOME_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        outcome = Outcome(verdict="failed")
    if outcome.verdict == "misuse":
        assert outcome.failure is not None
        shutil.rmtree(run_dir)
        raise MisuseError(outcome.failure.message)
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    # The hardware's own complaint comes first: what the job saw is its consequence.
    failure = first_hdl_error(text) or outcome.failure
    passed = outcome.verdict == "passed" and problem is None and failure is None
    if not passed and failure is None:
        failure = Failure(problem or "the process of the run left no outcome")
    if failure is not None:
        failure = Failure(**{key: _impersonal(value) for key, value in vars(failure).items()})
    wave = run_dir / build.wave_file if build is not None and build.wave_file else None
    if passed and wave is not None and not wave.exists():
        raise PrismemError(f"{relative(wave)}: the simulator left no wave file")
    return Result(
        test=spec.test,
        passed=passed,
        seed=spec.seed,
        profile=spec.profile,
        port=spec.port,
        hosts=spec.hosts,
        modules=spec.modules,
        commit=commit(),
        tools=tool_versions(),
        metrics=outcome.metrics,
        replay=spec.replay,
        spec=spec,
        failure=failure,
        log_tail=[] if passed else [impersonal(line) for line in tail(log)],
        log=relative(log),
        wave=relative(wave) if wave is not None else None,
        wall_s=round(wall_s, 3),
    )
