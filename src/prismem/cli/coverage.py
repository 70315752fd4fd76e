"""`prismem coverage`: run what the coverage plan lists, merge, print a table, leave build/coverage/summary.json."""

from rich.console import Console
from rich.table import Table

from prismem.paths import relative
from prismem.tb.coverage.collect import LCOV, SUMMARY, collect
from prismem.tb.coverage.plan import load
from prismem.tb.runner.build import progress

MISSING_SHOWN_MAX = 12


def run(console: Console) -> bool:
    """Collect and print; False when a goal of the plan is missed."""
    plan = load()
    summary = collect(progress, plan)
    table = Table("file of rtl/", "lines", "covered", "not reached")
    for row in summary.files:
        shown = ", ".join(map(str, row.missing[:MISSING_SHOWN_MAX])) + (
            " ..." if len(row.missing) > MISSING_SHOWN_MAX else ""
        )
        table.add_row(row.file, str(row.lines), str(row.covered), shown)
    console.print(table)
    for excluded in summary.excluded:
        console.print(f"excluded: {excluded['what']}: {excluded['reason']}", highlight=False)
    for name in summary.missing_bins:
        console.print(f"never seen: {name}", highlight=False)
    console.print(
        f"lines {summary.line_percent} % (goal {plan.line_percent_min} %), branches {summary.branch_percent} %, "
        f"functional bins {summary.functional_percent} % (goal 100 %)",
        highlight=False,
    )
    console.print(f"{relative(SUMMARY)}, {relative(LCOV)}")
    return summary.line_percent >= plan.line_percent_min and not summary.missing_bins
