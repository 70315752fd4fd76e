"""The CXL link back to back: flits, CRC, replay and credits, under load and under fault; its checkers can fail."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prismem.models import flit, profile
from prismem.paths import BENCH_HDL, BUILD_SW, RTL
from prismem.tb.runner.build import Build, build_hdl, build_software
from prismem.tb.runner.execute import simulate
from prismem.tb.runner.result import LOG_FILE

HERE = Path(__file__).parent
SOURCES = [
    HERE / "hdl" / "cxl_link_top.vlt",
    RTL / "common" / "pf_pkg.sv",
    RTL / "common" / "pf_rate_pkg.sv",
    RTL / "cxl" / "cxl_pkg.sv",
    RTL / "cxl" / "cxl_flit_pkg.sv",
    *(path for path in sorted((RTL / "cxl").glob("*.sv")) if not path.stem.endswith("_pkg")),
    BENCH_HDL / "check_pkg.sv",
    BENCH_HDL / "emu_dpi_pkg.sv",
    *sorted(BENCH_HDL.glob("check_cxl_*.sv")),
    BENCH_HDL / "probe_cxl.sv",
    HERE / "hdl" / "cxl_link_bench_pkg.sv",
    HERE / "hdl" / "cxl_link_faults.sv",
    HERE / "hdl" / "cxl_link_top.sv",
]
FLIT_BITS = 8 * flit.FLIT_BYTES
FEC_BITS = 48  # the last bits of a flit; they are not protected, and nothing reads them
REPLAY_BOUND_NS = 22 + 45 + 16 + 16 + 150 + 2  # replay timer: round trip, time for it, acknowledgement, margin


@dataclass(frozen=True)
class Link:
    """What one run of the bench left."""

    problem: str | None
    log: str
    figures: dict[str, int]

    def __getitem__(self, name: str) -> int:
        return self.figures[name]


@pytest.fixture(scope="module")
def bench() -> Build:
    build_software()
    link = ["-LDFLAGS", f"-L{BUILD_SW} -Wl,-rpath,{BUILD_SW} -lprismem_emu"]
    return build_hdl("cxl_link_top", SOURCES, {}, arguments=link)


@pytest.fixture(autouse=True)
def _module_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


def run(bench: Build, directory: Path, **plusargs: Any) -> Link:
    """One run with these plusargs; the bench's own checks are in `problem`."""
    directory.mkdir(exist_ok=True)
    problem = simulate(bench, "cxl_link_bench", directory, seed=1, plusargs=plusargs, environment={})
    log = (directory / LOG_FILE).read_text(errors="replace")
    return Link(problem, log, {name: int(value) for name, value in re.findall(r"\b(\w+)=(\d+)", log)})


def run_well(bench: Build, directory: Path, **plusargs: Any) -> Link:
    """The same, for runs in which each request must be answered rightly."""
    link = run(bench, directory, **plusargs)
    assert link.problem is None, link.log[-2000:]
    assert link["reads"] + link["writes"] == plusargs["ops"]
    assert link["failed"] == link["down"] == 0
    return link


@pytest.mark.parametrize("seed", [1, 2])
def test_all_classes_with_stalls(bench: Build, tmp_path: Path, seed: int) -> None:
    """Reads, writes and partial writes while both ends refuse to take half of the time: once, in order, unchanged."""
    link = run_well(bench, tmp_path, ops=20_000, seed=seed, stall_permille=500)
    assert link["crc_errors_0"] == link["crc_errors_1"] == link["replays_0"] == link["replays_1"] == 0


def test_idle_latency(bench: Build, tmp_path: Path) -> None:
    """One request at a time: 24 ns there, 1 ns in the bench's echo, 47 ns back, 1 ns to be offered."""
    link = run_well(bench, tmp_path, ops=50, outstanding=1, read_permille=500)
    assert link["late_ns_max"] <= 24 + 1 + 47 + 1 + 2  # an acknowledgement may be on the line: one flit
    assert link["now_ns"] >= 50 * (24 + 47)


