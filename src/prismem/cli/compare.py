"""`prismem compare`: what moved between two reports."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from prismem.tb.report.compare import compare, load


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,g}"


def run(console: Console, before: Path, after: Path, *, tolerance_percent: float) -> bool:
    """Print the changes; False when one is beyond the tolerance."""
    found = compare(load(before), load(after))
    if found.changes:
        table = Table("metric", "unit", "before", "after", "change")
        for change in found.changes:
            percent = "only in one" if change.percent is None else f"{change.percent:+.3f} %"
            mark = " !" if change.beyond(tolerance_percent) else ""
            table.add_row(change.id, change.unit, _shown(change.before), _shown(change.after), percent + mark)
        console.print(table, highlight=False)
    wrong = found.beyond(tolerance_percent)
    console.print(
        f"{found.equal} equal, {len(found.changes)} moved, {len(wrong)} beyond {tolerance_percent:g} %", highlight=False
    )
    for key, (one, other) in found.run.items():
        console.print(f"{key}: {_shown(one)} and {_shown(other)} (of this machine; not judged)", highlight=False)
    return not wrong
