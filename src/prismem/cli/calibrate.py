"""`prismem calibrate`: numbers of the timed port from runs of the RTL, and how well it does on other traffic."""

from rich.console import Console
from rich.table import Table

from prismem.paths import kept, relative
from prismem.tb.report.calibrate import calibrate
from prismem.tb.report.validate import result_file, validate


def run(console: Console, profile: str, *, validate: bool) -> bool:
    """Calibrate; with `validate` False when the timed port is further from the RTL than it may be."""
    name = kept(profile) if profile.endswith(".toml") else profile
    console.print(relative(calibrate(name)), highlight=False)
    return not validate or show(console, name)


def show(console: Console, name: str) -> bool:
    """Validate and print a row for each workload."""
    found = validate(name)
    table = Table("workload", "latency off, %", "rate off, %", "lines", "us a line", "times as fast")
    for row in found.rows:
        errors = (f"{value:.2f}" for value in (row.latency_error_percent, row.bandwidth_error_percent))
        cpu_us = 1e6 * row.cpu_s[1] / row.lines[1]
        table.add_row(row.name, *errors, f"{row.lines[1]:,}", f"{cpu_us:.2f}", f"{row.speedup:,.0f}")
    console.print(table, highlight=False)
    for problem in found.problems:
        console.print(problem, highlight=False, markup=False)
    console.print(relative(result_file(name)), highlight=False)
    return not found.problems
