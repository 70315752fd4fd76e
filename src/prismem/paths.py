"""Where things lie in the checkout. The only module that knows the layout; everything generated goes below build/."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ROOT / "profiles"
# The hardware that is built; a copy of it with a fault in it (prismem.tb.runner.rtl_mutants) takes its place by name.
RTL_VARIABLE = "PRISMEM_RTL"
RTL = Path(os.environ.get(RTL_VARIABLE) or ROOT / "rtl")
BENCH_HDL = ROOT / "tb" / "hdl"
SOFTWARE = ROOT / "software"

BUILD = ROOT / "build"
BUILD_SW = BUILD / "sw"
# What comes from a copy of the hardware lies beside it.
RTL_IS_COPY = RTL != ROOT / "rtl"
_HDL_BUILD = RTL.parent if RTL_IS_COPY else BUILD
BUILD_RUN = _HDL_BUILD / "run"
BUILD_VERILATOR = _HDL_BUILD / "verilator"
RTL_MUTANTS = ROOT / "tests" / "rtl_mutants"
MUTANTS = ROOT / "tests" / "mutants"
BUILD_OBJECTS = BUILD / "objects"
BUILD_RTL_MUTANTS = BUILD / "rtl_mutants"
BUILD_MUTANTS = BUILD / "mutants"


# Public request traces; they are no part of the checkout.
TRACES = Path(os.environ.get("PRISMEM_TRACES", ROOT.parent / "shared" / "data"))
MOONCAKE_TRACE = next(
    (path for path in sorted(TRACES.glob("*conversation_trace.jsonl"))), TRACES / "conversation_trace.jsonl"
)
MOONCAKE_SOURCE = (
    "the conversation trace is not there: take FAST25-release/traces/conversation_trace.jsonl from the repository "
    "kvcache-ai/Mooncake (Apache-2.0) and put it into ../shared/data, or name its folder by PRISMEM_TRACES"
)


def software_library(name: str) -> Path:
    """Where software/Makefile puts lib<name>.so."""
    return BUILD_SW / f"lib{name}.so"


def kept(text: str) -> str:
    """A path that somebody typed, as a run keeps it: relative to the checkout if inside, else absolute."""
    return relative(Path(text).resolve())


def found(text: str) -> Path:
    """The path behind what `kept` returned, from any folder."""
    return ROOT / text


def impersonal(text: str) -> str:
    """A text without the place of the checkout: messages and results must not name machines."""
    return text.replace(f"{ROOT}/", "")


def relative(path: Path) -> str:
    """`path` as text, relative to the checkout if inside: messages and results must not name machines."""
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)
