"""The litmus text format (docs/litmus.md) as data. For right programs: what is wrong with a file, the explorer says."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

WORDS = 8  # of a line
DEFAULTS = {
    "completion": "device",
    "write_unit": "64",
    "fill_survives_flush": "off",
    "spurious_dirty": "off",
    "clwb": "may",
    "prefetch": "on",
    "evict": "on",
    "dma_snoop": "none",
    "ddio": "none",
    "crash_in_flight": "kept",
    "warm": "off",
}
TOKENS = re.compile(r"\s*(==|!=|<=|>=|[-<>+%()]|[\w.]+)")

Registers = Mapping[tuple[int, str], int]
Memory = Mapping[str, int]


@dataclass(frozen=True)
class Instruction:
    """Name and operands as written."""

    op: str
    args: tuple[str, ...] = ()


@dataclass
class Thread:
    """Instructions of one thread; labels give positions among them."""

    id: int
    host: int
    daemon: bool = False
    after_crash: bool = False
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass
class Program:
    """One file."""

    name: str = ""
    places: dict[str, tuple[int, int]] = field(default_factory=dict)  # variable -> line, word
    init: dict[str, int] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=lambda: dict(DEFAULTS))
    threads: list[Thread] = field(default_factory=list)
    crashes: list[int] = field(default_factory=list)
    bad: str = ""
    expect: dict[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> list[int]:
        """Numbers of the lines that hold variables, in order."""
        return sorted({line for line, _ in self.places.values()})

    @property
    def asks_memory(self) -> bool:
        """Whether `bad` names final memory."""
        return "mem." in self.bad


def parse(text: str) -> Program:
    """Read a program that is known to be right. Raises ValueError or KeyError otherwise."""
    program = Program()
    for raw in text.splitlines():
        words = raw.partition("#")[0].split()
        if not words:
            continue
        word, rest = words[0], words[1:]
        pairs = dict(item.split("=", 1) for item in rest if "=" in item and word != "bad")
        if word == "litmus":
            program.name = rest[0]
        elif word == "vars":
            for name, place in pairs.items():
                line, _, index = place.partition(":")
                program.places[name] = (int(line), int(index))
        elif word == "init":
            program.init |= {name: int(value) for name, value in pairs.items()}
        elif word == "options":
            program.options |= pairs
        elif word == "crash":
            program.crashes.append(int(pairs["host"]))
        elif word == "thread":
            program.threads.append(Thread(int(rest[0]), int(pairs["host"]), "daemon" in rest, "after_crash" in rest))
        elif word == "bad":
            program.bad = " ".join(rest)
        elif word == "expect":
            program.expect |= pairs
        else:
            _instruction(program.threads[-1], words)
    return program


def _instruction(thread: Thread, words: list[str]) -> None:
    if words[0].endswith(":"):
        thread.labels[words[0][:-1]] = len(thread.code)
        words = words[1:]
    if words:
        thread.code.append(Instruction(words[0], tuple(words[1:])))


def condition(text: str) -> Callable[[Registers, Memory], bool]:
    """`bad` as a function of registers and final memory: Python's own expressions over the same operators."""
    parts = []
    rest = text
    while rest.strip():
        match = TOKENS.match(rest)
        if match is None:
            raise ValueError(f"{text}: not understood at '{rest}'")
        token, rest = match[1], rest[match.end() :]
        owner, dot, name = token.partition(".")
        if dot:
            token = f"memory['{name}']" if owner == "mem" else f"registers[{int(owner)}, '{name}']"
        parts.append(token)
    code = compile(" ".join(parts) or "False", "bad", "eval")
    return lambda registers, memory: bool(eval(code, {"__builtins__": {}}, {"registers": registers, "memory": memory}))
