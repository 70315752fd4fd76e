"""Linearizability of histories: is there an order of the operations, each between its invocation and its answer, that a
sequential object explains?

Just-in-time linearization (Lowe, "Testing for linearizability", CCPE 2017, after Wing and Gong): the history is walked
once in time; what is kept is every configuration that is possible so far, the object's state and the set of pending
operations that have taken effect. When an operation answers, those configurations survive in which it has, or can be
made to, with the answer that it gave. None left: the history is not linearizable. Equal configurations are kept once,
so the cost follows from how many operations overlap and not from the length. Objects are checked key by key
(linearizability is local).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

CONFIGURATIONS_MAX = 200_000
"""Of one key at one time; more than that is refused, not guessed."""

State = Hashable


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: times in any unit that orders events; `responded` is None for one that never answered."""

    process: int
    call: str
    key: Hashable
    argument: int
    result: int
    invoked: int
    responded: int | None

    def __str__(self) -> str:
        answer = "no answer" if self.responded is None else str(self.result)
        span = f"{self.invoked}..{'' if self.responded is None else self.responded}"
        return f"{span:>16}  process {self.process}  {self.call}({self.key}, {self.argument}) -> {answer}"


class Sequential(Protocol):
    """A sequential object, one key of it."""

    def initial(self) -> State:
        """State before the first operation."""

    def step(self, state: State, operation: Operation) -> Iterable[State]:
        """States after the operation with its answer; none if the object does not give it. An operation that never
        answered may have had any."""


@dataclass(frozen=True)
class Violation:
    """The shortest window that shows it: from none of `states` does an order of `window` give the last answer."""

    key: Hashable
    states: tuple[State, ...]
    window: tuple[Operation, ...]

    def __str__(self) -> str:
        said = ", ".join(map(str, self.states))
        lines = [f"not linearizable: {self.key}: no order of these operations explains the last answer"]
        lines.append(f"  possible states before: {said}")
        return "\n".join([*lines, *(f"  {operation}" for operation in self.window)])


Configuration = tuple[State, frozenset[int]]


class _Walk:
    """One key, walked in time."""

    def __init__(self, key: Hashable, operations: Sequence[Operation], model: Sequential) -> None:
        self._key, self._operations, self._model = key, operations, model
        self._configurations: set[Configuration] = {(model.initial(), frozenset())}
        self._pending: dict[int, None] = {}
        self._before: dict[int, set[Configuration]] = {}  # at the invocation of each pending operation

    def run(self) -> Violation | None:
        events = [(operation.invoked, 0, number) for number, operation in enumerate(self._operations)]
        events += [(o.responded, 1, number) for number, o in enumerate(self._operations) if o.responded is not None]
        for _, is_answer, number in sorted(events):
            if not is_answer:
                self._before[number] = self._configurations
                self._pending[number] = None
                continue
            survivors = self._answer(number)
            if not survivors:
                return self._violation(number)
            if len(survivors) > CONFIGURATIONS_MAX:
                raise OverflowError(f"{self._key}: more than {CONFIGURATIONS_MAX} configurations; too many overlap")
            del self._pending[number], self._before[number]
            self._configurations = survivors
        return None

    def _answer(self, number: int) -> set[Configuration]:
        """Configurations in which the operation has taken effect, without it."""
        survivors: set[Configuration] = set()
        todo = list(self._configurations)
        known = set(todo)
        while todo:
            state, done = todo.pop()
            if number in done:
                survivors.add((state, done - {number}))
                continue
            for other in self._pending:
                if other in done:
                    continue
                for after in self._model.step(state, self._operations[other]):
                    following = (after, done | {other})
                    if following not in known:
                        known.add(following)
                        todo.append(following)
        return survivors

    def _violation(self, number: int) -> Violation:
        """All that overlaps the operation, and the states at its invocation, or before what was pending then."""
        failed = self._operations[number]
        assert failed.responded is not None
        overlapping = [
            o
            for o in self._operations
            if o.invoked <= failed.responded and (o.responded is None or o.responded >= failed.invoked)
        ]
        first = min(overlapping, key=lambda o: o.invoked)
        at = next((n for n in self._pending if self._operations[n] is first), number)
        states = {state for state, _ in self._before[at]}
        window = sorted((o for o in overlapping if o is not failed), key=lambda o: o.invoked)
        return Violation(self._key, tuple(sorted(states, key=str)), (*window, failed))


def check(history: Iterable[Operation], models: Mapping[str, Sequential]) -> list[Violation]:
    """Violations, at most one a key. The model of a key is that of its first part, up to a colon: "lock:3" -> "lock".

    Raises KeyError for a key without a model and OverflowError if too many operations of a key overlap.
    """
    by_key: dict[Any, list[Operation]] = defaultdict(list)
    for operation in history:
        by_key[operation.key].append(operation)
    walks = (_Walk(key, operations, models[str(key).partition(":")[0]]) for key, operations in by_key.items())
    return [violation for walk in walks if (violation := walk.run()) is not None]
