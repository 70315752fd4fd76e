"""`prismem doctor`: what is there, which version, where and why; what is missing and the command that installs it."""

import os
import platform
import shutil
import sys
from dataclasses import dataclass

import find_libpython
from rich.console import Console
from rich.table import Table

from prismem.errors import PrismemError
from prismem.paths import BUILD, ROOT
from prismem.tb.runner.toolchain import command_output, commit, find_verilator, fst_possible, tool_versions

CXL_REVISION = "CXL 3.1; what differs stands in docs/limits.md"
GXX_MAJOR_MIN = 12


@dataclass(frozen=True)
class Finding:
    """One line of the report. `cure` is empty when all is well; `needed`: nothing works without."""

    name: str
    text: str
    cure: str = ""
    needed: bool = True


def findings() -> list[Finding]:
    """Everything that the doctor looks at."""
    return [
        Finding("prismem", f"{tool_versions_or_none().get('prismem', '?')}, commit {commit()}, {ROOT}"),
        Finding("specification", CXL_REVISION),
        _python(),
        _libpython(),
        _gxx(),
        *(_tool(name, f"sudo apt-get install -y {name}") for name in ("make", "perl")),
        *(_tool(name, "sudo apt-get install -y binutils") for name in ("addr2line", "objdump")),
        _verilator(),
        _waves(),
        _tool("ccache", "sudo apt-get install -y ccache", needed=False, note="speeds rebuilds up"),
        _tool("chromium", "sudo apt-get install -y chromium", needed=False, note="make regress opens a report in it"),
        Finding("processors", f"{os.cpu_count()} ({platform.machine()})"),
        Finding("builds", f"{BUILD}"),
    ]


def tool_versions_or_none() -> dict[str, str]:
    """Versions of the packages, as far as they can be told without a Verilator."""
    try:
        return tool_versions()
    except PrismemError:
        return {}


def _python() -> Finding:
    return Finding("python", f"{platform.python_version()} at {sys.executable}")


def _libpython() -> Finding:
    path = find_libpython.find_libpython()
    if path is None:
        return Finding("libpython", "no shared library: cocotb needs it", "sudo apt-get install -y libpython3-dev")
    return Finding("libpython", path)


def _gxx() -> Finding:
    version = command_output("g++", "-dumpfullversion")
    if not version or int(version.partition(".")[0]) < GXX_MAJOR_MIN:
        return Finding(
            "g++", f"{version or 'not found'}; {GXX_MAJOR_MIN} or newer needed", "sudo apt-get install -y g++"
        )
    return Finding("g++", f"{version} at {shutil.which('g++')}")


def _tool(name: str, cure: str, *, needed: bool = True, note: str = "") -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(name, f"not found{f'; {note}' if note else ''}", cure, needed)
    return Finding(name, f"{command_output(name, '--version') or '?'} at {path}")


def _verilator() -> Finding:
    try:
        tool = find_verilator()
    except PrismemError as error:
        return Finding("verilator", str(error), "see https://verilator.org/guide/latest/install.html")
    return Finding("verilator", f"{tool.version} at {tool.script}: {tool.why}")


def _waves() -> Finding:
    if fst_possible():
        return Finding("waves", "FST")
    return Finding("waves", "VCD; FST is smaller", "sudo apt-get install -y liblz4-dev zlib1g-dev", needed=False)


def report(console: Console) -> bool:
    """Print the findings; False when something needed is missing."""
    found = findings()
    table = Table(show_header=False, box=None, pad_edge=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for finding in found:
        mark = "ok" if not finding.cure else ("MISSING" if finding.needed else "optional")
        table.add_row(finding.name, mark, finding.text + (f"\n-> {finding.cure}" if finding.cure else ""))
    console.print(table)
    return not any(finding.cure and finding.needed for finding in found)
