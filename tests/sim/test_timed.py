"""The timed port against the RTL that it was calibrated on: latency, rate, misuse; and a wrong calibration is found."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from prismem.errors import MisuseError
from prismem.models import profile
from prismem.paths import MOONCAKE_SOURCE, MOONCAKE_TRACE, RTL
from prismem.tb.report import validate
from prismem.tb.report.calibrate import calibrate
from prismem.tb.runner import timed
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec

BRIEF = [w for w in validate.WORKLOADS if w.name in ("2 reads a write, 64 in flight", "kv_share")]


@pytest.fixture(scope="module")
def calibrated() -> Path:
    """Calibration of pfma, measured here unless it is there."""
    path = timed.calibration_file(profile.load("pfma"))
    return path if path.exists() else calibrate("pfma")


def metrics(port: str, test: str, sets: tuple[str, ...] = (), **options: str) -> dict[str, Any]:
    result = execute(make_spec(test, port=port, sets=sets, options=options))
    assert result.passed, result.text()
    return result.metrics


def test_traffic_that_it_was_not_calibrated_on(calibrated: Path) -> None:
    """Mean latency within 5 %, rate within 3 %; every byte checked by the jobs themselves."""
    found = validate.validate("pfma", BRIEF)
    assert not found.problems
    assert all(row.speedup > 2 for row in found.rows)


def test_one_seed_gives_one_run(calibrated: Path) -> None:
    first, second = (metrics("timed", "kv_share", requests="12") for _ in range(2))
    assert first["run"]["digest"] == second["run"]["digest"]
    assert first["latency"] == second["latency"]


def test_idle_latency_is_that_of_the_rtl(calibrated: Path) -> None:
    """283 and 224 ns, and each part; the job compares them with the formula of the profile."""
    idle = metrics("timed", "idle_latency")["idle"]
    assert (idle["read_ns"], idle["write_ns"]) == (283, 224)


def test_other_numbers_need_another_calibration() -> None:
    """A calibration belongs to one set of numbers: none is taken for a longer fibre."""
    with pytest.raises(MisuseError, match="'timed' has no calibration for profile 'pfma' .*'prismem calibrate"):
        make_spec("kv_share", port="timed", sets=("path.fibre_length=77 m",))


def test_memory_that_is_booked_ahead_holds_writes_back(calibrated: Path) -> None:
    """DDR5 of 2 GB/s a channel carries 32 GB/s in two modules: writes are visible before it has them, but modules take
    no more of them than their queues hold. The calibration is of the fast one; only reads see its time of a line."""
    sets = ("ddr.rate=2 GB/s",)
    timed.calibration_file(profile.load("pfma", sets)).write_text(calibrated.read_text())
    options = {"outstanding": "128", "requests": "6000", "lines": "2048", "random": "true", "read_permille": "0"}
    rtl, slow = (metrics(port, "traffic", sets, **options) for port in ("rtl", "timed"))
    assert validate.rate_gb_s(slow) == pytest.approx(validate.rate_gb_s(rtl), rel=0.03)
    assert validate.rate_gb_s(rtl) < 2 * 8 * 2
    assert validate.mean_latency_ns(slow) == pytest.approx(validate.mean_latency_ns(rtl), rel=0.05)


def test_structure_of_the_memories_is_that_of_the_hardware() -> None:
    """Rows, and how far ahead channels and banks are booked, are parameters of the module's source."""
    source = (RTL / "pf_mem" / "pf_mem.sv").read_text()
    for name in ("RowLines", "AheadNs", "HorizonNs"):
        for kind in ("Hbm", "Ddr"):
            found = re.search(rf"localparam int unsigned {kind}{name} = (\d+);", source)
            assert found, name
            constant = f"{kind}_{name.replace('Lines', '_LINES').replace('Ns', '_NS')}".upper()
            assert int(found[1]) == getattr(timed, constant)


def test_a_wrong_calibration_is_found(calibrated: Path) -> None:
    """A module that answers 60 ns late is beyond the bound of latency. The numbers are of a profile of its own."""
    sets = ("nic.timeout=61 us",)
    content = json.loads(calibrated.read_text())
    content["measured"]["return_ns"] = [value + 60 for value in content["measured"]["return_ns"]]
    timed.calibration_file(profile.load("pfma", sets)).write_text(json.dumps(content))
    rtl, late = (metrics(port, "traffic", sets, outstanding="16", requests="1000") for port in ("rtl", "timed"))
    latency = (validate.mean_latency_ns(rtl), validate.mean_latency_ns(late))
    row = validate.Row("late", latency, (1.0, 1.0), (1000, 1000), (2.0, 0.01))
    assert latency[1] - latency[0] == pytest.approx(60, abs=10)
    assert len(validate.problems([row])) == 1
    bad = validate.Row(validate.SPEED_WORKLOAD, (100, 106), (10, 10.31), (1000, 1000), (0.99, 0.01))
    assert len(validate.problems([bad])) == 3


@pytest.mark.regress
def test_all_workloads_and_the_speed(calibrated: Path) -> None:
    """All rows of the validation on 2 x 2 and on 4 x 4: latency and rate of each, and the speed of the main job."""
    assert not validate.validate("pfma").problems


@pytest.mark.regress
@pytest.mark.skipif(not MOONCAKE_TRACE.exists(), reason=MOONCAKE_SOURCE)
def test_the_whole_trace(calibrated: Path) -> None:
    """12,031 requests of the published trace, hits equal to the oracle's, request by request."""
    kv = metrics("timed", "kv_share", trace=str(MOONCAKE_TRACE))["kv"]
    assert kv["requests"] == 12_031
    assert kv["wrong_bytes"] == 0
