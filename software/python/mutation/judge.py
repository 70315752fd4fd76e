"""Judges one mutant: runs the battery until something notices, shortens that execution and writes its story."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from prismem.lib.check import story
from prismem.lib.check.diagnosis import diagnose
from prismem.lib.check.log import LOG_FILE, CheckLog, Fault, Request, Source
from prismem.lib.check.machine import Choice, FaultKey
from prismem.lib.check.shrink import Shrinker
from prismem.lib.check.trace import STORES, Trace
from prismem.lib.emu import State
from prismem.lib.mutation.battery import (
    PLAIN,
    POOL_BYTES,
    STEPS_MAX,
    Session,
    Setting,
    Trial,
    chooses,
    likely,
    likely_operations,
    names,
    ordered,
    rounds,
)
from prismem.lib.mutation.build import DoesNotCompile, build
from prismem.lib.mutation.operators import Mutant
from prismem.paths import SOFTWARE

SHRINK_STEPS_MAX = 3_000_000
"""Steps of all replays that shortening one log may take."""
SHRINK_REPLAYS_MIN, SHRINK_REPLAYS_MAX = 20, 1000
EXECUTIONS_MAX = 10**6
"""Of a battery: far beyond the longest."""
TRACE_STEPS_MAX = 1_000_000
"""A longer execution is told by its fault alone."""
IDLING_KEPT = 1000
"""Events after the last store, and before the end, that a story is told from."""
STORY_FILE = "story.txt"


class Verdict(BaseModel):
    """What became of one mutant."""

    model_config = ConfigDict(extra="forbid")
    id: str
    state: Literal["killed", "survived", "open", "invalid"]
    """`open`: the plain round notices nothing, and the rest of the battery has not run."""
    reached: bool = True
    """Of a survivor: some execution of the battery comes to the place of the fault."""
    executions: int = 0
    steps: int = 0
    oracle: str = ""
    """Kind of the fault: stale_read, lost_update, check (an assertion of a test), stuck, crash, thread, ..."""
    message: str = ""
    source: str = ""
    test: str = ""
    """Test or operation, and how its executions were chosen."""
    choices: int = 0
    """Of the shortened log: what differs from the plain execution."""
    story_steps: int = 0
    coherent: str = ""
    """What noticed it on coherent hosts; empty: nothing."""
    replays: bool = True
    trial: Trial | None = None
    setting: Setting | None = None
    """What noticed it. However the library has changed since, that is tried first the next time."""


def _stuck_fault(report: dict[str, Any]) -> Fault:
    """An execution that was cut has no fault of the emulator's."""
    return Fault(
        kind="endless",
        message=f"after {STEPS_MAX} accesses the test has not ended",
        time_ns=int(report["now_ns"]),
        pool_offset=-1,
        line=-1,
        host=0,
        thread=0,
        function="",
        source="",
        other_host=-1,
        other_thread=-1,
        other_function="",
        other_source="",
    )


def fault_of(report: dict[str, Any]) -> Fault:
    """The first fault of an execution that went wrong."""
    return Fault(**report["faults"][0]) if report["faults"] else _stuck_fault(report)


