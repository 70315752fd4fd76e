"""Oracle of the prefix cache with second-chance (CLOCK) replacement: what `PM_REPLACE_CLOCK` of the library holds.

Blocks stand in the order of insertion. A request uses the blocks of its chain that are resident. Whoever needs room
looks at the oldest block: one that was used since it was looked at last, or that the request itself holds, goes to the
young end and counts as unused; else it is evicted. Missing blocks are inserted first to last, unused.
"""

from collections.abc import Sequence, Set

from prismem.models.lru import PrefixOracle


class ClockCache(PrefixOracle):
    """Oldest first; a mark a block says whether it was used since it was looked at last."""

    def _use(self, chain: Sequence[int]) -> None:
        for block in chain:
            if block in self._used:
                self._used[block] = True

    def _evict(self, held: Set[int]) -> None:
        for _ in range(2 * len(self._used)):
            block, used = next(iter(self._used.items()))
            if block not in held and not used:
                del self._used[block]
                return
            self._used[block] = False
            self._used.move_to_end(block)
        raise AssertionError("every block is held by one chain, which would not fit")
