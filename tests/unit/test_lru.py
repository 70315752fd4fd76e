"""The prefix-cache oracle: by hand, by properties, and against the published hit rates of a public trace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prismem.models import lru, trace
from prismem.paths import MOONCAKE_SOURCE, MOONCAKE_TRACE, ROOT


def test_root_outlives_leaf() -> None:
    """Capacity 3: after [0 1 2] the leaf 2 is oldest, so [0 3] evicts it and then finds the prefix [0 1]."""
    cache = lru.PrefixCache(3)
    assert cache.request([0, 1, 2]) == lru.Lookup(hits=0, inserted=3, evicted=0)
    assert cache.request([0, 3]) == lru.Lookup(hits=1, inserted=1, evicted=1)
    assert 2 not in cache
    assert cache.request([0, 1]) == lru.Lookup(hits=2, inserted=0, evicted=0)


def test_resident_block_behind_a_gap_is_no_hit() -> None:
    """Only the leading run counts, but blocks behind the gap are kept, not inserted again."""
    cache = lru.PrefixCache(4)
    cache.request([0, 1, 2])
    cache.request([3, 4])  # evicts the leaf 2
    assert cache.request([0, 2, 1]).hits == 1


chains = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=5, unique=True), max_size=60)


@given(chains, st.integers(5, 12))
def test_invariants(requests: list[list[int]], capacity: int) -> None:
    """Never above capacity; blocks in = blocks there + blocks out; hits and inserts never exceed the chain."""
    cache = lru.PrefixCache(capacity)
    inserted = evicted = 0
    for chain in requests:
        lookup = cache.request(chain)
        inserted, evicted = inserted + lookup.inserted, evicted + lookup.evicted
        assert lookup.hits + lookup.inserted <= len(chain)
        assert all(block in cache for block in chain)
        assert len(cache) <= capacity
    assert inserted - evicted == len(cache)


@given(chains)
def test_unlimited_cache_never_evicts(requests: list[list[int]]) -> None:
    totals = lru.replay(requests)
    assert totals.evictions == 0
    assert totals.hits >= lru.replay(requests, 5).hits


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="capacity: 0"):
        lru.PrefixCache(0)
    with pytest.raises(ValueError, match="do not fit"):
        lru.PrefixCache(2).request([1, 2, 3])


@pytest.mark.skipif(not MOONCAKE_TRACE.exists(), reason=MOONCAKE_SOURCE)
def test_hit_rates_of_the_mooncake_trace() -> None:
    """12,031 requests; block hit rates at seven capacities, to two decimals."""
    chains = [request.hash_ids for request in trace.read(MOONCAKE_TRACE)]
    assert len(chains) == 12_031
    percents = {
        1_000: 4.45,
        3_000: 6.53,
        10_000: 21.16,
        30_000: 32.57,
        50_000: 35.46,
        100_000: 36.37,
        None: 36.64,
    }
    found = {capacity: round(lru.replay(chains, capacity).hit_rate_percent, 2) for capacity in percents}
    assert found == percents


def test_without_the_mooncake_trace_one_skip_says_where_it_comes_from(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "-k", "hit_rates", __file__]
    environment = os.environ | {"PRISMEM_TRACES": str(tmp_path), "COLUMNS": "400"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "1 skipped" in done.stdout
    assert MOONCAKE_SOURCE in done.stdout
