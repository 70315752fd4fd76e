"""Latency and bandwidth formulas against the numbers that the paper prints."""

import pytest

from prismem.models import latency, profile
from prismem.models.latency import Kind


@pytest.mark.parametrize(("kind", "memory_ns"), [("write", 153), ("read", 212)])
def test_idle_appliance(kind: Kind, memory_ns: int) -> None:
    """arXiv 2607.27187: idle write 24 + 153 + 47 = 224 ns, idle read 24 + 212 + 47 = 283 ns."""
    parts = latency.idle_parts_ns(profile.load("pfma"), kind)
    assert parts == {"request": 24, "memory": memory_ns, "response": 47}
    assert latency.idle_ns(profile.load("pfma"), kind) == 24 + memory_ns + 47


@pytest.mark.parametrize("kind", ["read", "write"])
def test_ten_metres_of_fibre_cost_100_ns(kind: Kind) -> None:
    """5 ns/m, there and back."""
    near, far = profile.load("pfma"), profile.load("pfma", ["path.fibre_length=15 m"])
    assert latency.idle_ns(far, kind) - latency.idle_ns(near, kind) == 100


# What each number of a profile that concerns an idle access must change, in ns, when it grows by what is written here.
SENSITIVITY = [
    ("cxl.request_time=32 ns", 10, 10),
    ("cxl.response_time=55 ns", 10, 10),
    ("cxl.rate=8 GB/s", 60, 60),  # a flit of 256 B takes 32 ns and no longer 2, both ways
    ("nic.decode_time=22 ns", 10, 10),
    ("path.phy_time=38 ns", 20, 20),
    ("path.rate=1 GB/s", 74 - 3 + 14 - 1, 78 - 3 + 10 - 1),
    ("module.port_time=24 ns", 10, 10),
    ("module.return_time=22 ns", 10, 10),
    ("hbm.cas_time=56 ns", 10, 0),
    ("hbm.row_to_column_time=26 ns", 10, 0),
    ("hbm.rate=4 GB/s", 14, 0),
    ("hbm.cas_time=80 ns", 16 + 66 + 3 - 64, 0),  # DDR5 has the line sooner: 85 ns, and no longer 64
    ("hbm.mode=2", 16 + 66 + 3 - 64, 0),
    ("hbm.commit_time=15 ns", 0, 10),
    ("frame.tag=64 B", 2, 2),  # read data 74 B: 3 ns, 136 B: 5 ns; completion 10 B: 1 ns, 72 B: 3 ns
    ("frame.address_and_tag=64 B", 2, 2),  # read 14 B: 1 ns, 72 B: 3 ns; write 78 B: 3 ns, 136 B: 5 ns
]


def test_lines_below_the_base_of_hbm_as_memory_are_in_ddr5() -> None:
    """16 + 66 + 3 ns and no longer 16 + 46 + 2."""
    below, above = (profile.load("pfma", ["hbm.mode=1", f"hbm.base={base}"]) for base in ("1 GiB", "0 GiB"))
    assert latency.idle_ns(below, "read") - latency.idle_ns(above, "read") == 85 - 64
    assert latency.idle_ns(above, "read") == 283


@pytest.mark.parametrize(("override", "read_ns", "write_ns"), SENSITIVITY)
def test_every_knob_moves_what_it_should(override: str, read_ns: int, write_ns: int) -> None:
    base, changed = profile.load("pfma"), profile.load("pfma", [override])
    assert latency.idle_ns(changed, "read") - latency.idle_ns(base, "read") == read_ns
    assert latency.idle_ns(changed, "write") - latency.idle_ns(base, "write") == write_ns


def test_idle_niagara() -> None:
    """arXiv 2512.18194 prints 640 ns; 101 lines in flight are what its 10.1 GB/s need, and a head has tags for them."""
    niagara = profile.load("niagara")
    assert latency.idle_ns(niagara, "read") == 640
    assert latency.idle_parts_ns(niagara, "read") == {"request": 130, "memory": 380, "response": 130}
    assert niagara.nic.tags.canonical > 10.1 * 640 / 64


def test_idle_switched_pool() -> None:
    """arXiv 2607.27187 prints 800 to 900 ns for a pool behind electrical switches of 70 to 500 ns a hop."""
    pool = profile.load("switch")
    assert 800 <= latency.idle_ns(pool, "read") <= 900
    assert all(70 <= time.canonical <= 500 for time in pool.switch.hop_times())
    stages = latency.idle_stages_ns(pool, "read")
    assert [stage for stage in stages if "hop" in stage] == ["hop1", "hop2", "return_hop2", "return_hop1"]


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("hop", [1, 2, 3, 4])
def test_every_hop_counts_there_and_back(kind: Kind, hop: int) -> None:
    """10 ns more in a hop that is passed are 20 ns, in one that is not none; another hop costs its own 2 x 130."""
    base = latency.idle_ns(profile.load("switch"), kind)
    longer = latency.idle_ns(profile.load("switch", [f"switch.hop{hop}_time=140 ns"]), kind)
    assert longer - base == (20 if hop <= 2 else 0)
    hops = latency.idle_ns(profile.load("switch", [f"switch.hops={hop}"]), kind)
    # 17 B take 1 ns at 64 GB/s and 85 B 2, one way each.
    assert hops - base == (hop - 2) * (2 * 130 + 1 + 2)


def test_bandwidth_bounds_of_the_other_fabrics() -> None:
    """85 B a line through a switch port of 64 GB/s; all heads of a device share 10.125 GB/s, whatever the mix."""
    assert latency.path_bound_gb_per_s(profile.load("switch"), 1.0) == pytest.approx(64 * 64 / 85)
    assert latency.path_bound_gb_per_s(profile.load("switch"), 0.5) == pytest.approx(64 * 64 / ((17 + 85) / 2))
    for share in (0.0, 0.5, 1.0):
        assert latency.path_bound_gb_per_s(profile.load("niagara"), share) == 10.125


def test_lines_in_flight_bound_bandwidth() -> None:
    """One line at a time is 64 B / 283 ns; 113 reads in flight are what 25.6 GB/s need."""
    pfma = profile.load("pfma")
    assert latency.window_bound_gb_per_s(pfma, "read", 1) == pytest.approx(64 / 283)
    assert latency.window_bound_gb_per_s(pfma, "read", 112) < 25.6 < latency.window_bound_gb_per_s(pfma, "read", 114)
