"""The jobs on both ports, held to the numbers of the papers, to the oracles and to themselves."""

import json
from typing import Any

import pytest

from prismem.models import latency, profile
from prismem.paths import MOONCAKE_SOURCE, MOONCAKE_TRACE, ROOT
from prismem.tb.runner.execute import execute
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import make_spec

FIBRE_15_M = "path.fibre_length=15 m"


def run(test: str, **options: Any) -> Result:
    """One run; the result as it is."""
    return execute(make_spec(test, **options))


def good(test: str, **options: Any) -> Result:
    """One run that has to pass."""
    result = run(test, **options)
    assert result.passed, result.text()
    return result


def test_idle_latency_is_what_the_paper_prints() -> None:
    """arXiv 2607.27187: write 24 + 153 + 47, read 24 + 212 + 47, each part within 1 ns, from timestamps of the RTL."""
    idle = good("idle_latency").metrics["idle"]
    for kind, memory_ns in (("write", 153), ("read", 212)):
        parts = idle[f"{kind}_parts_ns"]
        assert parts == pytest.approx({"request": 24, "memory": memory_ns, "response": 47}, abs=1)
        assert idle[f"{kind}_ns"] == pytest.approx(sum(parts.values()), abs=1)


def test_ten_metres_more_fibre_cost_100_ns() -> None:
    """There and back at 5 ns/m, on the RTL, without another build."""
    near, far = (good("idle_latency", sets=sets).metrics["idle"] for sets in ((), (FIBRE_15_M,)))
    assert far["read_ns"] - near["read_ns"] == 100
    assert far["write_ns"] - near["write_ns"] == 100


KNOBS = [
    "cxl.request_time=33 ns",
    "cxl.response_time=56 ns",
    "cxl.rate=8 GB/s",
    "nic.decode_time=22 ns",
    "path.phy_time=38 ns",
    "path.rate=1 GB/s",
    "module.port_time=24 ns",
    "module.return_time=22 ns",
    "hbm.cas_time=56 ns",
    "hbm.row_to_column_time=26 ns",
    "hbm.rate=1 GB/s",
    "hbm.commit_time=15 ns",
    "frame.tag=64 B",
    "frame.address_and_tag=64 B",
]


@pytest.mark.regress
@pytest.mark.parametrize("knob", KNOBS)
def test_every_knob_moves_the_rtl_as_the_formula_says(knob: str) -> None:
    """A knob without effect is a lie in the profile: RTL and formula agree for each, to the nanosecond."""
    idle = good("idle_latency", sets=(knob,)).metrics["idle"]
    changed = profile.load("pfma", [knob])
    assert idle["read_ns"] == latency.idle_ns(changed, "read")
    assert idle["write_ns"] == latency.idle_ns(changed, "write")


def test_kv_share_on_the_rtl() -> None:
    """Two hosts, eviction, every byte verified, hits equal to the oracle's; files of the run are all there."""
    spec = make_spec("kv_share", port="rtl", seed=2, options={"requests": "40", "capacity": "64"})
    result = execute(spec)
    assert result.passed, result.text()
    kv = result.metrics["kv"]
    assert kv["wrong_bytes"] == 0 < kv["verified_bytes"]
    assert kv["evictions"] > 0
    assert {"requests", "blocks", "hit_rate_percent", "evictions", "lines_flushed_per_insert"} <= set(kv)
    assert {path.name for path in spec.run_dir.iterdir()} >= {"result.json", "junit.xml", "run.log"}
    assert json.loads((ROOT / "build/run/kv_share-2/result.json").read_text())["replay"] == spec.replay


@pytest.mark.parametrize("port", ["functional", "rtl"])
def test_python_hosts_share_blocks(port: str) -> None:
    """A Python prefill host and a Python decode host; bytes, digests and hits equal the models'."""
    kv = good("kv_python", port=port).metrics["kv"]
    assert kv["hits"] > 0
    assert kv["verified_bytes"] > 0


def test_same_seed_same_run_other_seed_other_run() -> None:
    """Cycle count, digest and event log of a seed repeat; another seed has another schedule."""
    logs = []
    runs = []
    for seed in (3, 3, 4):
        spec = make_spec("kv_share", port="rtl", seed=seed, log=True, options={"requests": "6"})
        runs.append(execute(spec).metrics["run"])
        logs.append((spec.run_dir / "events.log").read_bytes())
    assert runs[0]["cycles"] == runs[1]["cycles"]
    assert runs[0]["digest"] == runs[1]["digest"] != runs[2]["digest"]
    assert logs[0] == logs[1] != logs[2]


