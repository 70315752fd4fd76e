"""`prismem litmus`: verdicts of litmus programs (docs/litmus.md) as text and JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from prismem.tb.litmus import explore, programs

# Of a verdict, in `--json`.
FIELDS = ("name", "file", "mode", "verdict", "trap", "states", "expect_ok", "unexpected", "vacuous", "seconds")
RUNS = {"bad_run": "shortest bad run", "trap_run": "shortest way into a trap state"}


def verdict_line(record: dict[str, Any]) -> str:
    """Name, mode, verdict, TRAP, states, and what is not as it should be."""
    remarks = [record["unexpected"].upper()] if record["unexpected"] else []
    remarks += [f"VACUOUS: {record['vacuous']}"] if record["vacuous"] else []
    trap = "TRAP" if record["trap"] else ""
    line = f"{record['name']:26} {record['mode']:12} {record['verdict'].upper():10} {trap:4} {record['states']:>9}"
    return f"{line}  {'; '.join(remarks)}".rstrip()


def run_lines(title: str, run: dict[str, Any]) -> list[str]:
    """A run as a table: step, source line, who, what, effect."""
    lines = [f"  {title}, {len(run['steps'])} steps:"]
    who_width = max(len(step["who"]) for step in run["steps"])
    what_width = max(len(step["what"]) for step in run["steps"])
    for number, step in enumerate(run["steps"], 1):
        source = f"line {step['line']}" if step["line"] else ""
        text = f"  {number:4}  {source:9} {step['who']:{who_width}}  {step['what']:{what_width}}  {step['effect']}"
        lines.append(text.rstrip())
    return [*lines, f"        at the end: {run['end']}"]


def summary(records: Sequence[dict[str, Any]]) -> str:
    """Counts, time, and the speed on the largest program."""
    seconds = sum(record["seconds"] for record in records)
    wrong = sum(not record["expect_ok"] for record in records)
    largest = max(records, key=lambda record: record["states"] + record["trap_states"])
    states = largest["states"] + largest["trap_states"]
    speed = f"{states / largest['seconds']:,.0f} states/s" if largest["seconds"] > 0 else "too short to time"
    return (
        f"{len(records)} verdicts, {wrong} not as expected, {seconds:.1f} s of one core; "
        f"largest: {largest['name']} {largest['mode']}, {states:,} states, {speed}"
    )


def run(paths: Sequence[Path], options: Sequence[str], *, as_json: bool) -> bool:
    """Explore and print; False when a verdict is not the expected one."""
    records = []
    for record in explore(programs(paths), *options):
        records.append(record)
        if as_json:
            continue
        click.echo(verdict_line(record))
        for key, title in RUNS.items():
            if key in record:
                click.echo("\n".join(run_lines(title, record[key])))
    if as_json:
        kept = [{key: record[key] for key in (*FIELDS, *(RUNS.keys() & record.keys()))} for record in records]
        click.echo(json.dumps(kept, indent=1))
    else:
        click.echo(summary(records))
    return all(record["expect_ok"] for record in records)
