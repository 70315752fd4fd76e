"""Oracle of the prefix cache with second-chance (CLOCK) replacement: what `PM_REPLACE_CLOCK` of the library holds.

Blocks stand in the order of insertion. A request uses the blocks of its chain that are resident. Whoever needs room
looks at the oldest block: one that was used since it was looked at last, or that the request itself holds, goes to the
young end and counts as unused; else it is evicted. Missing blocks are inserted first to last, unused.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from prismem.models.lru import Lookup, Totals


class ClockCache:
    """The oracle. `capacity` in blocks; None: no limit."""

    def __init__(self, capacity: int | None = None) -> None:
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity: {capacity} blocks; it is 1 or more, or None for no limit")
        self.capacity = capacity
        self.totals = Totals()
        self._used: OrderedDict[int, bool] = OrderedDict()  # oldest first; whether used since the last look

    def __len__(self) -> int:
        return len(self._used)

    def __contains__(self, block: int) -> bool:
        return block in self._used

    def _evict(self, held: set[int]) -> None:
        for _ in range(2 * len(self._used)):
            block, used = next(iter(self._used.items()))
            if block not in held and not used:
                del self._used[block]
                return
            self._used[block] = False
            self._used.move_to_end(block)
        raise AssertionError("every block is held by one chain, which would not fit")

    def request(self, chain: Sequence[int]) -> Lookup:
        """Look up and insert one chain of block ids. Raises ValueError when it does not fit into the cache."""
        if self.capacity is not None and len(chain) > self.capacity:
            raise ValueError(f"chain: {len(chain)} blocks do not fit into {self.capacity}; use a larger capacity")
        hits = next((i for i, block in enumerate(chain) if block not in self._used), len(chain))
        held = {block for block in chain if block in self._used}
        for block in held:
            self._used[block] = True
        inserted = evicted = 0
        for block in chain:
            if block in self._used:
                continue
            if self.capacity is not None and len(self._used) >= self.capacity:
                self._evict(held)
                evicted += 1
            self._used[block] = False
            held.add(block)
            inserted += 1
        self.totals.requests += 1
        self.totals.blocks += len(chain)
        self.totals.hits += hits
        self.totals.evictions += evicted
        return Lookup(hits, inserted, evicted)


def replay(chains: Iterable[Sequence[int]], capacity: int | None = None) -> Totals:
    """Totals of a whole trace."""
    cache = ClockCache(capacity)
    for chain in chains:
        cache.request(chain)
    return cache.totals
