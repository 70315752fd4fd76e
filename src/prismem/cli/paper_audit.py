"""`prismem paper-audit`: what the checker says about the protocol as the paper prints it, as docs/paper_audit.md.

The claims, their programs and what has to come out stand in software/examples/tract_as_printed/audit.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from prismem.lib.check.log import POLICIES, Request, Source
from prismem.lib.check.run import Outcome, check
from prismem.paths import ROOT, SOFTWARE
from prismem.tb.litmus import explore, programs

FOLDER = SOFTWARE / "examples" / "tract_as_printed"
DOCUMENT = ROOT / "docs" / "paper_audit.md"
EXECUTIONS = 6000
"""Executions of a run that finds nothing."""
TIME_S = 300.0
"""Bound of one run in real time; EXECUTIONS is what ends it."""
STEPS_COLUMN = 10
"""Characters before the steps of a story: the time, which says nothing here."""
INTRODUCTION = """\
TraCT (arXiv 2512.18194) prints a lock, a reference count, an allocator and a prefix index for shared memory that
no hardware keeps coherent. `software/examples/tract_as_printed/` holds them as small programs, each as printed and
in a form that holds (`-D MENDED`); this is what `prismem check` says about them. A clean run is a search, not a
proof; a fault is one that the instruction set and the device allow, not one that has been seen on the paper's
machine.
""".splitlines()
Says = Literal["nothing", "stale_read", "lost_update", "stuck", "thread"]


class Run(BaseModel):
    """One program under the checker."""

    model_config = ConfigDict(extra="forbid")
    program: str
    options: list[str] = []
    hosts: int = 2
    posted: bool = False
    says: Says = "nothing"
    note: str = ""

    def request(self) -> Request:
        """Of the checker; everything follows from seed 1."""
        policies = [policy for policy in POLICIES if policy != "dfs"]
        return Request(
            sources=[Source.of(FOLDER / self.program)],
            hosts=self.hosts,
            flags=[f"-D{option}" for option in self.options],
            policies=policies,
            executions=EXECUTIONS,
            time_s=TIME_S,
            posted=self.posted,
        )

    def command(self) -> str:
        """What a user types to see it."""
        words = [f"software/examples/tract_as_printed/{self.program}", f"--hosts {self.hosts}"]
        words += [f"-D {option}" for option in self.options] + ["--posted"] * self.posted
        return "prismem check " + " ".join(words)


class Claim(BaseModel):
    """A row of the audit."""

    model_config = ConfigDict(extra="forbid")
    claim: str
    section: str
    doubt: str
    verdict: str
    runs: list[Run]
    litmus: list[str] = []
    mended: str
    clean: list[Run]


def claims() -> list[Claim]:
    """All rows."""
    raw = yaml.safe_load((FOLDER / "audit.yaml").read_text(encoding="utf-8"))
    return [Claim(**row) for row in raw]


def result_of(run: Run, outcome: Outcome) -> str:
    """In a few words. Raises AssertionError when it is another than the file says."""
    kind = "nothing" if outcome.log is None else outcome.log.fault.kind
    assert kind == run.says, f"{run.command()}: {kind}, and audit.yaml says {run.says}"
    assert outcome.log is not None or outcome.executions == EXECUTIONS, f"{run.command()}: stopped early"
    return f"nothing in {EXECUTIONS} executions" if outcome.log is None else f"**{kind}**"


def story_of(outcome: Outcome) -> list[str]:
    """The story without times."""
    lines = [line[STEPS_COLUMN:] if line.startswith("   ") else line for line in outcome.lines]
    return ["```", *lines, "```", ""]


def _row(number: int, claim: Claim) -> Iterator[str]:
    yield from (f"## {number}. {claim.claim}", "", f"Section {claim.section}. {claim.doubt}", "")
    yield from (f"**{claim.verdict}**", "")
    stories = []
    for run in claim.runs:
        outcome = check(run.request())
        yield f"- `{run.command()}`: {run.note}: {result_of(run, outcome)}"
        if outcome.found:
            stories.append((run, outcome))
    if claim.litmus:
        records = {r["name"]: r for r in explore(programs([SOFTWARE / "litmus" / f"{n}.litmus" for n in claim.litmus]))
                   if r["mode"] == "noncoherent"}  # fmt: skip
        verdicts = [f"{n} {records[n]['verdict']}{' with a trap' * bool(records[n]['trap'])}" for n in claim.litmus]
        yield f"- bad outcome in `software/litmus`: {', '.join(verdicts)}"
    yield ""
    for run, outcome in stories:
        yield from (f"{run.note[0].upper()}{run.note[1:]}:", "", *story_of(outcome))
    yield from (f"Mended: {claim.mended}", "")
    for run in claim.clean:
        yield f"- `{run.command()}`: {result_of(run, check(run.request()))}"
    yield ""


def document() -> str:
    """The whole text. Raises AssertionError when a program does not end as the file says."""
    rows = claims()
    lines = [
        "# The paper's protocol as printed",
        "",
        "<!-- written by `prismem paper-audit --write`; tests/software/test_paper_audit.py compares -->",
        "",
        *INTRODUCTION,
        "",
        "| | the paper says | section | verdict |",
        "|---|---|---|---|",
    ]
    lines += [f"| {n} | {row.claim} | {row.section} | {row.verdict} |" for n, row in enumerate(rows, 1)]
    lines.append("")
    for number, row in enumerate(rows, 1):
        lines += _row(number, row)
    return "\n".join(lines).rstrip() + "\n"


def write(path: Path = DOCUMENT) -> str:
    """Write the document; what was done, in a line."""
    path.write_text(document(), encoding="utf-8")
    return f"wrote {path.name}: {len(claims())} claims"
