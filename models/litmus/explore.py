"""Verdicts: depth-first over all states, local steps taken at once, no other reduction."""

from collections.abc import Iterator
from dataclasses import dataclass

from prismem.models.litmus.machine import DEAD, Machine, State
from prismem.models.litmus.program import Program, condition
from prismem.models.litmus.steps import Stepper

LOCAL_STEPS_MAX = 64


@dataclass(frozen=True)
class Verdict:
    """Whether `bad` is reachable, whether a trap state is, and the states seen for the first."""

    allowed: bool
    trap: bool
    states: int


class Explorer:
    """All states of one program in one mode."""

    def __init__(self, program: Program, *, coherent: bool, lazy: bool = False) -> None:
        self.program = program
        self.machine = Machine(program, coherent=coherent, lazy=lazy)
        self.stepper = Stepper(self.machine)
        self.holds = condition(program.bad)
        # A register that is looked at after a crash: when it was written matters.
        self.at_once = not program.crashes

    def settle(self, state: State) -> State:
        """Local steps of every thread, up to a bound that ends loops without memory."""
        for number in range(len(state.threads)):
            for _ in range(LOCAL_STEPS_MAX):
                instruction = self.machine.next_instruction(state, number)
                if instruction is not None and instruction.op in ("mov", "add") and not self.at_once:
                    break
                after = self.stepper.local(state, number)
                if after is None:
                    break
                state = after
        return state

    def successors(self, state: State) -> Iterator[State]:
        """States after one step of anything."""
        for number in range(len(state.threads)):
            local = self.stepper.local(state, number)
            if local is not None:
                yield self.settle(local)
            for after in self.stepper.shared(state, number):
                yield self.settle(after)
            for after in self.machine.commits(state, number):
                yield self.settle(after)
        closing = self.machine.done(state) and self.program.asks_memory
        for after in self.machine.events(state, closing=closing):
            yield self.settle(after)
        for index in range(len(self.program.crashes)):
            if index not in state.crashed:
                yield self.settle(self.machine.crash(state, index))

    def bad(self, state: State) -> bool:
        """Two threads are inside, or the end is reached and `bad` holds."""
        inside = [thread for thread in state.threads if thread.inside and thread.status != DEAD]
        if len(inside) > 1:
            return True
        if not self.program.bad or not self.machine.done(state):
            return False
        if self.program.asks_memory and not self.machine.drained(state):
            return False
        names = {
            (text.id, name): 0
            for text in self.program.threads
            for instruction in text.code
            for name in instruction.args
        }
        for text, thread in zip(self.program.threads, state.threads, strict=True):
            names |= {(text.id, name): value for name, value in thread.registers}
        return self.holds(names, self.machine.memory(state))

    def search(self, *, stop: bool) -> tuple[bool, dict[State, list[State]]]:
        """Whether a bad state was met, and the successors of each state seen; with `stop`, up to the first bad one."""
        first = self.settle(self.machine.initial())
        seen: dict[State, list[State]] = {first: []}
        work = [first]
        found = False
        while work:
            state = work.pop()
            if self.bad(state):
                found = True
                if stop:
                    break
            if not stop and self.machine.done(state):
                continue
            for after in self.successors(state):
                if not stop:
                    seen[state].append(after)
                if after not in seen:
                    seen[after] = []
                    work.append(after)
        return found, seen


def verdict(program: Program, *, coherent: bool) -> Verdict:
    """Explore twice: everything for `bad`, a lazy cache for trap states."""
    allowed, seen = Explorer(program, coherent=coherent).search(stop=True)
    lazy = Explorer(program, coherent=coherent, lazy=True)
    edges = lazy.search(stop=False)[1]
    before: dict[State, list[State]] = {state: [] for state in edges}
    for state, after in edges.items():
        for target in after:
            before[target].append(state)
    reaching = {state for state in edges if lazy.machine.done(state)}
    work = list(reaching)
    while work:
        for state in before[work.pop()]:
            if state not in reaching:
                reaching.add(state)
                work.append(state)
    return Verdict(allowed, len(reaching) < len(edges), len(seen))