WINDOW = {"window_from_ns": 2_000, "window_to_ns": 12_000}
# Of the lines this share are reads when both directions are full: 15 / (1 + 4 (1 - r)) = 44 / (1 + 12 r).
BOTH_FULL = 205 / 356


@pytest.mark.parametrize(
    ("read_share", "partial_share"), [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (0.5, 0.0), (BOTH_FULL, 0.0), (0.75, 0.5)]
)
def test_saturated_link_carries_the_packing_bound(
    bench: Build, tmp_path: Path, read_share: float, partial_share: float
) -> None:
    """Lines against the bound of models/flit.py: at least 97 % of it, and not more."""
    permille = round(1000 * read_share)
    link = run_well(
        bench,
        tmp_path,
        ops=80_000,
        outstanding=1500,
        read_permille=permille,
        partial_permille=round(1000 * partial_share),
        **WINDOW,
    )
    pfma = profile.load("pfma")
    bound = flit.packing_bound_gb_per_s(pfma, permille / 1000, partial_share)
    reached = link["window_lines"] * 64 / 10_000
    # Which of the lines in the window are reads is drawn: 20,000 draws are within 1.5 % of the share.
    assert 0.97 * bound <= reached <= 1.015 * bound, f"{reached} of {bound} GB/s"


@pytest.mark.parametrize("direction", [0, 1])
def test_every_bit_of_a_flit_is_protected(bench: Build, tmp_path: Path, direction: int) -> None:
    """Each of the 2,048 bits inverted once: each but those of the FEC field is a CRC error and is mended by replay."""
    link = run_well(bench, tmp_path, ops=150_000, sweep_direction=direction)
    assert link["swept"] == FLIT_BITS
    assert link[f"crc_errors_{direction}"] == FLIT_BITS - FEC_BITS
    assert link[f"crc_errors_{1 - direction}"] == 0
    assert link[f"replays_{direction}"] > 0


@pytest.mark.parametrize(("ber_e10", "ops"), [(10, 50_000), (10_000, 50_000), (100_000, 20_000), (1_000_000, 5_000)])
def test_random_bit_errors(bench: Build, tmp_path: Path, ber_e10: int, ops: int) -> None:
    """1e-9 to 1e-4 in both directions: no wrong byte, none lost, none twice."""
    link = run_well(bench, tmp_path, ops=ops, ber_e10=ber_e10, bound_ns=3_000_000)
    hits = link["hits_m2s"] + link["hits_s2m"]
    errors = link["crc_errors_0"] + link["crc_errors_1"]
    # A hit in the FEC field is none; one that is prepared for a flit that never starts is none, too.
    assert errors <= hits
    assert errors >= 0.8 * hits - 10
    if ber_e10 >= 100_000:
        assert link["replays_0"] > 0
        assert link["replays_1"] > 0


@pytest.mark.regress
@pytest.mark.parametrize("seed", range(3))
def test_one_bit_in_a_thousand(bench: Build, tmp_path: Path, seed: int) -> None:
    """Seven of eight flits are broken: slow, and right."""
    run_well(bench, tmp_path, ops=1_000, ber_e10=10_000_000, seed=seed, bound_ns=20_000_000)


@pytest.mark.parametrize("direction", [0, 1, 2])
def test_lost_flits_and_acknowledgements(bench: Build, tmp_path: Path, direction: int) -> None:
    """One flit of twenty vanishes. What was delivered and not acknowledged comes twice, and counts once."""
    link = run_well(bench, tmp_path, ops=20_000, drop_permille=50, drop_direction=direction, bound_ns=2_000_000)
    assert sum(link[f"replays_{d}"] for d in (0, 1)) > 0
    assert sum(link[f"twice_{d}"] for d in (0, 1)) > 0


def test_lost_acknowledgement_of_the_last_flit(bench: Build, tmp_path: Path) -> None:
    """Single requests, half of all answers lost: only the replay timer can help, and the same flit comes again."""
    link = run_well(bench, tmp_path, ops=200, outstanding=1, drop_permille=500, drop_direction=1, bound_ns=2_000_000)
    assert link["timeouts_0"] > 0
    assert link["twice_0"] > 0


