"""The litmus catalogue on emulated hosts: nothing outside of the model, and nearly all that it allows is seen."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import pytest

from prismem.errors import MisuseError
from prismem.paths import SOFTWARE
from prismem.tb.job import CheckFailed
from prismem.tb.litmus_code import OPS
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec
from prismem.tb.tests.litmus import judge

# A store of compiled C retires the flush before it, so this one's look never passes its own store.
NOT_SEEN = {"LOCK-peterson-nofence"}
ROUNDS = 300
SEEDS = (1, 3, 5, 9)


def rows(seed: int, port: str = "functional", rounds: int = ROUNDS, **options: str) -> list[dict[str, Any]]:
    result = execute(make_spec("litmus", port=port, seed=seed, options={"rounds": str(rounds)} | options))
    assert result.passed, result.text()
    found: list[dict[str, Any]] = result.metrics["litmus"]
    return found


def test_allowed_outcomes_are_seen_on_the_functional_port() -> None:
    """Four seeds, two policies: every allowed row shows its bad outcome, but for the one that cannot."""
    seen: set[str] = set()
    allowed: set[str] = set()
    for seed in SEEDS:
        found = rows(seed)
        assert len(found) > 40
        assert all(row["bad"] == 0 for row in found if row["verdict"] == "forbidden")
        allowed |= {row["name"] for row in found if row["verdict"] == "allowed"}
        seen |= {row["name"] for row in found if row["bad"]}
    assert allowed - seen == NOT_SEEN


@pytest.mark.parametrize(
    ("switches", "program", "bad"),
    [
        ("completion=posted", "PUB-fl-posted", True),
        ("completion=posted", "CRASH-ack-posted", True),
        ("clwb=drop", "CON-wb-drop", False),
        ("dma_snoop=0", "DMA-rd-snoop", False),
        ("dma_snoop=0,ddio=0", "DMA-wr-ddio", True),
        ("prefetch=off", "CON-early-inv-nopf", False),
        ("prefetch=off,evict=off", "NBR-premature-pub", True),
        ("spurious_dirty=on", "FS-reader-spurious", True),
    ],
)
def test_switches(switches: str, program: str, bad: bool) -> None:
    """A program whose options name a switch runs on a machine that has it, and shows what the model allows."""
    [row] = [row for row in rows(1, switches=switches) if row["name"] == program]
    assert row["runs"] == ROUNDS
    assert (row["bad"] > 0) == bad


@pytest.mark.parametrize(
    ("port", "options", "message"),
    [
        ("rtl", {"switches": "completion=posted"}, "takes completion from the profile"),
        ("functional", {"switches": "clwb=never"}, "'clwb=never' is not known; choose of completion=device"),
        ("functional", {"switches": "fill_survives_flush=on"}, "memory takes no time on the functional port"),
        ("functional", {"programs": "PUB-fl-posted"}, "fits this machine, whose switches its options must name"),
    ],
)
def test_what_is_refused(port: str, options: dict[str, str], message: str) -> None:
    """Switches that a machine cannot have, and a choice of no program."""
    with pytest.raises(MisuseError, match=re.escape(message)):
        make_spec("litmus", port=port, options=options)


def test_an_outcome_outside_of_the_model_fails_the_run() -> None:
    """So does a run in which nothing came to its end."""
    row = {"name": "PUB-fl-fl", "outside": [], "runs": 3}
    judge([row])
    with pytest.raises(CheckFailed, match="PUB-fl-fl: outcome '1.r0=1 1.r1=0' is outside of the memory model"):
        judge([row | {"outside": ["1.r0=1 1.r1=0"]}])
    with pytest.raises(CheckFailed, match="no run"):
        judge([row | {"runs": 0}])


def test_operations_are_those_of_the_header() -> None:
    """The interpreter's enumeration and the job's list are one."""
    header = (SOFTWARE / "jobs/litmus_run.h").read_text()
    names = re.findall(r"^  LITMUS_(\w+),?$", header, re.MULTILINE)
    assert tuple(name.lower() for name in names) == OPS
    assert ctypes.sizeof(ctypes.c_void_p) == 8


@pytest.mark.regress
def test_rtl_shows_nothing_outside_of_the_model() -> None:
    """The catalogue in front of the RTL."""
    found = rows(1, port="rtl", rounds=4)
    assert sum(row["runs"] for row in found) > 100
    assert any(row["bad"] for row in found)
