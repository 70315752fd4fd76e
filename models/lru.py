"""Oracle of the prefix cache: which blocks of a request are resident, with least-recently-used replacement.

A request is a chain of blocks; its hits are the longest prefix of the chain that is resident. Then the resident blocks
of the chain are touched last to first, the missing ones are inserted first to last, each evicting the least recently
used block when the cache is full, and at last the whole chain is touched last to first. So the root of a chain is
always younger than its leaves, and eviction takes leaves first. A chain that does not fit into the whole cache is an
error, so no request evicts a block of its own.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Lookup:
    """Outcome of one request, in blocks."""

    hits: int
    inserted: int
    evicted: int


@dataclass
class Totals:
    """Sums over requests, in blocks."""

    requests: int = 0
    blocks: int = 0
    hits: int = 0
    evictions: int = 0

    @property
    def hit_rate_percent(self) -> float:
        """Hits over blocks asked for."""
        return 100.0 * self.hits / self.blocks if self.blocks else 0.0


class PrefixCache:
    """The oracle. `capacity` in blocks; None: no limit."""

    def __init__(self, capacity: int | None = None) -> None:
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity: {capacity} blocks; it is 1 or more, or None for no limit")
        self.capacity = capacity
        self.totals = Totals()
        self._blocks: OrderedDict[int, None] = OrderedDict()  # least recently used first

    def __len__(self) -> int:
        return len(self._blocks)

    def __contains__(self, block: int) -> bool:
        return block in self._blocks

    def request(self, chain: Sequence[int]) -> Lookup:
        """Look up and insert one chain of block ids. Raises ValueError when it does not fit into the cache."""
        if self.capacity is not None and len(chain) > self.capacity:
            raise ValueError(f"chain: {len(chain)} blocks do not fit into {self.capacity}; use a larger capacity")
        hits = next((i for i, block in enumerate(chain) if block not in self._blocks), len(chain))
        for block in reversed(chain):
            if block in self._blocks:
                self._blocks.move_to_end(block)
        inserted = evicted = 0
        for block in chain:
            if block in self._blocks:
                continue
            if self.capacity is not None and len(self._blocks) >= self.capacity:
                self._blocks.popitem(last=False)
                evicted += 1
            self._blocks[block] = None
            inserted += 1
        for block in reversed(chain):
            if block in self._blocks:
                self._blocks.move_to_end(block)
        self.totals.requests += 1
        self.totals.blocks += len(chain)
        self.totals.hits += hits
        self.totals.evictions += evicted
        return Lookup(hits, inserted, evicted)


def replay(chains: Iterable[Sequence[int]], capacity: int | None = None) -> Totals:
    """Totals of a whole trace."""
    cache = PrefixCache(capacity)
    for chain in chains:
        cache.request(chain)
    return cache.totals
