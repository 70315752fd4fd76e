"""From the events of an execution to what is missing, and where: one cause, one suggested place, what shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from prismem.lib.check.log import Fault
from prismem.lib.check.trace import COMMIT_OF_CLWB, COMPARED, FLUSHES, LOADS, STORES, Event, Trace


@dataclass
class Diagnosis:
    """Why it went wrong (`why`), what would mend it (`mend`), and the numbers of the events that tell the story."""

    why: str
    mend: str
    shown: set[int] = field(default_factory=set)

    def show(self, *events: Event | None) -> Diagnosis:
        """Add events to the story."""
        self.shown.update(event.n for event in events if event is not None)
        return self


def diagnose(fault: Fault, trace: Trace) -> Diagnosis:
    """What the fault comes from, as far as the events tell."""
    if fault.kind == "stale_read":
        return _stale_read(fault, trace)
    if fault.kind == "lost_update":
        return _lost_update(fault, trace)
    if fault.kind == "stuck":
        return _stuck(fault, trace)
    if fault.kind == "history":
        return _history(fault, trace)
    if fault.kind == "audit":
        return _audit(fault, trace)
    return _own_check(fault, trace)


def _line(line: int) -> str:
    return f"line {line}"


def _stale_read(fault: Fault, trace: Trace) -> Diagnosis:
    offset, line, reader, writer = fault.pool_offset, fault.line, fault.host, fault.other_host
    end = len(trace.events)
    read = trace.find_last(lambda e: e.event in LOADS and e.host == reader and e.line == line, end)
    read_n = end if read is None else read.n
    store = trace.find_last(
        lambda e: e.event in STORES and e.host == writer and _word(e, offset) and e.source == fault.other_source, read_n
    )
    if store is None or read is None:
        return Diagnosis("the read has missed a store that happens before it", "").show(read, store)
    acquire = trace.find_last(lambda e: e.event == "acquire" and e.thread == fault.thread and e.n > store.n, read_n)
    fill = trace.find_last(lambda e: e.event in ("fill", "prefetch") and e.host == reader and e.line == line, read_n)
    written = trace.find(
        lambda e: e.event == "write-back" and e.host == writer and e.line == line and e.cause != 0, store.n
    )
    release = None if acquire is None else trace.release_seen_by(acquire)
    seen = (
        None
        if acquire is None
        else trace.find_last(
            lambda e: e.event == "atomic-load" and e.thread == acquire.thread and e.offset == acquire.offset, acquire.n
        )
    )
    fresh = fill is not None and acquire is not None and fill.n > acquire.n
    if not fresh and written is not None and (acquire is None or written.n < acquire.n):
        found = _reader(trace, fault, read, acquire)
    else:
        found = _writer(trace, fault, store, release)
    return found.show(store, written if written is not None and written.n < read_n else None, release, seen, fill, read)


def _word(event: Event, offset: int) -> bool:
    return event.offset <= offset + 7 and event.offset + max(event.bytes, 1) > offset


def _writer(trace: Trace, fault: Fault, store: Event, release: Event | None) -> Diagnosis:
    host, line = fault.other_host, fault.line
    until = "" if release is None else f", before {release.place} tells the others"
    if store.event == "stream":
        commit = trace.commit_of(store)
        return Diagnosis(
            f"host {host}'s streaming store is still in its write-combining buffer: no fence before the release",
            f"SFENCE after {store.place}{until}",
        ).show(commit)
    flush = trace.find(lambda e: e.event in FLUSHES and e.thread == store.thread and e.line == line, store.n + 1)
    if flush is None:
        early = trace.find_last(lambda e: e.event in FLUSHES and e.thread == store.thread and e.line == line, store.n)
        other = trace.find(
            lambda e: e.event in FLUSHES and e.thread == store.thread,
            store.n + 1,
            None if release is None else release.n,
        )
        why = f"host {host} never flushes {_line(line)} after it has stored to it: the bytes are in its cache only"
        if early is not None:
            why = f"host {host} flushes {_line(line)} at {early.place}, before the store and not after it"
        elif other is not None:
            why += f"; what it flushes at {other.place} is line {other.line}"
        return Diagnosis(why, f"flush {_line(line)} after {store.place}{until}").show(early, other)
    commit = trace.commit_of(flush)
    if release is not None and flush.n > release.n:
        return Diagnosis(
            f"host {host} flushes {_line(line)} at {flush.place} only after {release.place} has told the others",
            f"move the flush, and a fence behind it, before {release.place}",
        ).show(flush, commit)
    if release is not None and commit is not None and commit.n < release.n:
        return Diagnosis(
            f"{flush.event.upper()} of {_line(line)} at {flush.place} is complete for the CPU before the others are "
            "told, but the device does not have the line yet: completion is posted",
            f"nothing on the CPU: the device has to answer for {_line(line)} before {release.place} tells the others",
        ).show(flush, commit)
    return Diagnosis(
        f"{flush.event.upper()} of {_line(line)} at {flush.place} has not taken effect when the others are told: "
        "no fence holds later stores back",
        f"SFENCE or MFENCE after {flush.place}{until}",
    ).show(flush, commit)


def _reader(trace: Trace, fault: Fault, read: Event, acquire: Event | None) -> Diagnosis:
    host, line = fault.host, fault.line
    begin = 0 if acquire is None else acquire.n
    mine = [e for e in trace.events[: read.n] if e.event in FLUSHES and e.thread == fault.thread and e.line == line]
    after = [e for e in mine if e.n > begin]
    place = "" if acquire is None else " after the flag has been seen"
    if not after:
        why = f"host {host} reads its own old copy of {_line(line)}: nothing drops it{place}"
        found = Diagnosis(why, f"CLFLUSH of {_line(line)} and MFENCE{place}, before {read.place}")
        if mine:
            found.why = (
                f"host {host} drops {_line(line)} at {mine[-1].place} before it has seen the flag; the line came back, "
                "still old, before the read"
            )
            found.mend = f"move the flush and its MFENCE behind the load of the flag, before {read.place}"
            found.show(mine[-1])
        return found
    last = after[-1]
    commit = trace.commit_of(last)
    if last.event == "clwb" or (commit is not None and commit.cause == COMMIT_OF_CLWB):
        why = f"CLWB at {last.place} leaves host {host}'s copy of {_line(line)} where it is"
        return Diagnosis(why, f"CLFLUSH instead of CLWB at {last.place}").show(last)
    if commit is None or commit.n > read.n:
        return Diagnosis(
            f"{last.event.upper()} of {_line(line)} at {last.place} has not taken effect when the load runs: only "
            "MFENCE holds later loads back",
            f"MFENCE after {last.place}, before {read.place}",
        ).show(last, commit)
    return Diagnosis(
        f"{_line(line)} came back into host {host}'s cache, still old, after it was dropped at {last.place}",
        "the writer has to flush before it tells the others",
    ).show(last, commit)


def _lost_update(fault: Fault, trace: Trace) -> Diagnosis:
    line, host, other = fault.line, fault.host, fault.other_host
    own = [e for e in trace.events if e.event in STORES and e.host == host and e.line == line]
    theirs = [e for e in trace.events if e.event in STORES and e.host == other and e.line == line]
    last = trace.find_last(lambda e: e.event == "write-back" and e.host == host and e.line == line, len(trace.events))
    fill = trace.find_last(
        lambda e: e.event in ("fill", "prefetch") and e.host == host and e.line == line,
        own[-1].n if own else len(trace.events),
    )
    landed = trace.find_last(
        lambda e: e.event == "write-back" and e.host == other and e.line == line, len(trace.events)
    )
    same = any(a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes for a in own for b in theirs)
    swap = trace.find_last(
        lambda e: e.event == "atomic-update" and e.host == host and _word(e, fault.pool_offset), len(trace.events)
    )
    if swap is not None and swap.n > (fill.n if fill is not None else -1) and "locked operation" in fault.message:
        found = Diagnosis(
            f"the locked operation at {swap.place} reads and changes host {host}'s own copy of {_line(line)}; no other "
            f"host sees it before the line is written back, so host {other} has changed the word too",
            f"no locked operation on a word that several hosts write: let one host own {_line(line)} and serve the "
            "others, or build the lock of loads and stores with a line for each host (bakery, Peterson)",
        ).show(swap)
    elif "data race" in fault.message:
        found = Diagnosis(
            f"nothing orders host {host}'s store at {fault.source} and host {other}'s at {fault.other_source}: "
            "the line that is written back last wins, and the other store is gone",
            f"a lock between the hosts around both, with an invalidate of {_line(line)} after it is taken and a "
            "flush before it is given back",
        )
    elif same:
        found = Diagnosis(
            f"host {host} still has {_line(line)} dirty from {fault.source} when host {other} has become its "
            "writer; its whole line goes over the newer one",
            f"flush {_line(line)} with a fence after {fault.source} ({fault.function}), before others may write",
        )
    else:
        found = Diagnosis(
            f"hosts {host} and {other} write different bytes of {_line(line)}; a cache writes back all 64 bytes, "
            "the old ones of the other host too",
            f"a line of its own (_Alignas(64)) for what each host writes: {fault.source} and {fault.other_source}",
        )
    return found.show(fill, own[-1] if own else None, theirs[-1] if theirs else None, landed, last)


def _stuck(fault: Fault, trace: Trace) -> Diagnosis:
    line, host, writer = fault.line, fault.host, fault.other_host
    end = len(trace.events)
    if writer == host:  # the emulator names the first thread that waits; who waits for this line may be another
        other = trace.find_last(lambda e: e.event in LOADS and e.host != writer and e.line == line, end)
        host = host if other is None else other.host
    poll = trace.find_last(lambda e: e.event in LOADS and e.host == host and e.line == line, end)
    store = trace.find_last(lambda e: e.event in STORES and e.host == writer and e.line == line, end)
    if line < 0:
        return Diagnosis("no thread waits for the pool: they sleep, or wait for each other within their host", "")
    if store is None or writer == host:
        return Diagnosis(f"host {host} polls {_line(line)}, and nobody will store what it waits for", "").show(poll)
    written = trace.find(lambda e: e.event == "write-back" and e.host == writer and e.line == line, store.n)
    if written is None:
        found = Diagnosis(
            f"host {writer} never flushes {_line(line)} after the store: host {host} polls a value that stays in the "
            "other cache until it is evicted by chance",
            f"flush {_line(line)} after {store.place}",
        )
    else:
        found = Diagnosis(
            f"host {host} polls its own copy of {_line(line)}, which nothing drops",
            f"CLFLUSH and MFENCE in the loop, before {poll.place if poll else fault.source} loads it again",
        )
    fill = trace.find_last(lambda e: e.event in ("fill", "prefetch") and e.host == host and e.line == line, end)
    return found.show(store, written, fill, poll)


def _audit(fault: Fault, trace: Trace) -> Diagnosis:
    """The memory at the end is not as the program's own audit wants it."""
    if fault.other_host < 0:
        return Diagnosis("the memory at the end is wrong, and no read has shown it", "")
    store = trace.find_last(
        lambda e: e.event in STORES and e.host == fault.other_host and e.line == fault.line, len(trace.events)
    )
    place = fault.other_source if store is None else store.place
    return Diagnosis(
        f"at the end only host {fault.other_host} has {_line(fault.line)}: the memory never gets it",
        f"flush {_line(fault.line)} after {place}, with a fence before the end",
    ).show(store)


