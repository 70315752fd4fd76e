"""The events of one execution, as the emulator keeps them, with the questions that a diagnosis asks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

FLUSHES = ("clflush", "clflushopt", "clwb")
STORES = ("store", "atomic-store", "atomic-update", "stream")
RELEASES = ("atomic-store", "atomic-update")
LOADS = ("load", "atomic-load")
OBJECTS = ("register", "counter", "lock", "queue", "stack", "set", "map")
CALLS = ("read", "write", "add", "acquire", "release", "put", "take", "insert", "remove", "contains")
"""enum prismem_object and enum prismem_call: `cause` of invoke and respond is object << 8 | call, `bytes` the key."""
NOTHING = 1 << 63
COMPARED = 1  # `cause` of an atomic update: a compare-and-swap
COMMIT_OF_CLWB = 2  # `cause` of a commit: enum PendingKind


@dataclass(frozen=True)
class Event:
    """One event; `n` is its number. Offsets are in the pool, -1 where there is none."""

    n: int
    event: str
    t: int
    thread: int
    host: int
    offset: int
    line: int
    bytes: int
    value: int
    cause: int
    function: str
    source: str

    @property
    def place(self) -> str:
        """`file:line (function)`."""
        return f"{self.source} ({self.function})" if self.function else self.source

    def touches(self, offset: int) -> bool:
        """The access covers this byte."""
        return self.offset <= offset < self.offset + self.bytes


@dataclass
class Trace:
    """All events of one execution, in order."""

    events: list[Event]
    hosts: int
    _threads: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: list[dict[str, Any]], hosts: int) -> Trace:
        """From the emulator's JSON. The halves of an atomic access are one event."""
        events: list[Event] = []
        for entry in raw:
            event = Event(n=len(events), **entry)
            while (
                events
                and event.event.startswith("atomic-")
                and events[-1].event in ("load", "store")
                and (events[-1].thread, events[-1].source) == (event.thread, event.source)
            ):
                events.pop()
            events.append(Event(**(vars(event) | {"n": len(events)})))
        return cls(events, hosts, {event.thread: event.host for event in events if event.thread >= 0})

    def find(self, test: Callable[[Event], bool], first: int = 0, end: int | None = None) -> Event | None:
        """The first event in [first, end) that passes."""
        return next((event for event in self.events[max(first, 0) : end] if test(event)), None)

    def find_last(self, test: Callable[[Event], bool], end: int, first: int = 0) -> Event | None:
        """The last event in [first, end) that passes."""
        return next((event for event in reversed(self.events[max(first, 0) : end]) if test(event)), None)

    def all(self, test: Callable[[Event], bool], first: int = 0, end: int | None = None) -> Iterator[Event]:
        """All events in [first, end) that pass."""
        return (event for event in self.events[max(first, 0) : end] if test(event))

    def commit_of(self, flush: Event) -> Event | None:
        """When a flush took effect; None: never."""
        return self.find(
            lambda e: e.event == "commit" and (e.host, e.line, e.source) == (flush.host, flush.line, flush.source),
            flush.n + 1,
        )

    def release_seen_by(self, acquire: Event) -> Event | None:
        """The store whose value an acquiring load has seen."""
        thread = acquire.cause - self.hosts
        return self.find_last(
            lambda e: e.event in RELEASES and e.thread == thread and e.offset == acquire.offset,
            acquire.n,
        )
