"""What every mutant goes through: the C tests of the library and host crashes, from plain executions to wild ones."""

from __future__ import annotations

import ctypes as c
import itertools
from collections.abc import Collection, Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from prismem.errors import MisuseError
from prismem.lib.check.machine import Explorer, Strategy
from prismem.lib.emu import Clwb, Crash, MachineConfig, Policy

HOSTS = 3
POOL_BYTES = 4 << 20
STEPS_MAX = 3_000_000
"""Of an execution; one that takes more counts as endless. The longest of the right library takes a quarter of that."""
EVENT_EVERY = 5
"""Steps between two cache events of the random policy."""
EXPLORED_STEPS_MAX = 3_000_000
"""A trial has no further execution under a setting when those before it took more."""
CRASH_EVENTS_MAX = 400
"""Events of an operation at which hosts die; no operation has more."""


class Setting(BaseModel):
    """How the executions of a trial are chosen."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    """lazy, eager, warm, random or pct."""
    switch_every: int
    executions: int = 1
    first: int = 0
    """Number of the first execution."""

    @property
    def strategy(self) -> Strategy:
        """Of the emulator."""
        return Strategy.PCT if self.name == "pct" else Strategy.SEEDED

    @property
    def policy(self) -> Policy:
        """Of the caches, where the seed chooses."""
        return Policy.RANDOM if self.name == "pct" else Policy[self.name.upper()]


class Trial(BaseModel):
    """One test of the library with the machine it runs on. Together with a log of choices it is an execution."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    test: str
    """Name of a C test, or of an operation that a host dies in."""
    crash_event: int = -1
    """The host dies before this event of the operation; 0: never; -1: a test without a crash."""
    crash: str = "HOST_DROP"
    hosts: int = HOSTS
    seed: int = 1
    flush: str = "clflushopt"
    """Instruction of pm_publish and pm_acquire; or `stream`: payload by streaming stores instead of the engine. Where
    the library does not choose CLWB itself, a CLWB keeps the line: it stands for a flush that should drop it."""
    coherent: bool = False
    fault: str = "none"
    """Of mutants.def, switched on before."""


class Session:
    """The instrumented library with its tests, loaded from `program`, on one machine for one trial."""

    def __init__(self, program: Path, trial: Trial) -> None:
        config = MachineConfig(
            hosts=trial.hosts,
            pool_bytes=POOL_BYTES,
            seed=trial.seed,
            coherent=trial.coherent,
            step_limit=STEPS_MAX,
            clwb=Clwb.MAY if trial.flush == "clwb" else Clwb.KEEP,
        )
        self.trial = trial
        self.explorer = Explorer(config, [])
        self._library = self.explorer.library(program)
        self._set_up(trial)

    def _set_up(self, trial: Trial) -> None:
        library = self._library
        if library.pm_mutant_select(trial.fault.encode()) != 0:
            raise MisuseError(f"fault: '{trial.fault}' is unknown to the library")
        force = library.pm_dma_force if trial.flush == "stream" else library.pm_verbs_force
        if force(trial.flush.encode()) != 0:
            raise MisuseError(f"flush: '{trial.flush}' is unknown to the library")
        if trial.crash_event < 0:
            library.pm_test_select.argtypes = [c.c_char_p, c.c_uint32, c.c_uint64, c.c_uint32]
            nodes = int(library.pm_test_select(trial.test.encode(), trial.hosts, trial.seed, 1))
            if nodes < 0:
                raise MisuseError(f"test: '{trial.test}' is unknown")
            for node in range(nodes):
                self.explorer.machine.spawn(node, f"node{node}", library.pm_test_thread, node)
            return
        names = _names(library.pm_crash_name)
        if trial.test not in names:
            raise MisuseError(f"operation: '{trial.test}' is unknown; there are {', '.join(names)}")
        library.pm_crash_select.argtypes = [c.c_uint32, c.c_uint64, c.c_uint32]
        library.pm_crash_select(names.index(trial.test), trial.crash_event, int(Crash[trial.crash]))
        for node in range(trial.hosts):
            self.explorer.machine.spawn(node, f"node{node}", library.pm_crash_thread, node)
            self.explorer.machine.spawn(node, f"again{node}", library.pm_crash_again, node, after_crash=True)

    def points(self) -> int:
        """Events of the operation in the last execution, in which nobody died."""
        self._library.pm_crash_points.restype = c.c_uint64
        return int(self._library.pm_crash_points())

    def explore(self, setting: Setting) -> tuple[int, int, bool]:
        """Executions, their steps, and whether the last one has gone wrong: a fault, or it never ended."""
        executions = steps = 0
        for number in range(setting.first, setting.first + setting.executions):
            if steps > EXPLORED_STEPS_MAX:
                break
            explored = self.explorer.explore(
                setting.policy,
                seed=self.trial.seed,
                first=number,
                executions=1,
                time_ns=0,
                switch_every=setting.switch_every,
                event_every=EVENT_EVERY,
                strategy=setting.strategy,
            )
            executions, steps = executions + 1, steps + explored.steps
            if explored.found or explored.cut:
                return executions, steps, True
        return executions, steps, False

    def close(self) -> None:
        """End the machine."""
        self.explorer.close()


def _names(function: c._NamedFuncPointer) -> list[str]:
    function.restype = c.c_char_p
    return [name.decode() for name in itertools.takewhile(lambda name: name is not None, map(function, range(1000)))]


def names(program: Path) -> tuple[list[str], list[str]]:
    """The tests and the operations with crashes of a library."""
    explorer = Explorer(MachineConfig(hosts=1, pool_bytes=POOL_BYTES), [])
    try:
        library = explorer.library(program)
        return _names(library.pm_test_name), _names(library.pm_crash_name)
    finally:
        explorer.close()


