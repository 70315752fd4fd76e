"""Job loaded_latency: latency against offered load, from light load to more than the machine carries.

Three curves: reads alone, writes alone, and a mix. Arrivals are random (exponential times between them) and a request's
latency counts from its arrival, so a host that falls behind shows it. Goals (arXiv 2607.27187): at the stated load the
median write takes 210 to 250 ns, the median read 275 to 290 ns, and 99.9 % of the reads at most 320 ns. Each curve
rises, and has its knee before 100 %.

The mix is held to the same. Its reads are the hardest: HBM refreshes a bank 3 % of the time, and reads of that bank go
to DDR5, where every write of the write-through cache holds a bank for its recovery, precharge and activate. Their tail
holds because DDR5 refreshes the same bank half an interval away. The report says up to which load 99.9 % of the mix's
reads stay within 320 ns, and `mem_late_reads` what the late ones waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pydantic import Field

from prismem.lib.emu import LINE_BYTES
from prismem.models.flit import packing_bound_gb_per_s
from prismem.models.latency import path_bound_gb_per_s
from prismem.tb import limits, traffic
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, register
from prismem.tb.traffic import HostFigures, Load

POINTS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 95, 97, 100, 105)  # percent of the bound
WRITE_NS, READ_NS, READ_TAIL_NS = (210, 250), (275, 290), 320
KNEE = 1.1  # mean latency over that at the lightest load
NOISE_NS = 3
NEARLY_ALL = 97  # percent; always measured: the knee lies before it
LINES = 2048  # footprint of a host


class LoadedLatencyOptions(JobOptions):
    """Options of loaded_latency."""

    stated_percent: int = Field(50, ge=5, le=95, description="load at which the printed ranges have to hold")
    mix_permille: int = Field(667, ge=1, le=999, description="share of reads in the mix")
    measure_ns: int = Field(20_000, ge=2000, le=10_000_000, description="counted time of each load")
    warm_ns: int = Field(10_000, ge=0, le=10_000_000, description="time before it, beyond one pass over the footprint")
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
        """A phase a load and curve."""
        options: LoadedLatencyOptions = ctx.options
        self._shares = {"read": 1000, "write": 0, "mix": options.mix_permille}
        last = len(POINTS) - 1
        chosen = {POINTS[round(i * last / (options.points - 1))] for i in range(options.points)}
        self._percents = sorted(chosen | {options.stated_percent, NEARLY_ALL})
        self._bounds: dict[str, float] = {}
        self._loads = []
        for curve, permille in self._shares.items():
            paths = ctx.modules * path_bound_gb_per_s(ctx.profile, permille / 1000)
            bound = min(packing_bound_gb_per_s(ctx.profile, permille / 1000), paths)
            self._bounds[curve] = bound
            self._loads += [
                Load(
                    name=f"{curve} at {percent} %",
                    read_permille=permille,
                    outstanding=1024,
                    lines=LINES,
                    offered_gb_s=bound * percent / 100,
                    poisson=True,
                    measure_ns=options.measure_ns,
                    warm_ns=options.warm_ns + _pass_ns(bound * percent / 100),
                )
                for percent in self._percents
            ]
        traffic.post(ctx.machine, ctx, self._loads, ctx.seed)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """The curves and what they have to be."""
        options: LoadedLatencyOptions = ctx.options
        checks = traffic.Checks()
        phases = iter(limits.phases(ctx, self._loads))
        curves: dict[str, Any] = {}
        before = None
        for curve in self._shares:
            points = []
            for percent in self._percents:
                load, reading, figures, limit = next(phases)
                checks.run(reading.check_clean, load.name)
                points.append(_point(percent, load, figures, limit) | {"late": limits.late_reads(before, reading)})
                before = reading
            knee = next((p["percent"] for p in points if p["mean_ns"] > KNEE * points[0]["mean_ns"]), None)
            checks.run(_rises, curve, points)
            checks.run(_has_knee, curve, knee)
            curves[curve] = {"bound_gb_s": round(self._bounds[curve], 3), "knee_percent": knee, "points": points}
        at = self._percents.index(options.stated_percent)
        stated = {name: curve["points"][at] for name, curve in curves.items()}
        checks.run(_printed, "write median", stated["write"]["write"]["p50_ns"], *WRITE_NS)
        checks.run(_printed, "read median", stated["read"]["read"]["p50_ns"], *READ_NS)
        checks.run(_printed, "P99.9 of reads", stated["read"]["read"]["p999_ns"], 0, READ_TAIL_NS)
        checks.run(_printed, "write median of the mix", stated["mix"]["write"]["p50_ns"], *WRITE_NS)
        checks.run(_printed, "read median of the mix", stated["mix"]["read"]["p50_ns"], *READ_NS)
        checks.run(_printed, "P99.9 of the mix's reads", stated["mix"]["read"]["p999_ns"], 0, READ_TAIL_NS)
        metrics = {
            "loaded": {
                "stated_percent": options.stated_percent,
                "mix_tail_percent": _within_tail(curves["mix"]["points"]),
                "stated": stated,
                "curves": curves,
            }
        }
        checks.done(self.report(metrics))
        return metrics

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A line a load."""
        lines = ["load    offered  carried GB/s a host   read P50 / P99 / P99.9 / max ns     write, the same"]
        for name, curve in metrics["loaded"]["curves"].items():
            lines.append(
                f"{name}: 100 % is {curve['bound_gb_s']:.2f} GB/s a host (computed); "
                f"mean latency {KNEE:.0%} of that of light load from {curve['knee_percent']} % on (measured)"
            )
            for point in curve["points"]:
                tails = "   ".join(
                    f"{' / '.join(str(point[kind][key]) for key in ('p50_ns', 'p99_ns', 'p999_ns', 'max_ns')):30}"
                    for kind in traffic.KINDS
                )
                rates = f"{point['offered_gb_s']:8.2f} {point['carried_gb_s']:8.2f}"
                lines.append(f"{point['percent']:3} %  {rates}             {tails}")
        loaded = metrics["loaded"]
        late = ", ".join(f"{cause} {count:,}" for cause, count in loaded["stated"]["mix"]["late"].items())
        lines.append(f"stated load: {loaded['stated_percent']} %; there the mix's late reads at the memory: {late}")
        lines.append(
            f"99.9 % of the mix's reads within {READ_TAIL_NS} ns up to {loaded['mix_tail_percent']} % (measured)"
        )
        return "\n".join(lines)