def _history(fault: Fault, trace: Trace) -> Diagnosis:
    """Operations that no order explains: what the one that stands out has read, and where the newer value was."""
    last = trace.find_last(lambda e: e.event == "respond" and e.source == fault.source, len(trace.events))
    begin = None if last is None else trace.find_last(lambda e: e.event == "invoke" and e.thread == last.thread, last.n)
    found = Diagnosis("every operation has to seem to happen at one instant between its begin and its end", "")
    if last is None or begin is None:
        return found
    same = [
        e
        for e in trace.events
        if e.event in ("invoke", "respond") and (e.cause >> 8, e.bytes) == (last.cause >> 8, last.bytes)
    ]
    for load in reversed([e for e in trace.events[begin.n : last.n] if e.event in LOADS and e.thread == last.thread]):
        store = _store_of_another(trace, load)
        if store is None:
            continue
        written, fill = _landed(trace, store, load.n), _copy_of(trace, load)
        if written is None:
            found.why += f"; host {store.host}'s store to {_line(store.line)} is in its cache only"
            found.mend = f"flush {_line(store.line)} after {store.place}, with a fence before the operation ends"
        elif fill is not None and fill.n < written.n:
            found.why += f"; host {last.host} reads its own old copy of {_line(load.line)}"
            found.mend = f"CLFLUSH of {_line(load.line)} and MFENCE in the operation, before {load.place}"
        else:
            continue
        return found.show(store, written, fill, load, *same[-8:])
    return found.show(*same[-10:])


