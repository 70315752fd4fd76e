"""Mutants of the library: the generator, the battery over a handful, and what is said to be equivalent."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from lib_support import build as build_software
from rich.console import Console

from prismem.cli.check import run_replay
from prismem.cli.mutants import line_of
from prismem.errors import MisuseError, PrismemError
from prismem.lib.check.log import LOG_FILE, load
from prismem.lib.mutation.battery import Trial
from prismem.lib.mutation.equivalents import Equivalent, stale
from prismem.lib.mutation.equivalents import load as load_equivalents
from prismem.lib.mutation.judge import Verdict, is_reached, judge
from prismem.lib.mutation.operators import OPERATORS, Mutant, by_hand, generate
from prismem.lib.mutation.run import CLEAN_PARTS, Summary, choose, clean, judge_all, summarize, write
from prismem.paths import SOFTWARE

GENERATED_MIN = 150
# A publish, a fence and a range, each noticed by a short test.
DAILY = (
    "hold.c:pmi_hold_publish:pmi_publish:DROP",
    "rendezvous.c:find_sequence:pmi_acquire:WEAKEN_SFENCE",
    "tract.h:clflush:pm_publish:LATE_START",
)
ENDLESS = "rendezvous.c:pm_send:pmi_publish:DROP"
EXAMPLE = """#include "handle.h"
static void lines(pm_pool *pool, pmi_request *request, pmi_superblock *sb) {
  request->repaired = 1;
  pmi_publish(pool, request, sizeof *request);
  pmi_store(&request->word, 2);
  if (PM_MUTANT_ON(first_line_only)) pmi_sync(pool);
  pmi_acquire(pool, sb, sizeof *sb);
  int local = 0;
  local += 1;
}
"""


def test_every_operator_and_no_two_alike() -> None:
    """Goal: enough mutants of every operator, ids that name one each, no two with the same source."""
    mutants = generate()
    assert len(mutants) >= GENERATED_MIN
    assert len({mutant.id for mutant in mutants}) == len(mutants)
    assert len({(mutant.path, mutant.source) for mutant in mutants}) == len(mutants)
    counts = Counter(next(name for name in OPERATORS if mutant.operator.startswith(name)) for mutant in mutants)
    assert set(counts) == set(OPERATORS)
    for mutant in mutants:
        assert mutant.source != mutant.path.read_bytes()


def test_operators_on_an_example(tmp_path: Path) -> None:
    """Goal: what each operator makes of a short function, worked out by hand. Injected faults are left alone."""
    path = tmp_path / "example.c"
    path.write_text(EXAMPLE, encoding="utf-8")
    made = {mutant.id.removeprefix("example.c:lines:"): mutant.source.decode() for mutant in generate([path])}
    assert set(made) == {
        *("pmi_publish:DROP", "pmi_publish:WEAKEN_NO_FENCE", "pmi_publish:MOVE_UP", "pmi_publish:MOVE_DOWN"),
        *("pmi_store:DROP", "pmi_acquire:DROP", "pmi_acquire:WEAKEN_SFENCE", "pmi_acquire:WEAKEN_CLWB"),
        *("pmi_acquire:SHRINK", "pmi_acquire:LATE_START", "pmi_acquire:MOVE_UP", "pmi_store:MOVE_DOWN"),
    }
    publish, store = "pmi_publish(pool, request, sizeof *request);", "pmi_store(&request->word, 2);"
    assert made["pmi_publish:DROP"] == EXAMPLE.replace(publish, "(void)0;")
    assert made["pmi_publish:MOVE_DOWN"] == EXAMPLE.replace(f"{publish}\n  {store}", f"{store}\n  {publish}")
    assert made["pmi_publish:WEAKEN_NO_FENCE"] == EXAMPLE.replace("pmi_publish", "pmi_push")
    assert made["pmi_store:DROP"] == EXAMPLE.replace(store, "(void)0;")
    assert "pmi_acquire(pool, sb, ((sizeof *sb) > PM_LINE ? (sizeof *sb) - PM_LINE : 0));" in made["pmi_acquire:SHRINK"]


@pytest.mark.parametrize("name", DAILY)
def test_a_mutant_is_noticed_and_replays(name: str, tmp_path: Path) -> None:
    """Goal: a handful end to end. Method: build, battery, shortened log; the log replays to the same fault."""
    build_software("flags")
    verdicts = judge_all(choose([name]), lambda verdict, known: None, resume=False)
    verdict = next(verdict for verdict in verdicts if verdict.id == name)
    assert verdict.state == "killed", verdict
    assert verdict.replays
    assert verdict.coherent == ""
    assert 0 < verdict.story_steps <= 12


@pytest.mark.parametrize("name", [DAILY[0], ENDLESS])
def test_its_log_replays(name: str, tmp_path: Path) -> None:
    """Goal: `prismem replay` of a mutant's log shows the fault again, step by step; one without an end as well."""
    build_software("flags")
    mutant = next(one for one in generate() if one.id == name)
    verdict = judge(mutant, tmp_path / "mutant")
    log = load(tmp_path / "mutant" / LOG_FILE)
    console = Console(record=True, width=200)
    assert not run_replay(console, log)
    text = console.export_text()
    assert "REPLAYED: step by step the same execution" in text
    assert verdict.message in text


