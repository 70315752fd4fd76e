"""Locks, allocator and prefix index, called by three hosts at once: every history is linearizable, and faults show."""

from __future__ import annotations

import re

import pytest
from lib_support import build

from prismem.lib.emu import State
from prismem.lib.mutants import select_mutant
from prismem.models.linearize import Violation, check
from prismem.models.objects import MODELS
from prismem.paths import SOFTWARE
from prismem.tb.op_history import CALLS, Outcome, run

SEEDS = 24
SEEDS_MAX = 60  # in which a fault has to show


def judged(seed: int, **options: int) -> tuple[Outcome, list[Violation]]:
    outcome = run(seed=seed, **options)
    return outcome, check(outcome.operations, MODELS)


def test_the_library_is_linearizable() -> None:
    """Goal: no answer that no order explains. Method: seeds over the four policies; each kind of object is used."""
    build()
    seen: set[tuple[str, str, int]] = set()
    for seed in range(SEEDS):
        outcome, violations = judged(seed)
        assert outcome.state is State.DONE, outcome.fault
        assert violations == [], str(violations[0])
        assert outcome.findings == []
        seen |= {(o.key.split(":")[0], o.call, min(o.result, 4)) for o in outcome.operations}
    wanted = {("lock", "acquire", 0), ("block", "alloc", 0), ("block", "free", 0), ("entry", "evict", 1)}
    wanted |= {("entry", "lookup", 0), ("entry", "lookup", 1), ("entry", "exists", 1)}
    wanted |= {("entry", "reserve", 1), ("entry", "reserve", 2), ("entry", "reserve", 3)}
    assert wanted <= seen, wanted - seen


@pytest.mark.regress
def test_a_hundred_thousand_operations() -> None:
    """Goal: long runs are affordable. Method: one history of 100,000 answers."""
    build()
    outcome, violations = judged(1, calls=17_000)
    assert len(outcome.operations) > 100_000
    assert outcome.state is State.DONE, outcome.fault
    assert violations == []


@pytest.mark.parametrize(
    ("mutant", "kind"),
    [("reader_no_invalidate", "entry"), ("refcount_dropped", "entry"), ("lock_no_invalidate", "entry")],
)
def test_a_fault_of_the_library_shows(mutant: str, kind: str) -> None:
    """Goal: the check can fail. Method: runs of a faulty library until one history has no order."""
    build()
    select_mutant(mutant)
    try:
        violations = next(found for seed in range(SEEDS_MAX) if (found := judged(seed)[1]))
    finally:
        select_mutant("none")
    assert violations[0].key.split(":")[0] == kind
    assert len(violations[0].window) < 20


def test_the_audit_alone_sees_a_fault() -> None:
    """Goal: what no answer shows is found in the memory at the end. Method: a list of the index, one neighbour of
    which is not flushed; the history has an order, and the memory is wrong when the caches are dropped."""
    build()
    select_mutant("lru_one_neighbour")
    try:
        runs = (judged(seed, calls=100) for seed in range(SEEDS_MAX))
        outcome = next(outcome for outcome, violations in runs if not violations and outcome.findings)
    finally:
        select_mutant("none")
    assert outcome.state is State.FAULT
    assert outcome.findings[0].startswith("caches dropped: index: ")
    assert outcome.fault.startswith("the audit at the end returned 1 with all caches dropped")


def test_calls_are_those_of_the_header() -> None:
    """The header's enumeration and the names in Python go together."""
    header = (SOFTWARE / "include/prismem/history.h").read_text(encoding="utf-8")
    names = re.findall(r"^  PM_CALL_(\w+)", header, re.MULTILINE)
    assert len(names) == len(CALLS)
    for number, name in enumerate(names, 1):
        assert name.lower().startswith(CALLS[number])
