"""`prismem report`: the characterization of a profile as a page, with its numbers beside it."""

from collections import Counter
from pathlib import Path

from rich.console import Console

from prismem.cli.compare import run as show_changes
from prismem.paths import relative
from prismem.tb.report import compare, render
from prismem.tb.report.points import Plan
from prismem.tb.report.run import run as make


def run(console: Console, plan: Plan, folder: Path, *, resume: bool, baseline: Path | None = None) -> bool:
    """Make the report and say what came out; False when a point failed, a row of a paper does not hold, or a figure is
    not what it was in the report `baseline`."""
    if baseline is not None:
        compare.load(baseline)  # what cannot be compared is refused before anything runs
    report = make(plan, folder, resume=resume)
    for measured in report.failures:
        console.print(f"FAILED {measured.point.id}: {measured.failure}", highlight=False, markup=False, soft_wrap=True)
    wrong = [row for row in report.judged if row.verdict in ("differs", "faster than physics")]
    for row in wrong:
        text = (
            f"{row.verdict}: {row.printed}: measured {row.measured:g} {row.unit}, accepted {row.low:g} to {row.high:g}"
        )
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    counts = Counter(row.verdict for row in report.judged)
    console.print("rows of the papers: " + ", ".join(f"{n} {v}" for v, n in counts.items()), highlight=False)
    kept = sum(measured.kept for measured in report.measured)
    console.print(f"{len(report.measured)} points, {kept} of them kept from before", highlight=False)
    console.print(relative(folder / render.INDEX), highlight=False)
    same = baseline is None or show_changes(console, baseline, folder, tolerance_percent=0.0)
    return not report.failures and not wrong and same
