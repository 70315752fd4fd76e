"""Sequential objects of the library, for the check of histories: lock, block of the allocator, entry of the index."""

from __future__ import annotations

from collections.abc import Iterable

from prismem.models.linearize import Operation, Sequential, State

FREE = "free"


class Lock:
    """Held by one process or nobody: acquire and release answer 0."""

    def initial(self) -> State:
        """Nobody holds it."""
        return FREE

    def step(self, state: State, operation: Operation) -> Iterable[State]:
        """Acquire a free one, release one's own."""
        if operation.call == "acquire":
            return (operation.process,) if state == FREE else ()
        return (FREE,) if state == operation.process else ()


class Block:
    """A place in the pool: handed out once until it is given back."""

    def initial(self) -> State:
        """Not handed out."""
        return FREE

    def step(self, state: State, operation: Operation) -> Iterable[State]:
        """Hand out a free one, take back one that is out."""
        if operation.call == "alloc":
            return ("out",) if state == FREE else ()
        return (FREE,) if state == "out" else ()


class Entry:
    """One digest of the prefix index: (absent | reserved | present, pins).

    lookup 1 pins a present one, 0 says that it is not present. reserve answers as enum pm_ref_state: 1 present and
    pinned, 2 reserved and pinned by the caller, 3 reserved by another. commit makes it present, release drops a pin.
    evict with an answer above 0 removed some blocks, this one too if it was present without pins.
    """

    def initial(self) -> State:
        """Absent."""
        return ("absent", 0)

    def step(self, state: State, operation: Operation) -> Iterable[State]:
        """As above."""
        assert isinstance(state, tuple)
        where, pins = state
        match operation.call, operation.result, where:
            case ("lookup", 1, "present") | ("reserve", 1, "present"):
                return ((where, pins + 1),)
            case ("lookup", 0, "absent" | "reserved") | ("exists", 0, "absent" | "reserved"):
                return (state,)
            case ("exists", 1, "present") | ("reserve", 3, "reserved"):
                return (state,)
            case ("reserve", 2, "absent"):
                return (("reserved", 1),)
            case ("commit", 0, "reserved"):
                return (("present", pins),)
            case ("release", 0, "present") if pins > 0:
                return ((where, pins - 1),)
            case ("evict", gone, _):
                removable = gone > 0 and where == "present" and pins == 0
                return (state, ("absent", 0)) if removable else (state,)
        return ()


MODELS: dict[str, Sequential] = {"lock": Lock(), "block": Block(), "entry": Entry()}
"""By the first part of a key."""