class Battery:
    """The battery over one built library."""

    def __init__(self, program: Path, file: str, base: Trial | None = None) -> None:
        self.program = program
        self.base = base or Trial(test="")
        tests, self._operations = names(program)
        self._tests = ordered(tests, file)
        self._chooses = chooses(file)
        self._dense = (*likely(file), *likely_operations(file))
        self.executions = self.steps = 0
        self.session: Session | None = None
        self.trial, self.setting = self.base, Setting(name="lazy", switch_every=0)

    def _one(self, trial: Trial, settings: list[Setting]) -> bool:
        """Whether the trial notices something; its session is then kept."""
        session = Session(self.program, trial)
        for setting in settings:
            executions, steps, wrong = session.explore(setting)
            self.executions, self.steps = self.executions + executions, self.steps + steps
            if wrong:
                self.session, self.trial, self.setting = session, trial, setting
                return True
        session.close()
        return False

    def again(self, verdict: Verdict) -> bool:
        """Whether what noticed the mutant in an earlier run does so again."""
        tests, trial = (*self._tests, *self._operations), verdict.trial
        if trial is None or verdict.setting is None or trial.test not in tests:
            return False
        return self._one(trial, [verdict.setting])

    def _points(self) -> dict[str, int] | None:
        """Events of each operation; None when one goes wrong although nobody dies."""
        points: dict[str, int] = {}
        for operation in [] if self.base.coherent else self._operations:
            trial = self.base.model_copy(update={"test": operation, "crash_event": 0})
            session = Session(self.program, trial)
            setting = Setting(name="lazy", switch_every=0)
            executions, steps, wrong = session.explore(setting)
            self.executions, self.steps = self.executions + executions, self.steps + steps
            if wrong:
                self.session, self.trial, self.setting = session, trial, setting
                return None
            points[operation] = session.points()
            session.close()
        return points

    def hunt(
        self, factor: int = 1, executions_max: int = EXECUTIONS_MAX, first_seed: int = 1, *, plain: bool = False
    ) -> bool:
        """Run the battery, or its plain round; True when something was noticed: then `session` holds that execution."""
        first = rounds(self._tests, {}, self.base.model_copy(update={"coherent": True}), 1)
        for trial, settings in first:  # the plain round, before the operations are measured
            if settings != list(PLAIN) or self.executions >= executions_max:
                break
            if self._one(trial.model_copy(update={"coherent": self.base.coherent}), settings):
                return True
        points = self._points()
        if points is None or plain:
            return points is None
        for trial, settings in rounds(
            self._tests, points, self.base, factor, first_seed, choosing=self._chooses, dense=self._dense
        ):
            if settings == list(PLAIN):
                continue
            if self.executions >= executions_max:
                return False
            if self._one(trial, settings):
                return True
        return False

    def close(self) -> None:
        """End the machine of what was noticed."""
        if self.session is not None:
            self.session.close()
            self.session = None


