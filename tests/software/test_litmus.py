"""The litmus explorer: the memory model's table of verdicts, its reductions, its traces, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prismem.cli.litmus import summary
from prismem.paths import ROOT
from prismem.tb.litmus import CATALOGUE, EXPLORER, explore, programs
from prismem.tb.runner.build import build_software

SECONDS_MAX = 30
STATES_A_SECOND_MIN = 500_000

# Name, verdict with non-coherent hosts, verdict on one coherent host: the table of the memory model's specification.
TABLE = """
PUB-none A F | PUB-fl-fl F F | PUB-fo-fo A F | PUB-fo-sf-fo F F | PUB-late-flush A F | PUB-sf-only A F
PUB-wrong-line A F | PUB-flag-first A A | PUB-fl-posted A F | PUB-fl-ucflag F F
CON-noinv A F | CON-early-inv A F | CON-early-inv-nopf F F | CON-fo-mf F F | CON-fl-nofence A F | CON-fl-sf A F
CON-wb-mf A F | CON-plain-spin F F | CON-fill-survives A F
SL-data-flag F F | SL-flag-data A A | SL-read-data-first A A | SL-m64 F F | NBR-premature-pub A A
FS-2dirty A F | FS-padded F F | FS-reader-clean F F | ZOMBIE-wb A F | ZOMBIE-fixed F F | CAS-xhost A F | BITMAP-word A A
SB-fl-nomf A A | SB-fl-mf F F | SB-mf-noinv A F | SB-inv-before-pub A F | LB F F | OOB-fl-nofence A A | OOB-mf F F
LOCK-peterson-ok F F | LOCK-peterson-noinv A F | LOCK-peterson-1line A F | LOCK-peterson-nofence A A
SEQ-ok F F | SEQ-reader-noinv-data A F | DMA-rd-noflush A A | DMA-rd-flush F F | DMA-meta-valid F F
CRASH-fl-fl F F | CRASH-late-flush A A | CRASH-lockheld A A
KV-stale-valid A F | KV-inv-norecheck A A | KV-inv-recheck F F
"""
# A flag, or a release of a lock, that never leaves the cache of who wrote it, or that is polled from an old copy.
TRAPS = {"PUB-none", "CON-plain-spin", "LOCK-peterson-noinv", "LOCK-peterson-1line"}

HEAD = "litmus t\nvars x=0:0 f=1:0\n"
PROGRAM = """litmus t
vars x=0:0 f=1:0
thread 0 host=0
  st x 1
  clflush x
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


def explored(path: Path, text: str, *options: str) -> dict[str, Any]:
    """The only record of one program in one mode."""
    path = path / "program.litmus"
    path.write_text(text)
    [record] = explore([path], *options)
    return record


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "prismem.cli.main", "litmus", *map(str, arguments)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def catalogue() -> list[dict[str, Any]]:
    return list(explore(programs([CATALOGUE])))


def test_catalogue_has_the_verdicts_of_the_table(catalogue: list[dict[str, Any]]) -> None:
    """Every row of the table is a file, with its verdict in both modes; no test is vacuous; files state what holds."""
    verdicts = {(record["name"], record["mode"]): record["verdict"][0].upper() for record in catalogue}
    rows = [row.split() for line in TABLE.strip().splitlines() for row in line.split("|")]
    for name, noncoherent, coherent in rows:
        assert verdicts[name, "noncoherent"] == noncoherent, name
        assert verdicts[name, "coherent"] == coherent, name
    assert [r["name"] for r in catalogue if not r["expect_ok"] or r["vacuous"]] == []
    assert {record["name"] for record in catalogue if record["trap"]} == TRAPS
    assert {record["mode"] for record in catalogue if record["trap"]} == {"noncoherent"}
    assert all(Path(record["file"]).stem == record["name"] for record in catalogue)


def test_catalogue_is_explored_quickly(catalogue: list[dict[str, Any]]) -> None:
    """Less than 30 s of one core for all, and 500,000 states a second on the largest."""
    print(summary(catalogue))
    assert sum(record["seconds"] for record in catalogue) < SECONDS_MAX
    largest = max(catalogue, key=lambda record: record["states"])
    assert largest["states"] > 100_000
    assert largest["states"] / largest["seconds"] >= STATES_A_SECOND_MIN


