"""What one instruction does. Local ones touch nothing but their own thread."""

from collections.abc import Iterator, Mapping

from prismem.models.litmus.machine import (
    BUFFER_ENTRIES,
    ENDED,
    FLUSHES,
    ISSUED,
    LOCAL,
    MESSAGES_MAX,
    RUNNING,
    Entry,
    Machine,
    State,
    ThreadState,
    Write,
    over,
    put,
)
from prismem.models.litmus.program import WORDS, Instruction

COMPARISONS = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: a < b,
    "ble": lambda a, b: a <= b,
}


class Stepper:
    """Steps of the threads of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def value(self, thread: ThreadState, text: str) -> int:
        """A number, or a register of the thread (0 before it is written)."""
        return int(text) if text.lstrip("-").isdigit() else dict(thread.registers).get(text, 0)

    def place(self, variable: str) -> tuple[int, int]:
        """Line (its position) and word of a variable."""
        line, word = self.machine.program.places[variable]
        return self.machine.lines.index(line), word

    def moved(self, state: State, number: int, registers: Mapping[str, int] | None = None, *, to: str = "") -> State:
        """The thread behind its instruction, or at a label, with registers written."""
        thread = state.threads[number]
        text = self.machine.program.threads[number]
        pc = text.labels[to] if to else thread.pc + 1
        known = tuple(sorted((dict(thread.registers) | dict(registers or {})).items()))
        status = ENDED if pc == len(text.code) else RUNNING
        return state._replace(
            threads=put(state.threads, number, thread._replace(pc=pc, registers=known, status=status))
        )

    def entry(self, thread: ThreadState, instruction: Instruction) -> Entry:
        """What an issued instruction leaves in the buffer."""
        kind = ISSUED[instruction.op]
        if kind == "SF":
            return Entry(kind)
        line, word = self.place(instruction.args[0])
        if instruction.op in FLUSHES:
            return Entry(kind, line)
        values = [self.value(thread, text) for text in instruction.args[1:]]
        write: Write = ((word, values[0]),)
        if instruction.op == "movdir64b":
            write = tuple(enumerate(values + [0] * (WORDS - len(values))))
        return Entry(kind, line, write)

    def local(self, state: State, number: int) -> State | None:
        """The state after a local instruction, None if the next one is not local or has to wait."""
        instruction = self.machine.next_instruction(state, number)
        if instruction is None or instruction.op not in LOCAL:
            return None
        thread, op, args = state.threads[number], instruction.op, instruction.args
        if op in ISSUED:
            if len(thread.buffer) == BUFFER_ENTRIES:
                return None
            issued = thread._replace(buffer=(*thread.buffer, self.entry(thread, instruction)))
            return self.moved(state._replace(threads=put(state.threads, number, issued)), number)
        if op == "mfence":
            return None if thread.buffer else self.moved(state, number)
        if op == "mov":
            return self.moved(state, number, {args[0]: int(args[1])})
        if op == "add":
            total = self.value(thread, args[1]) + self.value(thread, args[2])
            return self.moved(state, number, {args[0]: total})
        if op in COMPARISONS:
            taken = COMPARISONS[op](self.value(thread, args[0]), self.value(thread, args[1]))
            return self.moved(state, number, to=args[2] if taken else "")
        if op == "jmp":
            return self.moved(state, number, to=args[0])
        if op == "cs_enter":
            return self.moved(state._replace(threads=put(state.threads, number, thread._replace(inside=True))), number)
        if op == "stop":
            return state._replace(
                threads=put(
                    state.threads,
                    number,
                    thread._replace(status=ENDED, pc=len(self.machine.program.threads[number].code)),
                )
            )
        return self.moved(state, number)  # lfence

    def shared(self, state: State, number: int) -> Iterator[State]:
        """States after an instruction that others can see; none while it has to wait."""
        instruction = self.machine.next_instruction(state, number)
        if instruction is None or instruction.op in LOCAL:
            return
        thread, host, op, args = state.threads[number], self.machine.host_of[number], instruction.op, instruction.args
        if op in ("ld", "uc_ld"):
            yield from self.load(state, number, op, args[0], *self.place(args[1]))
        elif op == "cas":
            line, word = self.place(args[0])
            if thread.buffer or not self.machine.present(state, host, line):
                return
            filled = self.machine.fill(state, host, line)
            copy = filled.copies[self.machine.at(host, line)]
            assert copy is not None
            success = copy.words[word] == self.value(thread, args[1])
            new = self.value(thread, args[2]) if success else copy.words[word]
            yield self.moved(self.machine.store(filled, host, line, ((word, new),)), number, {args[3]: int(success)})
        elif op in ("dma_st", "dma_ld"):
            yield from self.dma(state, number, instruction)
        elif op == "cs_leave":
            yield self.moved(state._replace(threads=put(state.threads, number, thread._replace(inside=False))), number)
        else:
            waiting = dict(state.channels)
            count = waiting.get(args[0], 0) + (1 if op == "send" else -1)
            if 0 <= count <= MESSAGES_MAX:
                waiting[args[0]] = count
                yield self.moved(state._replace(channels=tuple(sorted(waiting.items()))), number)

    def load(self, state: State, number: int, op: str, register: str, line: int, word: int) -> Iterator[State]:
        """Own buffered store, else the cache; an uncached load takes the device's word."""
        host, buffer = self.machine.host_of[number], state.threads[number].buffer
        if any(entry.line == line and entry.kind in ("NT", "U") for entry in buffer):
            return
        if op == "uc_ld":
            if self.machine.can_fill(state, host, line):
                yield self.moved(state, number, {register: state.device[line][word]})
            return
        own = [dict(e.write)[word] for e in buffer if e.kind == "W" and e.line == line and word in dict(e.write)]
        if own:
            yield self.moved(state, number, {register: own[-1]})
        elif self.machine.present(state, host, line):
            filled = self.machine.fill(state, host, line)
            copy = filled.copies[self.machine.at(host, line)]
            assert copy is not None
            yield self.moved(filled, number, {register: copy.words[word]})

    def dma(self, state: State, number: int, instruction: Instruction) -> Iterator[State]:
        """On the device; with snooping on the own copy, with DDIO maybe into the own cache."""
        machine, host, (target, *rest) = self.machine, self.machine.host_of[number], instruction.args
        snoops, allocates = machine.special["dma_snoop"] == host, machine.special["ddio"] == host
        line, word = self.place(target if instruction.op == "dma_st" else rest[0])
        copy = state.copies[machine.at(host, line)]
        if instruction.op == "dma_ld":
            words = copy.words if snoops and copy is not None else state.device[line]
            yield self.moved(state, number, {target: words[word]})
            return
        if (snoops or allocates) and state.flights[machine.at(host, line)]:
            return
        write = ((word, int(rest[0])),)
        if allocates:
            yield self.moved(machine.store(state, host, line, write), number)
        if snoops and copy is not None:
            if copy.dirty:
                state = state._replace(device=put(state.device, line, copy.words))
            state = machine.drop(state, host, line)
        yield self.moved(state._replace(device=put(state.device, line, over(state.device[line], write))), number)
