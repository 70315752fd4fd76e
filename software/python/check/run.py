"""From a request to its result: build, search in a process of its own, and what is left on disk of a fault."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prismem.errors import MisuseError, PrismemError
from prismem.lib.check import page, story
from prismem.lib.check.compiler import BUILD_CHECK, Binary, build
from prismem.lib.check.diagnosis import diagnose
from prismem.lib.check.log import LOG_FILE, CheckLog, Fault, Request
from prismem.lib.check.redundant import VERBS_MAX
from prismem.lib.check.trace import Trace
from prismem.lib.mutation.build import build as build_mutant
from prismem.lib.mutation.operators import generate
from prismem.paths import SOFTWARE, relative

PAGE_FILE, STORY_FILE, TEXT_FILE, OUTPUT_FILE = "story.html", "story.txt", "interleaving.txt", "output.txt"
NOT_MAPPED = "no host has mapped the pool, so nothing is shared: name the path that the program maps with --pool PATH"
PATIENCE_S = 120.0
"""Real time beyond the request's own budget after which it is given up: shortening, tracing, a program that hangs."""


@dataclass
class Outcome:
    """What a check or a replay found."""

    executions: int
    steps: int = 0
    cut: int = 0
    elapsed_s: float = 0.0
    complete: int | None = None
    """Every order of the threads with up to so many cache events has been run; None: not even without any."""
    log: CheckLog | None = None
    folder: Path | None = None
    replays_exactly: bool = True
    warnings: tuple[str, ...] = ()
    lines: list[str] = field(default_factory=list)
    advice: list[dict[str, Any]] | None = None
    """Flushes and fences that nothing depends on; None: nobody asked."""
    tried: int = 0
    """Of how many."""

    @property
    def found(self) -> bool:
        """There is a fault."""
        return self.log is not None

    def summary(self) -> dict[str, Any]:
        """For scripts."""
        fault = None if self.log is None else self.log.fault
        return {
            "found": self.found,
            "executions": self.executions,
            "executions_cut": self.cut,
            "steps": self.steps,
            "complete_with_cache_events": self.complete,
            "elapsed_s": round(self.elapsed_s, 3),
            "kind": None if fault is None else fault.kind,
            "source": None if fault is None else fault.source,
            "other_source": None if fault is None else fault.other_source,
            "message": None if fault is None else fault.message,
            "choices": None if self.log is None else len(self.log.choices),
            "log": None if self.folder is None else relative(self.folder / LOG_FILE),
            "interleaving": None if self.folder is None else relative(self.folder / TEXT_FILE),
            "page": None if self.folder is None else relative(self.folder / PAGE_FILE),
            "story": self.lines,
            "redundant": self.advice,
            "warnings": list(self.warnings),
        }


def _ask_worker(request: Request, binary: Binary, choices: list[Any] | None) -> dict[str, Any]:
    """Run the worker. Its end without an answer is an error that says how it ended."""
    folder = binary.copies[0].parent
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        answer = Path(scratch) / "answer.json"
        message = {
            "hosts": request.hosts,
            "pool_bytes": request.pool_bytes,
            "seed": request.seed,
            "coherent": request.coherent,
            "posted": request.posted,
            "steps": request.steps,
            "policies": request.policies,
            "executions": request.executions,
            "time_s": request.time_s,
            "name": request.paths()[0].stem,
            "trial": None if request.trial is None else request.trial.model_dump(),
            "args": request.args,
            "copies": [str(copy) for copy in binary.copies],
            "pool_paths": request.pool_paths,
            "redundant": request.redundant,
            "choices": choices,
            "output": str(folder / OUTPUT_FILE),
            "answer": str(answer),
        }
        command = [sys.executable, "-m", "prismem.lib.check.worker"]
        try:
            done = subprocess.run(
                command,
                input=json.dumps(message),
                text=True,
                stderr=subprocess.PIPE,
                check=False,
                timeout=request.time_s * (VERBS_MAX + 1 if request.redundant else 1) + PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            raise PrismemError(
                f"the search did not end {PATIENCE_S:.0f} s after its time: the program waits for something outside"
            ) from None
        if not answer.exists():
            how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit code {done.returncode}"
            last = done.stderr.strip().splitlines()[-1:] or [""]
            raise PrismemError(f"the process of the programs ended with {how}: {last[0]}".rstrip(": "))
        result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return result


def _compiler() -> str:
    done = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=False)
    return f"g++ {done.stdout.strip()}"


