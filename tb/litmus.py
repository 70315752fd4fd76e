"""The litmus explorer (build/sw/prismem_litmus) from Python: files in, one record a file and mode out."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from prismem.errors import MisuseError, PrismemError
from prismem.paths import BUILD_SW, SOFTWARE
from prismem.tb.runner.build import build_software

EXPLORER = BUILD_SW / "prismem_litmus"
CATALOGUE = SOFTWARE / "litmus"
ENDING = ".litmus"
EXIT_MISUSE = 2


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
    """Bring the explorer up to date and run it: one record a file and mode, as soon as it is there.

    Raises MisuseError with file, line, column, what and cure.
    """
    build_software(goal="litmus")
    yield from explore_built(files, *options)


def explore_built(files: Sequence[Path], *options: str) -> Iterator[dict[str, Any]]:
    """`explore` inside of a run, whose software is built."""
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
