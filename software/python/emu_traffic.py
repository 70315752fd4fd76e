"""Traffic beside the threads of the emulated hosts: generators and engines of prismem_emu.h."""

import ctypes
from dataclasses import dataclass, fields

U32, U64 = ctypes.c_uint32, ctypes.c_uint64


def mirror(source: type, wide: set[str]) -> type[ctypes.Structure]:
    """A dataclass as C has it: its size, then its fields in order, those in `wide` of 64 bits and all others of 32."""
    members = [("struct_bytes", U32), *((f.name, U64 if f.name in wide else U32) for f in fields(source))]
    return type(f"C{source.__name__}", (ctypes.Structure,), {"_fields_": members})


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """A request generator: fields of `struct emu_traffic`, in its order."""

    host: int
    outstanding: int = 1
    read_permille: int = 1000
    random: bool = False
    gap_ns: int = 0
    first_line: int = 0
    lines: int = 1
    requests: int = 0
    tolerate: bool = False


CTraffic = mirror(Traffic, {"first_line", "lines", "requests"})


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A traffic engine of the bench for one phase: fields of `struct emu_engine`, in its order."""

    host: int
    phase: int = 0
    pattern: int = 0
    request_bytes: int = 64
    read_permille: int = 1000
    outstanding: int = 1
    poisson: bool = False
    stride_log2: int = 0
    hot_permille: int = 0
    hot_module: int = 0
    hot_outstanding: int = 0
    lines_log2: int = 12
    interval_q16: int = 0
    first_line: int = 0
    hot_line: int = 0
    start: int = 0
    requests: int = 0
    warmup: int = 0
    count_ns: int = 0
    stop_ns: int = 0
    seed: int = 1


CEngine = mirror(
    Engine,
    {*("interval_q16", "first_line", "hot_line", "start", "requests", "warmup", "count_ns", "stop_ns", "seed")},
)
