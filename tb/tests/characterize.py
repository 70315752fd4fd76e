"""Job characterize: a set of loads on the traffic engines, one phase a load; what was carried, how late, what limited.

Each set varies one thing and keeps the rest: size of requests, walk, mix, lines in flight, hosts, footprint, load.
Sets are data (`SETS`); the report (`prismem report`) draws them. Every byte is checked, Little's law in each phase.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from prismem.lib.emu import LINE_BYTES
from prismem.models.latency import idle_ns, path_bound_gb_per_s, window_bound_gb_per_s
from prismem.models.profile_tables import HBM_OFF
from prismem.tb import limits, traffic
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register
from prismem.tb.traffic import HostFigures, Load, Pattern, Reading

SIZES_B = (32, 64, 128, 256, 512, 1024)
MIXES_PERMILLE = (1000, 750, 740, 667, 500, 0)
IN_FLIGHT = (1, 2, 4, 8, 16, 32, 64, 96, 104, 112, 120, 128, 192, 256)
FOOTPRINT_LINES = (1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14)
OFFERED_GB_S = (0.5, 1, 2, 4, 8, 12, 16, 20, 24)  # a host
HOSTS = (1, 2, 4, 8, 16)
EDGES = 50  # counted lines over those in flight, from which on the edges of the window do not show
FLOOR_SLACK_NS = 4  # ends of flits and frames that a line shares with others
HIT_SLACK = 1.5  # passes over a footprint before counting, in case arrivals bunch


def _sizes() -> list[Load]:
    linear = [Load(name=f"read {b} B linear", pattern=Pattern.LINEAR, request_bytes=b) for b in SIZES_B]
    scattered = [Load(name=f"read {b} B random", request_bytes=b) for b in SIZES_B]
    written = [
        Load(name=f"write {b} B linear", pattern=Pattern.LINEAR, request_bytes=b, read_permille=0) for b in SIZES_B[1:]
    ]
    return linear + scattered + written


def _patterns() -> list[Load]:
    return [
        Load(name="linear", pattern=Pattern.LINEAR),
        Load(name="random", pattern=Pattern.RANDOM),
        Load(name="strided 4 KiB", pattern=Pattern.STRIDED, stride_log2=6),
        Load(name="hot spot 25 %", hot_permille=250),
        Load(name="hot spot 50 %", hot_permille=500),
    ]


SETS: dict[str, list[Load]] = {
    "sizes": _sizes(),
    "patterns": _patterns(),
    "mixes": [Load(name=f"{permille / 10:g} % reads", read_permille=permille) for permille in MIXES_PERMILLE],
    "in_flight": [
        Load(name=f"{lines} lines in flight", outstanding=lines, lines=min(4096, max(256, 32 * lines)))
        for lines in IN_FLIGHT
    ],
    "hosts": [Load(name=f"{hosts} hosts", hosts=hosts) for hosts in HOSTS],
    "footprints": [Load(name=f"{lines} lines a host", lines=lines) for lines in FOOTPRINT_LINES],
    "offered": [Load(name=f"{rate:g} GB/s offered", offered_gb_s=rate, poisson=True) for rate in OFFERED_GB_S],
    "single": [Load(name="read", outstanding=1024)],
}
# What a set says itself; the rest comes from the options.
VARIED = {
    "sizes": {"read_permille"},
    "mixes": {"read_permille"},
    "in_flight": {"outstanding", "lines"},  # a footprint is visited once before: few lines in flight take their time
    "single": {"outstanding"},
    "footprints": {"lines"},
}


class CharacterizeOptions(JobOptions):
    """Options of characterize."""

    set: str = Field("sizes", description=f"loads: {', '.join(SETS)}")
    measure_ns: int = Field(8_000, ge=1000, le=10_000_000, description="counted time of each load")
    warm_ns: int = Field(12_000, ge=0, le=10_000_000, description="time before it")
    outstanding: int = Field(256, ge=16, le=1024, description="lines in flight a host, where the set does not say")
    lines: int = Field(4096, ge=64, le=1 << 24, description="footprint a host, where the set does not say")
    read_permille: int = Field(1000, ge=0, le=1000, description="share of reads, where the set does not say")


@register
class Characterize(Job):
    """One sweep."""

    name = "characterize"
    description = "a sweep of loads: size, walk, mix, lines in flight, hosts, footprint or offered load; bytes checked"
    ports = ("rtl",)
    probes = False
    Options = CharacterizeOptions

    def check(self, request: Request) -> None:
        """Known set that fits the machine."""
        request.options.one_of("set", SETS)

    def loads(self, request: Request) -> list[Load]:
        """The loads of the set, with the options of this run."""
        options: CharacterizeOptions = request.options
        chosen = [load for load in SETS[options.set] if load.hosts <= request.hosts]
        common: dict[str, Any] = {"measure_ns": options.measure_ns, "warm_ns": options.warm_ns}
        for key in {"outstanding", "read_permille", "lines"} - VARIED.get(options.set, set()):
            common[key] = getattr(options, key)
        loads = [replace(load, **common) for load in chosen]
        return [replace(load, warm_ns=max(load.warm_ns, _pass_ns(request, load))) for load in loads]

    def prepare(self, ctx: Context) -> None:
        """A phase a load."""
        self._loads = self.loads(ctx)
        traffic.post(ctx.machine, ctx, self._loads, ctx.seed)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Figures of all loads; what is wrong fails the job after all have been printed."""
        checks = traffic.Checks()
        points = []
        before: Reading | None = None
        for load, reading, figures, limit in limits.phases(ctx, self._loads):
            taking_part = figures[: load.hosts or ctx.hosts]
            points.append(_point(ctx, load, taking_part, limit) | _hits(before, reading))
            before = reading
            checks.run(reading.check_clean, load.name)
            long = [host for host in taking_part if sum(_lines(host)) >= EDGES * load.outstanding]
            checks.run(traffic.check_little, load.name, long)
            checks.run(_physical, ctx, load, taking_part)
        metrics = {"characterize": {"set": ctx.options.set, "points": points}}
        checks.done(self.report(metrics))
        return metrics

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A line a load."""
        lines = ["load                   GB/s a host, slowest   in flight   mean / P50 / P99.9 ns   limit (measured)"]
        for point in metrics["characterize"]["points"]:
            kind = point["read"] if point["read"]["count"] else point["write"]
            tail = f"{point['mean_ns']} / {kind['p50_ns']} / {kind['p999_ns']}"
            lines.append(
                f"{point['name']:24} {point['mean_gb_s']:7.2f} {min(point['hosts_gb_s']):8.2f} "
                f"{point['in_flight']:10.1f}     {tail:24} {point['limit']}: {point['why']}"
            )
        return "\n".join(lines)


def _pass_ns(request: Request, load: Load) -> int:
    """Time in which every host visits its footprint once, by the bound of its paths or by the load that is offered."""
    rate = load.offered_gb_s or path_bound_gb_per_s(request.profile, load.read_share)
    in_flight = window_bound_gb_per_s(request.profile, "read", load.outstanding)
    return round(HIT_SLACK * load.lines * LINE_BYTES / min(rate, in_flight))


def _lines(host: HostFigures) -> list[int]:
    return [sum(kind.values()) for kind in host.lines]


def _point(ctx: Context, load: Load, figures: list[HostFigures], limit: limits.Limit) -> dict[str, Any]:
    rates = [round(host.moved_gb_s(), 3) for host in figures]
    lines = sum(sum(_lines(host)) for host in figures)
    return {
        "name": load.name,
        "load": {
            "pattern": load.pattern.name.lower(),
            "request_bytes": load.request_bytes,
            "read_permille": load.read_permille,
            "outstanding": load.outstanding,
            "lines": load.lines,
            "offered_gb_s": round(load.offered_gb_s, 3),
            "hosts": len(figures),
        },
        "hosts_gb_s": rates,
        "mean_gb_s": round(sum(rates) / len(rates), 3),
        "all_gb_s": round(sum(rates), 3),
        "useful_gb_s": round(sum(host.useful_gb_s() for host in figures) / len(figures), 3),
        "in_flight": round(sum(host.in_flight() for host in figures) / len(figures), 2),
        "little_gb_s": round(window_bound_gb_per_s(ctx.profile, "read", load.outstanding), 3),
        "mean_ns": round(sum(sum(host.line_ns) for host in figures) / lines, 2) if lines else 0.0,
        "read": traffic.combined(figures, 0).summary(),
        "write": traffic.combined(figures, 1).summary(),
        "quantiles_ns": [traffic.combined(figures, kind).quantiles() for kind in range(len(traffic.KINDS))],
        "limit": limit.resource,
        "why": limit.why,
        "shares": limit.shares,
    }


def _hits(before: Reading | None, after: Reading) -> dict[str, float]:
    """Share of the accesses of the phase, warm-up included, that found their line in HBM."""
    found = []
    for name in ("mem_hits", "mem_misses"):
        earlier = sum(before.of(name).values()) if before else 0
        found.append(sum(after.of(name).values()) - earlier)
    return {"hbm_hit_share": round(found[0] / sum(found), 4)} if sum(found) else {}


def _physical(ctx: Context, load: Load, figures: list[HostFigures]) -> None:
    """Raise CheckFailed for a line faster than the stages of an idle machine, with its row open already."""
    if load.request_bytes < LINE_BYTES:  # the second half of a line ends with its first
        return
    media = ctx.profile.ddr if ctx.profile.hbm.mode.canonical == HBM_OFF else ctx.profile.hbm
    for kind, name in enumerate(traffic.KINDS):
        seen = [min(host.latency[kind].counts) for host in figures if host.latency[kind].counts]
        open_row_ns = media.row_to_column_time.canonical if name == "read" else 0
        least = idle_ns(ctx.profile, name) - open_row_ns - FLOOR_SLACK_NS
        if seen and min(seen) < least:
            raise CheckFailed(
                f"{load.name}: a {name} was faster than the stages of an idle machine",
                component="RTL",
                expected=f"at least {least} ns",
                actual=f"{min(seen)} ns",
            )
