"""Histories of a program's own operations under `prismem check` (prismem_history.h).

Right twins pass, wrong ones are told with the operations that no order explains; the verdicts are those of a model
that was written apart."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from check_support import check, lines_with, prismem

from prismem.lib.check.trace import CALLS as CALLS_OF_HEADER
from prismem.lib.check.trace import OBJECTS
from prismem.models.linearize import Operation, State
from prismem.models.linearize import check as violations
from prismem.paths import ROOT

EXAMPLE = ROOT / "software" / "examples" / "history" / "status.c"
NOTHING = -(1 << 63)
BAD = 6  # histories, each with a search of its own


def test_the_example_is_found_on_either_side_and_clean_when_mended() -> None:
    """The reader's own copy, and a store that has stayed in the writer's cache: nothing but the answers shows them."""
    status, result = check(EXAMPLE, "--executions", "3000")
    assert (status, result["kind"]) == (1, "history"), result
    assert "not linearizable: register 0" in result["message"]
    assert any("reads its own old copy" in line for line in result["story"])
    assert any(lines_with(EXAMPLE, "/* FAULT */")[0] in line for line in result["story"] if line.startswith("mend"))
    assert "step by step the same execution" in prismem("replay", result["log"]).stdout
    status, result = check(EXAMPLE, "--executions", "3000", "-D", "MENDED", "-D", "STAY_IN_CACHE")
    assert (status, result["kind"]) == (1, "history")
    store = lines_with(EXAMPLE, "atomic_store_explicit")[0]
    assert any(line.startswith("mend") and f"after {store}" in line for line in result["story"])
    status, result = check(EXAMPLE, "--executions", "3000", "-D", "MENDED")
    assert (status, result["found"]) == (0, False), result["story"]
    assert check(EXAMPLE, "--executions", "3000", "--coherent")[0] == 0


def test_the_example_compiles_without_the_check(tmp_path: Path) -> None:
    """The header alone is enough elsewhere: its functions do nothing."""
    include = str(ROOT / "software" / "emu" / "include")
    command = ["gcc", "-Wall", "-Wextra", "-Werror", "-I", include, str(EXAMPLE), "-o", str(tmp_path / "status")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_names_are_those_of_the_header() -> None:
    """The names that stories use, in the order of the header's enums."""
    header = (ROOT / "software" / "emu" / "include" / "prismem_history.h").read_text(encoding="utf-8")
    for enum, names in (("prismem_object", OBJECTS), ("prismem_call", CALLS_OF_HEADER)):
        listed = re.search(rf"enum {enum} \{{(.*?)\}}", header, re.DOTALL)
        assert listed is not None
        assert tuple(name.strip().removeprefix("PRISMEM_").lower() for name in listed[1].split(",")) == names


LOCK = """
#include <prismem_history.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
static void flush(const void *p) { _mm_clflush(p); _mm_mfence(); }
int main(void) {
  atomic_int *lines = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/dax0.0", O_RDWR), 0);
  int host = atoi(getenv("PRISMEM_HOST_ID"));
  atomic_int *own = lines + 16 * host, *other = lines + 16 * (1 - host);
  prismem_operation take = prismem_begin(PRISMEM_LOCK, 7, PRISMEM_ACQUIRE, 0);
  atomic_store_explicit(own, 1, memory_order_relaxed);
  flush(own);
#ifdef MENDED
  flush(other);
#endif
  int busy = atomic_load_explicit(other, memory_order_relaxed);
  prismem_end(take, busy);
  if (!busy) {
    prismem_operation give = prismem_begin(PRISMEM_LOCK, 7, PRISMEM_RELEASE, 0);
    prismem_end(give, 0);
  }
  atomic_store_explicit(own, 0, memory_order_relaxed);
  flush(own);
  return 0;
}
"""


def test_a_lock_that_two_hosts_hold(tmp_path: Path) -> None:
    """Flags of two hosts: each says that it wants, then looks at the other's. An old copy of that lets both in."""
    program = tmp_path / "flags.c"
    program.write_text(LOCK, encoding="utf-8")
    status, result = check(program, "--executions", "5000")
    assert (status, result["kind"]) == (1, "history"), result
    assert "lock 7" in result["message"]
    assert check(program, "--executions", "5000", "-D", "MENDED")[0] == 0


