"""What is made of the engines' counters: percentiles, rates, Little's law, fairness, the resource that limits."""

from collections import Counter

import pytest

from prismem.models import profile
from prismem.tb import limits, traffic
from prismem.tb.job import CheckFailed
from prismem.tb.traffic import Histogram, HostFigures, Reading

NS = 10_000


def host(number: int = 0, lines: int = 4000, in_flight_ns: int = 1_200_000) -> HostFigures:
    """A host that read `lines` lines in 10 us at 300 ns each."""
    empty = Histogram(Counter())
    return HostFigures(
        host=number,
        window_ns=NS,
        requests=(lines, 0),
        useful_bytes=(lines * 32, 0),
        lines=({0: lines // 4, 3: lines - lines // 4}, {}),
        line_ns=(lines * 300, 0),
        in_flight_ns=in_flight_ns,
        latency=(empty, empty),
    )


def test_percentiles_are_nearest_ranks() -> None:
    """1,000 requests: 500 at 280 ns, 499 at 290, one at 400. Ranks 500, 501, 999 and 1,000."""
    latency = Histogram(Counter({280: 500, 290: 499, 400: 1}), 400)
    assert [latency.percentile(p) for p in (50, 50.1, 99.9, 100)] == [280, 290, 290, 400]
    assert latency.mean() == pytest.approx((280 * 500 + 290 * 499 + 400) / 1000)
    assert latency.summary() == {"count": 1000, "p50_ns": 280, "p99_ns": 290, "p999_ns": 290, "max_ns": 400}


def test_what_is_beyond_the_last_bin_is_the_maximum() -> None:
    assert Histogram(Counter({280: 1, traffic.OVERFLOW_NS: 1}), 9000).percentile(99) == 9000
    assert Histogram(Counter()).percentile(50) == 0


def test_rates_are_bytes_over_the_window() -> None:
    """4,000 lines of 64 bytes, of which 32 are used, in 10 us."""
    assert host().moved_gb_s() == 25.6
    assert host().useful_gb_s() == 12.8
    assert host().moved_gb_s(module=3) == pytest.approx(19.2)
    assert host().in_flight() == 120


def test_intervals_and_footprints() -> None:
    """64 B at 25.6 GB/s are 2.5 ns; a footprint has room for twice the lines in flight."""
    assert traffic.interval_q16(64, 25.6) == 2.5 * 65536
    assert [traffic.footprint_log2(*pair) for pair in ((4096, 256), (4097, 256), (64, 256), (64, 257))] == [
        12,
        13,
        9,
        10,
    ]


@pytest.mark.parametrize(
    ("in_flight_ns", "holds"), [(1_200_000, True), (1_223_000, True), (1_225_000, False), (0, False)]
)
def test_littles_law_is_checked_to_two_percent(in_flight_ns: int, holds: bool) -> None:
    figures = [host(), host(1, in_flight_ns=in_flight_ns)]
    if holds:
        traffic.check_little("phase", figures)
    else:
        with pytest.raises(CheckFailed, match="Little's law does not hold at host 1"):
            traffic.check_little("phase", figures)


def test_an_unfair_share_is_refused() -> None:
    """Rates of 25.6 three times and 24.0: the mean is 25.2, 97 % of it are 24.4."""
    traffic.check_fair("phase", [host(0), host(1, 3950)])
    with pytest.raises(CheckFailed, match="slowest host"):
        traffic.check_fair("phase", [host(0), host(1), host(2), host(3, 3750)])


@pytest.mark.parametrize("counter", traffic.ERRORS)
def test_each_error_counter_is_a_failure(counter: str) -> None:
    Reading({counter: [[0, 0, 0], [1, 0, 0]]}).check_clean("phase")
    with pytest.raises(CheckFailed, match=rf"2 {traffic.ERRORS[counter]} at hosts \[1\]"):
        Reading({counter: [[0, 0, 0], [1, 0, 2]]}).check_clean("phase")


def test_checks_all_run_and_the_first_failure_counts(capsys: pytest.CaptureFixture[str]) -> None:
    checks = traffic.Checks()
    checks.run(traffic.check_little, "first", [host(in_flight_ns=0)])
    checks.run(traffic.check_fair, "second", [host(0), host(1, 100)])
    with pytest.raises(CheckFailed, match="first"):
        checks.done("the table")
    said = capsys.readouterr().out
    assert "the table" in said
    assert said.count("FAILED") == 2


def readings(**rows: int) -> tuple[Reading, Reading]:
    """Two readings, 10 us and 20 us after reset; between them each counter grew by what is given."""
    start: dict[str, list[list[int]]] = {"time_ns": [[0, 0, NS]]}
    end: dict[str, list[list[int]]] = {"time_ns": [[0, 0, 2 * NS]]}
    for name, value in rows.items():
        start[name], end[name] = [[0, 0, 77]], [[0, 0, 77 + value]]
    return Reading(start), Reading(end)


def test_the_busiest_resource_is_the_limit() -> None:
    """Of 10 us a lightpath was busy for 9.7; 64 HBM channels together for 128 us, 20 % of their time."""
    before, after = readings(path_rsp_busy_ns=9_700, hbm_busy_ns=128_000, port_lines=4_000)
    found = limits.limit(before, after, profile.load("pfma"))
    assert found.resource == "lightpath to the host"
    assert found.shares == {"lightpath to the host": 0.97, "HBM channels": 0.2}


def test_flits_are_busy_time_of_the_cxl_link() -> None:
    """4,900 flits of 256 B at 128 GB/s take 9.8 us."""
    after = Reading({"time_ns": [[0, 0, NS]], "cxl_flits": [[0, 0, 10], [0, 1, 4_900]]})
    assert limits.shares(None, after, profile.load("pfma")) == {
        "CXL link to the NIC": 0.002,
        "CXL link to the host": 0.98,
    }


def test_waiting_for_banks_is_the_limit_when_no_bus_is_full() -> None:
    """Heads of ports waited 20,000 ns for DDR5 while 4,000 lines went by; 16 sub-channels moved lines for 6 us each."""
    before = Reading({"time_ns": [[0, 0, 0]]})
    after = Reading(
        {
            "time_ns": [[0, 0, NS]],
            "mem_blocked_cycles": [[0, 0, 100], [0, 1, 20_000]],
            "ddr_busy_ns": [[0, 0, 96_000]],
            "port_lines": [[0, 0, 4_000]],
        }
    )
    found = limits.limit(before, after, profile.load("pfma"))
    assert (found.resource, found.share) == ("DDR5 banks", 0.6)
    assert "5.0 ns a line" in found.why


def test_light_load_has_no_limit_but_itself() -> None:
    before, after = readings(path_rsp_busy_ns=1_000, port_lines=400)
    assert limits.limit(before, after, profile.load("pfma")).resource == "lines in flight"


def test_late_reads_by_what_they_waited_for() -> None:
    """Over both modules, from one reading to the next; those that DDR5 served count once more."""
    before = Reading({"mem_late_reads": [[0, 1, 5], [0, 4, 5]]})
    after = Reading({"mem_late_reads": [[0, 0, 2], [0, 1, 9], [1, 1, 3], [0, 4, 8], [1, 3, 7]]})
    assert limits.late_reads(before, after) == {
        "refresh": 2, "bank held by another access": 7, "data bus": 0, "start": 7, "of DDR5": 3,
    }  # fmt: skip
