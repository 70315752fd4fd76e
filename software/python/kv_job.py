"""Bindings of ``software/jobs/kv_share.h``: the structures of the job and the buffers behind them.

One :class:`KvJob` owns every array that the C programs of the nodes use, so their addresses stay good for the run.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prismem.lib.emu import Machine
from prismem.lib.hosted import node_type
from prismem.lib.structs import FormatOptions, IndexInfo, Stats, as_dict
from prismem.paths import software_library

STEPS = ("turn", "lookup", "reserve", "dma_in", "commit", "signal", "decode_lookup", "dma_out")
"""Names of ``enum kv_step``, in order."""

REQUEST_DTYPE = np.dtype(
    [("hits", "<u4"), ("inserted", "<u4"), ("decoded", "<u4"), ("step_ns", "<u4", (len(STEPS),))],
)


class _NodeResult(c.Structure):
    _fields_ = [
        ("verified_bytes", c.c_uint64),
        ("wrong_bytes", c.c_uint64),
        ("lines_flushed_insert", c.c_uint64),
        ("lines_acquired_insert", c.c_uint64),
        ("lines_flushed_lookup", c.c_uint64),
        ("lines_acquired_lookup", c.c_uint64),
        ("stats", Stats),
    ]


class _Job(c.Structure):
    _fields_ = [
        ("struct_bytes", c.c_uint32),
        ("prefills", c.c_uint32),
        ("decodes", c.c_uint32),
        ("tokens_per_block", c.c_uint32),
        ("pool_path", c.c_char_p),
        ("format", FormatOptions),
        ("requests", c.c_uint64),
        ("first_block", c.c_void_p),
        ("hash_ids", c.c_void_p),
        ("compute_ns", c.c_uint32),
        ("reserved", c.c_uint32),
        ("request_results", c.c_void_p),
        ("node_results", c.c_void_p),
        ("index", IndexInfo),
        ("stop_manager", c.c_int32),
        ("nodes_done", c.c_int32),
    ]


_Node = node_type(_Job)


@dataclass(frozen=True)
class NodeTotals:
    """Sums over all nodes; lines are 64-byte lines."""

    verified_bytes: int
    wrong_bytes: int
    lines_flushed_insert: int
    lines_acquired_insert: int
    lines_flushed_lookup: int
    lines_acquired_lookup: int
    stats: dict[str, int]


class KvJob:
    """The job's structures in memory that C can use.

    Args:
        requests: block ids of each request, in trace order.
        prefills: prefill nodes.
        decodes: decode nodes.
        format_options: layout of the pool.
        tokens_per_block: token ids hashed into one block digest.
        compute_ns: simulated time to compute one missing block.
        pool_path: what the nodes open.
    """

    def __init__(
        self,
        requests: Sequence[Sequence[int]],
        *,
        prefills: int,
        decodes: int,
        format_options: FormatOptions,
        tokens_per_block: int,
        compute_ns: int,
        pool_path: str,
    ) -> None:
        lengths = np.array([len(r) for r in requests], dtype=np.uint64)
        self._first = np.concatenate([np.zeros(1, np.uint64), np.cumsum(lengths, dtype=np.uint64)])
        self._ids = np.array([b for r in requests for b in r], dtype=np.uint64)
        self.requests: npt.NDArray[np.void] = np.zeros(len(requests), dtype=REQUEST_DTYPE)
        self._nodes = (_NodeResult * (prefills + decodes))()
        self._library = c.CDLL(str(software_library("kv_share_inst")), mode=c.RTLD_GLOBAL)
        self._job = _Job(
            struct_bytes=c.sizeof(_Job),
            prefills=prefills,
            decodes=decodes,
            tokens_per_block=tokens_per_block,
            pool_path=pool_path.encode(),
            format=format_options,
            requests=len(requests),
            first_block=self._first.ctypes.data,
            hash_ids=self._ids.ctypes.data,
            compute_ns=compute_ns,
            request_results=self.requests.ctypes.data,
            node_results=c.addressof(self._nodes),
        )
        self._args = [_Node(c.pointer(self._job), node) for node in range(prefills + decodes + 1)]

    def spawn(self, machine: Machine, host_of: Sequence[int]) -> None:
        """Add the job's threads. ``host_of`` names the host of each node; the manager joins node 0's."""
        prefills = self._job.prefills
        for node, host in enumerate(host_of):
            role = "prefill" if node < prefills else "decode"
            machine.spawn(host, f"{role}{node}", self._entry(f"kv_{role}"), c.addressof(self._args[node]))
        manager = c.addressof(self._args[len(host_of)])
        machine.spawn(host_of[0], "manager", self._entry("kv_manager"), manager, daemon=True)

    def _entry(self, name: str) -> int:
        address = c.cast(getattr(self._library, name), c.c_void_p).value
        assert address is not None
        return address

    @property
    def index(self) -> dict[str, int]:
        """State of the prefix index at the end (``pm_index_info``)."""
        return as_dict(self._job.index)

    def totals(self) -> NodeTotals:
        """Sums over the nodes."""
        names = [field[0] for field in _NodeResult._fields_ if field[0] != "stats"]
        sums = {name: sum(int(getattr(n, name)) for n in self._nodes) for name in names}
        stats = {field[0]: sum(int(getattr(n.stats, field[0])) for n in self._nodes) for field in Stats._fields_}
        return NodeTotals(**sums, stats=stats)
