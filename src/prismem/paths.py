"""Where things lie in the checkout. The only module that knows the layout; everything generated goes below build/."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ROOT / "profiles"
RTL = ROOT / "rtl"
BENCH_HDL = ROOT / "tb" / "hdl"
SOFTWARE = ROOT / "software"

BUILD = ROOT / "build"
BUILD_RUN = BUILD / "run"
BUILD_SW = BUILD / "sw"
BUILD_VERILATOR = BUILD / "verilator"


def software_library(name: str) -> Path:
    """Where software/Makefile puts lib<name>.so."""
    return BUILD_SW / f"lib{name}.so"


def relative(path: Path) -> str:
    """`path` as text, relative to the checkout if inside: messages and results must not name machines."""
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)
