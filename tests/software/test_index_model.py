"""The prefix index on four non-coherent hosts against an oracle of each replacement policy, request by request."""

from __future__ import annotations

import pytest
from lib_support import build

from prismem.lib.emu import State
from prismem.lib.index_model import Outcome, Replacement, chains, run
from prismem.lib.mutants import select_mutant
from prismem.models.clock import ClockCache
from prismem.models.lru import PrefixCache

POLICIES = {"lru": Replacement.LRU, "clock": Replacement.CLOCK}


CAPACITY = 96


def differences(outcome: Outcome, requests: list[list[int]], replacement: int) -> int:
    """Requests on whose hits or inserts the oracle of the policy does not agree."""
    oracle = ClockCache(CAPACITY) if replacement == Replacement.CLOCK else PrefixCache(CAPACITY)
    expected = [oracle.request(chain) for chain in requests]
    seen = zip(outcome.hits, outcome.inserted, strict=True)
    return sum((e.hits, e.inserted) != pair for e, pair in zip(expected, seen, strict=True))


def check(operations: int, replacement: int, count: int, seed: int) -> None:
    requests = chains(seed, count)
    outcome = run(requests, capacity=CAPACITY, replacement=replacement, seed=seed)
    assert outcome.state is State.DONE, outcome.fault
    assert differences(outcome, requests, replacement) == 0
    assert sum(map(len, requests)) + sum(outcome.inserted) >= operations
    assert outcome.verified >= sum(outcome.hits) > 0
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


def test_the_oracle_of_another_policy_differs() -> None:
    """Goal: the comparison can fail. Method: the run of one policy before the oracle of the other."""
    build()
    requests = chains(1, 500)
    outcome = run(requests, capacity=CAPACITY, replacement=Replacement.LRU, seed=1)
    assert differences(outcome, requests, Replacement.LRU) == 0
    assert differences(outcome, requests, Replacement.CLOCK) > 0


def test_lost_uses_differ() -> None:
    """Goal: an index that replaces wrongly is seen. Method: pins, and with them uses, that stay in the node."""
    build()
    requests = chains(1, 300)
    select_mutant("refcount_dropped")
    try:
        outcome = run(requests, capacity=CAPACITY, replacement=Replacement.CLOCK, seed=1)
    finally:
        select_mutant("none")
    assert outcome.state is not State.DONE or differences(outcome, requests, Replacement.CLOCK) > 0
