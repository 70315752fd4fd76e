"""The host emulator from Python: a thin, typed layer over software/emu/include/prismem_emu.h.

There is one machine a process. On the functional port `Machine.run` drives it; on the RTL port the Verilated bench
does, through the same shared library, and Python only prepares and reads results.
"""

import ctypes
import errno
import json
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum, IntFlag
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from prismem.errors import PrismemError
from prismem.lib.emu_traffic import U32, U64, CEngine, CTraffic, Engine, Traffic, mirror
from prismem.paths import relative, software_library

LINE_BYTES = 64
POOL_UNIT_BYTES = 2 << 20  # pools come in whole huge pages
POOL_PATH = "/prismem/pool"
EXTERNAL_ARGS = 8
THREAD_DAEMON = 1
THREAD_AFTER_CRASH = 2


class Port(IntEnum):
    """What the machine sits on."""

    FUNCTIONAL = 0
    RTL = 1
    LOCKSTEP = 2


class Policy(IntEnum):
    """Who decides on spontaneous fills, evictions and the retirement of flushes."""

    RANDOM = 0
    LAZY = 1
    EAGER = 2
    WARM = 3


class Clwb(IntEnum):
    """What CLWB leaves behind."""

    MAY = 0
    KEEP = 1
    DROP = 2


class Crash(IntEnum):
    """What dies with a host; the header says what each loses."""

    HOST_DROP = 0
    HOST_KEEP = 1
    PROCESS = 2


class Quirk(IntFlag):
    """Assumptions of the memory model that this machine breaks (enum emu_quirk)."""

    NONE = 0
    FILL_SURVIVES = 1
    SPURIOUS = 2
    DDIO = 4


class State(IntEnum):
    """Why a run ended."""

    RUNNING = 0
    DONE = 1
    FAULT = 2
    STUCK = 3
    DEADLOCK = 4
    FAILED = 5


class EmuError(PrismemError):
    """A call of the emulator failed; `errno` is its error number."""

    def __init__(self, call: str, number: int, text: str) -> None:
        name = errno.errorcode.get(number, str(number))
        super().__init__(f"{call}: {name}: {text or os.strerror(number)}")
        self.errno = number


@dataclass(frozen=True, kw_only=True)
class MachineConfig:
    """Fields of `struct emu_config`, in its order; the header says what each means."""

    hosts: int
    pool_bytes: int = 64 << 20
    seed: int = 1
    port: Port = Port.FUNCTIONAL
    policy: Policy = Policy.RANDOM
    coherent: bool = False
    clwb: Clwb = Clwb.MAY
    dma_snoop: bool = False
    completion_posted: bool = False
    switch_every: int = 50
    event_every: int = 100
    detect: bool = True
    faults_max: int = 1
    step_limit: int = 2_000_000_000
    access_ps: int = 500
    pause_ns: int = 40
    jitter_ns: int = 0
    outstanding_max: int = 256
    hpa_base: int = 0


def pool_size(needed_bytes: int) -> int:
    """Size of the smallest pool that holds `needed_bytes`."""
    return -(-needed_bytes // POOL_UNIT_BYTES) * POOL_UNIT_BYTES


_CConfig = mirror(MachineConfig, {"pool_bytes", "seed", "step_limit", "hpa_base"})
_I64, _INT, _STR, _PTR, _SIZE = ctypes.c_int64, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
_AUDIT = ctypes.CFUNCTYPE(_INT, _PTR, _PTR, U64, _INT)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "emu_create": (_INT, [ctypes.POINTER(_CConfig)]),
    "emu_destroy": (None, []),
    "emu_error": (_STR, []),
    "emu_spawn": (_INT, [U32, _STR, _PTR, _PTR, U32]),
    "emu_spawn_external": (_INT, [U32, _STR]),
    "emu_external_call": (_INT, [_INT, _PTR, ctypes.POINTER(_I64), ctypes.POINTER(_I64)]),
    "emu_external_exit": (_INT, [_INT, _I64]),
    "emu_crash_at": (_INT, [U32, U64, U32]),
    "emu_crash_events": (_I64, [U32]),
    "emu_crashed": (_INT, [U32]),
    "emu_quirks_set": (_INT, [U32]),
    "emu_audit_set": (_INT, [_AUDIT, _PTR]),
    "emu_run": (_INT, []),
    "emu_state": (_INT, []),
    "emu_report": (_STR, []),
    "emu_log_open": (_INT, [_STR]),
    "emu_device_read": (_INT, [U64, _PTR, _SIZE]),
    "emu_device_write": (_INT, [U64, _PTR, _SIZE]),
    "emu_traffic_add": (_INT, [ctypes.POINTER(CTraffic)]),
    "emu_engine_add": (_INT, [ctypes.POINTER(CEngine)]),
    "emu_latency_report": (_STR, []),
    "emu_latency_reset": (None, []),
}


