"""Links under bit errors, lost frames, outages and dead parts: no wrong byte, and everything exactly once."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

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


def run(seed: int = 1, hosts: int = 2, modules: int = 2, **options: Any) -> Result:
    """Job link_faults."""
    text = {name: str(value) for name, value in options.items()}
    return execute(make_spec("link_faults", seed=seed, hosts=hosts, modules=modules, options=text))


def good(**options: Any) -> dict[str, Any]:
    """Metrics of a run that has to pass: nothing wrong, lost or doubled, and nothing refused by what works."""
    result = run(**options)
    assert result.passed, result.text()
    faults = result.metrics["faults"]
    assert faults["injected"] > 0
    assert faults["wrong"] == faults["lost"] == faults["doubled"] == 0
    return result.metrics


def test_an_outage_of_a_microsecond_delays_and_loses_nothing() -> None:
    """The path from host 0 to module 0 is dark for 1 us: its requests wait so long, no other path's do."""
    metrics = good(ber_e12=0, dark="request", dark_for_ns=1_000)
    assert metrics["faults"]["answered_with_poison"] == metrics["faults"]["answered_with_error"] == 0
    assert metrics["tail_ns"]["read"]["max"] > 1_000 > metrics["tail_ns"]["read"]["p50"]


def test_a_run_that_deals_no_fault_fails() -> None:
    """The path goes dark long after the run: nothing is injected, so nothing is shown."""
    result = run(ber_e12=0, requests=100, dark="request", dark_ns=100_000_000)
    assert not result.passed
    assert result.failure is not None
    assert "no fault was injected" in result.failure.message
