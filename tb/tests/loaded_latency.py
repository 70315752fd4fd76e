"""Job loaded_latency: latency of reads and writes against offered load, up to more than the machine carries.

Arrivals are random (exponential times between them) and a request's latency counts from its arrival, so a host that
falls behind shows it. Goals (arXiv 2607.27187): at the stated load the median write takes 210 to 250 ns, the median
read 275 to 290 ns, and 99.9 % of the reads at most 320 ns. The curve rises, and has its knee before 100 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pydantic import Field

from prismem.models.flit import packing_bound_gb_per_s
from prismem.models.latency import path_bound_gb_per_s
from prismem.tb import limits, traffic
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, register
from prismem.tb.traffic import HostFigures, Load

POINTS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 95, 97, 100, 105)  # percent of the bound
WRITE_NS, READ_NS, READ_TAIL_NS = (210, 250), (275, 290), 320
KNEE = 1.1  # mean latency over that at the lightest load
NOISE_NS = 3


class LoadedLatencyOptions(JobOptions):
    """Options of loaded_latency."""

    stated_percent: int = Field(50, ge=5, le=95, description="load at which the printed ranges have to hold")
    read_permille: int = Field(667, ge=1, le=999, description="share of reads")
    measure_ns: int = Field(20_000, ge=2000, le=10_000_000, description="counted time of each load")
    warm_ns: int = Field(10_000, ge=0, le=10_000_000, description="time before it")
    points: int = Field(len(POINTS), ge=2, le=len(POINTS), description="loads: all, or so many of them, evenly taken")


@register
class LoadedLatency(Job):
    """Latency against load."""

    name = "loaded_latency"
    description = "latency of reads and writes against offered load: median, tail, knee; every byte checked"
    ports = ("rtl",)
    hosts = 4
    modules = 4
    probes = False
    Options = LoadedLatencyOptions

    def prepare(self, ctx: Context) -> None:
        """A phase a load."""
        options: LoadedLatencyOptions = ctx.options
        reads = options.read_permille / 1000
        paths = ctx.modules * path_bound_gb_per_s(ctx.profile, reads)
        self._bound = min(packing_bound_gb_per_s(ctx.profile, reads), paths)
        last = len(POINTS) - 1
        chosen = {POINTS[round(i * last / (options.points - 1))] for i in range(options.points)}
        self._percents = sorted(chosen | {options.stated_percent})
        self._loads = [
            Load(
                name=f"{percent} %",
                read_permille=options.read_permille,
                outstanding=1024,
                lines=2048,
                offered_gb_s=self._bound * percent / 100,
                poisson=True,
                measure_ns=options.measure_ns,
                warm_ns=options.warm_ns,
            )
            for percent in self._percents
        ]
        traffic.post(ctx.machine, ctx, self._loads, ctx.seed)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """The curve and what it has to be."""
        options: LoadedLatencyOptions = ctx.options
        checks = traffic.Checks()
        curve: list[dict[str, Any]] = []
        for percent, (load, reading, figures, limit) in zip(
            self._percents, limits.phases(ctx, self._loads), strict=True
        ):
            checks.run(reading.check_clean, load.name)
            curve.append(_point(percent, load, figures, limit))
        stated = next(point for point in curve if point["percent"] == options.stated_percent)
        checks.run(_printed, stated)
        for kind in traffic.KINDS:
            checks.run(_rises, kind, curve)
        knee = next((p["percent"] for p in curve if p["read_mean_ns"] > KNEE * curve[0]["read_mean_ns"]), None)
        checks.run(_has_knee, knee)
        metrics = {
            "loaded": {"bound_gb_s": round(self._bound, 3), "stated": stated, "knee_percent": knee, "curve": curve}
        }
        checks.done(self.report(metrics))
        return metrics

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A line a load."""
        loaded = metrics["loaded"]
        lines = ["load    offered  carried GB/s a host   read P50 / P99 / P99.9 / max ns     write, the same"]
        for point in loaded["curve"]:
            tails = "   ".join(
                f"{' / '.join(str(point[kind][key]) for key in ('p50_ns', 'p99_ns', 'p999_ns', 'max_ns')):30}"
                for kind in traffic.KINDS
            )
            lines.append(
                f"{point['percent']:3} %  {point['offered_gb_s']:8.2f} {point['carried_gb_s']:8.2f}             {tails}"
            )
        lines.append(
            f"100 % is {loaded['bound_gb_s']:.2f} GB/s a host (computed); stated load {loaded['stated']['percent']} %; "
            f"mean read latency is {KNEE:.0%} of the lightest from {loaded['knee_percent']} % on (measured)"
        )
        return "\n".join(lines)


def _point(percent: int, load: Load, figures: list[HostFigures], limit: limits.Limit) -> dict[str, Any]:
    read, write = traffic.combined(figures, 0), traffic.combined(figures, 1)
    return {
        "percent": percent,
        "offered_gb_s": round(load.offered_gb_s, 3),
        "carried_gb_s": round(sum(host.moved_gb_s() for host in figures) / len(figures), 3),
        "read": read.summary(),
        "write": write.summary(),
        "read_mean_ns": round(read.mean(), 2),
        "write_mean_ns": round(write.mean(), 2),
        "limit": limit.resource,
    }


def _printed(point: Mapping[str, Any]) -> None:
    """Raise CheckFailed unless the printed ranges hold."""
    found = {
        "write median": (point["write"]["p50_ns"], *WRITE_NS),
        "read median": (point["read"]["p50_ns"], *READ_NS),
        "P99.9 of reads": (point["read"]["p999_ns"], 0, READ_TAIL_NS),
    }
    for what, (value, low, high) in found.items():
        if not low <= value <= high:
            raise CheckFailed(
                f"{point['percent']} % load: {what}",
                component="RTL",
                expected=f"{low}..{high} ns",
                actual=f"{value} ns",
            )


def _rises(kind: str, curve: list[dict[str, Any]]) -> None:
    """Raise CheckFailed if more load is faster, beyond noise."""
    for before, after in pairwise(curve):
        mean, earlier = after[f"{kind}_mean_ns"], before[f"{kind}_mean_ns"]
        if mean < earlier - NOISE_NS:
            raise CheckFailed(
                f"mean {kind} latency falls from {before['percent']} % to {after['percent']} % load",
                component="RTL",
                expected=f"at least {earlier - NOISE_NS:.1f} ns",
                actual=f"{mean:.1f} ns",
            )


def _has_knee(percent: int | None) -> None:
    if percent is None or percent >= 100:
        raise CheckFailed("the latency curve has no knee before 100 % load", expected="below 100 %", actual=percent)
