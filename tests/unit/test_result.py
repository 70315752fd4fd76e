"""Results: written whole or not at all, three renderings of one object, failures in the agreed order."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from prismem.errors import PrismemError
from prismem.tb.job import Failure
from prismem.tb.runner import files, result
from prismem.tb.runner.spec import RunSpec

SPEC = RunSpec(
    test="kv_share", port="rtl", hosts=2, modules=2, profile="pfma", seed=7, sets=("path.fibre_length=15 m",)
)


def make(failure: Failure | None = None) -> result.Result:
    return result.Result(
        test="kv_share",
        passed=failure is None,
        seed=7,
        profile="pfma",
        port="rtl",
        hosts=2,
        modules=2,
        commit="abc",
        tools={"verilator": "5.48"},
        metrics={"kv": {"hits": 3}},
        replay=SPEC.replay,
        spec=SPEC,
        failure=failure,
        log_tail=["line \x1b[31mred", "last line"] if failure else [],
        log="build/run/kv_share-7-x/run.log",
        wave="build/run/kv_share-7-x/dump.vcd",
        wall_s=1.25,
    )


def test_json_has_the_agreed_keys_and_comes_back(tmp_path: Path) -> None:
    make().write(tmp_path)
    raw = json.loads((tmp_path / "result.json").read_text())
    agreed = {"test", "passed", "seed", "profile", "port", "hosts", "modules", "commit", "tools", "metrics", "replay"}
    assert agreed <= set(raw)
    assert result.load_result(tmp_path / "result.json") == make()


def test_failure_prints_in_the_agreed_order() -> None:
    """Test, replay, first error with time and component, expected, actual, last log lines, log, wave."""
    failure = Failure("stale read of line 73", 1234, "host 1", expected="0x1", actual="0x0")
    text = make(failure).text()
    marks = ["FAIL kv_share seed 7", "replay:", "[1234 ns, host 1] stale read", "expected:  0x1", "actual:    0x0"]
    marks += ["last line", "log:       build/run", "wave:      build/run"]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


def test_junit_is_xml_whatever_the_log_says() -> None:
    """One case; a failure carries its message; control characters of a log do not break the file."""
    good = ET.fromstring(make().junit())
    assert good.find("testsuite").get("failures") == "0"
    bad = ET.fromstring(make(Failure("wrong \x00 byte")).junit())
    assert bad.find("testsuite").get("failures") == "1"
    assert "wrong" in bad.find(".//failure").get("message")


def test_replay_command_carries_every_option() -> None:
    spec = SPEC.model_copy(update={"mutant": "m", "coherent": True, "options": {"requests": "5"}, "policy": "lazy"})
    for part in ("--set 'path.fibre_length=15 m'", "--mutant m", "--coherent", "--opt requests=5", "--policy lazy"):
        assert part in spec.replay


def test_other_options_leave_another_folder() -> None:
    """The same options share a folder; any other option, also a wave file, has its own."""
    assert SPEC.run_dir == SPEC.model_copy().run_dir
    for change in ({"hosts": 3}, {"waves": True}, {"options": {"a": "1"}}, {"seed": 8}):
        assert SPEC.model_copy(update=change).run_dir != SPEC.run_dir
    assert SPEC.run_dir.name.startswith("kv_share-7-")


def test_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails half-way leaves the old content and no temporary file."""
    path = tmp_path / "result.json"
    files.write_atomic(path, "old")

    def full_disk(self: Path, target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="disk full"):
        files.write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_files_have_the_permissions_of_the_user(tmp_path: Path) -> None:
    """As the umask says, so that others may read results."""
    before = os.umask(0o027)
    try:
        files.write_atomic(tmp_path / "result.json", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "result.json").stat().st_mode & 0o777 == 0o640


def test_build_folder_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in its place, a folder that cannot be made, one without the right to write: one line with the cure."""
    (tmp_path / "build").write_text("")
    with pytest.raises(PrismemError, match="no folder can be made there: .*; remove it"):
        files.check_build_folder(tmp_path / "build")
    with pytest.raises(PrismemError, match="no folder can be made there"):
        files.check_build_folder(tmp_path / "build" / "below")
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    with pytest.raises(PrismemError, match="not writable; make it so"):
        files.check_build_folder(tmp_path)


def test_sizes_are_counted_in_words() -> None:
    """One host is no hosts."""
    one = make().model_copy(update={"hosts": 1, "modules": 1}).text()
    assert "(rtl, 1 host, 1 module, profile pfma)" in one
    assert "2 hosts, 2 modules" in make().text()


def test_link_is_replaced(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        files.link_atomic(tmp_path / "link", name)
        assert (tmp_path / "link").resolve().name == name


def test_tail_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\n".join(map(str, range(100))))
    assert result.tail(tmp_path / "log", 3) == ["97", "98", "99"]
    assert result.tail(tmp_path / "absent") == []
