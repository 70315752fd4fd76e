"""Bandwidth and loaded latency of the RTL: small machines every time, 16 ports and the whole mesh in the regression."""

from typing import Any

import pytest

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
    for curve in loaded["curves"].values():
        assert curve["points"][-1]["mean_ns"] > curve["points"][0]["mean_ns"]
        assert curve["points"][-1]["carried_gb_s"] <= curve["bound_gb_s"] * FRAME_AT_THE_END


@pytest.mark.regress
def test_loaded_latency_of_four_by_four() -> None:
    """arXiv 2607.27187: loaded reads mostly 275 to 290 ns with a tail to 320 ns, loaded writes 210 to 250 ns."""
    loaded = good("loaded_latency", 4, 4)["loaded"]
    assert 275 <= loaded["stated"]["read"]["read"]["p50_ns"] <= 290
    assert loaded["stated"]["read"]["read"]["p999_ns"] <= 320
    assert 210 <= loaded["stated"]["write"]["write"]["p50_ns"] <= 250
    assert all(curve["knee_percent"] < 100 for curve in loaded["curves"].values())
