"""The prefix index on four non-coherent hosts against an oracle of each replacement policy, request by request."""

from __future__ import annotations

import pytest
from lib_support import build

from prismem.lib.emu import State
from prismem.lib.index_model import Replacement, chains, run
from prismem.lib.mutants import select_mutant

POLICIES = {"lru": Replacement.LRU, "clock": Replacement.CLOCK}


def check(operations: int, replacement: int, requests: int, seed: int) -> None:
    outcome = run(chains(seed, requests), replacement=replacement, seed=seed)
    assert outcome.state is State.DONE, outcome.fault
    assert outcome.differences == 0
    assert outcome.hits == outcome.oracle_hits > 0
    assert outcome.operations >= operations
    assert outcome.verified >= outcome.hits
    assert outcome.refused > 0
    assert outcome.index["evictions"] > 0


@pytest.mark.parametrize("policy", POLICIES)
def test_residency_is_the_oracles(policy: str) -> None:
    """Goal: hits and inserts of every request are the oracle's, no wrong byte. Method: 10,000 blocks a policy."""
    build()
    for seed in range(4):
        check(2_500, POLICIES[policy], 500, seed)


@pytest.mark.regress
@pytest.mark.parametrize("policy", POLICIES)
def test_residency_of_a_million(policy: str) -> None:
    """Goal: the same over a million lookups and inserts. Method: 500,000 a policy, in four seeds."""
    build()
    for seed in range(4):
        check(125_000, POLICIES[policy], 25_000, seed)


def test_another_policy_differs() -> None:
    """Goal: the comparison can fail. Method: the oracle of the other policy."""
    build()
    requests = chains(1, 500)
    lru, clock = (run(requests, replacement=POLICIES[name], seed=1) for name in POLICIES)
    assert lru.differences == clock.differences == 0
    assert (lru.hits, lru.index["evictions"]) != (clock.hits, clock.index["evictions"])


def test_lost_references_differ() -> None:
    """Goal: an index that replaces wrongly is seen. Method: pins, and with them uses, that stay in the node."""
    build()
    select_mutant("refcount_dropped")
    try:
        assert run(chains(1, 300), replacement=Replacement.CLOCK, seed=1).differences > 0
    finally:
        select_mutant("none")
