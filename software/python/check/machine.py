"""The explorer of the host emulator from Python: software/emu/include/prismem_explore.h, typed."""

from __future__ import annotations

import ctypes as c
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from prismem.lib.emu import EmuError, Machine, MachineConfig, Policy

NO_THREAD = 0xFFFF


class Kind(IntEnum):
    """What was chosen (enum emu_choice_kind)."""

    SWITCH = 0
    STALL = 1
    FILL = 2
    EVICT = 3
    RETIRE = 4
    LAND = 5
    DMA = 6
    CLWB = 7
    PICK = 8


class Strategy(IntEnum):
    """Who chooses (enum emu_strategy)."""

    SEEDED = 0
    PCT = 1
    DFS = 2


class Choice(NamedTuple):
    """One entry of a log: fields of `emu_choice`. Its place: a thread, its own count of steps, a site in the step."""

    thread: int
    step: int
    site: int
    kind: int
    target: int
    value: int

    @property
    def is_event(self) -> bool:
        """Something that a cache, a flush or an engine did; the others concern the order of threads."""
        return self.kind not in (Kind.SWITCH, Kind.STALL)


class FaultKey(NamedTuple):
    """What an execution ended with; equal but for the digest is the same fault at the same place."""

    state: int
    kind: int
    place: int
    other: int
    digest: int

    def same_fault(self, other: FaultKey) -> bool:
        """Same kind of fault at the same places of the program, however it came about."""
        return (self.state, self.kind, self.place, self.other) == (other.state, other.kind, other.place, other.other)


@dataclass(frozen=True)
class Explored:
    """How a search ended."""

    executions: int
    steps: int
    cut: int
    found: bool
    complete: bool
    mapped: bool
    """Some program has mapped the pool."""


class _Choice(c.Structure):
    _fields_ = [
        ("step", c.c_uint32),
        ("thread", c.c_uint16),
        ("site", c.c_uint8),
        ("kind", c.c_uint8),
        ("target", c.c_uint64),
        ("value", c.c_uint64),
    ]


class _Config(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("policy", c.c_uint32),
        ("first", c.c_uint64),
        ("executions_max", c.c_uint64),
        ("time_ns_max", c.c_uint64),
        ("seed", c.c_uint64),
        ("switch_every", c.c_uint32),
        ("event_every", c.c_uint32),
        ("strategy", c.c_uint32),
        ("events_max", c.c_uint32),
    ]


class _Explored(c.Structure):
    _fields_ = [
        ("executions", c.c_uint64),
        ("steps", c.c_uint64),
        ("cut", c.c_uint64),
        ("found", c.c_uint32),
        ("complete", c.c_uint32),
        ("mapped", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class _Key(c.Structure):
    _fields_ = [
        ("state", c.c_uint32),
        ("kind", c.c_uint32),
        ("place", c.c_uint64),
        ("other", c.c_uint64),
        ("digest", c.c_uint64),
        ("offset", c.c_uint64),
    ]


class Explorer:
    """Programs on a machine of the functional port that runs as often as wanted, each time from the same state."""

    def __init__(
        self, config: MachineConfig | Machine, programs: Sequence[tuple[Path, Sequence[str]]], paths: Sequence[str] = ()
    ):
        self.machine = config if isinstance(config, Machine) else Machine(config)
        self._library = self.machine._library
        self._library.emu_choices.restype = c.c_int64
        self._library.emu_trace.restype = c.c_char_p
        self._library.emu_verbs.restype = c.c_char_p
        self._library.emu_verb_skip.argtypes = [c.c_uint64]
        self._library.emu_replay.argtypes = [c.c_void_p, c.c_uint64, c.c_int]
        self._library.emu_program_add.argtypes = [c.c_uint32, c.c_char_p, c.c_int, c.c_void_p]
        for path in paths:
            self._check("emu_pool_path_add", self._library.emu_pool_path_add(path.encode()))
        for host, (program, arguments) in enumerate(programs):
            raw = (c.c_char_p * len(arguments))(*(text.encode() for text in arguments))
            code = self._library.emu_program_add(host, str(program).encode(), len(arguments), raw)
            self._check("emu_program_add", code)

    def library(self, path: Path) -> c.CDLL:
        """Load a library that is compiled with the hooks, for threads of `machine.spawn`; before the first execution.

        Its globals are then the same at the start of every execution.
        """
        self._check("emu_library_add", self._library.emu_library_add(str(path).encode()))
        return c.CDLL(str(path))

    def _check(self, call: str, result: int) -> int:
        if result < 0:
            raise EmuError(call, -result, self._library.emu_error().decode())
        return result

    def explore(
        self,
        policy: Policy,
        *,
        seed: int,
        first: int,
        executions: int,
        time_ns: int,
        switch_every: int,
        event_every: int,
        strategy: Strategy = Strategy.SEEDED,
        events_max: int = 0,
    ) -> Explored:
        """Run executions `first`, `first` + 1, ... until one has a fault or a bound is reached.

        Under DFS a call with `first` 0 starts the search anew, with at most `events_max` cache events an execution.
        """
        config = _Config(struct_bytes=c.sizeof(_Config), policy=policy, first=first, executions_max=executions)
        config.time_ns_max, config.seed, config.strategy, config.events_max = time_ns, seed, strategy, events_max
        config.switch_every, config.event_every = switch_every, event_every
        result = _Explored()
        self._check("emu_explore", self._library.emu_explore(c.byref(config), c.byref(result)))
        return Explored(
            executions=result.executions,
            steps=result.steps,
            cut=result.cut,
            found=bool(result.found),
            complete=bool(result.complete),
            mapped=bool(result.mapped),
        )

    def choices(self) -> list[Choice]:
        """Log of the last execution."""
        pointer = c.POINTER(_Choice)()
        count = self._check("emu_choices", self._library.emu_choices(c.byref(pointer)))
        return [Choice(raw.thread, raw.step, raw.site, raw.kind, raw.target, raw.value) for raw in pointer[:count]]

    def replay(self, choices: Sequence[Choice], *, trace: bool = False) -> FaultKey:
        """One execution driven by a log. On the lockstep port it only begins: the hardware's clock drives it."""
        raw = (_Choice * max(1, len(choices)))(
            *(_Choice(one.step, one.thread, one.site, one.kind, one.target, one.value) for one in choices)
        )
        self._check("emu_replay", self._library.emu_replay(raw, len(choices), int(trace)))
        return self.fault()

    def fault(self) -> FaultKey:
        """What the last execution ended with."""
        key = _Key()
        self._check("emu_fault_key_get", self._library.emu_fault_key_get(c.byref(key)))
        return FaultKey(key.state, key.kind, key.place, key.other, key.digest)

    def report(self) -> dict[str, Any]:
        """The emulator's report of the last execution."""
        return self.machine.report()

    def trace(self) -> list[dict[str, Any]]:
        """Every event of the last execution that was replayed with `trace`."""
        return list(json.loads(self._library.emu_trace()))

    def watch_verbs(self) -> None:
        """Count the flushes and fences of the programs from now on."""
        self._check("emu_verbs_watch", self._library.emu_verbs_watch())

    def verbs(self) -> list[dict[str, Any]]:
        """What was counted, by place in the program; keys in prismem_explore.h."""
        return list(json.loads(self._library.emu_verbs()))

    def skip(self, place: int) -> None:
        """Leave out the flush or fence of this place from now on; 0: none."""
        self._check("emu_verb_skip", self._library.emu_verb_skip(place))

    def close(self) -> None:
        """End the machine."""
        self.machine.close()
