"""Bandwidth and loaded latency of the RTL: small machines every time, 16 ports and the whole mesh in the regression."""

from typing import Any

import pytest

from prismem.models import profile
from prismem.models.flit import packing_bound_gb_per_s
from prismem.models.latency import path_bound_gb_per_s
from prismem.models.profile import LONG_HEADER_B
from prismem.models.profile_tables import CREDIT_CLASSES
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec
from prismem.tb.tests.module_bandwidth import PROMISED

PRINTED_GB_S = 25.6
RAW_GB_S = 28.125
# A frame brings up to four lines at once, so a span of time may hold some lines more than its share.
FRAME_AT_THE_END = 1.001


def good(test: str, hosts: int, modules: int, **options: str) -> dict[str, Any]:
    """Metrics of a run that has to pass."""
    result = execute(make_spec(test, hosts=hosts, modules=modules, options=options))
    assert result.passed, result.text()
    return result.metrics


def check_ports(bandwidth: dict[str, Any], ports: int) -> None:
    """The printed rate on every port for what HBM holds, nothing above the wire, used and moved bytes told apart."""
    cases = bandwidth["cases"]
    assert len(bandwidth["ports_gb_s"]) == ports
    for name in PROMISED:
        assert min(cases[name]["ports_gb_s"]) >= PRINTED_GB_S
    for name, case in cases.items():
        assert case["limit"]
        share = max(case["read_permille"], 1000 - case["read_permille"]) / 1000
        assert max(case["ports_gb_s"]) * share <= RAW_GB_S, name
    assert cases["read_32_random"]["moved_bytes"] == 2 * cases["read_32_random"]["useful_bytes"]
    assert cases["read_32_linear"]["moved_bytes"] == cases["read_32_linear"]["useful_bytes"]


def test_one_port_of_a_module() -> None:
    check_ports(good("module_bandwidth", 1, 1)["bandwidth"], 1)


@pytest.mark.regress
def test_sixteen_ports_of_a_module() -> None:
    """What the paper prints: 25.6 GB/s on all 16 ports at once."""
    check_ports(good("module_bandwidth", 16, 1)["bandwidth"], 16)


def test_a_mesh_of_two_by_two() -> None:
    """A host fills two lightpaths; a hot module costs the other one less than 1 %."""
    bandwidth = good("mesh_bandwidth", 2, 2)["bandwidth"]
    assert min(bandwidth["hosts_gb_s"]) >= 0.97 * bandwidth["bound_gb_s"]
    assert bandwidth["hot"]["loss_max"] < 0.01


def test_the_nic_shares_a_slow_link_fairly() -> None:
    """Two lightpaths bring more than the CXL link of their host takes: each gets half of it, within 3 %."""
    options = {"ber_e12": "0", "read_permille": "1000", "outstanding": "128", "requests": "4000"}
    sets = ("cxl.rate=32 GB/s",)
    result = execute(make_spec("link_faults", hosts=2, modules=2, sets=sets, options=options))
    assert result.passed, result.text()
    rates = {(path["host"], path["module"]): path["gb_s"] for path in result.metrics["paths"]}
    bound = packing_bound_gb_per_s(profile.load("pfma", sets), 1.0)
    for host in range(2):
        ours = [rates[host, module] for module in range(2)]
        assert 0.96 * bound <= sum(ours) <= 1.01 * bound
        assert min(ours) >= 0.97 * sum(ours) / 2


@pytest.mark.parametrize("request_bytes", [256, 1024])
@pytest.mark.parametrize("read_permille", [1000, 0, 500])
def test_bursts_fill_the_paths(request_bytes: int, read_permille: int) -> None:
    """Linear requests of 4 and 16 lines: 97 % of what frames allow whose writes share an address."""
    options = {
        "pattern": "linear",
        "request_bytes": str(request_bytes),
        "read_permille": str(read_permille),
        "outstanding": "1024",  # 16 lines each: of a mix, now and then all are reads or all are writes
        "requests": str(24_000 * 64 // request_bytes),
        "warmup": str(4_000 * 64 // request_bytes),
    }
    result = execute(make_spec("engines", hosts=2, modules=2, options=options))
    assert result.passed, result.text()
    pfma = profile.load("pfma")
    share = read_permille / 1000
    burst = 1 if read_permille == 500 else 4  # reads between them part writes that follow each other
    bound = min(2 * path_bound_gb_per_s(pfma, share, burst), packing_bound_gb_per_s(pfma, share))
    assert min(result.metrics["engines"]["hosts_gb_s"]) >= 0.97 * bound
    assert max(result.metrics["engines"]["hosts_gb_s"]) <= 1.01 * 2 * path_bound_gb_per_s(pfma, share, 4)


@pytest.mark.regress
def test_a_hundred_metres_are_full() -> None:
    """With the credits and buffers for a round trip of 1.1 us a port reads at 97 % of its wire, and 1 us later."""
    credits = [f"path.{name}_credits=1023" for name in CREDIT_CLASSES]
    sets = ("path.fibre_length=100 m", f"frame.header={LONG_HEADER_B} B", *credits)
    options = {"outstanding": "1024", "read_permille": "1000", "requests": "60000", "warmup": "10000"}
    result = execute(make_spec("engines", hosts=1, modules=1, sets=sets, options=options))
    assert result.passed, result.text()
    bound = path_bound_gb_per_s(profile.load("pfma", sets), 1.0)
    assert 0.97 * bound <= result.metrics["engines"]["hosts_gb_s"][0] <= 1.001 * bound


@pytest.mark.regress
@pytest.mark.parametrize("size", [4, 16])
def test_the_whole_mesh(size: int) -> None:
    """The bound of 16 x 16 is flit packing: 84.6 % of 128 GB/s."""
    bandwidth = good("mesh_bandwidth", size, size)["bandwidth"]
    assert bandwidth["packing_bound_gb_s"] == pytest.approx(108.3, abs=0.1)
    assert min(bandwidth["hosts_gb_s"]) >= 0.97 * bandwidth["bound_gb_s"]
    assert min(bandwidth["cases"]["one_module"]["hosts_gb_s"]) >= PRINTED_GB_S
    assert bandwidth["hot"]["loss_max"] < 0.01


def test_loaded_latency_of_two_by_two() -> None:
    """Four loads: the printed ranges hold at the stated one, the curves rise and bend before 100 %."""
    loaded = good("loaded_latency", 2, 2, points="4")["loaded"]
    assert loaded["stated"]["read"]["read"]["p999_ns"] <= 320
    assert loaded["stated"]["mix"]["read"]["p999_ns"] <= 320
    assert loaded["mix_tail_percent"] >= loaded["stated_percent"]
    for curve in loaded["curves"].values():
        assert curve["points"][-1]["mean_ns"] > curve["points"][0]["mean_ns"]
        assert curve["points"][-1]["carried_gb_s"] <= curve["bound_gb_s"] * FRAME_AT_THE_END


@pytest.mark.regress
def test_loaded_latency_of_four_by_four() -> None:
    """arXiv 2607.27187: loaded reads mostly 275 to 290 ns with a tail to 320 ns, loaded writes 210 to 250 ns."""
    loaded = good("loaded_latency", 4, 4)["loaded"]
    assert 275 <= loaded["stated"]["read"]["read"]["p50_ns"] <= 290
    assert loaded["stated"]["read"]["read"]["p999_ns"] <= 320
    assert loaded["stated"]["mix"]["read"]["p999_ns"] <= 320
    assert 210 <= loaded["stated"]["write"]["write"]["p50_ns"] <= 250
    assert all(curve["knee_percent"] < 100 for curve in loaded["curves"].values())
