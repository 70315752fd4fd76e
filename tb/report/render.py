"""Files of a report: index.html (self-contained), PNG and CSV beside it, report.json, paper.json.

report.json is {format, metrics, points, failures, about}; all but `about` is the same in every run with one seed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from prismem.tb.report import plots
from prismem.tb.report.measure import Measured
from prismem.tb.report.model import Metric, Section, Table
from prismem.tb.report.paper import Judged
from prismem.tb.report.points import Plan
from prismem.tb.runner.files import write_atomic

FORMAT = 1
INDEX, REPORT, PAPER, METRICS_CSV = "index.html", "report.json", "paper.json", "metrics.csv"
WORDS = (
    ("line", "64 bytes, the unit that caches and the memory exchange; all payload is counted in whole lines."),
    ("host, host port", "A server, and the place where its CXL link begins. Latency counts from there and back there."),
    ("adapter (PF-NIC)", "What ends a host's CXL link and sends each request to the module that its address names."),
    ("module", "A memory device: HBM as a write-through cache in front of DDR5, or DDR5 alone."),
    ("lightpath", "The optical wires between one host's adapter and one module; nobody else uses them."),
    ("fabric", "What lies between hosts and modules: lightpaths (photonic), switches (switch), nothing (direct)."),
    ("flit, frame", "The unit that a CXL link, and that a lightpath, transmits: messages, check sum, credits."),
    ("profile", "All numbers of a machine. pfma: photonic appliance; niagara: direct device; switch: switched pool."),
    ("P50, P99, P99.9", "Latency that half, 99 %, and 99.9 % of the requests do not exceed."),
    ("offered, carried", "What hosts ask for, and what they get."),
    ("limit", "The busiest resource of a run by its own counters, or what requests waited for."),
    ("write-back, flush", "A host's cache sends a changed line to the memory: only then can other hosts read it."),
    ("fence (MFENCE)", "Waits until the write-backs before it are complete."),
    ("DMA", "The adapter moves lines by itself, past the host's cache."),
    ("queue model", "The timed port: the same machine without its hardware, calibrated by runs of the hardware."),
)
VERDICTS = ("holds", "differs", "faster than physics", "not measured")


def _figure(value: float) -> str:
    """A number for a reader: thousands apart, six digits at most."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _page(facts: Mapping[str, Any]) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["figure"] = _figure
    return environment.get_template("page.html.j2").render(verdicts=VERDICTS, **facts)


def _clear(folder: Path) -> None:
    """Pictures and tables of an earlier report must not stand beside this one's."""
    for pattern in ("*.png", "*.csv"):
        for path in folder.glob(pattern):
            path.unlink()


def report_json(plan: Plan, metrics: Sequence[Metric], measured: Sequence[Measured], about: Mapping[str, Any]) -> str:
    """Text of report.json."""
    failures = [{"id": m.point.id, "replay": m.replay} for m in measured if m.failure is not None]
    content = {
        "format": FORMAT,
        "profile": plan.profile,
        "quick": plan.quick,
        "seed": plan.seed,
        "mesh": plan.mesh,
        "metrics": {metric.id: {k: v for k, v in asdict(metric).items() if k != "id"} for metric in metrics},
        "points": [{"id": m.point.id, "replay": m.replay} for m in measured],
        "failures": failures,
        "about": dict(about),
    }
    return json.dumps(content, indent=1) + "\n"


def write(
    folder: Path,
    plan: Plan,
    title: tuple[str, str],
    sections: Sequence[Section],
    judged: Sequence[Judged],
    measured: Sequence[Measured],
    about: Mapping[str, Any],
) -> None:
    """Write all files of a report into `folder`; `title` is name and description of the profile."""
    folder.mkdir(parents=True, exist_ok=True)
    _clear(folder)
    pictures: dict[str, str] = {}
    for section in sections:
        for figure in section.figures:
            pictures[figure.id], png = plots.draw(figure)
            (folder / f"{figure.id}.png").write_bytes(png)
        for table in section.tables:
            _write_table(folder, table)
    metrics = [metric for section in sections for metric in section.metrics]
    rows = [[m.id, m.value, m.unit, m.origin, m.what] for m in metrics]
    write_atomic(folder / METRICS_CSV, _csv(["metric", "value", "unit", "origin", "what"], rows))
    write_atomic(folder / REPORT, report_json(plan, metrics, measured, about))
    write_atomic(folder / PAPER, json.dumps([row.model_dump() for row in judged], indent=1) + "\n")
    facts = {
        "profile": title[0],
        "description": title[1],
        "quick": plan.quick,
        "seed": plan.seed,
        "about": about,
        "sections": sections,
        "pictures": pictures,
        "words": WORDS,
        "points": [{"id": m.point.id, "replay": m.replay} for m in measured],
        "failures": [{"id": m.point.id, "text": m.failure} for m in measured if m.failure is not None],
    }
    write_atomic(folder / INDEX, _page(facts))


def _write_table(folder: Path, table: Table) -> None:
    write_atomic(folder / f"{table.id}.csv", _csv(table.columns, table.rows))