FIRST = {
    "alloc chunk": ("alloc_exchange", "alloc_migrate", "alloc_runs", "alloc_crowd", "alloc_wide", "lease_fence"),
    "lock locktable tier": (
        *("lock_counter", "lock_counter_slots", "lock_counter_bakery", "lock_crowd", "lock_stat", "lease_takeover"),
    ),
    "manager election death lease hold": ("lease_takeover", "lease_zombie", "lease_fence", "node_reuse"),
    "index bucket pins lru policy reserve batch": ("index_share", "index_evict_race", "index_audit", "index_handoff"),
    "pool claim region layout": ("claim_race", "node_reuse", "pool_reformat"),
    "rendezvous": ("rendezvous_ring",),
    "object": ("object_store",),
    "dma verbs handle": ("store_line", "dma_flag", "dma_dirty", "publish_consume", "rendezvous_ring"),
    "recover audit": ("lease_takeover", "node_reuse", "index_audit"),
    "tract": ("tract", "tract_share"),
    "mutants all": ("lock_crowd", "claim_race", "index_share", "alloc_crowd"),
}
"""Words of a file's name, and the tests that are likely to notice: they come first in each round, and have one more."""
PLAIN = tuple(Setting(name=name, switch_every=0) for name in ("lazy", "eager", "warm"))
MIXED = tuple(
    Setting(name=name, switch_every=every, executions=count)
    for name, every, count in (("random", 50, 2), ("eager", 8, 1), ("warm", 8, 1), ("lazy", 50, 1), ("pct", 8, 1))
)
WILD = tuple(
    Setting(name=name, switch_every=every, executions=count, first=10)
    for name, every, count in (("random", 4, 2), ("random", 16, 2), ("warm", 50, 1), ("eager", 50, 1), ("pct", 4, 1))
)
DENSE = tuple(Setting(name="random", switch_every=every, executions=160, first=20) for every in (3, 5))
LONG = frozenset({"index_churn", "index_tombstones", "index_collide", "alloc_runs", "pool_refuse", "lease_zombie"})
"""Tests of several 100,000 steps: left out of the wild rounds."""
FLUSHES = ("clflush", "clwb", "stream")
LIKELY_OPERATIONS = {
    "alloc chunk": ("collect", "allocate", "free"),
    "index bucket pins lru policy reserve": ("insert", "evict", "abort", "lookup"),
    "lock": ("lock", "lock_slots", "lock_bakery"),
    "manager election death lease hold recover": ("recover", "bury", "lock", "manager"),
    "pool claim": ("open", "close"),
    "object": ("put",),
}
"""Words of a file's name, and the operations that hosts die in more often: at every DENSE_EVERY-th event."""
DENSE_EVERY = 3
CRASH_ROUNDS = ((31, "HOST_DROP", PLAIN[:1]), (23, "HOST_KEEP", MIXED[:1]), (17, "HOST_DROP", WILD[:1]))
"""Every so many events of an operation a host dies: how, and under which settings."""


CHOOSES = frozenset({"verbs", "dma", "handle", "mutants", "all"})
"""Words of the names of files whose code depends on which instruction flushes; for the others the default one does."""


def chooses(file: str) -> bool:
    """Whether faults of that file are tried with all of FLUSHES."""
    return file.partition(".")[0].partition("_")[0] in CHOOSES


def _of_file(file: str, table: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    stem = file.partition(".")[0].partition("_")[0]
    return next((names for words, names in table.items() if stem in words.split()), ())


def likely(file: str) -> tuple[str, ...]:
    """Tests that are likely to notice a fault of the file."""
    return _of_file(file, FIRST)


def likely_operations(file: str) -> tuple[str, ...]:
    """Operations in which a death is likely to show a fault of the file."""
    return _of_file(file, LIKELY_OPERATIONS)


def ordered(tests: list[str], file: str) -> list[str]:
    """The tests with the likely ones first."""
    first = likely(file)
    return sorted(tests, key=lambda name: first.index(name) if name in first else len(first))


def rounds(
    tests: list[str],
    points: dict[str, int],
    base: Trial,
    factor: int = 1,
    first_seed: int = 1,
    *,
    choosing: bool = True,
    dense: Collection[str] = (),
) -> Iterator[tuple[Trial, list[Setting]]]:
    """The whole battery, `factor` times as long: trials, each with its settings, from plain to wild.

    `points` are the operations that hosts die in, with the number of their events; none of them on coherent hosts.
    `choosing`: with the other instructions that the verbs may choose. `dense`: tests that have a round more, and
    operations with more deaths.
    """
    crashes = [] if base.coherent else [*points.items()]

    def change(**values: object) -> Trial:
        return base.model_copy(update=values)

    for test in tests:
        yield change(test=test), list(PLAIN)
    for turn in range(factor):
        seed = first_seed + turn
        for test in tests:
            yield change(test=test, seed=seed), list(MIXED)
        for every, crash, settings in CRASH_ROUNDS:
            for operation, count in crashes:
                step = min(every, DENSE_EVERY) if operation in dense else every
                for event in range(1 + turn % step, min(count, CRASH_EVENTS_MAX) + 1, step):
                    yield change(test=operation, crash_event=event, crash=crash, seed=seed), list(settings)
            if crash != "HOST_KEEP":
                continue
            short = [test for test in tests if test not in LONG]
            for test in short:
                yield change(test=test, seed=seed + 100), list(WILD)
                yield change(test=test, seed=seed + 100, hosts=2), list(MIXED[:2])
            for test in short:
                if test in dense:
                    yield change(test=test, seed=seed), list(DENSE)
            for flush, test in itertools.product(FLUSHES if choosing else (), short):
                yield change(test=test, seed=seed, flush=flush), [PLAIN[0], MIXED[0]]