def test_a_report_on_the_right_library_would_be_counted() -> None:
    """Goal: the count of false reports can be other than 0. Method: a faulty library in the place of the right one."""
    build_software("flags")
    mutant = next(one for one in generate() if one.id == DAILY[0])
    reports, executions = clean(lambda text: None, mutant)
    assert len(reports) == CLEAN_PARTS
    assert "stale read" in reports[0]
    assert executions >= CLEAN_PARTS


def test_a_fault_that_coherence_does_not_hide_is_reported(tmp_path: Path) -> None:
    """Goal: a coherent machine that notices a fault is told of. Method: a lock not taken, said to be a flush."""
    build_software("flags")
    mutant = next(one for one in generate() if one.id == "hold.c:pmi_hold_begin:pm_lock_acquire:DROP")
    assert not mutant.noncoherence
    verdict = judge(replace(mutant, noncoherence=True), tmp_path / "mutant")
    assert verdict.coherent
    assert Summary([verdict], []).as_json()["coherent_reports"] == {mutant.id: verdict.coherent}


def test_a_place_that_no_execution_comes_to_is_told(tmp_path: Path) -> None:
    """Goal: a survivor where the battery never comes is told from one that it does not notice.

    Method: probes, which abort in the place of the call: one in code that every test runs, one that is never called.
    """
    build_software("flags")
    there = next(one for one in generate() if one.id == DAILY[0])
    nowhere = there.path.read_bytes() + b"void never(void);\nvoid never(void) { __builtin_abort(); }\n"
    assert is_reached(there, tmp_path / "there", Trial(test=""))
    calm = replace(there, probe=nowhere)
    assert not is_reached(calm, tmp_path / "nowhere", Trial(test=""), executions_max=9)
    survivor = Verdict.model_validate({"id": "x", "state": "survived", "reached": False})
    assert "not reached" in line_of(survivor, equivalent=False)


def test_a_mutant_that_is_no_c_counts_for_nothing(tmp_path: Path) -> None:
    """Goal: broken code is named and neither killed nor survived."""
    build_software("flags")
    path = SOFTWARE / "src" / "lease.c"
    broken = Mutant("lease.c:broken", path, 1, "DROP", "", "", True, path.read_bytes() + b"\nint x = ;\n")
    verdict = judge(broken, tmp_path / "broken")
    assert verdict.state == "invalid"
    summary = Summary([verdict], []).as_json()
    assert (summary["killed"], summary["total"], summary["invalid"]) == (0, 0, ["lease.c:broken"])


def test_list_of_equivalents_follows_the_library() -> None:
    """Goal: every entry names a mutant that there is."""
    ids = {mutant.id for mutant in generate() + by_hand()}
    assert [entry.id for entry in load_equivalents() if entry.id not in ids] == []


def test_a_stale_equivalent_is_an_error(tmp_path: Path) -> None:
    """Goal: a mutant that is gone, that was noticed after all, that does not compile, and one that stands twice."""
    words = {"reason": "twenty letters and more", "unless": "somebody looks"}
    entries = [Equivalent(id=name, **words) for name in ("gone", "noticed", "broken", "right")]
    states = {"noticed": "killed", "broken": "invalid", "right": "survived"}
    verdicts = [Verdict.model_validate({"id": name, "state": state}) for name, state in states.items()]
    assert [text.partition(":")[0] for text in stale(entries, verdicts, whole=True)] == ["gone", "noticed", "broken"]
    assert [text.partition(":")[0] for text in stale(entries, verdicts, whole=False)] == ["noticed", "broken"]
    result = summarize(verdicts, entries, whole=True).as_json()
    assert (result["killed"], result["survivors"]) == (1, [])
    (tmp_path / "twice.yaml").write_text(json.dumps({"equivalent": [{"ids": ["a", "a"], **words}]}), encoding="utf-8")
    with pytest.raises(PrismemError, match="twice: a"):
        load_equivalents(tmp_path)


def test_a_survivor_lowers_the_score(tmp_path: Path) -> None:
    """Goal: the figures. Two killed, one proven, one survivor: 66.7 %."""
    verdicts = [
        Verdict.model_validate({"id": name, "state": state, "executions": 3})
        for name, state in {"a": "killed", "b": "killed", "c": "survived", "d": "survived"}.items()
    ]
    proven = [Equivalent(id="c", reason="twenty letters and more", unless="somebody looks")]
    write(summarize(verdicts, proven, whole=True), tmp_path / "result.json")
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert (result["killed"], result["total"], result["equivalent"], result["survivors"]) == (2, 4, 1, ["d"])
    assert result["score_percent"] == 66.7


def test_unknown_mutant() -> None:
    with pytest.raises(MisuseError, match="--only no_such_verb"):
        choose(["no_such_verb"])
