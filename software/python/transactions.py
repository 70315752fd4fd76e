"""Single transactions of a run with the times of their stages (prismem_emu_transactions.h), as a numpy table."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from prismem.lib.emu import EmuError, Machine, load_library

STAGES = (
    "cxl_request nic_decode path_queue serialize flight port_queue media media_return rsp_serialize rsp_flight "
    "cxl_response"
).split()
"""Stages of a transaction in order: stage i lies between boundary i and boundary i + 1."""
ISSUE, NIC_RX, PATH_TX, MOD_RX, MEDIA_DONE, RSP_TX, NIC_RSP, HOST = 0, 1, 3, 5, 7, 8, 10, 11
KINDS = "fill prefetch write_back stream dma_read dma_write traffic_read traffic_write".split()
NEVER = 2**64 - 1
TRANSACTIONS_MAX = 1 << 21

RECORD = np.dtype(
    [
        ("line", np.uint64),
        ("stage_ns", np.uint64, len(STAGES) + 1),
        ("visible_ns", np.uint64),
        *((name, np.uint32) for name in ("host", "module", "tag", "kind")),
    ]
)
"""``emu_transaction``: times in simulated ns, NEVER where nothing was seen; ``line`` is pool offset / 64."""


def record(_machine: Machine, count_max: int) -> None:
    """Keep the first ``count_max`` transactions of the run; before it starts. Raises EmuError."""
    library = load_library()
    library.emu_transactions_record.restype = ctypes.c_int
    library.emu_transactions_record.argtypes = [ctypes.c_uint64]
    result = library.emu_transactions_record(count_max)
    if result < 0:
        raise EmuError("emu_transactions_record", -result, library.emu_error().decode())


def recorded(_machine: Machine) -> tuple[np.ndarray[Any, Any], int]:
    """(transactions in order of completion: array of RECORD, how many more there were than were kept)."""
    library = load_library()
    library.emu_transactions.restype = ctypes.c_uint64
    library.emu_transactions.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint64)]
    place, left_out = ctypes.c_void_p(), ctypes.c_uint64()
    count = library.emu_transactions(ctypes.byref(place), ctypes.byref(left_out))
    if not count:
        return np.zeros(0, RECORD), left_out.value
    assert place.value is not None
    raw = (ctypes.c_char * (count * RECORD.itemsize)).from_address(place.value)
    return np.frombuffer(raw, RECORD).copy(), left_out.value
