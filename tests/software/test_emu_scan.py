"""The object scan names each function that hides an instruction from the hooks, and no other."""

from __future__ import annotations

import subprocess
import sys

import pytest
from emu_support import ROOT, make

SCAN = ROOT / "software/emu/scan_object.py"
HIDDEN = [
    "raw_clflush", "raw_clflushopt", "raw_clwb", "raw_movnti", "raw_movntdq", "raw_movdir64b", "raw_prefetchw",
    "raw_lock_add", "raw_xchg", "raw_rep_movsb", "raw_rep_stosq", "raw_mfence",
    "raw_gather", "raw_masked", "raw_predicated",
]  # fmt: skip


def scan(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCAN), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def objects() -> dict[str, str]:
    names = ("raw_instructions", "moves", "litmus")
    paths = {name: str(ROOT / f"build/sw/programs/{name}.o") for name in names}
    for name in names:
        make(f"OBJECT={name}", "object")
    return paths


def test_each_hidden_instruction_is_found(objects: dict[str, str]) -> None:
    """Every function that the hooks cannot see is named once; the one that goes through the hooks is not."""
    result = scan(objects["raw_instructions"])
    functions = [line.split(": ")[1] for line in result.stdout.splitlines()]
    assert result.returncode == 1
    assert functions == HIDDEN


def test_instrumented_programs_are_clean(objects: dict[str, str]) -> None:
    """Copies, structure moves, atomics and intrinsics leave nothing behind that the hooks miss."""
    result = scan(objects["moves"], objects["litmus"])
    assert (result.returncode, result.stdout) == (0, "")


def test_allowed_function_and_missing_object(objects: dict[str, str]) -> None:
    allowed = [argument for name in HIDDEN for argument in ("--allow", name)]
    assert scan(objects["raw_instructions"], *allowed).returncode == 0
    missing = scan("no_such_object.o")
    assert missing.returncode == 2
    assert "no_such_object.o" in missing.stderr
