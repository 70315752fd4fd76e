"""Job flush_latency: a line written back as software sees it, and when the memory module has it.

Four moments of each write-back, in simulated ns from the one at which the instruction starts:

    returned    the instruction has retired: CLFLUSH, CLFLUSHOPT and CLWB do not wait for the line
    visible     the module has applied the write: every host that reads the line from now on gets it
    fenced      MFENCE has returned: the completion is back at the host

The window is the time for which software has gone on although no other host could see the line: from `returned`, and
with posted completion (`module.completion = 1`) even from `fenced`, to `visible`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from prismem.lib import transactions
from prismem.lib.emu import POOL_PATH, MachineConfig, Policy, pool_size
from prismem.paths import software_library
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register

METHODS = ("clflush", "clflushopt", "clwb")
TIMES = np.dtype([("start_ns", np.uint64), ("returned_ns", np.uint64), ("fenced_ns", np.uint64)])
WRITE_BACK = transactions.KINDS.index("write_back")


class _Job(ctypes.Structure):
    """``flush_latency_job`` of software/jobs/flush_latency.h."""

    _fields_ = [
        ("pool_path", ctypes.c_char_p),
        *((name, ctypes.c_uint32) for name in ("lines", "stride_bytes", "gap_ns", "reserved")),
        ("times", ctypes.c_void_p),
    ]


class FlushOptions(JobOptions):
    """Options of flush_latency."""

    lines: int = Field(32, ge=1, le=4096, description="lines written back by each instruction")
    stride: int = Field(4160, ge=64, le=1 << 20, multiple_of=64, description="bytes between them")
    gap_ns: int = Field(2000, ge=1000, lt=1_000_000_000, description="idle time before each")


@register
class FlushLatency(Job):
    """Write-backs of one line at a time."""

    name = "flush_latency"
    description = "one line written back: instruction returned, fence returned, visible at the module, and the window"
    ports = ("rtl", "timed")
    hosts = 1
    modules = 1
    records_transactions = True
    Options = FlushOptions

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds the lines; nothing but the program's own accesses."""
        span = request.options.lines * request.options.stride
        return request.machine_config(pool_bytes=pool_size(span), event_every=0, policy=Policy.LAZY)

    def prepare(self, ctx: Context) -> None:
        """One thread on host 0."""
        options: FlushOptions = ctx.options
        self._times = np.zeros((len(METHODS), options.lines), TIMES)
        pointer = self._times.ctypes.data
        self._job = _Job(POOL_PATH.encode(), options.lines, options.stride, options.gap_ns, 0, pointer)
        library = ctypes.CDLL(str(software_library("flush_latency_inst")), mode=ctypes.RTLD_GLOBAL)
        ctx.machine.spawn(0, "flush", library.flush_latency, self._job)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Medians of each moment; every write-back has exactly one transaction."""
        options: FlushOptions = ctx.options
        table, _ = transactions.recorded(ctx.machine)
        written = table[table["kind"] == WRITE_BACK]
        order = np.lexsort((written["stage_ns"][:, 0], written["line"]))
        wanted = len(METHODS) * options.lines
        if len(written) != wanted:
            raise CheckFailed("write-backs are missing, or too many", expected=wanted, actual=len(written))
        # Lines ascend with i, and of one line the methods follow each other.
        visible_ns = written["visible_ns"][order].reshape(options.lines, len(METHODS)).T
        if (visible_ns == transactions.NEVER).any():
            raise CheckFailed(
                "a write-back never became visible; with a posted_time as long as this, raise option gap_ns",
                component="memory module",
                expected="visible before the run ends",
                actual=f"{int((visible_ns == transactions.NEVER).sum())} of {wanted} are not",
            )
        posted = ctx.profile.module.completion.canonical == 1 and ctx.port == "rtl"
        return {"flush": {"posted": posted, "methods": _moments(self._times, visible_ns)}}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A line an instruction."""
        flush = metrics["flush"]
        lines = [f"completion {'posted' if flush['posted'] else 'when visible'}; medians in ns from the instruction on"]
        for name, moments in flush["methods"].items():
            lines.append(
                f"{name:10} returned {moments['returned_ns']:g}, visible at the module {moments['visible_ns']:g}, "
                f"fence returned {moments['fenced_ns']:g}; window {moments['window_ns']:g}, behind the fence "
                f"{moments['window_behind_fence_ns']:g}"
            )
        return "\n".join(lines)


def _moments(times: np.ndarray[Any, Any], visible_ns: np.ndarray[Any, Any]) -> dict[str, dict[str, float]]:
    found = {}
    for i, name in enumerate(METHODS):
        start = times[i]["start_ns"].astype(np.int64)
        visible = visible_ns[i].astype(np.int64)
        ends: Sequence[tuple[str, np.ndarray[Any, Any]]] = (
            ("returned_ns", times[i]["returned_ns"].astype(np.int64) - start),
            ("visible_ns", visible - start),
            ("fenced_ns", times[i]["fenced_ns"].astype(np.int64) - start),
            ("window_ns", visible - times[i]["returned_ns"].astype(np.int64)),
            ("window_behind_fence_ns", np.maximum(0, visible - times[i]["fenced_ns"].astype(np.int64))),
        )
        found[name] = {key: float(np.median(value)) for key, value in ends}
    return found
