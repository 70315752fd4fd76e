"""Photonic, electrical and direct fabrics with the same traffic; length of the fibre, hops of a switch, bit errors."""

from __future__ import annotations

from typing import Any

from prismem.models import latency
from prismem.tb.report.loaded import tail_series
from prismem.tb.report.model import Figure, Results, Section, Series, Table
from prismem.tb.runner.spec import load_profile

KINDS = ("read", "write")
KEEPS_UP = 0.85  # carried over offered; at a light load few requests are counted
COMPARED_GB_S = 1.0  # a load that every fabric carries
LIGHT_M_S = 299_792_458


def build(results: Results) -> Section | None:
    """Section of the points `offered/...`, `fibre...`, `hops/...` and `errors/...`; None without any."""
    section = Section(
        "fabrics",
        "Photonic, electrical, direct",
        "The same traffic on three fabrics: random reads of 64 bytes, offered at random times by every host over "
        "all memory that the machine has. The direct device has one memory for all hosts; the others have as many "
        "modules as hosts.",
    )
    _offered(results, section)
    _fibre(results, section)
    _hops(results, section)
    _errors(results, section)
    return section if section.metrics else None


def _offered(results: Results, section: Section) -> None:
    series, rows, tails_of = [], [], []
    for value, metrics in results.group("offered"):
        profile = results.profile_of(f"offered/{value}")
        points = metrics["characterize"]["points"]
        hosts = points[0]["load"]["hosts"]
        for point in points:
            offered, read = point["load"]["offered_gb_s"], point["read"]
            name = f"{profile.name}.at_{offered:g}_gb_s"
            section.add(f"{name}.carried_gb_s", point["mean_gb_s"], "GB/s", "carried, a host", point=f"offered/{value}")
            section.add(f"{name}.p50_ns", read["p50_ns"], "ns", "median", point=f"offered/{value}")
            if offered == COMPARED_GB_S:
                tails_of.append(tail_series(profile.name, point["quantiles_ns"][0]))
            tails = [read[key] for key in ("p50_ns", "p99_ns", "p999_ns", "max_ns")]
            rows.append([profile.name, offered, point["mean_gb_s"], *tails, point["limit"]])
        most = max(point["mean_gb_s"] for point in points)
        section.add(f"{profile.name}.most_gb_s", most, "GB/s", f"most that {hosts} hosts carried, a host")
        together = max(point["all_gb_s"] for point in points)
        section.add(f"{profile.name}.all_gb_s", together, "GB/s", f"most that {hosts} hosts carried together")
        # Beyond what a fabric carries an open loop falls behind for as long as it runs.
        keeping_up = [p for p in points if p["mean_gb_s"] >= KEEPS_UP * p["load"]["offered_gb_s"]]
        for name, key in (("P50", "p50_ns"), ("P99", "p99_ns")):
            carried = [point["mean_gb_s"] for point in keeping_up]
            series.append(Series(f"{profile.name}, {name}", carried, [point["read"][key] for point in keeping_up]))
    if not rows:
        return
    section.figures.append(
        Figure(
            "offered",
            "The same reads on each fabric (measured)",
            "carried, a host (GB/s)",
            "latency from arrival (ns)",
            series,
        )
    )
    section.figures.append(
        Figure(
            "offered_distribution",
            f"Distribution of reads at {COMPARED_GB_S:g} GB/s a host on each fabric (measured)",
            "latency from arrival (ns)",
            "requests that are slower (%)",
            tails_of,
            log_y=True,
        )
    )
    medians = [f"{row[0]} {row[3]:g} ns" for row in rows if row[1] == COMPARED_GB_S]
    most = {row[0]: section.value(f"{row[0]}.all_gb_s") for row in rows}
    section.result = (
        f"At {COMPARED_GB_S:g} GB/s a host half of the reads are back within: {', '.join(medians)}. The most that "
        f"{hosts} hosts carried together: {', '.join(f'{name} {rate:,.4g} GB/s' for name, rate in most.items())}."
    )
    columns = ["profile", "offered, GB/s a host", "carried, GB/s a host", "P50, ns", "P99, ns", "P99.9, ns", "max, ns"]
    section.tables.append(Table("offered", "The same reads on each fabric (measured)", [*columns, "limit"], rows))


