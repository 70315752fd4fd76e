"""Rules of the non-coherent machine, one function each, on immutable states. Rule names are those of docs/litmus.md."""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from prismem.models.litmus.program import WORDS, Instruction, Program

BUFFER_ENTRIES = 8
IN_FLIGHT_MAX = 2
MESSAGES_MAX = 16

STORES = {"st": "W", "uc_st": "U", "nt": "NT", "movdir64b": "NT"}
FLUSHES = {"clflush": "FL", "clflushopt": "FO", "clwb": "WB"}
ISSUED = {**STORES, **FLUSHES, "sfence": "SF"}
LOCAL = {*ISSUED, "mfence", "lfence", "mov", "add", "beq", "bne", "blt", "ble", "jmp", "cs_enter", "stop"}

WAITING, RUNNING, ENDED, DEAD = "waiting", "running", "ended", "dead"

T = TypeVar("T")
Words = tuple[int, ...]
Write = tuple[tuple[int, int], ...]  # (word, value), ...


class Entry(NamedTuple):
    """What waits in a store buffer; `started`: its write-back is on the way to the device."""

    kind: str
    line: int = -1
    write: Write = ()
    started: bool = False


class ThreadState(NamedTuple):
    """One thread."""

    status: str
    pc: int
    registers: tuple[tuple[str, int], ...]
    buffer: tuple[Entry, ...]
    inside: bool


class Copy(NamedTuple):
    """A line in a host's cache."""

    dirty: bool
    words: Words


class State(NamedTuple):
    """The whole machine. Lines are named by their position in Program.lines, caches by host and line."""

    threads: tuple[ThreadState, ...]
    copies: tuple[Copy | None, ...]
    fills: tuple[Words | None, ...]
    flights: tuple[
        tuple[tuple[Write, ...], ...], ...
    ]  # of a host and line: writes, each the units that have not landed
    device: tuple[Words, ...]
    channels: tuple[tuple[str, int], ...]
    crashed: frozenset[int]


