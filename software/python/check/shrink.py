"""Shortens a failing log: takes cache events away first, then changes of thread, while the same fault stays.

Many logs have thousands of entries of one kind, such as the lines that an engine moved, which have nothing to do with
the fault, and which cannot go one by one, since what comes behind one that is missing shifts. So whole kinds go first.
"""

from __future__ import annotations

from collections.abc import Callable

from prismem.lib.check.machine import Choice, Kind

REPLAYS_MAX = 20_000
"""Executions that shortening one log may take."""

KINDS = (
    *(Kind.DMA, Kind.FILL, Kind.EVICT, Kind.CLWB, Kind.PICK, Kind.LAND, Kind.RETIRE),
    *(Kind.STALL, Kind.SWITCH),
)


class Shrinker:
    """Delta debugging over one log. `fails(log)` replays it and says whether the same fault is there."""

    def __init__(self, fails: Callable[[list[Choice]], bool], replays_max: int = REPLAYS_MAX) -> None:
        self._fails = fails
        self._replays_max = replays_max
        self.replays = 0

    @property
    def _is_spent(self) -> bool:
        return self.replays >= self._replays_max

    def _still(self, log: list[Choice]) -> bool:
        if self._is_spent:
            return False
        self.replays += 1
        return self._fails(log)

    def _without(self, log: list[Choice], removable: Callable[[Choice], bool]) -> list[Choice]:
        """`log` without as many removable entries as possible: all, then halves, quarters, ... down to single ones."""
        size = sum(map(removable, log))
        while size >= 1 and not self._is_spent:
            at = 0
            while not self._is_spent:
                places = [i for i, choice in enumerate(log) if removable(choice)]
                if at >= len(places):
                    break
                gone = set(places[at : at + size])
                shorter = [choice for i, choice in enumerate(log) if i not in gone]
                if self._still(shorter):
                    log = shorter
                else:
                    at += size
            size //= 2
        return log

    def _without_kinds(self, log: list[Choice]) -> list[Choice]:
        """`log` without all entries of a kind, where that is possible: events before changes of thread."""
        for kind in KINDS:
            shorter = [choice for choice in log if choice.kind != kind]
            if len(shorter) != len(log) and self._still(shorter):
                log = shorter
        return log

    def shrink(self, log: list[Choice]) -> list[Choice]:
        """The shortest log found; its length never grows, and the same fault is in it."""
        length = -1
        while length != len(log) and not self._is_spent:
            length = len(log)
            log = self._without_kinds(log)
            log = self._without(log, lambda choice: choice.is_event)
            log = self._without(log, lambda choice: not choice.is_event)
        return log
