"""Bandwidth: port by port, size of requests, walk, mix, lines in flight and Little's law, hosts, footprint, hits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from prismem.models.flit import packing_bound_gb_per_s
from prismem.models.frame import LINE_BYTES
from prismem.models.latency import idle_ns, path_bound_gb_per_s
from prismem.tb.report.model import Figure, Results, Section, Series, Table

NEARLY_FULL = 0.95
LINEAR_RUN = 16  # lines of 1 KiB: requests that follow each other share the address of a frame, whatever their size
MODULE_CASES = {
    "read_64_random": "reads of 64 B, random",
    "read_64_linear": "reads of 64 B, linear",
    "read_256_linear": "reads of 256 B, linear",
    "read_1024_linear": "reads of 1 KiB, linear",
    "read_32_linear": "reads of 32 B, linear",
    "read_32_random": "reads of 32 B, random",
    "read_beyond_hbm": "reads of 64 B, more than HBM holds",
    "write_64_random": "writes of 64 B, random",
    "write_1024_linear": "writes of 1 KiB, linear",
    "mix_3_1": "3 reads a write",
    "mix_2_1": "2 reads a write",
    "mix_1_1": "1 read a write",
}
MESH_CASES = {
    "interleaved": "reads from all modules",
    "write": "writes to all modules",
    "mix_1_1": "1 read a write, all modules",
    "one_module": "reads, each host from a module of its own",
    "steady": "reads offered at half the bound",
    "steady_beside_hot": "the same, and all hosts load one module with more",
}
OF_A_LINK = ("interleaved", "write", "mix_1_1")  # cases whose bound is that of a host's link; others ask for less
COLUMNS = ["load", "GB/s a host", "slowest", "useful", "in flight", "mean ns", "P50", "P99", "P99.9", "max", "limit"]


def _rows(points: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    rows = []
    for point in points:
        kind = point["read"] if point["read"]["count"] else point["write"]
        tail = [kind[key] for key in ("p50_ns", "p99_ns", "p999_ns", "max_ns")]
        rates = [point["mean_gb_s"], min(point["hosts_gb_s"]), point["useful_gb_s"]]
        rows.append([point["name"], *rates, point["in_flight"], point["mean_ns"], *tail, point["limit"]])
    return rows


def build(results: Results) -> Section | None:
    """Section of the points `module`, `mesh`, `sweep/...` and `footprint`; None without any."""
    section = Section(
        "bandwidth",
        "Bandwidth",
        "Traffic engines in the place of hosts keep lines in flight; every byte that comes back is checked. A "
        "window of each run is counted, without filling and draining. 1 GB/s is 1e9 bytes a second. The limit is "
        "the busiest resource by the hardware's own counters, or what requests waited for at the memory.",
    )
    _module(results, section)
    _mesh(results, section)
    for name, draw in (("sizes", _sizes), ("patterns", _bars_of), ("mixes", _mixes), ("in_flight", _in_flight)):
        if metrics := results.get(f"sweep/{name}"):
            points = metrics["characterize"]["points"]
            draw(results, section, points, name)
            section.tables.append(Table(f"sweep_{name}", f"Sweep: {name.replace('_', ' ')}", COLUMNS, _rows(points)))
    _hosts(results, section)
    _all_to_all(results, section)
    _footprint(results, section)
    section.result = _result(section)
    return section if section.metrics else None


def _result(section: Section) -> str:
    """Of ports, of hosts, and of lines in flight, as far as they were measured."""
    known = {metric.id.removeprefix("bandwidth."): metric.value for metric in section.metrics}
    text = []
    if "module.all_ports_gb_s" in known:
        reads = [name for name in known if re.fullmatch(r"module\.read_.*\.slowest_gb_s", name)]
        held = min(known[name] for name in reads if "beyond" not in name)
        text.append(
            f"All {known['module.ports']} ports of a module at once carry at least {held:g} GB/s each of reads that "
            f"HBM holds, {known['module.all_ports_gb_s']:,g} GB/s together."
        )
    if "mesh.reached" in known:
        text.append(f"A host's reads reach {known['mesh.reached']:.1%} of what its link and lightpaths allow.")
    if "in_flight_needed" in known:
        text.append(f"For its full rate a host needs {known['in_flight_needed']} lines in flight on a module.")
    return " ".join(text)


def _module(results: Results, section: Section) -> None:
    metrics = results.get("module")
    if metrics is None:
        return
    cases = metrics["bandwidth"]["cases"]
    names = list(cases)
    for name, case in cases.items():
        section.add(
            f"module.{name}.slowest_gb_s", min(case["ports_gb_s"]), "GB/s", f"slowest port, {name}", point="module"
        )
        section.add(f"module.{name}.mean_gb_s", case["mean_gb_s"], "GB/s", f"mean of the ports, {name}", point="module")
        section.add(
            f"module.{name}.bound_gb_s",
            round(path_bound_gb_per_s(results.profile, case["read_permille"] / 1000), 3),
            "GB/s",
            f"what frames of a lightpath allow, {name}",
            origin="computed",
        )
    first = cases[names[0]]["ports_gb_s"]
    section.add(
        "module.all_ports_gb_s", round(sum(first), 3), "GB/s", f"all ports together, {names[0]}", point="module"
    )
    path_gb_s = results.profile.path.rate.canonical / 16
    section.add("path.raw_gb_s", path_gb_s, "GB/s", "raw rate of a lightpath, one direction", origin="computed")
    optical = round(2 * len(first) * path_gb_s * 8 / 1000, 4)
    section.add("module.optical_tb_s", optical, "Tb/s", "raw rate of a module, both directions", origin="computed")
    efficiency = round(min(first) / path_gb_s, 4)
    section.add("module.efficiency", efficiency, "1", f"payload of the slowest port over its raw rate, {names[0]}")
    section.add("module.ports", len(first), "1", "ports of the module that were loaded", point="module")
    section.figures.append(
        Figure(
            "ports",
            "All ports of one module at once, port by port (measured)",
            "port (1)",
            "payload of a port (GB/s)",
            [
                Series(MODULE_CASES[name], range(len(case["ports_gb_s"])), case["ports_gb_s"])
                for name, case in cases.items()
            ],
        )
    )
    section.tables.append(
        Table(
            "module_cases",
            "All ports of one module at once (measured)",
            ["case", "slowest port, GB/s", "mean, GB/s", "read P50 / P99.9 ns", "write P50 / P99.9 ns", "limit", "why"],
            [
                [
                    MODULE_CASES[name],
                    min(case["ports_gb_s"]),
                    case["mean_gb_s"],
                    *(f"{k['p50_ns']} / {k['p999_ns']}" if k["count"] else "" for k in (case["read"], case["write"])),
                    case["limit"],
                    case["why"],
                ]
                for name, case in cases.items()
            ],
        )
    )


def _mesh(results: Results, section: Section) -> None:
    metrics = results.get("mesh")
    if metrics is None:
        return
    bandwidth = metrics["bandwidth"]
    rows = []
    for name, case in bandwidth["cases"].items():
        least = section.add(f"mesh.{name}.slowest_gb_s", min(case["hosts_gb_s"]), "GB/s", f"{name}", point="mesh")
        bound = [case["bound_gb_s"], f"{case['reached']:.1%}"] if name in OF_A_LINK else ["", ""]
        rows.append([MESH_CASES[name], least, *bound, case["limit"], case["why"]])
    section.add(
        "mesh.packing_bound_gb_s",
        bandwidth["packing_bound_gb_s"],
        "GB/s",
        "reads that the flits of a host's link carry at most",
        origin="computed",
    )
    section.add("mesh.reached", bandwidth["cases"]["interleaved"]["reached"], "1", "share of it reached", point="mesh")
    section.add("mesh.hot_loss", bandwidth["hot"]["loss_max"], "1", "loss beside a hot module", point="mesh")
    section.add(
        "host.raw_gb_s", results.profile.cxl.rate.canonical / 16, "GB/s", "raw rate of a host", origin="computed"
    )
    title = "All hosts to all modules: a host's rate (measured) against its bound (computed)"
    columns = ["case", "slowest host, GB/s", "bound, GB/s", "reached", "limit", "why"]
    section.tables.append(Table("mesh_cases", title, columns, rows))


def _named(section: Section, points: Sequence[Mapping[str, Any]], sweep: str) -> None:
    for point in points:
        name = point["name"].replace(" ", "_").replace("%", "percent")
        section.add(f"{sweep}.{name}.gb_s", point["mean_gb_s"], "GB/s", point["name"], point=f"sweep/{sweep}")
        section.add(f"{sweep}.{name}.mean_ns", point["mean_ns"], "ns", point["name"], point=f"sweep/{sweep}")


def _sizes(results: Results, section: Section, points: Sequence[Mapping[str, Any]], sweep: str) -> None:
    _named(section, points, sweep)
    series = []
    for label in ("read linear", "read random", "write linear"):
        kind, walk = label.split()
        chosen = [p for p in points if p["name"].startswith(kind) and p["name"].endswith(walk)]
        sizes = [p["load"]["request_bytes"] for p in chosen]
        series.append(Series(f"{label} (measured)", sizes, [p["mean_gb_s"] for p in chosen]))
        bounds = [path_bound_gb_per_s(results.profile, float(kind == "read"), LINEAR_RUN)] * len(sizes)
        if walk == "linear":
            series.append(Series(f"bound of the frames, {kind} (computed)", sizes, bounds, "dashed"))
    title = "Payload of a host against size of a request"
    section.figures.append(
        Figure("sizes", title, "size of a request (B)", "lines moved, a host (GB/s)", series, log_x=True)
    )


def _bars_of(results: Results, section: Section, points: Sequence[Mapping[str, Any]], sweep: str) -> None:
    _named(section, points, sweep)
    names = [point["name"] for point in points]
    series = [Series("measured", range(len(names)), [point["mean_gb_s"] for point in points], "points")]
    section.figures.append(
        Figure(
            "patterns",
            "Payload of a host by walk through its footprint (measured)",
            "walk",
            "payload a host (GB/s)",
            series,
            categories=names,
        )
    )


def _mixes(results: Results, section: Section, points: Sequence[Mapping[str, Any]], sweep: str) -> None:
    _named(section, points, sweep)
    shares = [point["load"]["read_permille"] / 10 for point in points]
    hosts, modules = points[0]["load"]["hosts"], results.points[f"sweep/{sweep}"].point.spec.modules
    bounds = []
    for share in shares:
        paths = path_bound_gb_per_s(results.profile, share / 100) * modules
        bounds.append(min(paths, packing_bound_gb_per_s(results.profile, share / 100)))
    section.figures.append(
        Figure(
            "mixes",
            f"Payload of a host against the mix, {hosts} hosts at once",
            "share of reads (%)",
            "payload a host (GB/s)",
            [
                Series("measured", shares, [point["mean_gb_s"] for point in points]),
                Series("bound of frames and flits (computed)", shares, bounds, "dashed"),
            ],
        )
    )


def _in_flight(results: Results, section: Section, points: Sequence[Mapping[str, Any]], sweep: str) -> None:
    _named(section, points, sweep)
    lines = [point["load"]["outstanding"] for point in points]
    best = max(point["mean_gb_s"] for point in points)
    needed = next(point["load"]["outstanding"] for point in points if point["mean_gb_s"] >= NEARLY_FULL * best)
    section.add("in_flight_needed", needed, "1", "lines in flight of a host for 95 % of its full rate")
    least = NEARLY_FULL * best * idle_ns(results.profile, "read") / LINE_BYTES
    section.add("in_flight_least", round(least, 1), "1", "by Little's law at idle latency", origin="computed")
    ceiling = best * 1.3
    section.figures.append(
        Figure(
            "little",
            "Payload against lines in flight, and Little's law",
            "lines in flight, a host (1)",
            "payload a host (GB/s)",
            [
                Series("measured", lines, [point["mean_gb_s"] for point in points]),
                Series(
                    "lines x 64 B / idle latency (computed)",
                    lines,
                    [point["little_gb_s"] for point in points],
                    "dashed",
                ),
            ],
            log_x=True,
            y_max=ceiling,
        )
    )


def _hosts(results: Results, section: Section) -> None:
    metrics = results.get("sweep/hosts")
    if metrics is None:
        return
    points = metrics["characterize"]["points"]
    for point in points:
        hosts = point["load"]["hosts"]
        section.add(
            f"hosts.{hosts}.all_gb_s", point["all_gb_s"], "GB/s", f"{hosts} hosts on a module", point="sweep/hosts"
        )
    counts = [point["load"]["hosts"] for point in points]
    section.figures.append(
        Figure(
            "hosts",
            "Reads of several hosts from one module (measured)",
            "hosts (1)",
            "payload (GB/s)",
            [
                Series("all together", counts, [point["all_gb_s"] for point in points]),
                Series("a host", counts, [point["mean_gb_s"] for point in points]),
            ],
            log_x=True,
        )
    )
    section.tables.append(Table("sweep_hosts", "Sweep: hosts on one module", COLUMNS, _rows(points)))


def _all_to_all(results: Results, section: Section) -> None:
    """As many hosts as modules, each host on all of them."""
    found = [
        (int(value), m["characterize"]["points"][0])
        for value, m in results.group("all_to_all")
        if results.points[f"all_to_all/{value}"].point.spec.hosts == int(value)  # a smaller rack has no such size
    ]
    if not found:
        return
    sizes = [size for size, _ in found]
    for size, point in found:
        name = f"all_to_all.{size}"
        section.add(f"{name}.all_gb_s", point["all_gb_s"], "GB/s", f"{size} x {size}", point=f"all_to_all/{size}")
        section.add(f"{name}.p999_ns", point["read"]["p999_ns"], "ns", "P99.9 of reads", point=f"all_to_all/{size}")
    bounds = [
        min(packing_bound_gb_per_s(results.profile, 1.0), n * path_bound_gb_per_s(results.profile, 1.0)) for n in sizes
    ]
    section.figures.append(
        Figure(
            "all_to_all",
            "Random reads of all hosts from all modules, as many hosts as modules",
            "hosts and modules (1)",
            "payload a host (GB/s)",
            [
                Series("measured", sizes, [point["mean_gb_s"] for _, point in found]),
                Series("bound of flits and frames (computed)", sizes, bounds, "dashed"),
            ],
            log_x=True,
        )
    )
    rows = [[f"{size} x {size}", *row[1:]] for (size, _), row in zip(found, _rows([p for _, p in found]), strict=True)]
    section.tables.append(Table("all_to_all", "All hosts to all modules", ["hosts x modules", *COLUMNS[1:]], rows))


def _footprint(results: Results, section: Section) -> None:
    metrics = results.get("footprint")
    if metrics is None:
        return
    points = [p for p in metrics["characterize"]["points"] if "hbm_hit_share" in p]
    for point in points:
        lines = point["load"]["lines"]
        section.add(f"footprint.{lines}.gb_s", point["mean_gb_s"], "GB/s", f"{lines} lines a host", point="footprint")
        section.add(f"footprint.{lines}.hits", point["hbm_hit_share"], "1", "share of HBM hits", point="footprint")
    section.figures.append(
        Figure(
            "footprint",
            "HBM hits against payload, by footprint (HBM of 1 MiB; measured)",
            "accesses that hit in HBM (%)",
            "payload a host (GB/s)",
            [Series("reads", [100 * p["hbm_hit_share"] for p in points], [p["mean_gb_s"] for p in points])],
        )
    )
    rows = [[r[0], f"{p['hbm_hit_share']:.1%}", *r[1:]] for r, p in zip(_rows(points), points, strict=True)]
    columns = [COLUMNS[0], "HBM hits", *COLUMNS[1:]]
    section.tables.append(Table("footprint", "Footprint against an HBM of 1 MiB", columns, rows))
