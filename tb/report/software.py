"""Operations of the library on each profile, by number of hosts; where their time goes; rate of KV blocks by size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prismem.models.profile import Profile
from prismem.tb.report.model import Figure, Origin, Results, Section, Series, Table

OPS = {
    "lock_alone": "lock acquire, nobody else wants it",
    "lock_contended": "lock acquire, all hosts want it",
    "unlock": "lock release",
    "publish": "publish a line, until the fence returns",
    "visible": "store to seen by another host that polls",
    "rendezvous": "signal sent to received",
    "lookup_hit": "prefix lookup, all blocks found",
    "lookup_miss": "prefix lookup, none found",
    "insert": "insert a chain: reserve, DMA, commit",
    "release": "release a chain",
    "evict": "evict as many blocks",
}
DRAWN = ("lock_alone", "lock_contended", "visible", "rendezvous", "lookup_hit", "insert", "evict")
CAUSES = {
    "reads": "lines that are read",
    "write_backs": "write-backs",
    "dma": "DMA",
    "nothing": "nothing on its way: computing, pauses",
}
ON = {"rtl": "RTL", "timed": "queue model"}


def build(results: Results) -> Section | None:
    """Section of the points `software_rtl/...` and `software/...`; None without one."""
    section = Section(
        "software",
        "What the library's operations cost",
        "Every host does each operation at the same time as all others, on a shared pool whose lines it has to fetch "
        "and write back. Times are simulated; lines are those that the library published or acquired, messages the "
        "requests that left the host. On the RTL figures are measured; with more hosts they come from the queue model "
        "that is calibrated on the RTL (fitted), whose error is measured by `prismem calibrate --validate`.",
    )
    found = list(_measured(results))
    if not found:
        return None
    rows: list[list[Any]] = []
    waits: list[list[Any]] = []
    lines: dict[tuple[str, str], dict[str, list[tuple[int, float]]]] = {}
    for point, profile, port, software in found:
        hosts, origin = software["hosts"], _origin(port)
        for op, what in OPS.items():
            figures = software["ops"][op]
            name = f"{profile.name}.{port}.{hosts}.{op}"
            section.add(f"{name}.p50_ns", figures["p50_ns"], "ns", f"{what}; {hosts} hosts", origin=origin, point=point)
            section.add(f"{name}.messages", figures["messages"], "1", "messages to the memory", origin=origin)
            section.add(f"{name}.lines", figures["lines"], "1", "lines published and acquired", origin=origin)
            key = [profile.name, ON[port], hosts, what]
            numbers = [figures[k] for k in ("p50_ns", "mean_ns", "max_ns", "lines", "messages")]
            rows.append(key + numbers)
            waits.append(key + [figures["waits_percent"][cause] for cause in CAUSES])
            lines.setdefault((profile.name, port), {}).setdefault(op, []).append((hosts, figures["p50_ns"]))
    columns = ["profile", "on", "hosts", "operation"]
    numbers = ["P50, ns", "mean, ns", "max, ns", "lines", "messages"]
    section.tables.append(Table("software", "Operations", [*columns, *numbers], rows))
    shares = [f"{what}, %" for what in CAUSES.values()]
    section.tables.append(
        Table("software_waits", "Where the time goes: what was on its way meanwhile", [*columns, *shares], waits)
    )
    for (name, port), ops in lines.items():
        if max(len(values) for values in ops.values()) > 1:
            section.figures.append(_by_hosts(name, port, ops))
    _transfers(section, found)
    section.result = " ".join(_result(section, found))
    return section


def _result(section: Section, found: list[tuple[str, Profile, str, dict[str, Any]]]) -> Iterator[str]:
    """Of each profile, what the operations take on the fewest hosts."""
    for name in dict.fromkeys(profile.name for _, profile, _, _ in found):
        _, _, port, fewest = min((f for f in found if f[1].name == name), key=lambda f: (f[3]["hosts"], f[2]))
        hosts = fewest["hosts"]
        ns = {op: section.value(f"{name}.{port}.{hosts}.{op}.p50_ns") for op in ("lock_alone", "visible", "lookup_hit")}
        best = max(item["gb_s"] for item in fewest["transfers"])
        yield (
            f"{name}, {hosts} hosts ({ON[port]}): a free lock takes {ns['lock_alone']:,g} ns, a store is seen by "
            f"another host after {ns['visible']:,g} ns, a prefix is found in {ns['lookup_hit']:,g} ns, and KV blocks "
            f"move at up to {best:g} GB/s a host."
        )


def _measured(results: Results) -> Iterator[tuple[str, Profile, str, dict[str, Any]]]:
    for prefix in ("software_rtl", "software"):
        for value, metrics in results.group(prefix):
            point = f"{prefix}/{value}"
            yield point, results.profile_of(point), results.points[point].point.spec.port, metrics["software"]


def _origin(port: str) -> Origin:
    return "measured" if port == "rtl" else "fitted"


def _by_hosts(name: str, port: str, ops: dict[str, list[tuple[int, float]]]) -> Figure:
    return Figure(
        f"software_{name}_{port}",
        f"Operations of the library on {name} ({ON[port]}, {'measured' if port == 'rtl' else 'fitted'}, P50)",
        "hosts at once (1)",
        "time of an operation (ns)",
        [Series(OPS[op], [hosts for hosts, _ in ops[op]], [ns for _, ns in ops[op]]) for op in DRAWN],
        log_x=True,
        log_y=True,
    )


def _transfers(section: Section, found: list[tuple[str, Profile, str, dict[str, Any]]]) -> None:
    """Rates by size of a block: one at a time, and many in flight, on the fewest hosts of each profile and port."""
    rows: list[list[Any]] = []
    for point, profile, port, software in found:
        for item in software["transfers"]:
            name = f"{profile.name}.{port}.{software['hosts']}.{item['op']}.{item['size']}_b.gb_s"
            what = f"blocks of {item['size']} B, a host"
            section.add(name, item["gb_s"], "GB/s", what, origin=_origin(port), point=point)
            rows.append([profile.name, ON[port], software["hosts"], item["op"].replace("_", " "), item["size"]])
            rows[-1] += [item["gb_s"], item["p50_ns"]]
    series = []
    for name in dict.fromkeys(profile.name for _, profile, _, _ in found):
        _, _, _, fewest = min((f for f in found if f[1].name == name), key=lambda f: (f[3]["hosts"], f[2]))
        for op, text in (("transfer_in", "in, one block at a time"), ("stream_in", "in"), ("stream_out", "out")):
            chosen = [item for item in fewest["transfers"] if item["op"] == op]
            label = f"{name}: {text}"
            series.append(Series(label, [item["size"] for item in chosen], [item["gb_s"] for item in chosen]))
    section.figures.append(
        Figure(
            "software_blocks",
            "KV blocks by DMA: payload of a host against the size of a block, fewest hosts",
            "size of a block (B)",
            "payload a host (GB/s)",
            series,
            log_x=True,
        )
    )
    columns = ["profile", "on", "hosts", "transfer", "block, B", "GB/s a host", "P50, ns"]
    section.tables.append(Table("software_blocks", "KV block transfers", columns, rows))
