"""The tops beside the photonic appliance: multi-headed Type-3 device and electrical switched pool, on the RTL."""

from functools import cache
from typing import Any

import pytest

from prismem.models import latency, profile
from prismem.tb.runner.execute import execute
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import make_spec

BASELINES = ["niagara", "switch"]
SIZE = {"niagara": {"hosts": 4, "modules": 1}, "switch": {"hosts": 2, "modules": 2}}
NIAGARA_GB_S_PRINTED = 10.1
# Completions of one resource bunch up at the end of a run.
END_EFFECT = 1.01


def good(test: str, name: str, **options: Any) -> Result:
    """One run of a job on a small machine of a profile that has to pass."""
    result = execute(make_spec(test, profile=name, **(SIZE.get(name, {}) | options)))
    assert result.passed, result.text()
    return result


@cache
def idle(name: str, *sets: str) -> dict[str, Any]:
    """What job idle_latency measures."""
    measured: dict[str, Any] = good("idle_latency", name, sets=sets).metrics["idle"]
    return measured


@pytest.mark.parametrize("name", BASELINES)
def test_idle_latency_is_the_formula(name: str) -> None:
    """Read and write, each part to the nanosecond."""
    measured, changed = idle(name), profile.load(name)
    for kind in ("read", "write"):
        assert measured[f"{kind}_ns"] == latency.idle_ns(changed, kind)
        assert measured[f"{kind}_parts_ns"] == latency.idle_parts_ns(changed, kind)


def test_niagara_reads_in_640_ns() -> None:
    """arXiv 2512.18194 prints 640 ns."""
    assert idle("niagara")["read_ns"] == 640


def test_switched_pool_reads_in_800_to_900_ns() -> None:
    """arXiv 2607.27187 prints 800 to 900 ns."""
    assert 800 <= idle("switch")["read_ns"] <= 900


@pytest.mark.parametrize(("knob", "ns"), [("switch.hop1_time=200 ns", 140), ("switch.hop2_time=75 ns", -110)])
def test_each_hop_moves_the_latency_by_its_own_amount(knob: str, ns: int) -> None:
    """There and back: twice the change."""
    before, after = idle("switch"), idle("switch", knob)
    assert after["read_ns"] - before["read_ns"] == after["write_ns"] - before["write_ns"] == ns


@pytest.mark.parametrize("name", BASELINES)
def test_kv_share(name: str) -> None:
    """Hosts share blocks; every byte verified, hits equal to the oracle's."""
    kv = good("kv_share", name, seed=2, options={"requests": "12"}).metrics["kv"]
    assert kv["wrong_bytes"] == 0 < kv["verified_bytes"]


@pytest.mark.regress
@pytest.mark.parametrize("hosts", [4, 16])
@pytest.mark.parametrize("name", ["pfma", *BASELINES])
def test_kv_share_on_large_machines(name: str, hosts: int) -> None:
    """4 x 4 and 16 x 16 of every fabric; the heads of a direct one share 1 module."""
    modules = 1 if name == "niagara" else hosts
    kv = good("kv_share", name, hosts=hosts, modules=modules, options={"requests": "32"}).metrics["kv"]
    assert kv["wrong_bytes"] == 0 < kv["verified_bytes"]


@pytest.mark.parametrize("name", BASELINES)
def test_every_read_returns_what_was_written_last(name: str) -> None:
    """Random reads and writes on few lines at full load; the stages of each add up to its total."""
    options = {"requests": "10000", "random": "true", "read_permille": "500", "lines": "256"}
    found = good("traffic", name, options=options).metrics["latency"]
    assert found["sum_errors"] == 0 < found["sums_checked"]


def test_heads_share_the_rate_of_the_memory() -> None:
    """All heads read 10.1 GB/s together, which is the rate of the DDR channel, and each has its share of it."""
    paths = good("traffic", "niagara", options={"requests": "20000"}).metrics["paths"]
    rates = [path["gb_s"] for path in paths]
    bound = latency.media_bound_gb_per_s(profile.load("niagara"))
    assert NIAGARA_GB_S_PRINTED * 0.99 <= sum(rates) <= bound * END_EFFECT
    assert min(rates) >= 0.97 * sum(rates) / len(rates)


def test_what_one_head_writes_and_flushes_the_others_read() -> None:
    """Every head in turn, every byte checked by all others."""
    share = good("type3_share", "niagara").metrics["share"]
    assert share["wrong_bytes"] == 0
    assert share["verified_bytes"] == 24 * 3 * 64 * 64  # blocks x readers x lines x bytes


def test_what_stays_in_a_cache_the_others_do_not_read() -> None:
    """The same job without the writers' flush must find wrong bytes, or it proves nothing."""
    result = execute(make_spec("type3_share", profile="niagara", **SIZE["niagara"], options={"forget": "true"}))
    assert not result.passed


@pytest.mark.parametrize("name", BASELINES)
def test_skipped_cycles_change_nothing(name: str) -> None:
    """With and without the cycles in which nothing can happen: the same times and decisions."""
    skipped, clocked = (
        good("kv_share", name, seed=5, every_cycle=every, options={"requests": "4"}).metrics for every in (False, True)
    )
    assert skipped["run"]["cycles"] < clocked["run"]["cycles"]
    assert skipped["latency"] == clocked["latency"]
    for key in ("digest", "now_ns", "steps"):
        assert skipped["run"][key] == clocked["run"][key]
