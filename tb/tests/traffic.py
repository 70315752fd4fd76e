"""Job traffic: request generators on every host, for bandwidth by port and the speed of the simulation under load.

Each host keeps `outstanding` lines in flight over a footprint that is interleaved over all modules. Data follows from
the address and is checked when it comes back. Bandwidth is counted by the hardware's probes from the first completion
on; the first touch of every line, which misses in HBM, is part of it, so move each line many times for the warm rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib.emu import LINE_BYTES, MachineConfig, Policy, pool_size
from prismem.lib.emu_traffic import Traffic
from prismem.models.frame import ITEMS_MAX
from prismem.models.latency import path_bound_gb_per_s
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register

RATE_TOLERANCE = 0.01  # completions bunch up at the end of a run


class TrafficOptions(JobOptions):
    """Options of traffic."""

    outstanding: int = Field(256, ge=1, le=2048, description="lines in flight a host")
    read_permille: int = Field(1000, ge=0, le=1000, description="share of reads")
    random: bool = Field(False, description="random lines of the footprint instead of one after the other")
    lines: int = Field(4096, ge=64, le=1 << 24, description="footprint of each host in lines")
    requests: int = Field(20_000, ge=1, le=1_000_000_000, description="lines that each host moves")


@register
class TrafficJob(Job):
    """Bandwidth under load."""

    name = "traffic"
    description = "request generators on every host: bandwidth by path, data checked"
    ports = ("rtl", "timed")
    Options = TrafficOptions

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds the footprints of all hosts."""
        options: TrafficOptions = request.options
        span = request.hosts * options.lines * LINE_BYTES
        return request.machine_config(
            pool_bytes=pool_size(span),
            policy=Policy.LAZY,
            outstanding_max=2 * options.outstanding,  # reads and writes have half of the tags each
        )

    def check(self, request: Request) -> None:
        """Nothing is measured without a read or a write."""
        if request.options.requests < request.options.outstanding:
            raise MisuseError(
                f"option requests: {request.options.requests} are fewer than the {request.options.outstanding} kept in "
                "flight; use more requests"
            )

    def prepare(self, ctx: Context) -> None:
        """One generator a host, each on its own lines."""
        options: TrafficOptions = ctx.options
        for host in range(ctx.hosts):
            ctx.machine.traffic_add(
                Traffic(
                    host=host,
                    outstanding=options.outstanding,
                    read_permille=options.read_permille,
                    random=options.random,
                    first_line=host * options.lines,
                    lines=options.lines,
                    requests=options.requests,
                )
            )

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Payload rate of every path between first and last completion, against the bound of frames in its own mix."""
        options: TrafficOptions = ctx.options
        latency = ctx.machine.latency_report()
        paths = []
        for port in latency["ports"]:
            lines, span_ns = port["read_lines"] + port["write_lines"], port["last_ns"] - port["first_ns"]
            # The first completion opens the span, so it does not count.
            rate = (lines - 1) * LINE_BYTES / span_ns if span_ns else 0.0
            burst = 1 if options.random else ITEMS_MAX
            bound = path_bound_gb_per_s(ctx.profile, port["read_lines"] / lines, burst)
            name = {"host": port["host"], "module": port["module"]}
            paths.append(name | {"lines": lines, "gb_s": round(rate, 3), "bound_gb_s": round(bound, 3)})
            if rate > bound * (1 + RATE_TOLERANCE):
                raise CheckFailed(f"path {name} is faster than its frames allow", expected=bound, actual=rate)
        moved = sum(value for _, _, value in ctx.machine.report()["counters"]["port_lines"])
        wanted = ctx.hosts * ctx.options.requests
        if moved != wanted:
            raise CheckFailed("lines are missing at the host ports", component="ports", expected=wanted, actual=moved)
        return {"paths": paths}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A line a path."""
        return "\n".join(
            f"host {p['host']} -> module {p['module']}: {p['lines']:,} lines, "
            f"{p['gb_s']:.2f} of {p['bound_gb_s']:.2f} GB/s"
            for p in metrics["paths"]
        )