def load_library() -> ctypes.CDLL:
    """The emulator's library with argument types set. Global symbols: instrumented libraries resolve against it."""
    path = software_library("prismem_emu")
    if not path.exists():
        raise PrismemError(f"{relative(path)} is not built; run 'make software'")
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def address_of(function: Any) -> int:
    """Address of a function of a ctypes library (or an address as it is)."""
    if isinstance(function, int):
        return function
    address = ctypes.cast(function, ctypes.c_void_p).value
    if address is None:
        raise ValueError("the function's address is NULL")
    return address


class Machine:
    """The machine of this process. Use as a context manager; a second one at the same time is an EmuError (EEXIST)."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self._library = load_library()
        self._kept: list[Any] = []  # arguments of threads live as long as the machine
        raw = _CConfig(struct_bytes=ctypes.sizeof(_CConfig))
        for field in fields(config):
            setattr(raw, field.name, int(getattr(config, field.name)))
        self._check("emu_create", self._library.emu_create(ctypes.byref(raw)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Destroy the machine; harmless when done twice."""
        self._library.emu_destroy()

    def _check(self, call: str, result: int) -> int:
        if result < 0:
            raise EmuError(call, -result, self._library.emu_error().decode())
        return result

    def spawn(
        self,
        host: int,
        name: str,
        function: Any,
        argument: Any = None,
        *,
        daemon: bool = False,
        after_crash: bool = False,
    ) -> int:
        """Add a thread that runs C `int64_t f(void *)`; `argument` is None, an address or a ctypes object.

        With `after_crash` it starts when its host has crashed, and never if that does not happen.
        """
        pointer = argument if argument is None or isinstance(argument, int) else ctypes.addressof(argument)
        self._kept.append((function, argument))
        flags = (THREAD_DAEMON if daemon else 0) | (THREAD_AFTER_CRASH if after_crash else 0)
        tid = self._library.emu_spawn(host, name.encode(), address_of(function), pointer, flags)
        return self._check("emu_spawn", tid)

    def spawn_external(self, host: int, name: str) -> int:
        """Add a thread whose program runs on an operating-system thread of the caller; see `external_host`."""
        return self._check("emu_spawn_external", self._library.emu_spawn_external(host, name.encode()))

    def external_call(self, tid: int, function: Any, args: Sequence[int] = ()) -> int:
        """Run `function(args)` on external thread `tid`; blocks this thread, the machine in simulated time."""
        if len(args) > EXTERNAL_ARGS:
            raise ValueError(f"{len(args)} arguments: an external call carries {EXTERNAL_ARGS} at most")
        raw = (_I64 * EXTERNAL_ARGS)(*args)
        result = _I64()
        code = self._library.emu_external_call(tid, address_of(function), raw, ctypes.byref(result))
        self._check("emu_external_call", code)
        return result.value

    def external_exit(self, tid: int, status: int = 0) -> None:
        """End external thread `tid`."""
        self._check("emu_external_exit", self._library.emu_external_exit(tid, status))

    def quirks_set(self, quirks: Quirk) -> None:
        """Break these assumptions of the memory model; before the run."""
        self._check("emu_quirks_set", self._library.emu_quirks_set(int(quirks)))

    def audit_set(self, audit: Callable[[bytes, bool], int]) -> None:
        """Functional port: `audit(pool, dropped)` looks at the device when all threads have ended, as it is when all
        caches vanish, and after they have been written back; not 0 is a fault of kind "audit". Before the run."""

        def look(_: int | None, pool: int, size: int, dropped: int) -> int:
            return audit(ctypes.string_at(pool, size), bool(dropped))

        function = _AUDIT(look)
        self._kept.append(function)
        self._check("emu_audit_set", self._library.emu_audit_set(function, None))

    def run(self) -> State:
        """Functional port: run until the end."""
        return State(self._check("emu_run", self._library.emu_run()))

    def crash_at(self, host: int, event: int, kind: Crash = Crash.HOST_DROP) -> None:
        """`host` dies right before its `event`-th store, flush, fence or DMA line from now on; 0 only counts them."""
        self._check("emu_crash_at", self._library.emu_crash_at(host, event, int(kind)))

    def crash_events(self, host: int) -> int:
        """Shared-memory events of the host since `crash_at`."""
        return self._check("emu_crash_events", self._library.emu_crash_events(host))

    def crashed(self, host: int) -> bool:
        """Whether the host has crashed."""
        return bool(self._check("emu_crashed", self._library.emu_crashed(host)))

    def state(self) -> State:
        """State now."""
        return State(self._library.emu_state())

    def report(self) -> dict[str, Any]:
        """The run so far: state, faults, counters of hosts and threads (keys in the header)."""
        return dict(json.loads(self._library.emu_report()))

    def latency_report(self) -> dict[str, Any]:
        """RTL port: latencies by stage and lines by port, from the probes (keys in the header)."""
        return dict(json.loads(self._library.emu_latency_report()))

    def latency_reset(self) -> None:
        """Forget latencies and port counts so far."""
        self._library.emu_latency_reset()

    def traffic_add(self, traffic: Traffic) -> int:
        """RTL port: add a request generator; returns its id."""
        raw = CTraffic(struct_bytes=ctypes.sizeof(CTraffic))
        for field in fields(traffic):
            setattr(raw, field.name, int(getattr(traffic, field.name)))
        return self._check("emu_traffic_add", self._library.emu_traffic_add(ctypes.byref(raw)))

    def engine_add(self, engine: Engine) -> None:
        """RTL port: put a traffic engine of the bench in a host's place for a phase."""
        raw = CEngine(struct_bytes=ctypes.sizeof(CEngine))
        for field in fields(engine):
            setattr(raw, field.name, int(getattr(engine, field.name)))
        self._check("emu_engine_add", self._library.emu_engine_add(ctypes.byref(raw)))

    def log_open(self, path: Path) -> None:
        """Write one line for each switch, cache event, transaction and fault to `path`; before the run."""
        self._check("emu_log_open", self._library.emu_log_open(os.fsencode(path)))

    def device_read(self, offset: int, count: int) -> bytes:
        """`count` bytes of the device at pool `offset`, behind the caches; no time passes."""
        buffer = ctypes.create_string_buffer(count)
        self._check("emu_device_read", self._library.emu_device_read(offset, buffer, count))
        return buffer.raw

    def device_write(self, offset: int, data: bytes) -> None:
        """Write to the device behind the caches; no time passes."""
        self._check("emu_device_write", self._library.emu_device_write(offset, data, len(data)))