def shorten(session: Session, log: list[Choice], key: FaultKey, steps: int) -> list[Choice]:
    """The log without what the fault does not need, as far as the budget of steps goes; of one that is too long to be
    told, the plain execution or all of it."""
    explorer = session.explorer
    if explorer.replay([]).same_fault(key) or steps > TRACE_STEPS_MAX:
        return [] if explorer.fault().same_fault(key) else log
    replays_max = min(max(SHRINK_STEPS_MAX // steps, SHRINK_REPLAYS_MIN), SHRINK_REPLAYS_MAX)
    return Shrinker(lambda shorter: explorer.replay(shorter).same_fault(key), replays_max).shrink(log)


def _without_idling(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events without the middle of what threads do after the last store, which is to poll."""
    stores = (number for number in reversed(range(len(raw))) if raw[number]["event"] in STORES)
    last = next(stores, 0)
    return raw[: last + IDLING_KEPT] + raw[max(last + IDLING_KEPT, len(raw) - IDLING_KEPT) :]


def tell(session: Session, log: CheckLog, sources: tuple[Path, ...]) -> tuple[list[str], int]:
    """Story of the execution of a log, and its steps."""
    trace = Trace.of(_without_idling(session.explorer.trace()), 1 if session.trial.coherent else session.trial.hosts)
    diagnosis = diagnose(log.fault, trace)
    return story.text(log.fault, trace, diagnosis, sources), len(story.steps(trace, diagnosis))


def explain(battery: Battery, verdict: Verdict, file: Path, folder: Path) -> None:
    """Shorten what the battery noticed, write log and story into `folder`, and fill the verdict."""
    session = battery.session
    assert session is not None
    explorer = session.explorer
    key, log = explorer.fault(), explorer.choices()
    steps = int(explorer.report()["steps"])
    verdict.replays = explorer.replay(log).same_fault(key)
    short = shorten(session, log, key, steps) if verdict.replays else log
    traced = steps <= TRACE_STEPS_MAX
    end = explorer.replay(short, trace=traced)
    report = explorer.report()
    fault = fault_of(report)
    written = CheckLog(
        compiler="gcc",
        request=Request(
            sources=[Source.of(file)],
            hosts=session.trial.hosts,
            pool_bytes=POOL_BYTES,
            seed=session.trial.seed,
            steps=STEPS_MAX,
            coherent=session.trial.coherent,
            mutant=verdict.id,
            trial=session.trial,
        ),
        policy=battery.setting.name,
        executions=battery.executions,
        fault=fault,
        digest=end.digest,
        choices=[tuple(choice) for choice in short],
    )
    changed = folder / file.name
    sources = (changed if changed.is_file() else file, SOFTWARE / "src" / "layout.h", SOFTWARE / "tests" / "pm_test.h")
    if traced:
        written.story, verdict.story_steps = tell(session, written, sources)
        (folder / STORY_FILE).write_text("\n".join(written.story) + "\n", encoding="utf-8")
    written.write(folder / LOG_FILE)
    verdict.oracle, verdict.source, verdict.choices = fault.kind, fault.source, len(short)
    verdict.message = fault.message.splitlines()[0] if fault.message else State(end.state).name
    crash = f", host dies at event {session.trial.crash_event}" if session.trial.crash_event > 0 else ""
    verdict.test = f"{session.trial.test}{crash} ({battery.setting.name}, {session.trial.flush})"


COHERENT_EXECUTIONS = 36
"""Of a mutant on coherent hosts."""


def is_reached(mutant: Mutant, folder: Path, base: Trial, executions_max: int = EXECUTIONS_MAX) -> bool:
    """Whether the battery ever comes to the place of the fault."""
    if not mutant.probe:
        return True
    program = build(replace(mutant, source=mutant.probe), folder / "probe")
    battery = Battery(program, mutant.path.name, base)
    reached = battery.hunt(executions_max=executions_max)
    battery.close()
    shutil.rmtree(folder / "probe")
    return reached


def judge(
    mutant: Mutant, folder: Path, fault: str = "none", earlier: Verdict | None = None, *, quick: bool = False
) -> Verdict:
    """Build the mutant and run the battery over it; log and story of what was noticed lie in `folder` afterwards.

    `fault` is one of mutants.def that is switched on; the mutant is then the library itself. What noticed it in an
    earlier run goes first; `executions` stays what it took then. `quick`: the plain round alone.
    """
    verdict = Verdict(id=mutant.id, state="survived")
    try:
        program = build(None if fault != "none" else mutant, folder)
    except DoesNotCompile as error:
        return verdict.model_copy(update={"state": "invalid", "message": str(error)})
    base = Trial(test="", fault=fault)
    battery = Battery(program, mutant.path.name, base)
    repeated = earlier is not None and battery.again(earlier)
    if repeated or battery.hunt(plain=quick):
        verdict.state, verdict.trial, verdict.setting = "killed", battery.trial, battery.setting
        explain(battery, verdict, mutant.path, folder)
    counted = earlier if repeated and earlier is not None else battery
    verdict.executions, verdict.steps = counted.executions, counted.steps
    battery.close()
    if verdict.state == "survived" and not quick:
        verdict.reached = is_reached(mutant, folder, base)
    if mutant.noncoherence:
        calm = Battery(program, mutant.path.name, base.model_copy(update={"coherent": True}))
        if calm.hunt(executions_max=COHERENT_EXECUTIONS):
            assert calm.session is not None
            verdict.coherent = fault_of(calm.session.explorer.report()).message.splitlines()[0]
        calm.close()
    program.unlink()
    return verdict