class Model:
    """An object of prismem_history.h, as its table says, written apart from the emulator."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def initial(self) -> State:
        """Values are 0, collections empty."""
        return 0 if self.kind in ("register", "counter", "set") else ()

    def step(self, state: State, operation: Operation) -> Iterable[State]:
        """The state after the call with its answer."""
        call, argument, result = operation.call, operation.argument, operation.result
        if call in ("write", "add", "read"):
            after = argument if call == "write" else int(str(state)) + (argument if call == "add" else 0)
            return (after,) if call == "write" or result == state else ()
        if call in ("insert", "remove", "contains"):
            after = {"insert": 1, "remove": 0, "contains": state}[call]
            answer = int(state == 0) if call == "insert" else state
            return (after,) if result == answer else ()
        assert isinstance(state, tuple)
        if call == "put":
            return ((*state, argument),)
        if not state:
            return (state,) if result == NOTHING else ()
        taken, rest = (state[0], state[1:]) if self.kind == "queue" else (state[-1], state[:-1])
        return (rest,) if taken == result else ()


CALLS = {
    "register": ("read", "write"),
    "counter": ("read", "add"),
    "queue": ("put", "take"),
    "stack": ("put", "take"),
    "set": ("insert", "remove", "contains"),
}


def draw(rng: random.Random, kind: str) -> list[Operation]:
    """Six operations that overlap, with answers that may be."""
    moments = rng.sample(range(1, 40), 12)
    found = []
    for number in range(6):
        begin, end = sorted(moments[2 * number : 2 * number + 2])
        call = rng.choice(CALLS[kind])
        argument = rng.randint(1, 2)
        result = {"put": 0, "write": 0, "take": rng.choice((1, 2, NOTHING))}.get(call, rng.randint(0, 1))
        found.append(Operation(0, call, kind, argument, result, begin, end))
    return found


def as_c(history: list[Operation], kind: str, key: int) -> str:
    """Calls in the order of time; operations of one thread may overlap here."""
    events = [(o.invoked, f"o[{n}] = prismem_begin(PRISMEM_{kind.upper()}, {key}, PRISMEM_{o.call.upper()}, "
               f"{o.argument});") for n, o in enumerate(history)]  # fmt: skip
    for number, operation in enumerate(history):
        assert operation.responded is not None
        result = "PRISMEM_NOTHING" if operation.result == NOTHING else operation.result
        events.append((operation.responded, f"prismem_end(o[{number}], {result});"))
    return "\n".join(text for _, text in sorted(events))


def test_verdicts_are_those_of_the_model(tmp_path: Path) -> None:
    """Random histories of five objects: all that the model explains pass together, and of the others each is found."""
    rng = random.Random(5)
    good: list[str] = []
    bad: list[str] = []
    while len(good) < 60 or len(bad) < BAD:
        kind = rng.choice(list(CALLS))
        history = draw(rng, kind)
        wrong = bool(violations(history, {kind: Model(kind)}))
        (bad if wrong else good).append(as_c(history, kind, len(good) + len(bad)))
    cases = "\n".join(f"case {number}: {text} break;" for number, text in enumerate(bad[:BAD]))
    program = tmp_path / "histories.c"
    program.write_text(
        "#include <prismem_history.h>\n#include <stdlib.h>\n"
        "int main(int n, char **arguments) {\n  prismem_operation o[6];\n"
        f"  if (n == 1) {{\n{chr(10).join(good[:60])}\n  }} else switch (atoi(arguments[1])) {{\n{cases}\n  }}\n"
        "  return 0;\n}\n",
        encoding="utf-8",
    )
    status, result = check(program, "--executions", "1", "--hosts", "1")
    assert (status, result["found"]) == (0, False), result["message"]
    for number in range(BAD):
        status, result = check(program, "--executions", "1", "--hosts", "1", "--args", str(number))
        assert (status, result["kind"]) == (1, "history"), bad[number]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("prismem_begin(PRISMEM_LOCK, 0, PRISMEM_TAKE, 0);", "prismem_begin() at wrong.c:2 (main): a lock has no take"),
        ("prismem_end(3, 0);", "prismem_end() at wrong.c:2 (main): the operation has not begun"),
        (
            "for (int i = 0; i < 5000; ++i) prismem_begin(PRISMEM_SET, 0, PRISMEM_INSERT, 0);",
            "more than 4096 operations",
        ),
    ],
)
def test_misuse_names_the_call(tmp_path: Path, body: str, text: str) -> None:
    program = tmp_path / "wrong.c"
    program.write_text(f"#include <prismem_history.h>\nint main(void) {{ {body} return 0; }}\n", encoding="utf-8")
    done = prismem("check", str(program), "--executions", "9")
    assert done.returncode == 2
    assert text in done.stderr
