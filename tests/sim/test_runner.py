"""The runner on a real Verilated build: cached, shared, and never green for a run that did not say so."""

from pathlib import Path

import pytest

from prismem.errors import PrismemError
from prismem.tb.runner.build import Build, build_hdl
from prismem.tb.runner.execute import first_hdl_error, simulate

HERE = Path(__file__).parent
SOURCES = [HERE / "hdl" / "counter_top.vlt", HERE / "hdl" / "counter_top.sv"]


@pytest.fixture(scope="module")
def counter() -> Build:
    return build_hdl("counter_top", SOURCES, {"Width": 12}, waves=True)


@pytest.fixture(autouse=True)
def _module_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


def test_good_run_is_clean_and_leaves_a_wave(counter: Build, tmp_path: Path) -> None:
    """Build with the toolchain's cures, run, read a public port, find the wave file."""
    assert simulate(counter, "counter_bench", tmp_path, seed=1, plusargs={}, environment={}) is None
    assert counter.wave_file is not None
    assert (tmp_path / counter.wave_file).stat().st_size > 0


def test_second_build_comes_from_the_cache(counter: Build) -> None:
    """The same sources and parameters are not built again; another parameter is another build."""
    stamp = counter.directory / "built"
    before_ns = stamp.stat().st_mtime_ns
    assert build_hdl("counter_top", SOURCES, {"Width": 12}, waves=True) == counter
    assert stamp.stat().st_mtime_ns == before_ns


def test_failing_assertion_fails_the_run(counter: Build, tmp_path: Path) -> None:
    """A strap makes the bench fail an assertion: time and text are found in the log."""
    assert simulate(counter, "counter_bench", tmp_path, seed=1, plusargs={"fail_at": 9}, environment={}) is not None
    failure = first_hdl_error((tmp_path / "run.log").read_text())
    assert failure is not None
    assert failure.time_ns is not None
    assert "count is 9, must stay below 9" in failure.message


def test_dead_process_is_a_failure(counter: Build, tmp_path: Path) -> None:
    """A simulator that dies by a signal leaves no results: that is a failure, not silence."""
    problem = simulate(
        counter, "counter_bench", tmp_path, seed=1, plusargs={}, environment={"PRISMEM_COUNTER_DIE": "1"}
    )
    assert problem is not None


def test_broken_source_names_the_log(tmp_path: Path) -> None:
    """A syntax error raises with Verilator's message."""
    broken = tmp_path / "broken_top.sv"
    broken.write_text("module broken_top; this is not SystemVerilog endmodule\n")
    with pytest.raises(PrismemError, match="syntax error"):
        build_hdl("broken_top", [broken], {})