@pytest.mark.parametrize("gap_permille", [0, 5])
def test_outage_of_a_microsecond(bench: Build, tmp_path: Path, gap_permille: int) -> None:
    """The line takes nothing for 1 us: everything arrives afterwards, the latest within outage and replay timer."""
    link = run_well(
        bench,
        tmp_path,
        ops=20_000,
        outstanding=64,
        down_ns=2_000,
        down_for_ns=1_000,
        gap_permille=gap_permille,
        bound_ns=2_000_000,
    )
    assert 1_000 <= link["late_ns_max"] <= 1_000 + 2 * REPLAY_BOUND_NS
    assert link["timeouts_0"] + link["timeouts_1"] > 0


@pytest.mark.parametrize("outstanding", [1, 1024])
def test_replay_limit_takes_the_link_down(bench: Build, tmp_path: Path, outstanding: int) -> None:
    """The line stays dark. After the replays that are allowed, each request is answered, those that come later too:
    reads with poison, writes with an error, as many as are missing, and the status says so."""
    limit = 4
    link = run(
        bench,
        tmp_path,
        ops=6_000,
        outstanding=outstanding,
        down_ns=1_000,
        cxl_replay_limit=limit,
        bound_ns=2_000_000 + 4096 * 6_000,
    )
    assert link.problem is None, link.log[-2000:]
    assert link["down"] == 1
    assert link["failed"] == link["failed_count"] > 0
    assert link["reads"] + link["writes"] + link["failed"] == 6_000
    assert link["late_ns_max"] <= (limit + 2) * REPLAY_BOUND_NS + 4096 + 2 * outstanding


def test_viral_reaches_an_idle_host(bench: Build, tmp_path: Path) -> None:
    """Viral state of the device is told without waiting for traffic, and stays."""
    after_the_last = {"ops": 100, "linger_ns": 1_000}
    assert run_well(bench, tmp_path / "on", viral_ns=900, **after_the_last)["viral"] == 1
    assert run_well(bench, tmp_path / "off", **after_the_last)["viral"] == 0


@pytest.mark.parametrize("faults", [{}, {"ber_e10": 200_000}])
def test_skipping_idle_time_changes_nothing(bench: Build, tmp_path: Path, faults: dict[str, int]) -> None:
    """With pauses between requests, every cycle clocked or idle time left out: same flits, same times."""
    options = {"ops": 3_000, "outstanding": 8, "gap_permille": 30, **faults}
    quick = run_well(bench, tmp_path / "quick", **options)
    every = run_well(bench, tmp_path / "every", every_cycle=1, **options)
    for figure in ("digest", "now_ns", "flits_0", "flits_1", "naks_0", "naks_1", "replays_0", "replays_1"):
        assert quick[figure] == every[figure], figure


@pytest.mark.parametrize(("rate_b16", "delay_ns"), [(450, 22), (2048, 2), (2048, 60), (4096, 22)])
def test_other_rates_and_delays(bench: Build, tmp_path: Path, rate_b16: int, delay_ns: int) -> None:
    """Slow, fast, short and long links deliver the same."""
    run_well(bench, tmp_path, ops=5_000, cxl_rate_b16=rate_b16, cxl_req_ns=delay_ns, cxl_rsp_ns=delay_ns)


FAULTS = {
    "cxl_credit": r"credits \+ \d+ messages under way",
    "cxl_overflow": "messages in a receive buffer of 256",
    "cxl_seq": "flits out of order",
    "cxl_crc": "is delivered, and differs from what was sent",
    "cxl_once": "a message leaves that never came|not the message that is next",
    "cxl_tag": r"host tag \d+ is not below 4096",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_checker_fails(bench: Build, tmp_path: Path, fault: str) -> None:
    """A checker that cannot fail checks nothing: each is shown what it must reject."""
    link = run(bench, tmp_path, ops=20_000, inject=fault)
    assert link.problem is not None
    assert re.search(FAULTS[fault], link.log), link.log[-2000:]
