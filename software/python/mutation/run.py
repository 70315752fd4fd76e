"""`prismem mutants`: every mutant is built and judged, two at a time; a verdict holds until a source changes."""

from __future__ import annotations

import functools
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import signal
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from prismem.errors import MisuseError, PrismemError
from prismem.lib.mutation.battery import Trial
from prismem.lib.mutation.build import build, parts
from prismem.lib.mutation.equivalents import Equivalent, stale
from prismem.lib.mutation.judge import Battery, Verdict, fault_of, judge
from prismem.lib.mutation.operators import OPERATORS, Mutant, by_hand, generate
from prismem.paths import BUILD_MUTANTS, BUILD_SW, SOFTWARE

RESULT = BUILD_MUTANTS / "result.json"
JUDGED = BUILD_MUTANTS / "judged"
VERDICT_FILE = "verdict.json"
JOBS = 2
"""Processes at a time, unless somebody says otherwise."""
WALL_S_MAX = 900
"""Of one mutant: a bound on what the step bounds do not see."""
CLEAN_FACTOR = 10
"""The library without a fault goes through so many times the battery of a mutant."""
CLEAN_PARTS = 10
"""Processes that share this, one after the other."""


@dataclass
class Summary:
    """What became of all mutants."""

    verdicts: list[Verdict]
    equivalents: list[Equivalent]
    stale: list[str] = field(default_factory=list)
    false_reports: list[str] = field(default_factory=list)
    clean_executions: int = 0

    def of_state(self, state: str) -> list[Verdict]:
        """Verdicts of one state; what is proven equivalent is no survivor."""
        proven = {entry.id for entry in self.equivalents}
        return [one for one in self.verdicts if one.state == state and (state == "killed" or one.id not in proven)]

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        killed, survivors = self.of_state("killed"), self.of_state("survived")
        told = [one.story_steps for one in killed if one.story_steps]
        judged = len(killed) + len(survivors)
        known = {one.id for one in self.verdicts}
        return {
            "killed": len(killed),
            "total": sum(one.state != "invalid" for one in self.verdicts),
            "equivalent": sum(entry.id in known for entry in self.equivalents),
            "survivors": [one.id for one in survivors],
            "false_reports": len(self.false_reports),
            "score_percent": round(100 * len(killed) / judged, 1) if judged else None,
            "generated": sum(not one.id.startswith("mutants.def") for one in self.verdicts if one.state != "invalid"),
            "invalid": [one.id for one in self.of_state("invalid")],
            "stale_equivalents": self.stale,
            "coherent_reports": {one.id: one.coherent for one in self.verdicts if one.coherent},
            "clean_executions": self.clean_executions,
            "clean_reports": self.false_reports,
            "executions": sum(one.executions for one in self.verdicts),
            "executions_to_kill_median": statistics.median(one.executions for one in killed) if killed else None,
            "story_steps_median": statistics.median(told) if told else None,
            "choices_median": statistics.median(one.choices for one in killed) if killed else None,
            "not_replayed": [one.id for one in killed if not one.replays],
            "mutants": [one.model_dump(mode="json") for one in self.verdicts],
        }


COMMON = ("harness.c", "helpers.c", "hosted.c", "pm_test.h")
"""Of software/tests: what every test runs in. The tests are in files of their own, the crash sweep in CRASH_FILES."""
CRASH_FILES = "hosted_crash*"


@dataclass(frozen=True)
class World:
    """What verdicts depend on beside the mutant, as digests.

    A mutant stays noticed while the library, the emulator and the test that noticed it stay as they are, whatever tests
    come beside that one. One that survived has to be looked at again after any change.
    """

    library: str
    tests: dict[str, str]
    """A file's digest by its name; "" for all files, and the battery."""

    @classmethod
    def now(cls) -> World:
        """As the files are."""
        folders = [SOFTWARE / "src", SOFTWARE / "include" / "prismem"]
        files = [path for folder in folders for path in folder.glob("*.*")]
        files += [SOFTWARE / "tests" / name for name in COMMON] + [BUILD_SW / "libprismem_emu.so"]
        tests = [path for path in sorted((SOFTWARE / "tests").glob("*.[ch]")) if path.is_file()]
        crash = sorted((SOFTWARE / "tests").glob(CRASH_FILES))
        battery = [Path(__file__).with_name(name) for name in ("battery.py", "judge.py")]
        digests = {"": _digest([*tests, *battery]), CRASH_FILES: _digest(crash)}
        return cls(_digest(files), digests | {path.name: _digest([path]) for path in tests})

    def key(self, mutant: Mutant, verdict: Verdict) -> str:
        """The verdict holds while this stays the same."""
        trial = verdict.trial
        if verdict.state in ("survived", "open") or trial is None:
            noticed_by = ""
        else:
            noticed_by = CRASH_FILES if trial.crash_event >= 0 else _file_of(trial.test)
        text = f"{self.library} {self.tests[noticed_by]} {mutant.id} "
        return hashlib.sha256(text.encode() + mutant.source).hexdigest()


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _file_of(test: str) -> str:
    """Name of the file with the test; "" (all files) for one that is gone."""
    for path in sorted((SOFTWARE / "tests").glob("test_*.c")):
        if f'"{test}"' in path.read_text(encoding="utf-8"):
            return path.name
    return ""


def _kept(mutant: Mutant) -> tuple[str, Verdict | None]:
    """What an earlier run has left: the key, and the verdict."""
    path = JUDGED / mutant.slug / VERDICT_FILE
    if not path.is_file():
        return "", None
    kept = json.loads(path.read_text(encoding="utf-8"))
    try:
        return kept["key"], Verdict.model_validate(kept["verdict"])
    except ValidationError:
        return "", None  # of another version of this program


