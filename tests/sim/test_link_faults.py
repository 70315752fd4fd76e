"""Links under bit errors, lost frames, outages and dead parts: no wrong byte, and everything exactly once."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from prismem.models import latency
from prismem.models import profile as profiles
from prismem.paths import BENCH_HDL, RTL
from prismem.tb.runner.build import Build, build_hdl
from prismem.tb.runner.execute import execute, simulate
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import make_spec

HERE = Path(__file__).parent
INJECTOR = [
    HERE / "hdl" / "link_faults_top.vlt",
    RTL / "common" / "pf_pkg.sv",
    BENCH_HDL / "link_faults.sv",
    HERE / "hdl" / "link_faults_top.sv",
]
BITS = (2048, 112)  # frames of the two links of the injector's bench: one every other ns
CYCLES = 40_000
FRAMES = CYCLES // 2


@pytest.fixture(scope="module")
def injector() -> Build:
    return build_hdl("link_faults_top", INJECTOR, {})


def inject(build: Build, run_dir: Path, **plusargs: int) -> dict[str, list[int]]:
    """Counters of the injector's bench after CYCLES; plusargs without their prefix `fault_`."""
    out = run_dir / "counters.json"
    environment = {"PRISMEM_FAULTS_CYCLES": str(CYCLES), "PRISMEM_FAULTS_OUT": str(out)}
    arguments = {f"fault_{name}": value for name, value in plusargs.items()}
    problem = simulate(build, "link_faults_bench", run_dir, seed=1, plusargs=arguments, environment=environment)
    assert problem is None, (run_dir / "run.log").read_text()
    return dict(json.loads(out.read_text()))


@pytest.fixture(autouse=True)
def _module_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


def near(actual: float, trials: int, probability: float) -> bool:
    """Within five standard deviations of a binomial count."""
    mean = trials * probability
    return abs(actual - mean) <= 5 * math.sqrt(mean * (1 - probability)) + 1


@pytest.mark.parametrize("errors_e12", [10**9, 10**7, 10**5])
def test_bit_error_rate_is_what_was_asked_for(injector: Build, tmp_path: Path, errors_e12: int) -> None:
    """Share of frames hit: 1 - (1 - p)^bits; positions at the mean of a geometric law cut off at the frame's end."""
    got = inject(injector, tmp_path, req_ber_e12=errors_e12)
    p = errors_e12 / 1e12
    for link, bits in enumerate(BITS):
        assert near(got["frames_o"][link], FRAMES, 1 - 1e-9)
        assert near(got["hits_o"][link], FRAMES, 1 - (1 - p) ** bits)
        if got["hits_o"][link] > 1000:
            q = (1 - p) ** bits
            mean = (1 - p) / p - bits * q / (1 - q)
            assert got["position_sum_o"][link] / got["hits_o"][link] == pytest.approx(mean, rel=0.1)


def test_nothing_asked_for_nothing_done(injector: Build, tmp_path: Path) -> None:
    got = inject(injector, tmp_path)
    assert [got[name] for name in ("hits_o", "drops_o", "downs_o", "hash_o")] == [[0, 0]] * 4


def test_faults_follow_from_the_seed(injector: Build, tmp_path: Path) -> None:
    """The same seed deals the same faults, another seed others; the two links differ, too."""
    hashes: list[Any] = []
    for i, seed in enumerate((1, 1, 2)):
        (run_dir := tmp_path / str(i)).mkdir()
        hashes.append(inject(injector, run_dir, req_ber_e12=10**8, req_drop_e6=1000, seed=seed)["hash_o"])
    assert hashes[0] == hashes[1] != hashes[2]
    assert hashes[0][0] != hashes[0][1]


