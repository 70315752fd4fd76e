"""Job engines: one phase of the bench's traffic engines on every host, by options; every byte checked.

The bench's engines, not the emulator, make the requests: for correctness under any pattern, for tests of faults, and
for the speed of the simulation under load.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib.emu import LINE_BYTES
from prismem.lib.emu_traffic import Engine
from prismem.tb import traffic
from prismem.tb.job import Context, Job, JobOptions, Request, register

EDGES = 50  # counted lines over those in flight, from which on the edges of the window do not show
PATTERNS = {pattern.name.lower(): pattern for pattern in traffic.Pattern}


class EnginesOptions(JobOptions):
    """Options of engines."""

    pattern: str = Field("random", description="linear, random or strided")
    request_bytes: int = Field(64, ge=32, le=1024, description="size of a request: a power of two")
    read_permille: int = Field(1000, ge=0, le=1000, description="share of reads")
    outstanding: int = Field(256, ge=1, le=traffic.OUTSTANDING_MAX, description="lines in flight a host")
    lines: int = Field(4096, ge=2, le=1 << 35, description="footprint of each host, rounded up to a power of two")
    first_line: int = Field(0, ge=0, le=1 << 40, description="line of the pool at which the first footprint begins")
    stride: int = Field(1, ge=1, le=1 << 30, description="strided: requests from one to the next, a power of two")
    hot_permille: int = Field(0, ge=0, le=1000, description="share of requests to a footprint on one module")
    hot_module: int = Field(0, ge=0, le=15, description="that module")
    load_mb_s: int = Field(0, ge=0, le=1_000_000, description="offered load a host; 0: closed loop")
    poisson: bool = Field(False, description="exponential times between arrivals instead of even ones")
    requests: int = Field(20_000, ge=1, le=1_000_000_000, description="requests of each host")
    warmup: int = Field(0, ge=0, le=1_000_000_000, description="of these, not counted")
    start: int = Field(0, ge=0, le=1 << 40, description="request of the footprint with which each host starts")


@register
class EnginesJob(Job):
    """Engines on every host."""

    name = "engines"
    description = "traffic engines in the bench on every host: bandwidth, latency, lines in flight, every byte checked"
    ports = ("rtl",)
    probes = False
    Options = EnginesOptions

    def check(self, request: Request) -> None:
        """Patterns, powers of two."""
        options: EnginesOptions = request.options
        options.one_of("pattern", PATTERNS)
        for name in ("request_bytes", "stride"):
            value = getattr(options, name)
            if value & (value - 1):
                raise MisuseError(f"option {name}: {value} is no power of two; choose one")
        if options.hot_permille and options.hot_module >= request.modules:
            raise MisuseError(f"option hot_module: {options.hot_module} is outside 0..{request.modules - 1}")
        if options.outstanding * LINE_BYTES < options.request_bytes:
            raise MisuseError(f"option outstanding: {options.outstanding} lines do not hold one request; use more")

    def prepare(self, ctx: Context) -> None:
        """One engine a host, footprints one behind the other."""
        options: EnginesOptions = ctx.options
        log2 = traffic.footprint_log2(options.lines, options.outstanding)
        base = ctx.profile.hdm.base.canonical // LINE_BYTES + options.first_line
        share = -(-ctx.hosts << log2) // ctx.modules
        interval = traffic.interval_q16(options.request_bytes, options.load_mb_s / 1000) if options.load_mb_s else 0
        for host in range(ctx.hosts):
            ctx.machine.engine_add(
                Engine(
                    host=host,
                    pattern=PATTERNS[options.pattern],
                    request_bytes=options.request_bytes,
                    read_permille=options.read_permille,
                    outstanding=options.outstanding,
                    poisson=options.poisson,
                    stride_log2=options.stride.bit_length() - 1,
                    hot_permille=options.hot_permille,
                    hot_module=options.hot_module,
                    lines_log2=log2,
                    interval_q16=interval,
                    first_line=base + (host << log2),
                    hot_line=(1 << 20) + share + (host << log2),
                    requests=options.requests,
                    warmup=options.warmup,
                    start=options.start,
                    seed=ctx.seed,
                )
            )

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Every line answered once with the right bytes."""
        (reading,) = traffic.readings(ctx)
        reading.check_clean("engines")
        figures = reading.hosts()
        traffic.check_little("engines", [host for host in figures if _lines(host) >= EDGES * ctx.options.outstanding])
        return {
            "engines": {
                "hosts_gb_s": [round(host.moved_gb_s(), 3) for host in figures],
                "useful_gb_s": [round(host.useful_gb_s(), 3) for host in figures],
                "in_flight": [round(host.in_flight(), 2) for host in figures],
                "little": [round(host.little(), 4) for host in figures],
                "requests": [sum(host.requests) for host in figures],
                "issued_lines": sum(reading.of("engine_issued_lines").values()),
                "modules": [[sum(k.get(m, 0) for k in host.lines) for m in range(ctx.modules)] for host in figures],
                "read": traffic.combined(figures, 0).summary(),
                "write": traffic.combined(figures, 1).summary(),
                "errors": reading.errors(),
            }
        }

    def report(self, metrics: Mapping[str, Any]) -> str:
        """Bandwidth a host, latencies, speed."""
        engines, run = metrics["engines"], metrics["run"]
        lines = [
            f"{' '.join(f'{rate:.2f}' for rate in engines['hosts_gb_s'])} GB/s by host, "
            f"{' '.join(f'{rate:.2f}' for rate in engines['useful_gb_s'])} useful"
        ]
        for kind in traffic.KINDS:
            if engines[kind]["count"]:
                lines.append(f"{kind}: " + ", ".join(f"{key} {value:,}" for key, value in engines[kind].items()))
        lines.append(f"{run['cycles']:,} cycles at {run['cycles_per_s']:,}/s")
        return "\n".join(lines)


def _lines(host: traffic.HostFigures) -> int:
    return sum(count for kind in host.lines for count in kind.values())