def known(mutant: Mutant, world: World) -> Verdict | None:
    """The verdict of an earlier run, if it still holds."""
    key, verdict = _kept(mutant)
    return verdict if verdict is not None and key == world.key(mutant, verdict) else None


def _judge_here(mutant: Mutant, world: World, earlier: Verdict | None, quick: bool) -> None:
    signal.alarm(WALL_S_MAX)
    folder = JUDGED / mutant.slug
    fault = mutant.id.partition(":")[2] if mutant.operator == "HAND" else "none"
    verdict = judge(mutant, folder, fault, earlier, quick=quick)
    if quick and verdict.state == "survived":
        verdict.state = "open"
    kept = {"key": world.key(mutant, verdict), "verdict": verdict.model_dump(mode="json")}
    (folder / VERDICT_FILE).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _clean_part(part: int, program: Path, answer: Path) -> None:
    """A tenth of the battery of the right library: other seeds in each."""
    signal.alarm(WALL_S_MAX)
    found = []
    battery = Battery(program, "all", Trial(test="", seed=1 + 1000 * part))
    if battery.hunt(CLEAN_FACTOR // CLEAN_PARTS, first_seed=1 + 1000 * part):
        assert battery.session is not None
        found.append(f"{battery.trial.model_dump_json()}: {fault_of(battery.session.explorer.report()).message}")
        battery.close()
    answer.write_text(json.dumps({"found": found, "executions": battery.executions}), encoding="utf-8")


Task = tuple[str, Callable[..., None], tuple[Any, ...]]


def _in_processes(tasks: Iterator[Task], ended: Callable[[str], None], jobs: int) -> None:
    """Run tasks, `jobs` at a time, each in a process of its own, so that a mutant can break nothing but itself."""
    context = multiprocessing.get_context("fork")
    running: dict[Any, tuple[str, Any]] = {}
    exhausted = False
    while not exhausted or running:
        while not exhausted and len(running) < jobs:
            task = next(tasks, None)
            if task is None:
                exhausted = True
                break
            name, function, arguments = task
            process = context.Process(target=function, args=arguments, name=name)
            process.start()
            running[process.sentinel] = (name, process)
        for sentinel in multiprocessing.connection.wait(list(running)) if running else []:
            name, process = running.pop(sentinel)
            process.join()
            ended(name)


def clean(tell: Callable[[str], None], mutant: Mutant | None = None, jobs: int = JOBS) -> tuple[list[str], int]:
    """CLEAN_FACTOR batteries over the library as it is: what was noticed, which must be nothing, and the executions.

    With a mutant in the place of the library there is something to notice.
    """
    folder = JUDGED / "clean"
    program = build(mutant, folder)
    answers = [folder / f"part{part}.json" for part in range(CLEAN_PARTS)]
    tasks = iter([(str(part), _clean_part, (part, program, answers[part])) for part in range(CLEAN_PARTS)])
    _in_processes(tasks, lambda name: tell(f"without a fault, part {int(name) + 1} of {CLEAN_PARTS}"), jobs)
    found: list[str] = []
    executions = 0
    for part, answer in enumerate(answers):
        if not answer.is_file():
            found.append(f"part {part}: the process ended without an answer")
            continue
        raw = json.loads(answer.read_text(encoding="utf-8"))
        found, executions = found + raw["found"], executions + raw["executions"]
    return found, executions


def choose(only: Sequence[str]) -> list[Mutant]:
    """All mutants, or those whose id contains one of the texts, operator by operator.

    Raises:
        MisuseError: a text is in no id.
    """
    order = list(OPERATORS)
    generated = generate()
    generated.sort(key=lambda mutant: next(i for i, name in enumerate(order) if mutant.operator.startswith(name)))
    mutants = by_hand() + generated
    for text in only:
        if not any(text in mutant.id for mutant in mutants):
            raise MisuseError(f"--only {text}: no mutant has that in its id; `prismem mutants --list` names them")
    return [mutant for mutant in mutants if not only or any(text in mutant.id for text in only)]


def judge_all(
    mutants: list[Mutant],
    tell: Callable[[Verdict, bool], None],
    *,
    resume: bool = True,
    jobs: int = JOBS,
    quick: bool = False,
) -> list[Verdict]:
    """Verdicts in the order of the mutants; `tell` hears each with whether it was known before. `quick`: by the plain
    round alone, and what that does not notice stays open.

    Raises:
        PrismemError: a process ended without a verdict.
    """
    parts()
    world = World.now()
    by_id = {mutant.id: mutant for mutant in mutants}
    found: dict[str, Verdict] = {}
    left: list[Task] = []
    for mutant in mutants:
        verdict = known(mutant, world) if resume else None
        if verdict is not None and (quick or verdict.state != "open"):
            found[mutant.id] = verdict
            tell(verdict, True)
        else:
            if not resume:
                (JUDGED / mutant.slug / VERDICT_FILE).unlink(missing_ok=True)
            left.append((mutant.id, _judge_here, (mutant, world, _kept(mutant)[1] if resume else None, quick)))

    def ended(name: str) -> None:
        verdict = known(by_id[name], world)
        if verdict is None:
            raise PrismemError(f"{name}: its process ended without a verdict")
        found[name] = verdict
        tell(verdict, False)

    _in_processes(iter(left), ended, jobs)
    return [found[mutant.id] for mutant in mutants]


def summarize(verdicts: list[Verdict], equivalents: list[Equivalent], *, whole: bool) -> Summary:
    """With what is wrong in the list of equivalents."""
    summary = Summary(verdicts, equivalents)
    summary.stale = stale(equivalents, verdicts, whole=whole)
    return summary


def write(summary: Summary, path: Path = RESULT) -> None:
    """Leave result.json."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(summary.as_json(), indent=1) + "\n", encoding="utf-8")
