"""Which resource limits a phase of traffic: how busy each one was, from the counters of the hardware.

Counters run from reset on, so a phase is the difference of two readings. A share of 1 is a resource that is never idle.
Warm-up and drain are inside, so a resource that limits shows a little less than 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prismem.models.profile import Profile
from prismem.models.profile_tables import SUB_CHANNELS
from prismem.tb.job import Context
from prismem.tb.traffic import HostFigures, Load, Reading, readings

FLIT_BYTES = 256
BUSY = 0.9  # a resource as busy as this is called the limit
WAITS = {
    0: "a free HBM channel",
    1: "a free DDR5 channel",
    2: "room for writes on their way to visibility",
    3: "room for responses",
    4: "an older write to the same line",
    5: "their turn at an HBM channel",
    6: "their turn at a DDR5 channel",
}


@dataclass(frozen=True)
class Limit:
    """The resource that limits, how busy it was, and the rest for comparison."""

    resource: str
    share: float
    why: str
    shares: dict[str, float]


LATE = ("refresh", "bank held by another access", "data bus", "start")  # mem_late_reads, by index
LATE_AT_DDR = 4


def late_reads(before: Reading | None, after: Reading) -> dict[str, int]:
    """Reads of a phase that came late at the memory, by what they waited for most; `of DDR5`: those that it served."""
    found: dict[str, int] = dict.fromkeys((*LATE, "of DDR5"), 0)
    for (_, cause), count in _differences(before, after, "mem_late_reads").items():
        found["of DDR5" if cause == LATE_AT_DDR else LATE[cause]] += count
    return found


def _differences(before: Reading | None, after: Reading, name: str) -> dict[tuple[int, int], int]:
    earlier = before.of(name) if before else {}
    return {key: value - earlier.get(key, 0) for key, value in after.of(name).items()}


def shares(before: Reading | None, after: Reading, profile: Profile) -> dict[str, float]:
    """Share of a phase in which each kind of resource was busy: the busiest link, all channels of a module."""
    span_ns = _differences(before, after, "time_ns").get((0, 0), 0)
    if span_ns <= 0:
        return {}

    def most(values: dict[tuple[int, int], int], scale: float = 1.0) -> float:
        return max(values.values(), default=0) * scale / span_ns

    def together(name: str, channels: int) -> float:
        per_module = [value for (_, which), value in _differences(before, after, name).items() if which == 0]
        return max(per_module, default=0) / channels / span_ns

    flit_ns = FLIT_BYTES * 16 / profile.cxl.rate.canonical
    flits = _differences(before, after, "cxl_flits")
    found = {
        "CXL link to the NIC": most({key: n for key, n in flits.items() if key[1] == 0}, flit_ns),
        "CXL link to the host": most({key: n for key, n in flits.items() if key[1] == 1}, flit_ns),
        "lightpath to the module": most(_differences(before, after, "path_req_busy_ns")),
        "lightpath to the host": most(_differences(before, after, "path_rsp_busy_ns")),
        "HBM channels": together("hbm_busy_ns", profile.hbm.channels.canonical),
        "DDR5 channels": together("ddr_busy_ns", SUB_CHANNELS * profile.ddr.channels.canonical),
    }
    return {name: round(share, 3) for name, share in found.items() if share}


def limit(before: Reading | None, after: Reading, profile: Profile) -> Limit:
    """The busiest resource if it is never idle; else what requests waited for at the memory; else the load."""
    found = shares(before, after, profile)
    busiest, share = max(found.items(), key=lambda item: item[1], default=("", 0.0))
    if share >= BUSY:
        return Limit(busiest, share, f"busy {share:.0%} of the time", found)
    waits: dict[int, int] = {}
    for (_, cause), cycles in _differences(before, after, "mem_blocked_cycles").items():
        waits[cause] = waits.get(cause, 0) + cycles
    lines = sum(_differences(before, after, "port_lines").values())
    cause, cycles = max(waits.items(), key=lambda item: item[1], default=(-1, 0))
    if lines and cycles > lines:
        resource = {0: "HBM banks", 1: "DDR5 banks", 5: "HBM channels", 6: "DDR5 channels"}.get(cause, "memory module")
        why = f"requests at the head of their port waited for {WAITS[cause]}: {cycles / lines:.1f} ns a line"
        return Limit(resource, found.get("DDR5 channels" if cause in (1, 6) else "HBM channels", 0.0), why, found)
    return Limit("lines in flight", share, "nothing is busy all the time", found)


def phases(ctx: Context, loads: Sequence[Load]) -> Iterator[tuple[Load, Reading, list[HostFigures], Limit]]:
    """Each phase of a run: what was asked for, what was read, what the engines measured, what limited them."""
    before = None
    for load, reading in zip(loads, readings(ctx), strict=True):
        yield load, reading, reading.hosts(), limit(before, reading, ctx.profile)
        before = reading
