"""The second-chance oracle: by hand, and by properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prismem.models import clock
from prismem.models.lru import Lookup


def test_second_chance_by_hand() -> None:
    """Capacity 3: 0 is oldest but used, so 1 goes; then 0 has had its chance and goes."""
    cache = clock.ClockCache(3)
    for block in (0, 1, 2):
        assert cache.request([block]) == Lookup(hits=0, inserted=1, evicted=0)
    assert cache.request([0]).hits == 1
    assert cache.request([3]).evicted == 1  # looks at 0 (used: to the young end), evicts 1; order 2 0 3
    assert (1 in cache, 0 in cache) == (False, True)
    cache.request([2])
    assert cache.request([4]).evicted == 1  # 2 was used; 0 was not since the last look
    assert (0 in cache, 2 in cache, 3 in cache) == (False, True, True)


def test_a_chain_keeps_its_own_blocks() -> None:
    """Capacity 2: both places are the chain's own, so it never evicts itself; a longer one is refused."""
    cache = clock.ClockCache(2)
    assert cache.request([0, 1]) == Lookup(hits=0, inserted=2, evicted=0)
    assert cache.request([0, 2]) == Lookup(hits=1, inserted=1, evicted=1)
    assert cache.request([0, 2]).hits == 2
    with pytest.raises(ValueError, match="3 blocks do not fit into 2"):
        cache.request([0, 1, 2])
    with pytest.raises(ValueError, match="capacity: 0 blocks"):
        clock.ClockCache(0)


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=5, unique=True), max_size=60), st.integers(5, 12))
def test_invariants(requests: list[list[int]], capacity: int) -> None:
    """Never above capacity; blocks in = blocks there + blocks out; what was just asked for is there."""
    cache = clock.ClockCache(capacity)
    inserted = evicted = 0
    for chain in requests:
        outcome = cache.request(chain)
        inserted += outcome.inserted
        evicted += outcome.evicted
        assert all(block in cache for block in chain)
        assert len(cache) <= capacity
    assert inserted == len(cache) + evicted
    assert cache.totals.evictions == evicted