@pytest.mark.parametrize("reduction", ["local", "fill", "evict"])
def test_reductions_keep_every_verdict(catalogue: list[dict[str, Any]], reduction: str) -> None:
    """Without it: more states, the same verdicts and trap states."""
    without = list(explore(programs([CATALOGUE]), "--without", reduction))
    for with_it, record in zip(catalogue, without, strict=True):
        keys = ("name", "mode", "verdict", "trap")
        assert [record[key] for key in keys] == [with_it[key] for key in keys]
    assert sum(r["states"] for r in without) > sum(r["states"] for r in catalogue)


@pytest.mark.parametrize("step", ["clflush x\n  st", "clflush f\nthread", "clflush f\n  mfence", "clflush x\n  mfence"])
def test_each_step_of_publish_and_consume_is_needed(tmp_path: Path, step: str) -> None:
    """Without any one flush the program is bad, or never ends in a lazy cache."""
    kept = step.partition("\n")[2].lstrip() if not step.endswith("mfence") else ""
    record = explored(tmp_path, PROGRAM.replace(step, kept, 1), "--noncoherent")
    assert record["verdict"] == "allowed" or record["trap"]


def test_broken_expectation_fails_the_command(tmp_path: Path) -> None:
    """Exit code 1 and the reason; --json says it too."""
    wrong = tmp_path / "wrong.litmus"
    wrong.write_text(PROGRAM.replace("  mfence\n  ld r1 x", "  ld r1 x"))
    done = command(wrong)
    assert done.returncode == 1
    assert "EXPECTED FORBIDDEN" in done.stdout
    records = json.loads(command(wrong, "--json").stdout)
    assert [(r["mode"], r["verdict"], r["expect_ok"]) for r in records] == [
        ("noncoherent", "allowed", False),
        ("coherent", "forbidden", True),
    ]
    wrong.write_text(PROGRAM + "expect trap=both\n")
    assert "EXPECTED A TRAP STATE" in command(wrong).stdout
    wrong.write_text(PROGRAM)
    assert command(wrong).returncode == 0


def test_trace_is_a_shortest_run_in_words(tmp_path: Path) -> None:
    """The stale read, the copy that it came from, and where each step stands in the file."""
    text = PROGRAM.replace("  clflush x\n  mfence\n  ld r1 x", "  ld r1 x")
    record = explored(tmp_path, text, "--noncoherent", "--trace")
    steps = record["bad_run"]["steps"]
    assert [step["what"] for step in steps if step["what"].startswith("fill")] == ["fill line 0"]
    last = steps[-1]
    assert (last["who"], last["what"], last["line"]) == ("thread 1 (host 1)", "ld r1 x", 14)
    assert last["effect"] == "r1 = 0, from the cache; the device holds 1"
    assert record["bad_run"]["end"] == "1.r0=1 1.r1=0 mem.x=1 mem.f=1"


def test_bound_on_cache_events_limits_what_is_found(tmp_path: Path) -> None:
    """CON-noinv needs one prefetch: hidden without cache events, found with one."""
    text = PROGRAM.replace("  clflush x\n  mfence\n  ld r1 x", "  ld r1 x")
    verdicts = [explored(tmp_path, text, "--noncoherent", "--bound-cache-events", k)["verdict"] for k in "01"]
    assert verdicts == ["forbidden", "allowed"]


def test_vacuous_tests_are_reported(tmp_path: Path) -> None:
    """A `bad` that no memory could show, and a program that never ends."""
    record = explored(tmp_path, PROGRAM.replace("1.r1 == 0", "1.r1 == 7"), "--noncoherent")
    assert record["vacuous"] == "'bad' cannot hold whatever values the loads return"
    record = explored(tmp_path, HEAD + "thread 0 host=0\n  recv m\n  ld r0 x\nbad 0.r0 == 0", "--noncoherent")
    assert record["vacuous"] == "no run comes to its end"
    assert record["trap"]
    one = HEAD + "thread 0 host=0\n  cs_enter\n  cs_leave\n"
    assert "fewer than two threads" in explored(tmp_path, one, "--coherent")["vacuous"]