def put(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    """The tuple with one item replaced."""
    return (*items[:index], item, *items[index + 1 :])


def over(words: Words, write: Write) -> Words:
    """A line with some words replaced."""
    changed = dict(write)
    return tuple(changed.get(i, word) for i, word in enumerate(words))


def ordered(older: Entry, younger: Entry) -> bool:
    """Whether `younger` must wait for `older`."""
    kinds = (older.kind, younger.kind)
    same_line = older.line == younger.line
    if "SF" in kinds:
        return True
    if "NT" in kinds:
        return same_line
    if kinds[0] in "WU" and kinds[1] in ("W", "U", "FL"):
        return True
    if kinds[0] == "FL" and kinds[1] in ("W", "U", "FL"):
        return True
    if kinds[0] in ("FO", "WB") and kinds[1] in "WU":
        return False
    return same_line


class Machine:
    """The rules for one program, with the hosts as written or all threads on one host."""

    def __init__(self, program: Program, *, coherent: bool, lazy: bool = False) -> None:
        self.program = program
        self.lazy = lazy
        self.lines = program.lines
        hosts = [thread.host for thread in program.threads] + program.crashes
        named = [int(program.options[key]) for key in ("dma_snoop", "ddio") if program.options[key] != "none"]
        self.hosts = 1 if coherent else max(hosts + named) + 1
        self.host_of = [0 if coherent else thread.host for thread in program.threads]
        self.crashes = [0 if coherent else host for host in program.crashes]
        self.special = {
            key: (0 if coherent else int(program.options[key])) if program.options[key] != "none" else None
            for key in ("dma_snoop", "ddio")
        }
        self.posted = program.options["completion"] == "posted"
        self.words_a_unit = int(program.options["write_unit"]) // 8
        self.used_words = [{w for at, w in program.places.values() if at == line} for line in self.lines]

    def on(self, option: str) -> bool:
        """A switch of the program."""
        return self.program.options[option] == "on"

    def initial(self) -> State:
        """Nothing has happened."""
        device = [[0] * WORDS for _ in self.lines]
        for name, value in self.program.init.items():
            line, word = self.program.places[name]
            device[self.lines.index(line)][word] = value
        caches = self.hosts * len(self.lines)
        copies: list[Copy | None] = [None] * caches
        if self.on("warm"):
            copies = [Copy(False, tuple(device[i % len(self.lines)])) for i in range(caches)]
        threads = []
        for thread in self.program.threads:
            start = WAITING if thread.after_crash else RUNNING
            threads.append(ThreadState(start if thread.code else ENDED, 0, (), (), False))
        return State(
            tuple(threads),
            tuple(copies),
            (None,) * caches,
            ((),) * caches,
            tuple(map(tuple, device)),
            (),
            frozenset(),
        )

    # Lines

    def at(self, host: int, line: int) -> int:
        """Position of a host's copy."""
        return host * len(self.lines) + line

    def can_fill(self, state: State, host: int, line: int) -> bool:
        """No own write-back of it is pending."""
        return not state.flights[self.at(host, line)]

    def present(self, state: State, host: int, line: int) -> bool:
        """There is a copy or one can be had."""
        return state.copies[self.at(host, line)] is not None or self.can_fill(state, host, line)

    def fill(self, state: State, host: int, line: int) -> State:
        """A clean copy if there is none."""
        at = self.at(host, line)
        if state.copies[at] is not None:
            return state
        return state._replace(copies=put(state.copies, at, Copy(False, state.device[line])))

    def store(self, state: State, host: int, line: int, write: Write) -> State:
        """Words of the host's own copy, which is dirty then; ends a fill that is under way."""
        state = self.fill(state, host, line)
        at = self.at(host, line)
        copy = state.copies[at]
        assert copy is not None
        state = state._replace(copies=put(state.copies, at, Copy(True, over(copy.words, write))))
        return state._replace(fills=put(state.fills, at, None))

    def send(self, state: State, host: int, line: int, write: Write) -> State:
        """A write goes to the device: at once, or in flight in pieces of a write unit."""
        pieces: dict[int, list[tuple[int, int]]] = {}
        for word, value in write:
            if word in self.used_words[line]:
                pieces.setdefault(word // self.words_a_unit, []).append((word, value))
        at = self.at(host, line)
        if not self.posted and len(pieces) <= 1 and not state.flights[at]:
            return state._replace(device=put(state.device, line, over(state.device[line], write)))
        flight = (*state.flights[at], tuple(tuple(piece) for piece in pieces.values()))
        return state._replace(flights=put(state.flights, at, flight))

    def write_back(self, state: State, host: int, line: int) -> State:
        """The whole line, dirty or not, to the device; the copy stays, clean."""
        at = self.at(host, line)
        copy = state.copies[at]
        assert copy is not None
        state = state._replace(copies=put(state.copies, at, Copy(False, copy.words)))
        return self.send(state, host, line, tuple(enumerate(copy.words)))

    def dirty(self, state: State, host: int, line: int) -> bool:
        """There is a copy with changes."""
        copy = state.copies[self.at(host, line)]
        return copy is not None and copy.dirty

    def drop(self, state: State, host: int, line: int) -> State:
        """No copy any more."""
        return state._replace(copies=put(state.copies, self.at(host, line), None))

    # Store buffers

    def commits(self, state: State, number: int) -> Iterator[State]:
        """Entries of a thread's buffer that may take effect."""
        buffer = state.threads[number].buffer
        for i, entry in enumerate(buffer):
            if any(ordered(older, entry) for older in buffer[:i]):
                continue
            for after in self.commit(state, self.host_of[number], entry):
                waits = entry.kind in ("FL", "FO", "WB", "NT", "U") and not self.posted
                under_way = waits and bool(after.flights[self.at(self.host_of[number], entry.line)])
                left = [entry._replace(started=True)] if under_way else []
                thread = after.threads[number]._replace(buffer=(*buffer[:i], *left, *buffer[i + 1 :]))
                yield after._replace(threads=put(after.threads, number, thread))

    def commit(self, state: State, host: int, entry: Entry) -> Iterator[State]:
        """What one entry does, in each way in which it may; nothing if it cannot yet."""
        kind, line = entry.kind, entry.line
        if kind == "SF":
            yield state
            return
        if kind == "W":
            if self.present(state, host, line):
                yield self.store(state, host, line, entry.write)
            return
        flying = len(state.flights[self.at(host, line)])
        if not self.posted and flying:
            return
        if entry.started:
            yield state
            return
        was_dirty = self.dirty(state, host, line) and kind != "U"
        if flying + was_dirty + (kind in ("NT", "U")) > IN_FLIGHT_MAX and self.posted:
            return
        had_copy = state.copies[self.at(host, line)] is not None
        if was_dirty:
            state = self.write_back(state, host, line)
        if kind == "U":
            yield self.send(state, host, line, entry.write)
        elif kind == "NT":
            state = self.drop(state, host, line)
            state = state._replace(fills=put(state.fills, self.at(host, line), None))
            yield self.send(state, host, line, entry.write)
        elif kind == "WB" and had_copy:
            choice = self.program.options["clwb"]
            if choice != "drop":
                yield state
            if choice != "keep":
                yield self.drop(state, host, line)
        else:
            yield self.drop(state, host, line)

    # What happens by itself

    def events(self, state: State, *, closing: bool) -> Iterator[State]:
        """Landing write-backs and arriving fills always; fills and evictions unless lazy; evictions of dirty lines when
        final memory is asked for."""
        for host in range(self.hosts):
            for line in range(len(self.lines)):
                yield from self.line_events(state, host, line, closing=closing)

    def line_events(self, state: State, host: int, line: int, *, closing: bool) -> Iterator[State]:
        """Of one line of one host."""
        at = self.at(host, line)
        copy, flight = state.copies[at], state.flights[at]
        if flight:
            for i, piece in enumerate(flight[0]):
                left = flight[0][:i] + flight[0][i + 1 :]
                landed = state._replace(device=put(state.device, line, over(state.device[line], piece)))
                yield landed._replace(flights=put(landed.flights, at, ((left,) if left else ()) + flight[1:]))
        if state.fills[at] is not None:
            arrived = (
                state
                if copy is not None
                else state._replace(copies=put(state.copies, at, Copy(False, state.fills[at] or ())))
            )
            yield arrived._replace(fills=put(arrived.fills, at, None))
        room = len(flight) < IN_FLIGHT_MAX
        if copy is not None and copy.dirty and room and (closing or (not self.lazy and self.on("evict"))):
            yield self.drop(self.write_back(state, host, line), host, line)
        if self.lazy:
            return
        if copy is not None and not copy.dirty:
            if self.on("evict"):
                yield self.drop(state, host, line)
            if self.on("spurious_dirty") and room:
                yield self.write_back(state, host, line)
        if copy is None and not flight and self.on("prefetch"):
            yield self.fill(state, host, line)
            if self.on("fill_survives_flush") and state.fills[at] is None:
                yield state._replace(fills=put(state.fills, at, state.device[line]))

    def crash(self, state: State, index: int) -> State:
        """A host dies: copies, fills and buffers vanish; recovery starts, or starts again if it died."""
        dying = self.crashes[index]
        for line in range(len(self.lines)):
            at = self.at(dying, line)
            for write in state.flights[at]:
                for piece in write if self.program.options["crash_in_flight"] == "kept" else ():
                    state = state._replace(device=put(state.device, line, over(state.device[line], piece)))
            state = state._replace(flights=put(state.flights, at, ()), fills=put(state.fills, at, None))
            state = self.drop(state, dying, line)
        threads = list(state.threads)
        for i, thread in enumerate(threads):
            here = self.host_of[i] == dying
            if self.program.threads[i].after_crash:
                if here or thread.status == WAITING:
                    threads[i] = ThreadState(RUNNING, 0, (), (), False)
            elif here:
                status = DEAD if thread.status == RUNNING else thread.status
                threads[i] = thread._replace(status=status, buffer=(), inside=False)
        return state._replace(threads=tuple(threads), crashed=state.crashed | {index})

    # Questions

    def done(self, state: State) -> bool:
        """All threads that must end have ended or died."""
        pairs = zip(self.program.threads, state.threads, strict=True)
        return all(text.daemon or thread.status in (ENDED, DEAD) for text, thread in pairs)

    def drained(self, state: State) -> bool:
        """Everything is at the device."""
        return (
            not any(thread.buffer for thread in state.threads)
            and not any(state.flights)
            and not any(copy is not None and copy.dirty for copy in state.copies)
        )

    def memory(self, state: State) -> dict[str, int]:
        """Words of the device by name."""
        return {name: state.device[self.lines.index(line)][word] for name, (line, word) in self.program.places.items()}

    def next_instruction(self, state: State, number: int) -> Instruction | None:
        """What a running thread does next."""
        thread = state.threads[number]
        return self.program.threads[number].code[thread.pc] if thread.status == RUNNING else None