def tell(outcome: Outcome, log: CheckLog, raw: dict[str, Any], sources: tuple[Path, ...]) -> None:
    """Write log, story and page into the outcome's folder."""
    trace = Trace.of(raw["trace"], log.request.hosts if not log.request.coherent else 1)
    diagnosis = diagnose(log.fault, trace)
    log.story = story.text(log.fault, trace, diagnosis, sources, output_of(outcome))
    outcome.log, outcome.lines = log, log.story
    assert outcome.folder is not None
    log.write(outcome.folder / LOG_FILE)
    (outcome.folder / STORY_FILE).write_text("\n".join(log.story) + "\n", encoding="utf-8")
    everything = story.table(trace.events, sources)
    (outcome.folder / TEXT_FILE).write_text("\n".join(everything) + "\n", encoding="utf-8")
    (outcome.folder / PAGE_FILE).write_text(page.render(log, trace, diagnosis, sources), encoding="utf-8")


def check(request: Request) -> Outcome:
    """Search for a fault.

    Raises:
        MisuseError: the request is wrong, or the program cannot be built or followed.
        PrismemError: the programs' process ended without an answer.
    """
    sources = request.paths()
    binary = build(sources, request.hosts, tuple(request.flags))
    raw = _ask_worker(request, binary, None)
    outcome = Outcome(raw["executions"], raw["steps"], raw["cut"], raw["elapsed_s"], raw["complete"])
    outcome.warnings = binary.warnings
    if not raw["mapped"]:
        outcome.warnings += (NOT_MAPPED,)
    outcome.advice, outcome.tried = raw.get("redundant"), raw.get("tried", 0)
    if raw["policy"] is None:
        return outcome
    fault = Fault(**raw["report"]["faults"][0])
    if fault.kind == "unseen":
        raise MisuseError(fault.message)
    outcome.folder = binary.copies[0].parent
    outcome.replays_exactly = raw["replays"]
    log = CheckLog(
        compiler=_compiler(),
        request=request,
        policy=raw["policy"],
        executions=raw["executions"],
        fault=fault,
        digest=raw["key"][-1],
        choices=raw["choices"],
    )
    tell(outcome, log, raw, sources)
    return outcome


def _mutant(request: Request) -> Binary:
    """The tests of libprismem with the mutant of a log; a fault of mutants.def is switched on by the trial."""
    paths = request.paths()
    generated = {mutant.id: mutant for mutant in generate(list(paths))} if paths[0].suffix in (".c", ".h") else {}
    if generated and request.mutant not in generated:
        raise MisuseError(f"LOG: {request.mutant}: there is no such mutant any more; see prismem mutants --list")
    folder = BUILD_CHECK / f"mutant-{request.mutant.replace(':', '-')}"
    return Binary((build_mutant(generated.get(request.mutant), folder),), ())


def replay(log: CheckLog) -> Outcome:
    """Run the execution of a log again.

    Raises:
        MisuseError: the program cannot be built.
    """
    sources = log.request.paths()
    changed = [source.path for source in log.request.sources if source.changed()]
    if log.request.trial is None:
        binary = build(sources, log.request.hosts, tuple(log.request.flags))
    else:
        binary = _mutant(log.request)
        folder = binary.copies[0].parent
        sources = (folder / sources[0].name, sources[0], SOFTWARE / "tests" / "pm_test.h")
    raw = _ask_worker(log.request, binary, [list(choice) for choice in log.choices])
    warnings = [f"{path} has changed since the log was written" for path in changed]
    outcome = Outcome(1, warnings=tuple(warnings), folder=binary.copies[0].parent)
    outcome.replays_exactly = raw["key"][-1] == log.digest
    if raw["report"]["faults"]:
        again = log.model_copy(update={"fault": Fault(**raw["report"]["faults"][0])})
        tell(outcome, again, raw, sources)
    return outcome


def output_of(outcome: Outcome) -> str:
    """What the programs printed in the execution that was replayed."""
    path = None if outcome.folder is None else outcome.folder / OUTPUT_FILE
    return path.read_text(encoding="utf-8", errors="replace") if path is not None and path.is_file() else ""
