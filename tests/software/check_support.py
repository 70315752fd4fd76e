"""What the tests of `prismem check` share: running it as a user does, and finding lines of a source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from prismem.paths import ROOT

PROGRAMS = ROOT / "tests" / "software" / "programs"


def prismem(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, as a user runs it."""
    command = [str(Path(sys.executable).parent / "prismem"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def check(program: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of a check."""
    done = prismem("check", str(program), "--json", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def lines_with(program: Path, code: str) -> list[str]:
    """`file:line` of each line that holds this code."""
    lines = program.read_text(encoding="utf-8").splitlines()
    return [f"{program.name}:{number}" for number, line in enumerate(lines, 1) if code in line]
