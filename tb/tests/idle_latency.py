"""Job idle_latency: single reads and writes on an idle machine, by stage, against the formula of the profile.

The hardware's probes stamp each stage of each transaction in cycles; the parts are the medians of those stamps.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from prismem.lib.emu import POOL_PATH, MachineConfig, pool_size
from prismem.models.latency import idle_parts_ns, idle_stages_ns
from prismem.paths import software_library
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register

PARTS = ("request", "memory", "response")
KINDS: tuple[Literal["write", "read"], ...] = ("write", "read")
TOLERANCE_NS = 1


class _Job(ctypes.Structure):
    """``idle_latency_job`` of software/jobs/idle_latency.h."""

    _fields_ = [
        ("pool_path", ctypes.c_char_p),
        ("lines", ctypes.c_uint32),
        ("stride_bytes", ctypes.c_uint32),
        ("gap_ns", ctypes.c_uint32),
        ("wrong_lines", ctypes.c_uint32),
    ]


class IdleOptions(JobOptions):
    """Options of idle_latency."""

    lines: int = Field(64, ge=1, le=65536, description="lines visited")
    stride: int = Field(4160, ge=64, le=1 << 20, multiple_of=64, description="bytes between them")
    gap_ns: int = Field(500, ge=0, lt=1_000_000_000, description="idle time before each access")


@register
class IdleLatency(Job):
    """Latency of one line at a time."""

    name = "idle_latency"
    description = "single reads and writes of host 0, all else idle, by stage, against the formula of the profile"
    ports = ("rtl", "timed")
    hosts = 1
    modules = 1
    Options = IdleOptions

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds the lines."""
        span = request.options.lines * request.options.stride
        # Nothing but the program's own accesses: no spontaneous cache events, no jitter.
        return request.machine_config(pool_bytes=pool_size(span), event_every=0)

    def prepare(self, ctx: Context) -> None:
        """One thread on host 0."""
        options: IdleOptions = ctx.options
        self._job = _Job(POOL_PATH.encode(), options.lines, options.stride, options.gap_ns, 0)
        library = ctypes.CDLL(str(software_library("idle_latency_inst")), mode=ctypes.RTLD_GLOBAL)
        ctx.machine.spawn(0, "latency", library.idle_latency, self._job)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Compare each part with the formula."""
        latency = ctx.machine.latency_report()
        idle: dict[str, Any] = {"stages_ns": {}, "formula_ns": {}, "formula_stages_ns": {}}
        for kind in KINDS:
            measured = latency[kind]
            idle[f"{kind}_ns"] = measured["total_ns"]["p50"]
            idle[f"{kind}_parts_ns"] = {part: measured["parts_ns"][part]["p50"] for part in PARTS}
            idle["stages_ns"][kind] = {stage: figures["p50"] for stage, figures in measured["stages_ns"].items()}
            idle["formula_ns"][kind] = idle_parts_ns(ctx.profile, kind)
            idle["formula_stages_ns"][kind] = idle_stages_ns(ctx.profile, kind)
            for part, expected in idle["formula_ns"][kind].items():
                actual = idle[f"{kind}_parts_ns"][part]
                if abs(actual - expected) > TOLERANCE_NS:
                    raise CheckFailed(
                        f"idle {kind}: {part} part differs from the formula of profile {ctx.profile.name}",
                        component="RTL",
                        expected=f"{expected} ns",
                        actual=f"{actual} ns",
                    )
        return {"idle": idle}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """Two sums and their stages, as the probes saw them and as the formula has them."""
        idle = metrics["idle"]
        lines = []
        for kind in KINDS:
            parts = idle[f"{kind}_parts_ns"]
            lines.append(
                f"idle {kind}: {idle[f'{kind}_ns']:g} ns = {parts['request']:g} CXL request + {parts['memory']:g} "
                f"memory + {parts['response']:g} CXL response (measured on the RTL, median)"
            )
            for said, stages in (("measured", idle["stages_ns"][kind]), ("formula", idle["formula_stages_ns"][kind])):
                lines.append(f"  {said}: " + ", ".join(f"{stage} {ns:g}" for stage, ns in stages.items()))
        return "\n".join(lines)
