"""Figures of the job kv_share and their text for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from prismem.lib.emu import LINE_BYTES

STATS = ("min", "mean", "p50", "p99", "max")
WIDTH = 110


def spread(values_ns: npt.NDArray[Any]) -> dict[str, float]:
    """Min, mean, P50, P99, max of times in ns; zeros when there are none."""
    if values_ns.size == 0:
        return dict.fromkeys(STATS, 0.0)
    p50, p99 = np.percentile(values_ns, [50, 99], method="inverted_cdf")
    figures = (values_ns.min(), values_ns.mean(), p50, p99, values_ns.max())
    return {name: round(float(value), 1) for name, value in zip(STATS, figures, strict=True)}


def bandwidth_by_port(ports: Sequence[Mapping[str, int]], run_ns: int) -> list[dict[str, Any]]:
    """Bytes moved over each host-module path; the mean rate is over the whole run (1 byte/ns = 1 GB/s)."""
    return [
        {
            "host": port["host"],
            "module": port["module"],
            "read_bytes": port["read_lines"] * LINE_BYTES,
            "write_bytes": port["write_lines"] * LINE_BYTES,
            "read_gb_s": round(port["read_lines"] * LINE_BYTES / run_ns, 4) if run_ns else 0.0,
            "write_gb_s": round(port["write_lines"] * LINE_BYTES / run_ns, 4) if run_ns else 0.0,
        }
        for port in ports
    ]


def _spread_table(title: str, first: str, rows: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for name in STATS:
        table.add_column(name.upper() if name.startswith("p") else name, justify="right")
    for label, figures in rows.items():
        table.add_row(label, *(f"{figures[name]:,.1f}" for name in STATS))
    return table


def _latency_rows(kind: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    rows = {f"  {stage}": figures for stage, figures in kind["stages_ns"].items()}
    return rows | {f"= {part}": figures for part, figures in kind["parts_ns"].items()} | {"total": kind["total_ns"]}


def render(metrics: Mapping[str, Any]) -> str:
    """The report of one run as text."""
    kv, run = metrics["kv"], metrics["run"]
    console = Console(width=WIDTH, highlight=False)
    with console.capture() as capture:
        console.print(
            f"{kv['requests']} requests, {kv['blocks']} blocks: hit rate {kv['hit_rate_percent']:.2f} % (equal to the "
            f"oracle's, request by request), {kv['inserts']} inserts, {kv['evictions']} evictions"
        )
        console.print(f"{kv['verified_bytes']:,} payload bytes verified on the reading host, {kv['wrong_bytes']} wrong")
        console.print(
            f"lines flushed: {kv['lines_flushed_per_insert']} an insert, {kv['lines_flushed_per_lookup_block']} a block"
            f" looked up; global locks: {kv['locks_per_request']} a request"
        )
        unit = "ns (measured on the RTL)" if "latency" in metrics else "scheduler steps (this port has no time)"
        console.print(_spread_table(f"steps of a request, {unit}", "step", kv["step_ns"]))
        for kind in ("read", "write"):
            if metrics.get("latency", {}).get(kind, {}).get("count"):
                figures = metrics["latency"][kind]
                title = f"{kind}s at the host port, ns (measured on the RTL, {figures['count']:,} lines)"
                console.print(_spread_table(title, "stage", _latency_rows(figures)))
        if "ports" in metrics:
            table = Table(
                "host",
                "module",
                "read bytes",
                "GB/s",
                "write bytes",
                "GB/s",
                title="bytes by path: payload, index and polling",
            )
            for p in metrics["ports"]:
                cells = (p["read_bytes"], p["read_gb_s"], p["write_bytes"], p["write_gb_s"])
                table.add_row(str(p["host"]), str(p["module"]), *(f"{cell:,}" for cell in cells))
            console.print(table)
        if "cycles_per_s" in run:
            line = f"simulated time {run['now_ns']:,} ns; {run['cycles']:,} cycles clocked"
            line += f", {run['cycles_per_s']:,} a second"
        else:
            line = f"{run['steps']:,} scheduler steps"
        console.print(line)
    return capture.get()
