"""Oracle of the prefix cache: which blocks of a request are resident, with least-recently-used replacement.

A request is a chain of blocks; its hits are the longest prefix of the chain that is resident. Then the resident blocks
of the chain are touched last to first, the missing ones are inserted first to last, each evicting the least recently
used block when the cache is full, and at last the whole chain is touched last to first. So the root of a chain is
always younger than its leaves, and eviction takes leaves first. A chain that does not fit into the whole cache is an
error, so no request evicts a block of its own.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Sequence, Set
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


class PrefixOracle(ABC):
    """A prefix cache, whatever its replacement. `capacity` in blocks; None: no limit."""

    def __init__(self, capacity: int | None = None) -> None:
        if capacity is not None and capacity < 1:
            raise ValueError(f"capacity: {capacity} blocks; it is 1 or more, or None for no limit")
        self.capacity = capacity
        self.totals = Totals()
        self._used: OrderedDict[int, bool] = OrderedDict()  # whose turn to go comes first; used since the last look

    def __len__(self) -> int:
        return len(self._used)

    def __contains__(self, block: int) -> bool:
        return block in self._used

    @abstractmethod
    def _use(self, chain: Sequence[int]) -> None:
        """The resident blocks of a chain are used, before its missing ones are inserted."""

    @abstractmethod
    def _evict(self, held: Set[int]) -> None:
        """Make room for one block of a chain, which holds its blocks."""

    def request(self, chain: Sequence[int]) -> Lookup:
        """Look up and insert one chain of block ids. Raises ValueError when it does not fit into the cache."""
        if self.capacity is not None and len(chain) > self.capacity:
            raise ValueError(f"chain: {len(chain)} blocks do not fit into {self.capacity}; use a larger capacity")
        hits = next((i for i, block in enumerate(chain) if block not in self._used), len(chain))
        held = set(chain)
        self._use(chain)
        inserted = evicted = 0
        for block in chain:
            if block in self._used:
                continue
            if self.capacity is not None and len(self._used) >= self.capacity:
                self._evict(held)
                evicted += 1
            self._used[block] = False
            inserted += 1
        self.totals.requests += 1
        self.totals.blocks += len(chain)
        self.totals.hits += hits
        self.totals.evictions += evicted
        return Lookup(hits, inserted, evicted)


class PrefixCache(PrefixOracle):
    """Least recently used first. Marks are not needed: a use moves the block."""

    def _use(self, chain: Sequence[int]) -> None:
        for block in reversed(chain):
            if block in self._used:
                self._used.move_to_end(block)

    def request(self, chain: Sequence[int]) -> Lookup:
        """As above; at last the whole chain is used, so that its root is its youngest block."""
        outcome = super().request(chain)
        self._use(chain)
        return outcome

    def _evict(self, held: Set[int]) -> None:
        self._used.popitem(last=False)


def replay(chains: Iterable[Sequence[int]], capacity: int | None = None) -> Totals:
    """Totals of a whole trace under LRU."""
    cache = PrefixCache(capacity)
    for chain in chains:
        cache.request(chain)
    return cache.totals
