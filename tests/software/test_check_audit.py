"""The audit at the end of an execution: a program's own prismem_audit, asked with caches dropped and written back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import check_support
import pytest

from prismem.paths import ROOT

PROGRAM = check_support.PROGRAMS / "audited.c"


def check(*arguments: str) -> tuple[int, dict[str, Any]]:
    return check_support.check(PROGRAM, *arguments)


def line_of(code: str) -> str:
    [place] = check_support.lines_with(PROGRAM, code)
    return place


def test_right_memory_passes() -> None:
    """All that the program has written is flushed, and the sums are right."""
    status, result = check("--executions", "2000")
    assert (status, result["found"]) == (0, False)


def test_what_was_never_flushed_is_named() -> None:
    """Nobody reads the result, so only the audit misses it: line, store and place of the flush are named."""
    status, result = check("-D", "FORGET", "--executions", "2000")
    assert (status, result["kind"]) == (1, "audit")
    assert "with all caches dropped; only the cache of host 0 had line 0" in result["message"]
    assert line_of("/* the result */") in result["message"]
    assert any(line.startswith(f"mend  flush line 0 after {line_of('/* the result */')}") for line in result["story"])


@pytest.mark.parametrize("policy", ["lazy", "random"])
def test_what_is_wrong_everywhere_is_found(policy: str) -> None:
    """A sum that leaves one out is flushed like any other, and never read."""
    status, result = check("-D", "WRONG", "--executions", "2000", "--policy", policy)
    assert (status, result["kind"]) == (1, "audit")
    assert "only the cache" not in result["message"]


def test_both_ways(tmp_path: Path) -> None:
    """An audit that accepts what is lost with the caches is still asked once everything has been written back."""
    source = tmp_path / "late.c"
    text = PROGRAM.read_text(encoding="utf-8").replace("return dropped ? 1 : 2;", "return dropped ? 0 : 2;")
    source.write_text(text, encoding="utf-8")
    command = [str(Path(sys.executable).parent / "prismem"), "check", str(source), "--json", "--executions", "2000"]
    for define, kind in (("FORGET", None), ("WRONG", "audit")):
        done = subprocess.run([*command, "-D", define], cwd=ROOT, capture_output=True, text=True, check=False)
        assert json.loads(done.stdout)["kind"] == kind
    assert "after everything was written back" in json.loads(done.stdout)["message"]
