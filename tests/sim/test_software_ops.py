"""Operations of the library in simulated time: what they have to cost at least, on the RTL and on the queue model."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from prismem.errors import MisuseError
from prismem.models import latency, profile
from prismem.tb.report.calibrate import calibrate
from prismem.tb.runner import timed
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec
from prismem.tb.tests import software_ops

APART = 0.15  # of the medians on both ports: order and polls of threads differ with every nanosecond


@pytest.fixture(scope="module")
def calibrated() -> Path:
    """Calibration of pfma, measured here unless it is there."""
    path = timed.calibration_file(profile.load("pfma"))
    return path if path.exists() else calibrate("pfma")


@cache
def measured(port: str, hosts: int = 2) -> dict[str, Any]:
    result = execute(make_spec("software_ops", port=port, hosts=hosts, modules=2, options={"rounds": "4"}))
    assert result.passed, result.text()
    found: dict[str, Any] = result.metrics["software"]
    return found


def test_no_operation_beats_the_lines_that_it_needs() -> None:
    """Floors from the idle latencies: 224 ns for a line out, 283 ns for one in (arXiv 2607.27187)."""
    machine = profile.load("pfma")
    write_ns, read_ns = (latency.idle_ns(machine, kind) for kind in ("write", "read"))  # type: ignore[arg-type]
    ops = measured("rtl")["ops"]
    assert write_ns <= ops["publish"]["p50_ns"] <= write_ns + 10
    assert ops["publish"]["messages"] == 1
    # A line out, and one in by a poll that starts when it is there, at the earliest; at the latest after one in vain.
    assert 112 + read_ns - 64 <= ops["visible"]["p50_ns"] <= write_ns + 3 * read_ns
    assert ops["rendezvous"]["p50_ns"] >= write_ns
    assert ops["lock_alone"]["p50_ns"] >= 2 * (112 + 212)  # request out and seen by the manager, grant out and seen
    assert ops["lookup_miss"]["p50_ns"] >= read_ns
    assert ops["lock_contended"]["p50_ns"] > ops["lock_alone"]["p50_ns"]
    for name, op in ops.items():
        assert sum(op["waits_percent"].values()) == pytest.approx(100, abs=0.1), name
        assert op["messages"] > 0, name
    assert ops["publish"]["waits_percent"]["write_backs"] > 90
    assert ops["lookup_miss"]["waits_percent"]["reads"] > 90


def test_blocks_move_as_fast_as_paths_allow() -> None:
    """More in flight is faster, larger blocks are faster, and nothing beats the frames of the lightpaths."""
    machine = profile.load("pfma")
    found = measured("rtl")["transfers"]
    assert {(t["op"], t["size"]) for t in found} == {
        (op, software_ops.SIZE_MIN << 2 * i) for op in software_ops.TRANSFERS for i in range(software_ops.SIZES)
    }
    for item in found:
        assert item["gb_s"] <= 2 * latency.path_bound_gb_per_s(machine, 0.0 if item["op"].endswith("in") else 1.0, 16)
    rate = {(t["op"], t["size"]): t["gb_s"] for t in found}
    for way in ("in", "out"):
        assert rate[f"transfer_{way}", 512] < rate[f"transfer_{way}", 131072]
        assert rate[f"transfer_{way}", 2048] < rate[f"stream_{way}", 2048]


def test_the_queue_model_tells_the_same(calibrated: Path) -> None:
    """Medians of uncontended operations on the timed port beside those of the RTL."""
    rtl, model = measured("rtl")["ops"], measured("timed")["ops"]
    for name in ("publish", "visible", "rendezvous", "lookup_hit", "lookup_miss", "unlock"):
        assert model[name]["p50_ns"] == pytest.approx(rtl[name]["p50_ns"], rel=APART), name
        assert model[name]["lines"] == pytest.approx(rtl[name]["lines"], rel=APART), name


def test_more_hosts_wait_longer_for_a_lock(calibrated: Path) -> None:
    """A contended lock is handed round: with four times the hosts it takes more than twice as long."""
    few, many = (measured("timed", hosts)["ops"]["lock_contended"]["p50_ns"] for hosts in (2, 8))
    assert many > 2 * few


def test_a_host_alone_is_refused() -> None:
    with pytest.raises(MisuseError, match="HOSTS: 1 has nobody to share with"):
        make_spec("software_ops", hosts=1)
