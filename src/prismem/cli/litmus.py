"""`prismem litmus`: verdicts of litmus programs (docs/litmus.md), explored by build/sw/prismem_litmus in both modes."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from prismem.errors import MisuseError, PrismemError
from prismem.paths import BUILD_SW
from prismem.tb.runner.build import build_software

EXPLORER = BUILD_SW / "prismem_litmus"
ENDING = ".litmus"
EXIT_MISUSE = 2
# Of a verdict, in `--json`.
FIELDS = ("name", "file", "mode", "verdict", "trap", "states", "expect_ok", "unexpected", "vacuous", "seconds")
RUNS = {"bad_run": "shortest bad run", "trap_run": "shortest way into a trap state"}


def programs(paths: Sequence[Path]) -> list[Path]:
    """The files, and those inside of the folders. Raises MisuseError for a path that is not there or holds none."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise MisuseError(f"{path}: no such file or folder; the catalogue lies in software/litmus")
        inside = sorted(path.rglob(f"*{ENDING}")) if path.is_dir() else [path]
        if not inside:
            raise MisuseError(f"{path}: no file in this folder ends with {ENDING}")
        found += inside
    return found


def explore(files: Sequence[Path], *options: str) -> Iterator[dict[str, Any]]:
    """One record a file and mode, as soon as it is there. Raises MisuseError with file, line, column, what and cure."""
    build_software(goal="litmus")
    command = [str(EXPLORER), *options, "--", *map(str, files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            yield json.loads(line)
        said = process.stderr.read().strip()
    if process.returncode == EXIT_MISUSE:
        raise MisuseError(said)
    if process.returncode != 0:
        raise PrismemError(f"the explorer ended with {process.returncode}: {said or 'out of memory?'}")


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
