"""Latency under load: median and tail against the load that is offered, up to more than the machine carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prismem.tb.report.model import Figure, Results, Section, Series, Table
from prismem.tb.traffic import QUANTILES_PERCENT

TAILS = ("p50_ns", "p99_ns", "p999_ns", "max_ns")
NAMES = ("P50", "P99", "P99.9", "max")
CURVES = ("read", "write", "mix")
Y_MAX_NS = 1500.0  # beyond the knee an open loop has no bound; the table has the numbers


def build(results: Results) -> Section | None:
    """Section of the point `loaded`; None without it."""
    metrics = results.get("loaded")
    if metrics is None:
        return None
    loaded = metrics["loaded"]
    section = Section(
        "loaded",
        "Latency under load",
        "Every host offers requests of 64 bytes at random times (exponential gaps) and a request's latency counts "
        "from its arrival, so a host that falls behind shows it. 100 % is what the flits of a host's link or its "
        "lightpaths carry at most (computed). Reads alone, writes alone, and a mix. The stated load is "
        f"{loaded['stated_percent']} %.",
    )
    rows: list[list[Any]] = []
    for curve in CURVES:
        points = loaded["curves"][curve]["points"]
        knee = loaded["curves"][curve]["knee_percent"]
        section.add(f"{curve}.bound_gb_s", loaded["curves"][curve]["bound_gb_s"], "GB/s", "100 %", origin="computed")
        section.add(f"{curve}.knee_percent", knee, "%", "mean latency 10 % above that of light load", point="loaded")
        for kind in ("read", "write"):
            if not points[0][kind]["count"]:
                continue
            for point in points:
                rows.append([curve, kind, point["percent"], point["offered_gb_s"], point["carried_gb_s"]])
                rows[-1] += [point[kind][tail] for tail in TAILS]
                rows[-1].append(point["limit"])
            if curve != "mix":
                section.figures.append(_figure(curve, points))
    section.figures.append(_distribution(loaded))
    for kind in ("read", "write"):
        stated = loaded["stated"][kind][kind]
        for tail, name in zip(TAILS, NAMES, strict=True):
            section.add(
                f"stated.{kind}.{tail}", stated[tail], "ns", f"{name} at the stated load, {kind}", point="loaded"
            )
    at = {f"{kind}.{tail}": section.value(f"stated.{kind}.{tail}") for kind in ("read", "write") for tail in TAILS}
    section.result = (
        f"At {loaded['stated_percent']} % load half of the reads are back within {at['read.p50_ns']} ns and 99.9 % "
        f"within {at['read.p999_ns']} ns; of the writes, within {at['write.p50_ns']} and {at['write.p999_ns']} ns. The "
        f"mean of reads grows by a tenth at {section.value('read.knee_percent'):g} % load."
    )
    columns = ["curve", "access", "load, %", "offered, GB/s a host", "carried, GB/s a host"]
    columns += [f"{name}, ns" for name in NAMES]
    section.tables.append(Table("loaded", "Latency against offered load (measured)", [*columns, "limit"], rows))
    return section


def tail_series(label: str, quantiles_ns: Sequence[int]) -> Series:
    """Share of the requests that are slower than a latency, as a line down to one in ten thousand."""
    below = list(zip(QUANTILES_PERCENT, quantiles_ns, strict=True))[:-1]  # nothing is slower than the slowest
    return Series(label, [ns for _, ns in below], [round(100 - percent, 4) for percent, _ in below])


def _distribution(loaded: dict[str, Any]) -> Figure:
    series = []
    for curve, kind in (("read", 0), ("write", 1), ("mix", 0), ("mix", 1)):
        label = f"{('reads', 'writes')[kind]} of the mix" if curve == "mix" else f"{curve}s alone"
        series.append(tail_series(label, loaded["stated"][curve]["quantiles_ns"][kind]))
    return Figure(
        "loaded_distribution",
        f"Distribution of latency at {loaded['stated_percent']} % load (measured)",
        "latency from arrival (ns)",
        "requests that are slower (%)",
        series,
        log_y=True,
    )


def _figure(curve: str, points: list[dict[str, Any]]) -> Figure:
    carried = [point["carried_gb_s"] for point in points]
    highest = max(float(point[curve]["p999_ns"]) for point in points)
    return Figure(
        f"loaded_{curve}",
        f"Latency of {curve}s against the load that was carried (measured)",
        "carried, a host (GB/s)",
        "latency from arrival (ns)",
        [
            Series(name, carried, [point[curve][tail] for point in points])
            for tail, name in zip(TAILS, NAMES, strict=True)
        ],
        y_max=min(Y_MAX_NS, highest * 1.1),
    )
