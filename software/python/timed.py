"""The timed port: a queue model of the hardware in C++ (prismem_emu_timed.h) drives a machine of the RTL port."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from prismem.lib.emu import EmuError, Machine, State, load_library

_U64 = ctypes.c_uint64
DRAM_FIELDS = (
    "channels banks row_lines row_to_column_ns precharge_ns activate_ns read_precharge_ns write_precharge_ns column_ns "
    "data_ns bus_ps idle_close_ns ahead_ns horizon_ns refresh_interval_ns refresh_ns refresh_groups refresh_step_ns "
    "refresh_offset_ns"
).split()
PAIRS = frozenset(
    (
        "cxl_request_ns decode_ns serialize_ns flight_ns port_ns return_ns serialize_back_ns flight_back_ns "
        "cxl_response_ns cxl_out_ps path_out_ps path_back_ps cxl_back_ps"
    ).split()
)
"""Fields with a value for reads and one for writes."""
ORDER = (
    "modules ways granularity_b decoder_bytes shared_path cxl_request_ns decode_ns serialize_ns flight_ns port_ns "
    "commit_ns return_ns serialize_back_ns flight_back_ns cxl_response_ns cxl_out_ps path_out_ps path_back_ps "
    "cxl_back_ps hbm_on hbm_sets hbm_ways hbm_sector_lines"
).split()


class TimedDram(ctypes.Structure):
    """``emu_timed_dram``."""

    _fields_ = [(name, _U64) for name in DRAM_FIELDS]


class TimedModel(ctypes.Structure):
    """``emu_timed``."""

    _fields_ = [
        ("struct_bytes", _U64),
        *((name, _U64 * 2 if name in PAIRS else _U64) for name in ORDER),
        ("hbm", TimedDram),
        ("ddr", TimedDram),
    ]


def model(numbers: Mapping[str, int | Sequence[int] | Mapping[str, int]]) -> TimedModel:
    """The C structure from its numbers by name; hbm and ddr are mappings of DRAM_FIELDS. Raises KeyError for a missing
    one."""
    fields: dict[str, Any] = {"struct_bytes": ctypes.sizeof(TimedModel)}
    for name in ORDER:
        value: Any = numbers[name]
        fields[name] = (_U64 * 2)(*value) if name in PAIRS else value
    for name in ("hbm", "ddr"):
        part: Any = numbers[name]
        fields[name] = TimedDram(**{key: part[key] for key in DRAM_FIELDS})
    return TimedModel(**fields)


def run(_machine: Machine, timed: TimedModel) -> State:
    """Run a machine of the RTL port to its end on the model. Raises EmuError."""
    library = load_library()
    library.emu_run_timed.restype = ctypes.c_int
    result = library.emu_run_timed(ctypes.byref(timed))
    if result < 0:
        raise EmuError("emu_run_timed", -result, library.emu_error().decode())
    return State(result)
