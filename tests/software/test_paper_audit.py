"""The audit of the paper's protocol: each program ends as the audit says, and the document is what comes out."""

import pytest

from prismem.cli.paper_audit import DOCUMENT, FOLDER, Run, claims, document, result_of
from prismem.lib.check.run import check


def test_the_document_is_what_the_checker_says() -> None:
    """Every claim is run again: as printed, mended, as litmus programs; a verdict that is not the file's fails too."""
    assert document() == DOCUMENT.read_text(encoding="utf-8"), "docs/paper_audit.md: run prismem paper-audit --write"


def test_no_program_is_left_out() -> None:
    """Every program is shown as printed and in its mended form."""
    files = {path.name for path in FOLDER.glob("*.c")}
    assert {run.program for row in claims() for run in row.runs} == files
    assert {run.program for row in claims() for run in row.clean if "MENDED" in run.options} == files
    assert all(run.says == "nothing" for row in claims() for run in row.clean)


def test_an_audit_that_claims_something_else_fails() -> None:
    """A program with a fault that is called clean, and a clean one that is called faulty."""
    for run in (Run(program="zombie.c"), Run(program="zombie.c", options=["MENDED"], says="lost_update")):
        with pytest.raises(AssertionError, match="zombie.c.*: .*and audit.yaml says"):
            result_of(run, check(run.request()))
