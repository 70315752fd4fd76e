"""The public headers: plain C and C++ programs can include each, and the C tests use every name of tract.h."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from lib_support import build

from prismem.paths import BUILD_SW, SOFTWARE

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


PROGRAM = """
#include "prismem/tract.h"
int main(int argc, char **argv) {
  pm_format_options format;
  pm_pool *pool = NULL;
  memset(&format, 0, sizeof format);
  format.pool_bytes = 2 << 20;
  if (argc != 2 || pm_format(argv[1], &format) != 0 || tract_init(argv[1], 1, &pool) != 0) return 1;
  char *text = (char *)shmalloc(pool, 64);
  if (text == NULL) return 2;
  strcpy(text, "shared");
  clflush(text, 64);
  if (cxl_shm_put(pool, "key", 3, text) != 0 || cxl_shm_get(pool, "key", 3) != text) return 3;
  if (cxl_shm_get_ptr(pool, cxl_shm_get_offset(pool, text)) != text) return 4;
  if (cxl_shm_destroy(pool, "key", 3) != 0 || shfree(pool, text) != 0) return 5;
  return pm_close(pool);
}
"""


@pytest.mark.parametrize(("compiler", "suffix"), [("gcc", "c"), ("g++", "cpp")])
def test_a_program_with_the_names_of_the_paper(compiler: str, suffix: str, tmp_path: Path) -> None:
    """Goal: C and C++ programs written against the paper compile, link and run. Method: one program, both compilers."""
    build("native")
    source, program = tmp_path / f"program.{suffix}", tmp_path / "program"
    source.write_text(PROGRAM, encoding="utf-8")
    warnings = [flag for flag in STRICT if flag != "-fsyntax-only"]
    link = [f"-L{BUILD_SW}", "-lprismem", f"-Wl,-rpath,{BUILD_SW}"]
    command = [compiler, *warnings, f"-I{SOFTWARE / 'include'}", str(source), *link, "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert subprocess.run([program, tmp_path / "pool"], check=False, timeout=60).returncode == 0


def test_every_name_of_the_paper_is_used() -> None:
    """Goal: nothing in tract.h goes untried. Method: its functions by name in software/tests/test_tract.c."""
    header = (SOFTWARE / "include" / "prismem" / "tract.h").read_text(encoding="utf-8")
    names = re.findall(r"^static inline [\w ]+?\*?(\w+)\(", header, re.MULTILINE)
    test = (SOFTWARE / "tests" / "test_tract.c").read_text(encoding="utf-8")
    assert len(names) >= 15
    assert [name for name in names if not re.search(rf"\b{name}\(", test)] == []
