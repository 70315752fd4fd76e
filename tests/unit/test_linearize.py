"""The check of linearizability: against all orders of small histories, on a long one, and what it shows of bad ones."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from prismem.models.linearize import Operation, Sequential, check
from prismem.models.objects import MODELS

CHECK_S_MAX = 30  # of 100,000 operations; about 2 s on an idle processor


class Register:
    """A word: write sets it, read answers it."""

    def initial(self) -> int:
        """Zero."""
        return 0

    def step(self, state: object, operation: Operation) -> tuple[object, ...]:
        """As above."""
        if operation.call == "write":
            return (operation.argument,)
        return (state,) if operation.responded is None or operation.result == state else ()


REGISTER: dict[str, Sequential] = {"r": Register()}


def operation(process: int, call: str, value: int, invoked: int, responded: int | None, key: str = "r:0") -> Operation:
    argument, result = (value, 0) if call == "write" else (0, value)
    return Operation(process, call, key, argument, result, invoked, responded)


def any_order_explains(history: list[Operation]) -> bool:
    """By definition: some subset with all that answered, in some order that respects time."""
    answered = [o for o in history if o.responded is not None]
    pending = [o for o in history if o.responded is None]
    for count in range(len(pending) + 1):
        for chosen in itertools.combinations(pending, count):
            for order in itertools.permutations([*answered, *chosen]):
                late = any(
                    b.responded is not None and b.responded < a.invoked for a, b in itertools.combinations(order, 2)
                )
                if not late and _explains(order):
                    return True
    return False


def _explains(order: tuple[Operation, ...]) -> bool:
    states: tuple[object, ...] = (0,)
    for one in order:
        states = Register().step(states[0], one)
        if not states:
            return False
    return True


def random_history(rng: random.Random) -> list[Operation]:
    """Five calls of three processes on one register, each at times of its own; the last may never answer."""
    clock = {0: 0, 1: 0, 2: 0}
    times = rng.sample(range(100), 20)
    history = []
    for _ in range(5):
        process = rng.randrange(3)
        first, last = sorted((times.pop(), times.pop()))
        invoked, responded = clock[process] + first + 1, clock[process] + last + 2
        clock[process] = responded
        pending = rng.random() < 0.15
        call = rng.choice(("read", "write"))
        history.append(operation(process, call, rng.randrange(3), invoked * 10 + process, responded * 10 + process))
        if pending:
            history[-1] = operation(process, call, rng.randrange(3), invoked * 10 + process, None)
            clock[process] = 10**6
    return history


def test_it_agrees_with_the_definition() -> None:
    """Goal: the walk accepts a history if and only if an order exists. Method: all orders of 1,500 small ones."""
    rng = random.Random(5)
    histories = [random_history(rng) for _ in range(1_500)]
    found = [not check(history, REGISTER) for history in histories]
    assert found == [any_order_explains(history) for history in histories]
    assert 200 < sum(found) < 1_300


def test_a_long_history_is_checked_in_seconds() -> None:
    """100,000 reads and writes of one register by four processes, each at a random instant of its own span."""
    rng = random.Random(1)
    value, history = 0, []
    for instant in range(100_000):
        call = rng.choice(("read", "write"))
        value = rng.randrange(1000) if call == "write" else value
        spread = rng.randrange(1, 20), rng.randrange(1, 20)
        history.append(operation(instant % 4, call, value, instant * 10 - spread[0], instant * 10 + spread[1]))
    start_s = time.process_time()
    assert check(history, REGISTER) == []
    assert time.process_time() - start_s < CHECK_S_MAX
    wrong = history[50_000]
    history[50_000] = Operation(9, "read", wrong.key, 0, 5_000, wrong.invoked, wrong.responded)
    [violation] = check(history, REGISTER)
    assert violation.window[-1] == history[50_000]
    assert len(violation.window) < 20


def test_the_shortest_window_is_shown() -> None:
    """A read of what was overwritten before it began: shown are the read, what overlaps it, and the state before."""
    history = [
        operation(0, "write", 1, 1, 2),
        operation(0, "write", 2, 3, 4),
        operation(1, "read", 2, 5, 6),
        operation(2, "write", 7, 8, 12),
        operation(1, "read", 1, 9, 10),
        operation(1, "read", 7, 13, 14),
    ]
    [violation] = check(history, REGISTER)
    assert violation.states == (2,)
    assert [str(one).split() for one in violation.window] == [
        ["8..12", "process", "2", "write(r:0,", "7)", "->", "0"],
        ["9..10", "process", "1", "read(r:0,", "0)", "->", "1"],
    ]
    assert str(violation).startswith("not linearizable: r:0: no order of these operations explains the last answer")


def test_keys_are_checked_apart() -> None:
    """One bad key of two is named; a key that no object is known for is refused."""
    bad = [operation(0, "read", 3, 1, 2, "r:bad"), operation(0, "read", 0, 3, 4, "r:good")]
    assert [violation.key for violation in check(bad, REGISTER)] == ["r:bad"]
    with pytest.raises(KeyError):
        check([operation(0, "read", 0, 1, 2, "q:0")], REGISTER)


ENTRY = "entry:1"
INSERTED = f"0 reserve {ENTRY} 2 | 0 commit {ENTRY} 0"


@pytest.mark.parametrize(
    ("calls", "good"),
    [
        ("0 acquire lock:1 0 | 0 release lock:1 0 | 1 acquire lock:1 0", True),
        ("0 acquire lock:1 0 | 1 acquire lock:1 0", False),
        ("0 acquire lock:1 0 | 1 release lock:1 0", False),
        ("0 alloc block:64 0 | 1 free block:64 0 | 1 alloc block:64 0", True),
        ("0 alloc block:64 0 | 1 alloc block:64 0", False),
        ("0 free block:64 0", False),
        (f"0 reserve {ENTRY} 2 | 1 reserve {ENTRY} 3 | 0 commit {ENTRY} 0 | 1 lookup {ENTRY} 1", True),
        (f"0 reserve {ENTRY} 2 | 1 lookup {ENTRY} 1", False),
        (f"0 reserve {ENTRY} 2 | 1 reserve {ENTRY} 2", False),
        (f"{INSERTED} | 1 evict {ENTRY} 1 | 1 exists {ENTRY} 0", False),
        (f"{INSERTED} | 0 release {ENTRY} 0 | 1 evict {ENTRY} 1 | 1 exists {ENTRY} 0", True),
        (f"{INSERTED} | 0 release {ENTRY} 0 | 0 release {ENTRY} 0", False),
    ],
)
def test_objects_of_the_library(calls: str, good: bool) -> None:
    """Sequential histories of each object that it has to allow or to forbid."""
    history = []
    for at, text in enumerate(calls.split(" | ")):
        process, call, key, result = text.split()
        history.append(Operation(int(process), call, key, 0, int(result), 2 * at, 2 * at + 1))
    assert (check(history, MODELS) == []) == good
