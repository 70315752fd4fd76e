"""Memory by lines in numpy, and which values a read of it may return.

`LineMemory` is the plain memory: 64-byte lines in pages, byte enables, a poison mark a line. `possible_states` says
what a line may hold after accesses that overlapped in time: it looks for orders in which each access takes effect at
one point between its request and its response (linearizability), and each stream of accesses in its own order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

LINE_BYTES = 64
ALL_ENABLES = (1 << LINE_BYTES) - 1
PAGE_LINES = 64
STATES_MAX = 200_000
"""Bound of the search for one line; far more than what traffic with in-order streams needs."""

Bytes = npt.NDArray[np.uint8]
Bits = npt.NDArray[np.bool_]


class LineMemory:
    """Lines of 64 bytes, zero until written."""

    def __init__(self) -> None:
        self._pages: dict[int, tuple[Bytes, Bits]] = {}

    def _page(self, line: int) -> tuple[Bytes, Bits]:
        page = self._pages.get(line // PAGE_LINES)
        if page is None:
            page = (np.zeros((PAGE_LINES, LINE_BYTES), np.uint8), np.zeros(PAGE_LINES, np.bool_))
            self._pages[line // PAGE_LINES] = page
        return page

    def write(self, line: int, data: int, enables: int = ALL_ENABLES, *, poison: bool = False) -> None:
        """Write the enabled bytes (bit 0: byte 0) of `data`; a whole write sets the poison mark, a partial one adds."""
        page, marks = self._page(line)
        row = line % PAGE_LINES
        new = np.frombuffer(data.to_bytes(LINE_BYTES, "little"), np.uint8)
        page[row] = np.where(enabled_bytes(enables), new, page[row])
        marks[row] = poison or (bool(marks[row]) and enables != ALL_ENABLES)

    def read(self, line: int) -> tuple[int, bool]:
        """Data and poison mark."""
        page, marks = self._page(line)
        row = line % PAGE_LINES
        return int.from_bytes(page[row].tobytes(), "little"), bool(marks[row])


def enabled_bytes(enables: int) -> Bits:
    """Byte enables as 64 booleans."""
    raw = np.frombuffer(enables.to_bytes(LINE_BYTES // 8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little").astype(np.bool_)


def byte_mask(enables: int) -> int:
    """512-bit mask of the enabled bytes."""
    return int.from_bytes((enabled_bytes(enables).astype(np.uint8) * np.uint8(255)).tobytes(), "little")


@dataclass(frozen=True)
class LineState:
    """What a line holds."""

    data: int
    poison: bool = False


@dataclass(frozen=True)
class Access:
    """One access to a line, from its request to its response.

    `done` None: no answer came (or an error), so a write may have taken effect or not, and a read says nothing. For a
    read, `data` and `poison` are what it returned.
    """

    kind: Literal["read", "write"]
    stream: int
    issued: int
    done: int | None
    data: int
    enables: int = ALL_ENABLES
    poison: bool = False
    whole: bool = True
    """A whole write sets the poison mark of its line; a partial one, even of all bytes, only adds to it."""

    def apply(self, state: LineState) -> LineState | None:
        """State after the access, or None when it cannot happen in this one."""
        if self.kind == "read":
            right = self.poison == state.poison and (state.poison or self.data == state.data)
            return state if right else None
        mask = byte_mask(self.enables)
        poison = self.poison or (state.poison and not self.whole)
        return LineState((state.data & ~mask) | (self.data & mask), poison)


def possible_states(initial: frozenset[LineState], accesses: Sequence[Access]) -> frozenset[LineState]:
    """What the line may hold in the end; empty when no order explains what the reads returned.

    Raises ValueError when more than STATES_MAX combinations would have to be looked at.
    """
    ordered = sorted((a for a in accesses if a.kind == "write" or a.done is not None), key=lambda a: a.issued)
    every = (1 << len(ordered)) - 1
    seen = {(0, state) for state in initial}
    pending = list(seen)
    final: set[LineState] = set()
    while pending:
        taken, state = pending.pop()
        if all(taken >> i & 1 or access.done is None for i, access in enumerate(ordered)):
            final.add(state)
            if taken == every:
                continue
        for i in _next(ordered, taken):
            after = ordered[i].apply(state)
            if after is not None and (taken | 1 << i, after) not in seen:
                seen.add((taken | 1 << i, after))
                pending.append((taken | 1 << i, after))
        if len(seen) > STATES_MAX:
            raise ValueError(f"{len(ordered)} accesses to one line need more than {STATES_MAX} combinations")
    return frozenset(final)


def _next(ordered: Sequence[Access], taken: int) -> list[int]:
    """Accesses that may take effect next: issued before any that is left has ended, and first of their stream."""
    left = [(i, access) for i, access in enumerate(ordered) if not taken >> i & 1]
    end = min((access.done for _, access in left if access.done is not None), default=None)
    streams: set[int] = set()
    found = []
    for i, access in left:
        if end is not None and access.issued > end:
            break
        if access.stream not in streams:
            found.append(i)
        if access.done is not None:
            streams.add(access.stream)
    return found


def first_wrong(initial: frozenset[LineState], accesses: Sequence[Access]) -> Access | None:
    """The earliest read, by its response, that no order explains together with those before it."""
    reads = sorted((a for a in accesses if a.kind == "read" and a.done is not None), key=lambda a: a.done or 0)
    writes = [a for a in accesses if a.kind == "write"]
    for count in range(1, len(reads) + 1):
        if not possible_states(initial, writes + reads[:count]):
            return reads[count - 1]
    return None