def _fibre(results: Results, section: Section) -> None:
    found = list(results.group("fibre"))
    rows: list[list[Any]] = []
    rates = {value: metrics["characterize"]["points"][0]["mean_gb_s"] for value, metrics in results.group("fibre_rate")}
    for value, metrics in found:
        longer = load_profile(_name(results, f"fibre/{value}"), [f"path.fibre_length={value} m"])
        formula = latency.idle_ns(longer, "read")
        measured = section.add(f"fibre.{value}_m.read_ns", metrics["idle"]["read_ns"], "ns", f"idle read, {value} m")
        rate = rates.get(value, "")
        if rate != "":
            section.add(f"fibre.{value}_m.gb_s", rate, "GB/s", f"reads of a host over {value} m")
        rows.append([int(value), formula, measured, measured - formula, rate])
    if not rows:
        return
    if len(rows) > 1:
        slope = (rows[-1][2] - rows[0][2]) / (rows[-1][0] - rows[0][0])
        section.add("fibre.ns_per_m", round(slope, 4), "ns/m", "both ways, from the shortest to the longest")
        section.add(
            "fibre.ns_per_m_floor", round(2e9 / LIGHT_M_S, 4), "ns/m", "light in vacuum, both ways", origin="computed"
        )
    lengths = [row[0] for row in rows]
    section.figures.append(
        Figure(
            "fibre",
            "Idle read against length of the fibre",
            "length of the fibre (m)",
            "latency (ns)",
            [
                Series("measured", lengths, [row[2] for row in rows]),
                Series("formula, 5 ns/m each way (computed)", lengths, [row[1] for row in rows], "dashed"),
            ],
        )
    )
    if rates:
        section.figures.append(
            Figure(
                "fibre_rate",
                "Reads of a host against length of the fibre (measured)",
                "length of the fibre (m)",
                "payload a host (GB/s)",
                [Series("all hosts at once", [int(v) for v in rates], list(rates.values()))],
            )
        )
    columns = [
        "length, m",
        "formula, ns (computed)",
        "idle read, ns (measured)",
        "difference, ns",
        "reads, GB/s a host",
    ]
    section.tables.append(Table("fibre", "Length of the fibre", columns, rows))


def _name(results: Results, point: str) -> str:
    return results.points[point].point.spec.profile


def _hops(results: Results, section: Section) -> None:
    rows: list[list[Any]] = []
    for value, metrics in results.group("hops"):
        changed = load_profile(_name(results, f"hops/{value}"), [f"switch.hops={value}"])
        for kind in KINDS:
            formula = latency.idle_ns(changed, "read" if kind == "read" else "write")
            measured = section.add(
                f"hops.{value}.{kind}_ns", metrics["idle"][f"{kind}_ns"], "ns", f"{value} hops, {kind}"
            )
            rows.append([int(value), kind, formula, measured, measured - formula])
    reads = {row[0]: row[3] for row in rows if row[1] == "read"}
    if {1, 3} <= reads.keys():
        section.add("hop_ns", (reads[3] - reads[1]) / 4, "ns", "a hop more, one way")
    if rows:
        columns = ["hops", "access", "formula, ns (computed)", "measured, ns", "difference, ns"]
        section.tables.append(Table("hops", "Electrical hops", columns, rows))


def _errors(results: Results, section: Section) -> None:
    rows: list[list[Any]] = []
    for value, metrics in results.group("errors"):
        rate, faults, tail = int(value) / 1e12, metrics["faults"], metrics["tail_ns"]
        for kind in KINDS:
            for key in ("p50", "p99", "max"):
                section.add(f"errors.{value}.{kind}.{key}_ns", tail[kind][key], "ns", f"{kind} {key} at {rate:g}")
        rows.append([f"{rate:g}", faults["injected"], faults["crc_errors"], faults["replays"]])
        rows[-1] += [tail[kind][key] for kind in KINDS for key in ("p50", "p99", "max")]
    if not rows:
        return
    columns = ["bit error rate", "faults", "CRC errors", "replays"]
    columns += [f"{kind} {key}, ns" for kind in KINDS for key in ("P50", "P99", "max")]
    section.tables.append(Table("errors", "Bit errors on all links against latency (measured)", columns, rows))
    rates = [float(row[0]) for row in rows]
    if len([rate for rate in rates if rate]) > 1:
        chosen = [row for row in rows if float(row[0])]
        section.figures.append(
            Figure(
                "errors",
                "Latency of reads against the bit error rate (measured)",
                "bit errors a bit (1)",
                "latency (ns)",
                [
                    Series(name, [float(row[0]) for row in chosen], [row[at] for row in chosen])
                    for name, at in (("P50", 4), ("P99", 5), ("max", 6))
                ],
                log_x=True,
                log_y=True,
            )
        )
