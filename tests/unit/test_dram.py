"""Bounds of HBM and DDR5, and the refresh plan of a module."""

from fractions import Fraction

import pytest

from prismem.models import dram, profile
from prismem.models.dram import Window

PFMA = profile.load("pfma")


def test_a_line_is_never_refreshed_in_hbm_and_ddr5_together() -> None:
    """A read whose HBM bank is refreshed finds its line in DDR5 at once: no window of one meets one of the other."""
    hbm = dram.refresh_windows(PFMA.hbm, PFMA.hbm.banks.canonical)
    ddr = dram.refresh_windows(PFMA.ddr, dram.sub_channel_banks(PFMA))
    assert len(hbm) == 32
    assert len(ddr) == 32
    assert not any(dram.overlap(one, other) for one in hbm for other in ddr)


def test_a_late_refresh_does_not_reach_the_other_either() -> None:
    """An access makes a refresh late by its bank's cycle at most; so much lies between the windows, on both sides."""
    late_ns = dram.bank_cycle_ns(PFMA.ddr, write=True)
    hbm = dram.refresh_windows(PFMA.hbm, PFMA.hbm.banks.canonical)
    ddr = dram.refresh_windows(PFMA.ddr, dram.sub_channel_banks(PFMA))
    for one, other in zip(hbm, ddr, strict=True):  # bank b of HBM has the lines of bank b of DDR5
        for window in (one, other):
            wide = Window(window.start_ns, window.length_ns + late_ns, window.period_ns)
            assert not dram.overlap(wide, other if window is one else one)


def test_a_shifted_plan_is_noticed() -> None:
    """Without its offset HBM would be refreshed with DDR5."""
    shifted = profile.load("pfma", ("hbm.refresh_offset=0 ns",))
    hbm = dram.refresh_windows(shifted.hbm, 32)
    ddr = dram.refresh_windows(shifted.ddr, 32)
    assert any(dram.overlap(one, other) for one in hbm for other in ddr)


@pytest.mark.parametrize(
    ("start_ns", "meets"), [(0, True), (129, True), (130, False), (820, False), (821, True), (950, True), (1770, False)]
)
def test_overlap(start_ns: int, meets: bool) -> None:
    """130 ns of every 950, seen from windows that start at 0 of every 1900."""
    assert dram.overlap(Window(start_ns, 130, 1900), Window(0, 130, 950)) == meets


def test_bounds_by_hand() -> None:
    """Hits: 64 x 37.5 GB/s of bus; tRC 45 ns, 2,048 banks, 3770/3900 of the time. Writes: 8 x 51.1875 GB/s."""
    reads = dram.module_bounds_gb_per_s(PFMA, 1.0)
    assert reads == {
        "hbm": pytest.approx(2400),
        "hbm banks": pytest.approx(float(64 * 2048 * Fraction(3770, 3900) / 45)),
    }
    writes = dram.module_bounds_gb_per_s(PFMA, 0.0)
    assert writes["ddr"] == pytest.approx(409.5)
    assert writes["ddr banks"] == pytest.approx(64 * 512 * (1820 / 1950) / (16 + 45 + 16))


def test_turning_the_bus_costs() -> None:
    """One read to one write beyond HBM: 32 of each take 64 x 64 B / 409.5 GB/s, and 18 ns of turnaround a channel."""
    mixed = dram.module_bounds_gb_per_s(PFMA, 0.5, 0.0)
    assert mixed["ddr"] == pytest.approx(64 * 64 / (64 * 64 / 409.5 + 18 / 8))


def test_without_hbm_every_line_is_ddr5s() -> None:
    off = profile.load("pfma", ("hbm.mode=2",))
    assert set(dram.module_bounds_gb_per_s(off, 1.0)) == {"ddr", "ddr banks"}


@pytest.mark.parametrize(
    ("blocked", "cause"), [((0, 300, 0, 0, 0, 290, 500), "ddr"), ((0, 20, 0, 0, 0, 300, 300), "link")]
)
def test_counters_name_the_limit(blocked: tuple[int, ...], cause: str) -> None:
    counters = {"mem_blocked_cycles": [[0, b, value] for b, value in enumerate(blocked)] + [[1, 0, 9999]]}
    assert dram.limiting(counters, 0, 1600) == cause
