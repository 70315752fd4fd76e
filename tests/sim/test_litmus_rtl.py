"""`make litmus-rtl`: a slice of it on the RTL, all of it in the regression, and that its verdict can be a bad one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prismem.errors import MisuseError
from prismem.tb import litmus_rtl
from prismem.tb.litmus import CATALOGUE, programs
from prismem.tb.litmus_rtl import KINDS, campaign, merge, passed, plan, spec_of, table
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec

# Never seen there, with the reason; everything else that is allowed can be.
IMPOSSIBLE = {
    "LOCK-peterson-nofence",  # a store of compiled C retires the flush before it
    "SL-torn-8",  # no module writes less than 32 B at once
}
# Forbidden as it stands; on a device that shows halves of a line the flag comes first.
WHOLE = """litmus WHOLE
vars x=0:7 f=0:0
thread 0 host=0
  st x 1
  st f 1
  clflush f
thread 1 host=1
again:
  clflush f
  mfence
  ld r0 f
  bne r0 1 again
  clflush x
  mfence
  ld r1 x
bad 1.r1 == 0
expect noncoherent=forbidden
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(litmus_rtl, "RESULT", tmp_path / "result.json")
    monkeypatch.setattr(litmus_rtl, "TABLE", tmp_path / "table.txt")
    return tmp_path


@pytest.mark.parametrize(("kind", "bad"), [(1, "PUB-fl-posted"), (2, "SL-torn-32")])
def test_switches_of_the_module_turn_verdicts(kind: int, bad: str) -> None:
    """Goal: what posted completions and half-line writes allow is seen on hardware that does so, and the program that
    half lines leave right stays so. Method: 60 timings of each program of the kind."""
    result = execute(spec_of(KINDS[kind], "[PS]*", 1, 60))
    assert result.passed, result.text()
    rows = {row["name"]: row for row in result.metrics["litmus"]}
    assert set(rows) == ({bad} if kind == 1 else {bad, "SL-half-32"})
    assert {name for name, row in rows.items() if row["bad"]} == {bad}
    assert all(row["runs"] == 60 for row in rows.values())


def test_a_slice(folder: Path) -> None:
    """The campaign of two programs: result and table are left, nothing is outside of the model."""
    result = campaign(seeds=10, pattern="CON-n*")
    assert (result["outside_model"], result["failures"], result["simulations"]) == (0, [], 2)
    assert [test["name"] for test in result["tests"]] == ["CON-noinv"]
    assert json.loads((folder / "result.json").read_text())["tests"] == result["tests"]
    assert (folder / "table.txt").read_text() == table(result) + "\n"


@pytest.mark.regress
def test_whole_catalogue(folder: Path) -> None:
    """Goal: the acceptance of the memory model on the RTL. Method: all programs, 50 seeds each."""
    result = campaign(seeds=50)
    assert passed(result), table(result)
    assert result["simulations"] > 10
    assert {test["name"] for test in result["tests"]} == {path.stem for path in programs([CATALOGUE])}
    assert all(test["runs"] + test["cut"] >= 50 for test in result["tests"] if test["name"] != "SL-torn-8")
    assert set(result["unseen"]) >= IMPOSSIBLE
    assert result["allowed_seen_percent"] >= 80


def test_a_line_is_written_whole(tmp_path: Path) -> None:
    """A module that shows halves of a line although it must not is caught by an outcome outside of the model."""
    (tmp_path / "whole.litmus").write_text(WHOLE)
    options = {"folder": str(tmp_path), "rounds": "30"}
    result = execute(make_spec("litmus", options=options, sets=("module.half_time=3 us",)))
    assert result.passed, result.text()


def test_plan() -> None:
    """Every program runs on one kind of machine, with as many rounds as asked for; of the others it is said why not."""
    specs, not_run = plan("*", 7, 50)
    assert not_run == {"SL-torn-8": "needs write_unit=8"}
    assert len({spec.run_dir for spec in specs}) == len(specs)
    for kind in KINDS:
        rounds = [int(spec.options["rounds"]) for spec in specs if spec.options.get("switches", "") == kind.switches]
        assert sum(rounds) >= 50
    assert spec_of(KINDS[1], "PUB-*", 3, 5) == spec_of(KINDS[1], "PUB-*", 3, 5)
    assert plan("SL-torn-8", 1, 50) == ([], {"SL-torn-8": "needs write_unit=8"})
    with pytest.raises(MisuseError, match="PATTERN: no program of software/litmus is like 'XY-\\*'"):
        plan("XY-*", 1, 50)


def row(name: str, seen: dict[str, int], outside: tuple[str, ...] = (), bad: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"name": name, "seen": seen, "outside": list(outside), "bad_seen": list(bad), "cut": 1}


def test_verdict_and_table() -> None:
    """An outcome outside of the model, a run that failed, and too little seen: each is a bad end, and is shown."""
    records = [
        {"name": "A", "verdict": "allowed", "outcomes": ["r=0", "r=1"]},
        {"name": "F", "verdict": "forbidden", "outcomes": ["r=1"]},
    ]
    good = [
        {
            "rows": [row("A", {"r=0": 2, "r=1": 5}, bad=("r=0",)), row("F", {"r=1": 7})],
            "replay": "one",
            "failure": None,
        },
        {"rows": [row("A", {"r=1": 3})], "replay": "two", "failure": None},
    ]
    result = merge(good, records, {})
    assert passed(result)
    assert (result["outside_model"], result["allowed_seen_percent"]) == (0, 100.0)
    assert table(result).splitlines()[:4] == [
        "A: bad outcome allowed, seen 2 times; 10 runs, 2 gave up",
        "  *       2  allowed    r=0",
        "          8  allowed    r=1",
        "F: bad outcome forbidden, seen 0 times; 7 runs, 1 gave up",
    ]
    outside = {"rows": [row("F", {"r=0": 1}, ("r=0",), ("r=0",))], "replay": "three", "failure": "F: outcome 'r=0'"}
    result = merge([*good, outside], records, {})
    assert not passed(result)
    assert result["outside"] == [{"test": "F", "outcome": "r=0", "replay": "three"}]
    assert result["failures"] == []
    assert "OUTSIDE of the model: F: r=0\n  three" in table(result)
    result = merge([*good, {"rows": [], "replay": "four", "failure": "deadlock"}], records, {})
    assert not passed(result)
    assert "FAILED: deadlock\n  four" in table(result)
    result = merge(good[1:], records, {"F": "needs write_unit=8"})
    assert not passed(result)
    assert result["unseen"] == ["A"]
    assert "F: bad outcome forbidden, seen 0 times; not run: needs write_unit=8" in table(result)