def test_skipped_cycles_change_nothing() -> None:
    """With and without the cycles in which nothing can happen: the same decisions, times and log."""
    runs = []
    logs = []
    for every_cycle in (False, True):
        spec = make_spec("kv_share", port="rtl", seed=5, log=True, every_cycle=every_cycle, options={"requests": "8"})
        result = execute(spec)
        assert result.passed, result.text()
        runs.append(result.metrics)
        logs.append((spec.run_dir / "events.log").read_bytes())
    assert runs[0]["run"]["cycles"] < runs[1]["run"]["cycles"]
    for key in ("digest", "now_ns", "steps"):
        assert runs[0]["run"][key] == runs[1]["run"][key]
    assert runs[0]["latency"] == runs[1]["latency"]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("hosts", [2, 3, 4])
def test_kv_share_evicts_as_the_oracle(hosts: int) -> None:
    """Functional port, so small a capacity that blocks are evicted: hits and evictions equal the oracle's."""
    options = {"requests": "120", "capacity": "200"}
    kv = good("kv_share", port="functional", hosts=hosts, seed=hosts, options=options).metrics["kv"]
    assert kv["evictions"] > 0
    assert kv["wrong_bytes"] == 0


@pytest.mark.regress
@pytest.mark.parametrize("hosts", [2, 3, 4])
@pytest.mark.parametrize("seed", range(1, 6))
def test_kv_share_on_the_rtl_for_many(hosts: int, seed: int) -> None:
    assert good("kv_share", port="rtl", hosts=hosts, seed=seed).metrics["kv"]["wrong_bytes"] == 0


@pytest.mark.regress
@pytest.mark.skipif(not MOONCAKE_TRACE.exists(), reason=MOONCAKE_SOURCE)
def test_mooncake_trace_on_both_ports() -> None:
    """The whole trace on the functional port, with and without eviction; its first requests on the RTL."""
    options = {"trace": str(MOONCAKE_TRACE), "tokens_per_block": "2"}
    for capacity, percent in ((0, 36.64), (10_000, 21.16)):
        kv = good("kv_share", port="functional", options=options | {"capacity": str(capacity)}).metrics["kv"]
        assert kv["requests"] == 12_031
        assert round(kv["hit_rate_percent"], 2) == percent
    assert good("kv_share", port="rtl", options=options | {"requests": "100"}).metrics["kv"]["wrong_bytes"] == 0


@pytest.mark.parametrize("port", ["functional", "rtl"])
def test_failed_run_names_what_failed_and_no_machine(port: str) -> None:
    """A finding has no traceback in the log's tail, and no file of the run names the place of the checkout."""
    spec = make_spec("kv_share", port=port, seed=3, mutant="publish_no_flag_flush", options={"requests": "8"})
    result = execute(spec)
    assert not result.passed
    assert result.log_tail
    assert not any("Traceback" in line or line.startswith("File ") for line in result.log_tail)
    for name in ("result.json", "junit.xml"):
        assert str(ROOT) not in (spec.run_dir / name).read_text()


def test_waves_leave_a_wave_file() -> None:
    """WAVES=1 is another build and leaves a file with something in it."""
    result = good("idle_latency", waves=True, options={"lines": "2"})
    assert result.wave is not None
    assert (ROOT / result.wave).stat().st_size > 1000


@pytest.mark.parametrize("port", ["functional", "rtl"])
def test_python_threads_are_hosts(port: str) -> None:
    """Two Python threads call C on their emulated hosts and block in simulated time; the run repeats to the cycle."""
    options = {"python": "true", "count": "200"}
    first, second = (good("accesses", port=port, options=options).metrics for _ in range(2))
    assert first["accesses"]["count"] == 400
    assert first["run"]["digest"] == second["run"]["digest"]
    assert first["run"]["now_ns"] == second["run"]["now_ns"]


def test_equal_seeds_give_equal_digests() -> None:
    """Ten runs with shared lines, the least tidy case: one digest."""
    options = {"shared": "true", "count": "500"}
    digests = {good("accesses", port="functional", options=options).metrics["run"]["digest"] for _ in range(10)}
    assert len(digests) == 1
