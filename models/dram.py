"""Bounds of a memory module's HBM and DDR5, computed from a profile, and what its counters say was the limit.

Payload counts in lines of 64 B, for all ports of a module together. With HBM as a write-through cache a line costs

    HBM    one transfer: a hit is read from it, a miss fills it, a write goes into it
    DDR5   one transfer if it is written or missed

A channel's bus moves one line in 64 B / rate (both sub-channels of DDR5 together), and loses `turn_time` for each batch
of 32 writes that alternates with reads. A bank that opens a row for each line is busy for

    read   max(activate_time, row_to_column_time + read_precharge_time) + precharge_time      tRC
    write  max(activate_time, row_to_column_time + write_precharge_time) + precharge_time

and refresh takes refresh_time / refresh_interval of the rest. Lines that share a row do better; the bus bounds all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from prismem.models.frame import LINE_BYTES
from prismem.models.profile import Profile
from prismem.models.profile_tables import HBM_CACHE, SUB_CHANNELS, Ddr, Hbm

WRITE_BATCH = 32  # mem_dram's WriteBatch
BLOCKED_CAUSES = (
    "hbm",
    "ddr",
    "write room",
    "response room",
    "older write",
    "hbm",
    "ddr",
)  # mem_blocked_cycles, by index
BLOCKED_SHARE = 0.3  # of all port cycles; below it the module keeps up with its ports, though not always at once


@dataclass(frozen=True)
class Window:
    """A stretch of time that repeats every `period_ns`."""

    start_ns: int
    length_ns: int
    period_ns: int


def refresh_windows(media: Hbm | Ddr, banks: int) -> list[Window]:
    """When each of `banks` banks of a channel is refreshed; the same in all channels."""
    interval_ns, groups = media.refresh_interval.canonical, media.refresh_groups.canonical
    if not interval_ns:
        return []
    return [
        Window(
            interval_ns * (bank % groups) // groups
            + media.refresh_step.canonical * (bank // groups)
            + media.refresh_offset.canonical,
            media.refresh_time.canonical,
            interval_ns,
        )
        for bank in range(banks)
    ]


def sub_channel_banks(profile: Profile) -> int:
    """Banks that share a DDR5 data bus."""
    return profile.ddr.banks.canonical // SUB_CHANNELS


def overlap(one: Window, other: Window) -> bool:
    """Whether two windows ever share a nanosecond."""
    long, short = (one, other) if one.period_ns >= other.period_ns else (other, one)
    if long.period_ns % short.period_ns:
        raise ValueError(f"period {long.period_ns} ns is not a multiple of {short.period_ns} ns")
    distance_ns = (long.start_ns - short.start_ns) % short.period_ns
    return distance_ns < short.length_ns or distance_ns + long.length_ns > short.period_ns


def bank_cycle_ns(media: Hbm | Ddr, write: bool) -> int:
    """From activate to activate of a bank that moves one line."""
    recovery = media.write_precharge_time if write else media.read_precharge_time
    busy_ns = max(media.activate_time.canonical, media.row_to_column_time.canonical + recovery.canonical)
    return busy_ns + media.precharge_time.canonical


def _refresh_rest(media: Hbm | Ddr) -> Fraction:
    interval_ns = media.refresh_interval.canonical
    return 1 - Fraction(media.refresh_time.canonical, interval_ns) if interval_ns else Fraction(1)


def media_bounds(media: Hbm | Ddr, reads: Fraction, writes: Fraction) -> tuple[Fraction, Fraction]:
    """Payload bounds (GB/s) of bus and banks when a line of payload costs so many reads and writes of this media; bank
    bounds hold for lines that share no row."""
    line_ns = Fraction(LINE_BYTES * 16, media.rate.canonical) / media.channels.canonical
    turn_ns = Fraction(media.turn_time.canonical, WRITE_BATCH) / media.channels.canonical if reads else Fraction(0)
    bus = LINE_BYTES / ((reads + writes) * line_ns + writes * turn_ns)
    cycle_ns = reads * bank_cycle_ns(media, False) + writes * bank_cycle_ns(media, True)
    banks = LINE_BYTES * media.channels.canonical * media.banks.canonical * _refresh_rest(media) / cycle_ns
    return bus, banks


def module_bounds_gb_per_s(profile: Profile, read_share: float, hit_share: float = 1.0) -> dict[str, float]:
    """Payload of one module (GB/s) by the resource that would be its limit; `hit_share` of the reads hit in HBM.

    `hbm banks` and `ddr banks` hold for lines that share no row. A resource that moves nothing is left out.
    """
    reads, writes = Fraction(read_share), 1 - Fraction(read_share)
    misses = reads * (1 - Fraction(hit_share))
    bounds: dict[str, float] = {}
    if profile.hbm.mode.canonical == HBM_CACHE:
        bus, banks = media_bounds(profile.hbm, reads - misses, writes + misses)
        bounds |= {"hbm": float(bus), "hbm banks": float(banks)}
    else:
        misses = reads
    if misses + writes:
        bus, banks = media_bounds(profile.ddr, misses, writes)
        bounds |= {"ddr": float(bus), "ddr banks": float(banks)}
    return bounds


def limiting(counters: Mapping[str, Sequence[Sequence[int]]], module: int, port_cycles: int) -> str:
    """What held the ports of `module` back in a run of `port_cycles` (ports x ns): one of BLOCKED_CAUSES or "link".

    `counters` are the hardware's: {name: [[a, b, value], ...]}.
    """
    blocked: Counter[str] = Counter()
    for of_module, index, value in counters["mem_blocked_cycles"]:
        if of_module == module:
            blocked[BLOCKED_CAUSES[index]] += value
    [(cause, cycles)] = blocked.most_common(1)
    return cause if cycles > BLOCKED_SHARE * port_cycles else "link"
