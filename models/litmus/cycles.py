"""Litmus programs from cycles of communication edges, as tools for weak memory generate them.

Thread i has two accesses in program order; an edge leads from its second one to the first one of the next thread, and
from the last thread back to the first:

    rf   from a store to the load that returns it        asked: the load sees the value
    fr   from a load to a store that it does not see     asked: the load sees the value before
    co   from a store to the store that overwrites it    asked: the second value is the final one

`bad` asks for all edges at once. One memory that keeps program order forbids that; what the machine does depends on the
flushes and fences between the accesses, which are chosen at random, as are the instructions that make the accesses, the
lines of the variables, the hosts, and a switch of the model.
"""

import random
from dataclasses import dataclass

EDGES = {"rf": ("W", "R"), "fr": ("R", "W"), "co": ("W", "W")}
THREADS = (2, 2, 2, 2, 3)
FLUSHES = ("", "clflush", "clflush", "clflushopt", "clwb")
FENCES = ("", "", "mfence", "sfence", "lfence")
STORES = ("st", "st", "st", "st", "st", "nt", "uc_st", "dma_st", "movdir64b", "cas")
LOADS = ("ld", "ld", "ld", "ld", "ld", "ld", "uc_ld", "dma_ld")
OPTIONS = (
    *[""] * 8,
    "completion=posted",
    "completion=posted write_unit=32",
    "write_unit=8",
    "clwb=keep",
    "clwb=drop",
    "prefetch=off",
    "evict=off",
    "warm=on",
    "fill_survives_flush=on",
    "spurious_dirty=on",
    "dma_snoop=0",
    "dma_snoop=0 ddio=0",
)
CRASHES = ("kept", "dropped")
INSTRUCTIONS_MAX = 11  # of all threads: what the slow model explores within seconds


@dataclass
class Access:
    """One end of an edge: a store of `value`, or a load that is asked for it."""

    kind: str
    variable: str
    value: int


def program(seed: int) -> str:
    """The text of one program; equal seeds give equal programs."""
    rng = random.Random(seed)
    text = ""
    while not text or sum(line.startswith("  ") for line in text.splitlines()) > INSTRUCTIONS_MAX:
        text = _attempt(seed, rng)
    return text


def _attempt(seed: int, rng: random.Random) -> str:
    edges = [rng.choice(tuple(EDGES)) for _ in range(rng.choice(THREADS))]
    firsts: list[Access] = []
    seconds: list[Access] = []
    asked: list[str] = []
    for i, edge in enumerate(edges):
        source, target = EDGES[edge]
        variable = f"v{i}"
        seconds.append(Access(source, variable, 1 if source == "W" else 0))
        firsts.append(Access(target, variable, 2 if edge == "co" else 1))
        if edge == "rf":
            asked.append(f"{(i + 1) % len(edges)}.a == 1")
        else:
            asked.append(f"{i}.b == 0" if edge == "fr" else f"mem.{variable} == 2")
    firsts = [firsts[-1], *firsts[:-1]]  # the edge of thread i ends in thread i + 1
    lines = {f"v{i}": f"{rng.randrange(2)}:{word}" for i, word in enumerate(rng.sample(range(8), len(edges)))}
    hosts = list(range(len(edges)))
    if len(edges) == 3 and rng.random() < 0.5:
        hosts[rng.randrange(1, 3)] = 0
    text = [f"litmus cycle-{'-'.join(edges)}-{seed}", "vars " + " ".join(f"{v}={at}" for v, at in lines.items())]
    options = rng.choice(OPTIONS)
    recovers = rng.random() < 0.1
    if recovers:
        options = f"{options} crash_in_flight={rng.choice(CRASHES)}".strip()
    text += [f"options {options}"] if options else []
    text += [f"crash host={hosts[0]}"] if recovers else []
    for i, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        text.append(f"thread {i} host={hosts[i]}" + (" after_crash" if recovers and i == len(edges) - 1 else ""))
        text += [f"  {line}" for line in _thread(first, second, rng) if line]
    return "\n".join([*text, "bad " + " and ".join(asked)]) + "\n"


def _thread(first: Access, second: Access, rng: random.Random) -> list[str]:
    """Two accesses with flushes and fences between and after."""
    return [
        _instruction(first, "a", rng),
        _flush(first, rng),
        rng.choice(FENCES),
        _flush(second, rng),
        rng.choice(FENCES),
        _instruction(second, "b", rng),
        _flush(second, rng),
    ]


def _flush(access: Access, rng: random.Random) -> str:
    verb = rng.choice(FLUSHES)
    return f"{verb} {access.variable}" if verb else ""


def _instruction(access: Access, register: str, rng: random.Random) -> str:
    if access.kind == "R":
        return f"{rng.choice(LOADS)} {register} {access.variable}"
    verb = rng.choice(STORES)
    if verb == "cas":
        return f"cas {access.variable} 0 {access.value} {register}"
    return f"{verb} {access.variable} {access.value}"
