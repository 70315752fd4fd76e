"""The section of the sensitivity: a row for each number, and the list of numbers whose effect a test shows."""

from __future__ import annotations

from typing import Any

from prismem.tb.report import sensitivity
from prismem.tb.report.model import Results, Section, Table


def build(results: Results) -> Section | None:
    """Section of the points `sensitivity/...`; None without one."""
    section = Section(
        "sensitivity",
        "Sensitivity: what each number of a profile moves",
        "Each row changes one number and measures the figure that depends on it, on a host and a module of the RTL. "
        "The difference is compared with that of the formula over both profiles. A number that moved nothing would be "
        "a knob without effect; numbers that concern neither time nor rate are listed with the test that shows them.",
    )
    rows: list[list[Any]] = []
    holding = 0
    for row in sensitivity.rows():
        before, after = (results.get(point) for point in sensitivity.point_ids(row))
        if before is None or after is None:
            continue
        moved, figure = sensitivity.moved(row, before, after), sensitivity.FIGURES[row.metric]
        holding += moved.holds
        name = f"{row.profile}.{row.key}"
        section.add(f"{name}.measured", round(moved.measured, 4), figure.unit, f"{figure.what}, at {row.to}")
        section.add(f"{name}.computed", round(moved.computed, 4), figure.unit, figure.what, origin="computed")
        numbers = [moved.before[0], moved.after[0], moved.measured, moved.computed]
        rows.append([row.profile, row.key, row.to, ", ".join(row.with_), f"{figure.what}, {figure.unit}"])
        rows[-1] += [round(number, 4) for number in numbers] + ["holds" if moved.holds else "differs"]
    if not rows:
        return None
    section.add("rows", len(rows), "1", "numbers that were changed")
    section.add("rows_that_hold", holding, "1", "rows in which the figure moved as computed")
    section.result = f"{holding} of {len(rows)} numbers moved their figure the right way by the computed amount."
    columns = ["profile", "number", "other value", "both runs with", "figure", "measured", "with the other value"]
    columns += ["measured difference", "computed difference", "verdict"]
    section.tables.append(Table("sensitivity", "One number changed", columns, rows))
    shown = [[key, test] for key, test in sensitivity.shown_elsewhere().items()]
    title = "Numbers that move neither a time nor a rate"
    section.tables.append(Table("sensitivity_tests", title, ["number", "shown by"], shown))
    return section
