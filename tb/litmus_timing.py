"""What a seed draws for the litmus job: where lines lie, which caches are warm, what caches do, who waits.

A weak outcome needs its own order of things. What was found to show them: a copy held before the start, a start
or a pause as long as one or several round trips of the memory, two lines on one path or on two that are not equally
loaded, a host that dies in the middle. Each round draws one mixture of these.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from prismem.models.litmus.program import Instruction
from prismem.tb.litmus_code import EVENTS_MAX, LINES_MAX, LIVES, SLOTS_MAX, Event, Listing, Round, slots_of

GRANULE_LINES = 4  # of the address decoder at its smallest, 256 B: the next granule lies on the next module
ROUND_LINES = {"functional": LINES_MAX, "timed": LINES_MAX, "rtl": 128}
"""Lines of the pool that a round takes."""
START_NS = (0, 0, 60, 600, 3000)
GAP_NS = (0, 0, 60, 800)
STALL_NS_MAX = 5000
WARM = (0.0, 0.5, 1.0)
FILL, EVICT, RETIRE = range(3)  # enum emu_cache_event
WEAK_FLUSHES = ("clflushopt", "clwb", "nt")
EVENTS = (0, 1, 1, 2, 4)


def layout(rng: random.Random, lines: int, first: int, port: str, modules: int) -> list[int]:
    """Pool lines of a round: side by side on one module, on modules in turn from either, or on one but far apart."""
    if port != "rtl":
        return [first + index for index in range(lines)]
    kind = rng.choice(("together", "in turn", "in turn, shifted", "one module"))
    if kind == "together" and lines <= GRANULE_LINES:
        return [first + index for index in range(lines)]
    fits = lines * modules * GRANULE_LINES <= ROUND_LINES[port]
    step = GRANULE_LINES * (modules if kind == "one module" and fits else 1)
    start = first + (GRANULE_LINES if kind == "in turn, shifted" else 0)
    return [start + index * step for index in range(lines)]


def events_at(listing: Listing, number: int, at: int, switches: Mapping[str, str]) -> list[tuple[int, int]]:
    """What the cache of a thread may do before its instruction `at` that can make a difference: kind and line.

    Lines that it has used may leave, those that it is going to use may come, weak flushes may take effect.
    """
    code = listing.program.threads[number].code
    places = listing.program.places

    def used(instructions: Sequence[Instruction], ops: Sequence[str] | None = None) -> list[int]:
        named = {arg for one in instructions if ops is None or one.op in ops for arg in one.args if arg in places}
        return sorted({listing.place(name)[0] for name in named})

    possible = [(RETIRE, line) for line in used(code[:at], WEAK_FLUSHES)] * 3
    if switches["evict"] == "on":
        possible += [(EVICT, line) for line in used(code[:at])] * 2
    if switches["prefetch"] == "on":
        possible += [(FILL, line) for line in used(code[at:])]
    return possible


def draw(
    rng: random.Random,
    listing: Listing,
    hosts: Sequence[int],
    switches: Mapping[str, str],
    *,
    first: int,
    port: str,
    modules: int,
) -> Round:
    """One round of a program on the slots of these hosts, from pool line `first` on."""
    assert len(hosts) <= SLOTS_MAX
    assert max(EVENTS) <= EVENTS_MAX
    program = listing.program
    found = Round()
    lines = len(program.lines)
    found.line[:lines] = layout(rng, lines, first, port, modules)
    chance = rng.choice(WARM)
    if program.options["warm"] == "on":
        chance = 1.0
    elif switches["prefetch"] == "off":
        chance = 0.0
    start_max, gap_max = rng.choice(START_NS), rng.choice(GAP_NS)
    for slot in range(len(hosts)):
        turn = found.turn[slot]
        turn.warm = sum(1 << line for line in range(lines) if rng.random() < chance)
        turn.start_ns = rng.randint(0, start_max) if rng.random() < 0.5 else 0
        turn.gap_ns = gap_max if rng.random() < 0.5 else 0
        turn.die_at = LIVES
    slots = slots_of(program, hosts)
    for number, slot in enumerate(slots):
        turn, length = found.turn[slot], len(program.threads[number].code)
        if rng.random() < 0.4:
            turn.stall_at, turn.stall_ns = rng.randint(0, length), rng.randint(1, STALL_NS_MAX)
        dies = program.threads[number].host in program.crashes and not program.threads[number].after_crash
        if dies:
            turn.die_at = rng.randint(0, length)
        for _ in range(rng.choice(EVENTS)):
            at = turn.die_at if dies and rng.random() < 0.5 else rng.randint(0, length)
            if possible := events_at(listing, number, at, switches):
                then_ns = rng.randint(1, STALL_NS_MAX) if rng.random() < 0.5 else 0
                turn.event[turn.events] = Event(at, *rng.choice(possible), then_ns)
                turn.events += 1
    return found