def _store_of_another(trace: Trace, load: Event) -> Event | None:
    return trace.find_last(
        lambda e: e.event in STORES and e.host != load.host and e.touches(load.offset),
        load.n,
    )


def _landed(trace: Trace, store: Event, end: int) -> Event | None:
    return trace.find(
        lambda e: e.event == "write-back" and (e.host, e.line) == (store.host, store.line),
        store.n,
        end,
    )


def _copy_of(trace: Trace, load: Event) -> Event | None:
    return trace.find_last(
        lambda e: e.event in ("fill", "prefetch") and (e.host, e.line) == (load.host, load.line),
        load.n,
    )


def _own_check(fault: Fault, trace: Trace) -> Diagnosis:
    """The program itself says that something is wrong: show the last accesses to the lines that it looked at last."""
    end = len(trace.events)
    if fault.kind in ("thread", "check") and (came_back := _came_back(trace)) is not None:
        return came_back
    loads = [e for e in trace.events if e.event in LOADS and e.thread == fault.thread][-4:]
    found = Diagnosis("the program's own check failed; no store was missed that the program had ordered before it", "")
    if fault.kind in ("crash", "endless", "unseen"):
        found.why = ""
    for load in loads:
        found.show(load, *_origins(trace, load, end))
    return found


def _came_back(trace: Trace) -> Diagnosis | None:
    """The last compare-and-swap that took a value for unchanged which others had changed and changed back (ABA)."""
    for swap in reversed(trace.events):
        if swap.event != "atomic-update" or swap.cause != COMPARED:
            continue
        here = [e for e in trace.events[: swap.n] if e.offset == swap.offset and e.event.startswith("atomic-")]
        seen = next((e for e in reversed(here) if e.thread == swap.thread), None)
        if seen is None:
            continue
        changes = [e for e in here if e.n > seen.n and e.event in STORES]
        if not changes or changes[-1].value != seen.value or all(e.value == seen.value for e in changes):
            continue
        found = Diagnosis(
            f"the compare-and-swap at {swap.place} finds the value {seen.value:#x} again, which thread "
            f"{changes[0].thread} has changed and changed back meanwhile (ABA): what was read between is out of date",
            f"count the changes in the word that is compared at {swap.place}",
        )
        return found.show(seen, changes[0], changes[-1], swap)
    return None


def _origins(trace: Trace, load: Event, end: int) -> tuple[Event | None, Event | None]:
    """The last store to what was loaded, and the fill that brought it."""
    store = trace.find_last(lambda e: e.event in STORES and e.touches(load.offset), end)
    return store, trace.find_last(lambda e: e.event in ("fill", "prefetch") and e.line == load.line, load.n)