def _pass_ns(offered_gb_s: float) -> int:
    """Time in which a host visits its footprint once, and a fifth more: arrivals are random."""
    return round(1.2 * LINES * LINE_BYTES / offered_gb_s)


def _point(percent: int, load: Load, figures: list[HostFigures], limit: limits.Limit) -> dict[str, Any]:
    read, write = traffic.combined(figures, 0), traffic.combined(figures, 1)
    total = read.mean() * read.count + write.mean() * write.count
    return {
        "percent": percent,
        "offered_gb_s": round(load.offered_gb_s, 3),
        "carried_gb_s": round(sum(host.moved_gb_s() for host in figures) / len(figures), 3),
        "read": read.summary(),
        "write": write.summary(),
        "quantiles_ns": [read.quantiles(), write.quantiles()],
        "mean_ns": round(total / (read.count + write.count), 2),
        "limit": limit.resource,
    }


def _within_tail(points: list[dict[str, Any]]) -> int | None:
    """Highest load up to which 99.9 % of the reads stay within the printed tail; None: not even the lightest."""
    found = None
    for point in points:
        if point["read"]["p999_ns"] > READ_TAIL_NS:
            break
        found = point["percent"]
    return found


def _printed(what: str, value: int, low: int, high: int) -> None:
    """Raise CheckFailed unless a printed range holds."""
    if not low <= value <= high:
        raise CheckFailed(
            f"{what} at the stated load", component="RTL", expected=f"{low}..{high} ns", actual=f"{value} ns"
        )


def _rises(curve: str, points: list[dict[str, Any]]) -> None:
    """Raise CheckFailed if more load is faster, beyond noise."""
    for before, after in pairwise(points):
        if after["mean_ns"] < before["mean_ns"] - NOISE_NS:
            raise CheckFailed(
                f"{curve}: the mean latency falls from {before['percent']} % to {after['percent']} % load",
                component="RTL",
                expected=f"at least {before['mean_ns'] - NOISE_NS:.1f} ns",
                actual=f"{after['mean_ns']:.1f} ns",
            )


def _has_knee(curve: str, percent: int | None) -> None:
    if percent is None or percent >= 100:
        raise CheckFailed(f"{curve}: no knee before 100 % load", expected="below 100 %", actual=percent)
