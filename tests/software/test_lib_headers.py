"""The public headers: plain C and C++ programs can include each, and the C tests use every name of tract.h."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from prismem.paths import SOFTWARE

HEADERS = sorted((SOFTWARE / "include" / "prismem").glob("*.h"))
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only")


@pytest.mark.parametrize("compiler", [("gcc", "-std=c11"), ("g++", "-std=c++17"), ("g++", "-std=c++20")], ids="".join)
def test_each_header_stands_alone(compiler: tuple[str, str], tmp_path: Path) -> None:
    """Goal: no header needs another before it, in C and in C++. Method: a source a header, all warnings are errors."""
    program, standard = compiler
    suffix = ".c" if program == "gcc" else ".cpp"
    for header in HEADERS:
        source = tmp_path / (header.stem + suffix)
        source.write_text(f'#include "prismem/{header.name}"\nint main() {{ return 0; }}\n'.replace("()", "(void)"))
        made = subprocess.run(
            [program, standard, *STRICT, f"-I{SOFTWARE / 'include'}", str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, f"{header.name}: {made.stderr}"


def test_every_name_of_the_paper_is_used() -> None:
    """Goal: nothing in tract.h goes untried. Method: its functions by name in software/tests/test_tract.c."""
    header = (SOFTWARE / "include" / "prismem" / "tract.h").read_text(encoding="utf-8")
    names = re.findall(r"^static inline [\w ]+?\*?(\w+)\(", header, re.MULTILINE)
    test = (SOFTWARE / "tests" / "test_tract.c").read_text(encoding="utf-8")
    assert len(names) >= 15
    assert [name for name in names if not re.search(rf"\b{name}\(", test)] == []
