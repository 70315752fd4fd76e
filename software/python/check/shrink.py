"""Shortens a failing log: takes cache events away first, then changes of thread, while the same fault stays."""

from __future__ import annotations

from collections.abc import Callable

from prismem.lib.check.machine import Choice

REPLAYS_MAX = 20_000
"""Executions that shortening one log may take."""


class Shrinker:
    """Delta debugging over one log. `fails(log)` replays it and says whether the same fault is there."""

    def __init__(self, fails: Callable[[list[Choice]], bool]) -> None:
        self._fails = fails
        self.replays = 0

    def _still(self, log: list[Choice]) -> bool:
        if self.replays >= REPLAYS_MAX:
            return False
        self.replays += 1
        return self._fails(log)

    def _without(self, log: list[Choice], removable: Callable[[Choice], bool]) -> list[Choice]:
        """`log` without as many removable entries as possible: all, then halves, quarters, ... down to single ones."""
        size = sum(map(removable, log))
        while size >= 1:
            at = 0
            while True:
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

    def shrink(self, log: list[Choice]) -> list[Choice]:
        """The shortest log found; its length never grows, and the same fault is in it."""
        length = -1
        while length != len(log):
            length = len(log)
            log = self._without(log, lambda choice: choice.is_event)
            log = self._without(log, lambda choice: not choice.is_event)
        return log