def test_every_position_is_hit_in_turn(injector: Build, tmp_path: Path) -> None:
    """A directed sweep over the 112 bits of a short frame, on one link alone."""
    got = inject(injector, tmp_path, req_every=4, req_span=112, req_only=1)
    assert got["hits_o"] == [0, FRAMES // 4]
    assert got["positions_o"] == [0, (1 << 112) - 1]


def test_frames_are_lost_as_often_as_asked_for(injector: Build, tmp_path: Path) -> None:
    got = inject(injector, tmp_path, req_drop_e6=50_000)
    assert all(near(got["drops_o"][link], FRAMES, 0.05) for link in range(2)), got["drops_o"]


def test_an_outage_lasts_as_long_as_asked_for(injector: Build, tmp_path: Path) -> None:
    got = inject(injector, tmp_path, req_down_ns=1000, req_down_for_ns=500, req_down_only=0)
    assert got["downs_o"] == [500, 0]
    assert got["frames_o"][1] - got["frames_o"][0] == 250


@pytest.mark.parametrize(
    ("name", "value"), [("req_only", 2), ("req_down_only", 2), ("req_ber_e12", 10**12), ("req_span", 0)]
)
def test_an_impossible_fault_is_refused_by_name(injector: Build, tmp_path: Path, name: str, value: int) -> None:
    with pytest.raises(AssertionError, match=f"fault_{name}"):
        inject(injector, tmp_path, **{name: value})


def run(
    sets: tuple[str, ...] = (),
    seed: int = 1,
    hosts: int = 2,
    modules: int = 2,
    every_cycle: bool = False,
    **options: Any,
) -> Result:
    """Job link_faults."""
    text = {name: str(value) for name, value in options.items()}
    spec = make_spec(
        "link_faults", sets=sets, seed=seed, hosts=hosts, modules=modules, every_cycle=every_cycle, options=text
    )
    return execute(spec)


def good(**options: Any) -> dict[str, Any]:
    """Metrics of a run that has to pass: nothing wrong, lost or doubled, and nothing refused by what works."""
    result = run(**options)
    assert result.passed, result.text()
    faults = result.metrics["faults"]
    assert faults["injected"] > 0
    assert faults["wrong"] == faults["lost"] == faults["doubled"] == 0
    return result.metrics


def test_without_errors_nothing_is_sent_again() -> None:
    """No fault is asked for: no CRC error, no Nak, no replay, at full load in both directions."""
    result = run(ber_e12=0, outstanding=64)
    assert result.passed, result.text()
    faults = result.metrics["faults"]
    assert [faults[name] for name in ("injected", "crc_errors", "naks", "replays")] == [0] * 4


def test_what_is_completed_is_at_the_media() -> None:
    """A write is slow to become visible, 500 ns instead of 5: its completion waits for that."""
    result = run(("hbm.commit_time=500 ns",), ber_e12=0)
    assert result.passed, result.text()
    assert result.metrics["tail_ns"]["write"]["p50"] >= latency.idle_ns(profiles.load("pfma"), "write") + 495


@pytest.mark.parametrize("links", ["paths", "cxl"])
def test_bit_errors_change_nothing(links: str) -> None:
    """One error in 10^4 bits: frames are hit all the time, the links notice and repair all of it."""
    metrics = good(links=links, ber_e12=10**8)
    faults = metrics["faults"]
    assert faults["crc_errors"] > 100 < faults["replays"]
    assert faults["answered_with_poison"] == faults["answered_with_error"] == 0


@pytest.mark.parametrize("links", ["paths", "cxl"])
def test_lost_frames_change_nothing(links: str) -> None:
    """One frame in fifty never arrives: requests, responses, Acks, Naks and credits among them."""
    faults = good(links=links, ber_e12=0, drop_e6=20_000)["faults"]
    assert faults["injected"] > 100 < faults["replays"]
    assert faults["crc_errors"] == 0


def test_every_error_of_a_path_is_noticed() -> None:
    """The CRC covers all of a frame, and bursts are up to 32 bits long: as many CRC errors as frames that were hit."""
    groups = good(links="paths", ber_e12=10**8)["faults"]["groups"]
    for group in ("req", "rsp"):
        assert groups[group]["crc_errors"] == pytest.approx(
            groups[group]["hits"], abs=8
        )  # some are under way at the end


def test_skipped_cycles_change_nothing_under_replays() -> None:
    """Errors on all links and gaps between requests: with every cycle clocked, each figure is the same."""
    options: dict[str, Any] = {"ber_e12": 10**8, "drop_e6": 2_000, "gap_ns": 400, "outstanding": 2, "requests": 400}
    short, whole = run(**options), run(every_cycle=True, **options)
    assert short.passed, short.text()
    assert short.metrics["faults"]["replays"] > 100
    same = [{key: value for key, value in result.metrics.items() if key != "run"} for result in (short, whole)]
    assert same[0] == same[1]
    assert short.metrics["run"]["digest"] == whole.metrics["run"]["digest"]
    assert short.metrics["run"]["cycles"] < whole.metrics["run"]["cycles"]


@pytest.mark.parametrize("links", ["paths", "cxl"])
def test_an_error_costs_a_round_trip_and_no_time_out(links: str) -> None:
    """One request in flight on each path and rare errors: a Nak repairs them long before the replay timer would."""
    metrics = good(links=links, ber_e12=10**6, outstanding=1, requests=3_000)
    profile = profiles.load("pfma")
    if links == "cxl":
        way_ns, back_ns = profile.cxl.request_time.canonical, profile.cxl.response_time.canonical
        timer_ns = profile.cxl.replay_time.canonical
    else:
        way_ns = back_ns = profile.path.phy_time.canonical + profile.path.fibre_length.canonical
        timer_ns = profile.path.replay_time.canonical
    idle_ns = latency.idle_ns(profile, "read")
    slowest_ns = metrics["tail_ns"]["read"]["max"]
    assert idle_ns + max(way_ns, back_ns) <= slowest_ns < idle_ns + way_ns + back_ns + timer_ns // 2


@pytest.mark.parametrize("dark", ["path", "request", "response", "cxl"])
def test_an_outage_of_a_microsecond_delays_and_loses_nothing(dark: str) -> None:
    """What is on its way waits for 1 us, nothing is refused."""
    metrics = good(ber_e12=0, dark=dark, dark_for_ns=1_000)
    assert metrics["faults"]["answered_with_poison"] == metrics["faults"]["answered_with_error"] == 0
    assert metrics["tail_ns"]["read"]["max"] > 1_000 > metrics["tail_ns"]["read"]["p50"]


@pytest.mark.parametrize("dark", ["path", "response", "module", "cxl"])
def test_what_is_dead_is_refused_and_nothing_else_notices(dark: str) -> None:
    """Outstanding and new requests get poison or an error in time; the other paths keep their rate within 1 %."""
    options: dict[str, Any] = {"ber_e12": 0, "gap_ns": 200, "requests": 6_000}
    before = {(path["host"], path["module"]): path["gb_s"] for path in run(**options).metrics["paths"]}
    metrics = good(dark=dark, dark_for_ns=0, **options)
    assert metrics["faults"]["answered_with_poison"] > 0 < metrics["faults"]["answered_with_error"]
    for path in metrics["paths"]:
        dead = path["poisoned"] + path["failed"] > 0
        assert dead or path["gb_s"] == pytest.approx(before[path["host"], path["module"]], rel=0.01), path


def test_a_run_that_deals_no_fault_fails() -> None:
    """The path goes dark long after the run: nothing is injected, so nothing is shown."""
    result = run(ber_e12=0, requests=100, dark="request", dark_ns=100_000_000)
    assert not result.passed
    assert result.failure is not None
    assert "no fault was injected" in result.failure.message


@pytest.mark.regress
@pytest.mark.parametrize("links", ["requests", "responses", "cxl", "all"])
@pytest.mark.parametrize("errors_e12", [10**9, 10**7, 10**6])
@pytest.mark.parametrize("seed", [1, 2])
def test_bit_errors_at_every_rate(links: str, errors_e12: int, seed: int) -> None:
    """1e-3, 1e-5 and 1e-6, any direction, with writes, reads and both."""
    good(links=links, ber_e12=errors_e12, seed=seed, read_permille=500 * (seed % 3), requests=4_000)


@pytest.mark.regress
@pytest.mark.parametrize(("links", "span"), [("paths", 2200), ("cxl", 2048)])
def test_every_position_of_a_frame(links: str, span: int) -> None:
    """A directed flip of every bit of a frame or flit in turn, in one frame of seven."""
    hits = good(links=links, ber_e12=0, every=7, span=span, requests=15_000)["faults"]["groups"]
    assert max(group["hits"] for group in hits.values()) >= span


@pytest.mark.regress
@pytest.mark.parametrize(("errors_e12", "requests"), [(1_000, 70_000), (10**8, 10_000), (10**7, 15_000)])
def test_a_million_transactions_under_faults(errors_e12: int, requests: int) -> None:
    """Four hosts, four modules: 1.5 million transactions in all, none wrong, lost or doubled."""
    metrics = good(hosts=4, modules=4, ber_e12=errors_e12, drop_e6=100 * (errors_e12 > 1_000), requests=requests)
    assert metrics["faults"]["transactions"] == 16 * requests + sum(range(16))