ERRORS = [
    ("", "1: an empty program"),
    ("vars x=0:0", "1:1: a program starts with 'litmus NAME'"),
    ("litmus a b", "1:1: write 'litmus NAME'"),
    ("litmus t\nvars x=0", "2:8: write x=line:word"),
    ("litmus t\nvars x=0:8", "2:10: word '8' is outside 0..7"),
    ("litmus t\nvars x=0:0 y=0:0", "2:14: 'x' is that word already"),
    (HEAD + "init z=1", "3:6: variable 'z' is not declared"),
    (HEAD + "options clwb=often", "3:14: clwb 'often' is none of may, keep, drop"),
    (HEAD + "options colour=red", "3:9: 'colour' is no option"),
    (HEAD + "thread 0", "3:1: write 'thread N host=H"),
    (HEAD + "thread 0 host=9", "3:15: host '9' is outside 0..7"),
    (HEAD + "  st x 1", "3:3: 'st' is none of"),
    (HEAD + "thread 0 host=0\n  store x 1", "4:3: 'store' is no instruction"),
    (HEAD + "thread 0 host=0\n  st z 1", "4:6: variable 'z' is not declared"),
    (HEAD + "thread 0 host=0\n  st x", "4:7: a number|register is missing; write 'st variable number|register'"),
    (HEAD + "thread 0 host=0\n  st x 1 2", "4:10: '2' is too much"),
    (
        HEAD + "thread 0 host=0\n  st x f\nbad 0 == 1",
        "4:8: register 'f' is never written in this thread; write it by 'ld",
    ),
    (HEAD + "thread 0 host=0\n  jmp away\nbad 0 == 1", "4:7: there is no label 'away'"),
    (HEAD + "thread 0 host=0\na:\na:\n", "5:1: label 'a' is there already"),
    (HEAD + "thread 0 host=0\n  ld r0 x\n", "nothing is bad"),
    (HEAD + "thread 0 host=0\n  ld r0 x\nbad 0.r1 == 0", "5:5: thread 0 never writes register 'r1'"),
    (HEAD + "thread 0 host=0\n  ld r0 x\nbad 1.r0 == 0", "5:5: there is no thread 1"),
    (HEAD + "thread 0 host=0\n  ld r0 x\nbad mem.z == 0", "5:5: variable 'z' is not declared"),
    (HEAD + "thread 0 host=0\n  ld r0 x\nbad (0.r0 == 0", "5:15: ')' expected"),
    (HEAD + "thread 0 host=0\n  ld r0 x\nbad 0.r0 = 0", "5:10: '=' after the end"),
    (HEAD + "thread 0 host=0\n  ld r0 x\nbad 0.r0 ==", "5:12: a value is missing"),
    (HEAD + "thread 0 host=0 after_crash\n  ld r0 x\nbad 0.r0 == 0", "a crash that never comes"),
    (HEAD + "thread 0 host=0\n  mov n 0\na:\n  add n n 1\n  jmp a\nbad 0.n == 1", "more than 256 different values"),
    (PROGRAM + "expect sometimes=allowed", "19:8: 'sometimes' is none of noncoherent, coherent, trap"),
]


@pytest.mark.parametrize(("text", "words"), ERRORS, ids=range(len(ERRORS)))
def test_errors_name_file_line_column_and_cure(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "wrong.litmus"
    path.write_text(text)
    build_software(goal="litmus")
    done = subprocess.run([str(EXPLORER), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{path}:")
    assert words in done.stderr
    assert done.stdout == ""


def test_misuse_of_the_command(tmp_path: Path) -> None:
    """Exit code 2 and the cure."""
    for arguments, words in (
        ([tmp_path / "none.litmus"], "no such file"),
        ([tmp_path], "no file in this folder ends with .litmus"),
        ([CATALOGUE, "--coherent", "--noncoherent"], "one of them"),
        ([CATALOGUE, "--bound-cache-events", "900"], "outside 0..250"),
    ):
        done = command(*arguments)
        assert done.returncode == 2, done
        assert words in done.stderr
