"""The table "printed, measured, accepted, floor, verdict, test": paper_rows.yaml judged by the report's metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

from prismem.tb.report.model import Metric, Section, Table

TABLE = Path(__file__).with_name("paper_rows.yaml")

Verdict = Literal["holds", "differs", "faster than physics", "not measured", "cannot be shown"]


class Row(BaseModel):
    """A row of paper_rows.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    source: str
    printed: str
    metric: str | None = None
    unit: str = ""
    low: float = 0.0
    high: float = 0.0
    tolerance: str = ""
    floor: str | None = None
    test: str = ""
    reason: str = ""


class Judged(BaseModel):
    """A row of paper.json."""

    id: str
    source: str
    printed: str
    measured: float | None
    unit: str
    tolerance: str
    low: float | None
    high: float | None
    floor: float | None
    verdict: Verdict
    test: str
    reason: str


def rows() -> list[Row]:
    """All rows, in the order of the table."""
    return [Row.model_validate(row) for row in yaml.safe_load(TABLE.read_text(encoding="utf-8"))["rows"]]


def judge(row: Row, metrics: Mapping[str, Metric]) -> Judged:
    """A row against what was measured. Below the physical floor nothing holds, however well it fits."""
    found = metrics.get(row.metric) if row.metric else None
    floor = metrics.get(row.floor) if row.floor else None
    verdict: Verdict
    if row.metric is None:
        verdict = "cannot be shown"
    elif found is None:
        verdict = "not measured"
    elif floor is not None and found.value < floor.value:
        verdict = "faster than physics"
    else:
        verdict = "holds" if row.low <= found.value <= row.high else "differs"
    shown = row.metric is not None
    return Judged(
        id=row.id,
        source=row.source,
        printed=row.printed,
        measured=found.value if found else None,
        unit=row.unit,
        tolerance=row.tolerance,
        low=row.low if shown else None,
        high=row.high if shown else None,
        floor=floor.value if floor else None,
        verdict=verdict,
        test=row.test,
        reason=row.reason,
    )


def judge_all(metrics: Iterable[Metric]) -> list[Judged]:
    """Every row."""
    known = {metric.id: metric for metric in metrics}
    return [judge(row, known) for row in rows()]


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}".removesuffix(" 1")


def _result(judged: Sequence[Judged]) -> str:
    """How many rows hold, and the names of those that do not."""
    shown = [row for row in judged if row.verdict not in ("cannot be shown", "not measured")]
    wrong = [f"{row.printed} ({row.verdict})" for row in shown if row.verdict != "holds"]
    text = f"{len(shown) - len(wrong)} of {len(shown)} rows that were measured hold."
    return text + (f" Not: {'; '.join(wrong)}." if wrong else "")


def section(judged: Sequence[Judged]) -> Section:
    """The table for a reader, and the list of what cannot be shown."""
    found = Section(
        "paper",
        "What the papers print, and what was measured",
        "Photonic Fabric memory appliance: arXiv 2607.27187. TraCT: arXiv 2512.18194. A row holds when the measured "
        "value lies inside the accepted range and not below the floor, which is flight, wires and media alone, "
        "computed from the profile.",
    )
    shown: list[list[Any]] = [
        [
            row.printed,
            row.source,
            "" if row.measured is None else _with_unit(f"{row.measured:,g}", row.unit),
            f"{_with_unit(f'{row.low:g} to {row.high:g}', row.unit)}: {row.tolerance}",
            "" if row.floor is None else _with_unit(f"{row.floor:,g}", row.unit),
            row.verdict,
            row.test,
        ]
        for row in judged
        if row.verdict != "cannot be shown"
    ]
    columns = ["printed", "source", "measured", "accepted: why", "physical floor (computed)", "verdict", "test"]
    found.tables.append(Table("paper", "Rows that hardware or software of ours can show", columns, shown))
    found.result = _result(judged)
    hidden = [[row.printed, row.source, row.reason] for row in judged if row.verdict == "cannot be shown"]
    found.tables.append(Table("paper_not_shown", "Rows that cannot be shown", ["printed", "source", "why"], hidden))
    return found