class ExternalHost:
    """Python code as a host: `call` carries a C call over to the emulated host and returns its result."""

    def __init__(self, machine: Machine, host: int, name: str) -> None:
        self.host = host
        self.error: BaseException | None = None
        self._machine = machine
        self._tid = machine.spawn_external(host, name)
        self._thread: threading.Thread | None = None

    def call(self, function: Any, args: Sequence[int] = ()) -> int:
        """Run a C function of an instrumented library on this host, in simulated time."""
        return self._machine.external_call(self._tid, function, args)

    def _start(self, program: Callable[["ExternalHost"], None]) -> None:
        def body() -> None:
            try:
                program(self)
            except BaseException as error:  # carried to the thread that waits in `join`
                self.error = error
            if self._machine.state() is State.RUNNING:
                self._machine.external_exit(self._tid, 1 if self.error else 0)

        self._thread = threading.Thread(target=body, name=f"host{self.host}", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for the program after the run has ended; raises what it raised."""
        assert self._thread is not None
        self._thread.join()
        if self.error is not None and not (isinstance(self.error, EmuError) and self.error.errno == errno.ECANCELED):
            raise self.error


def external_host(machine: Machine, host: int, program: Callable[[ExternalHost], None], name: str = "") -> ExternalHost:
    """Run `program(external_host)` as a thread of `host`; call before the run starts, `join` after it has ended."""
    external = ExternalHost(machine, host, name or f"python{host}")
    external._start(program)
    return external
