"""`prismem check`: finds the fault of each example and none in its mended twin; what it says; what it refuses."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from check_support import PROGRAMS, check, lines_with, prismem

from prismem.lib.check.compiler import build
from prismem.lib.check.log import LOG_FILE
from prismem.lib.check.machine import Choice, Explorer, Strategy
from prismem.lib.check.run import PAGE_FILE
from prismem.lib.check.shrink import Shrinker
from prismem.lib.check.story import STEPS_MAX
from prismem.lib.emu import MachineConfig, Policy
from prismem.paths import ROOT

EXAMPLES = ROOT / "software" / "examples"
CASES = PROGRAMS / "check_cases.c"
CLEAN_EXECUTIONS = 4000
CHOICES_MAX = 6  # that a fault of an example needs after shrinking
REPLAYED = ("no_flag_flush", "no_store_fence", "ring", "stack")

MARK = "FAULT"  # in the whole programs, a comment on the line
# Example: kind of the fault, the code that the suggestion (or, where there is none, the fault) has to name, hosts.
FAULTS = {
    "no_data_flush": ("stale_read", "box->message = 42;", 2),
    "late_flush": ("stale_read", "box->message = 42;", 2),
    "no_flag_flush": ("stuck", "atomic_store_explicit(&box->full", 2),
    "no_store_fence": ("stale_read", "_mm_clflushopt(&box->message);", 2),
    "no_load_fence": ("stale_read", "_mm_clflush(&box->message);", 2),
    "no_invalidate": ("stale_read", "if (box->message != 10 * n)", 2),
    "early_invalidate": ("stale_read", "return box->message == 42", 2),
    "clwb_reader": ("stale_read", "_mm_clwb(&box->message);", 2),
    "shared_line": ("lost_update", "mine->value = n;", 2),
    "ring": ("stale_read", MARK, 2),
    "seqlock": ("stale_read", MARK, 2),
    "bakery": ("stale_read", MARK, 3),
    "double_buffer": ("lost_update", MARK, 2),
    "stack": ("thread", MARK, 2),
}


def example(name: str) -> Path:
    """The source: a whole program of a user's, or one of the small ones with a single fault."""
    return next(path for folder in ("programs", "faulty") for path in (EXAMPLES / folder).glob(f"{name}.c*"))


def test_no_example_is_left_out() -> None:
    files = [path for folder in ("programs", "faulty") for path in (EXAMPLES / folder).glob("*.c*")]
    assert sorted(path.stem for path in files) == sorted(FAULTS)
    assert sum(MARK in path.read_text(encoding="utf-8") for path in files) == 5


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_and_named(name: str) -> None:
    """Within the time that is allowed the fault is found; the story names the right line, is short, and replays."""
    kind, code, hosts = FAULTS[name]
    program = example(name)
    status, result = check(program, "--hosts", str(hosts), "--time", "20")
    assert (status, result["found"], result["kind"]) == (1, True, kind)
    assert result["elapsed_s"] < 10
    assert result["choices"] <= CHOICES_MAX
    advice = " ".join(line for line in result["story"] if line.startswith("mend")) or result["message"]
    assert any(f"{place} " in f"{advice} " or f"{place} (" in advice for place in lines_with(program, code)), advice
    steps = [line for line in result["story"] if re.match(r"\s+\d+  host \d", line)]
    assert 1 <= len(steps) <= STEPS_MAX
    assert "<html" in (ROOT / result["page"]).read_text(encoding="utf-8")
    if name not in REPLAYED:
        return
    again = prismem("replay", result["log"])
    assert again.returncode == 1
    assert "REPLAYED: step by step the same execution" in again.stdout
    assert result["message"].splitlines()[0] in again.stdout


@pytest.mark.parametrize("name", FAULTS)
def test_the_mended_twin_is_clean(name: str) -> None:
    """The same program without the fault: nothing is reported in many times the executions that the fault needs."""
    hosts = FAULTS[name][2]
    status, result = check(example(name), "--hosts", str(hosts), "-D", "MENDED", "--executions", str(CLEAN_EXECUTIONS))
    assert (status, result["found"], result["executions_cut"]) == (0, False, 0), result["story"]
    assert result["executions"] == CLEAN_EXECUTIONS


@pytest.mark.regress
@pytest.mark.parametrize("name", [name for name, (kind, _, _) in FAULTS.items() if kind != "thread"])
def test_one_coherent_cache_hides_it(name: str) -> None:
    """Faults of missing coherence do not show where there is coherence, except a flag set before its data."""
    status, result = check(example(name), "--coherent", "--executions", "500")
    assert (status, result["found"]) == (0, False), result["story"]


def explorer(program: Path, flags: tuple[str, ...] = ()) -> Explorer:
    binary = build((program,), 2, flags)
    config = MachineConfig(hosts=2, pool_bytes=2 << 20, switch_every=8, event_every=5, step_limit=100_000)
    return Explorer(config, [(copy, ["program"]) for copy in binary.copies])


def test_a_log_replays_identically_a_hundred_times() -> None:
    """Every digest of a replayed log is that of the execution that wrote it, with other executions in between."""
    ex = explorer(example("ring"))
    try:
        ex.explore(Policy.RANDOM, seed=3, first=5, executions=1, time_ns=0, switch_every=4, event_every=5)
        log, key = ex.choices(), ex.fault()
        assert len(log) > 10
        for number in range(100):
            assert ex.replay(log) == key
            assert ex.choices() == log
            ex.explore(Policy.EAGER, seed=number, first=0, executions=2, time_ns=0, switch_every=4, event_every=5)
    finally:
        ex.close()


def test_the_whole_interleaving_is_left_as_text_and_as_a_page() -> None:
    """The page stands alone: no scripts, nothing from elsewhere; a lane a host, a colour a line, the story framed."""
    _, result = check(EXAMPLES / "faulty" / "no_store_fence.c", "--executions", "2000")
    text = (ROOT / result["interleaving"]).read_text(encoding="utf-8").splitlines()
    page = (ROOT / result["page"]).read_text(encoding="utf-8")
    steps = [line for line in result["story"] if re.match(r" +\d+  host", line)]
    assert len(text) > len(steps) > 3
    for step in steps:
        assert any(step.split("  |")[0].split() == line.split("  |")[0].split() for line in text), step
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", page)
    assert page.count("<th>host ") == 2
    hues = re.findall(r"\.l(\d+) \{ border-left-color: (hsl\([^)]*\))", page)
    assert len({hue for _, hue in hues}) == len(hues) >= 2
    assert page.count(' told">') == len(steps)
    assert page.count('<tr><td class="t">') == len(text)


def test_equal_seeds_give_equal_executions_and_others_differ() -> None:
    ex = explorer(example("seqlock"), ("-DMENDED",))
    try:

        def digest(seed: int, first: int) -> int:
            ex.explore(Policy.RANDOM, seed=seed, first=first, executions=1, time_ns=0, switch_every=4, event_every=5)
            return ex.fault().digest

        assert digest(1, 0) == digest(1, 0)
        assert len({digest(seed, first) for seed in (1, 2) for first in (0, 1)}) == 4
    finally:
        ex.close()


@pytest.mark.parametrize("strategy", [Strategy.PCT, Strategy.DFS])
def test_logs_of_searches_replay(strategy: Strategy) -> None:
    """Executions that priorities or the exhaustive search chose replay with equal digests too."""
    ex = explorer(example("ring"), ("-DMENDED",))
    whole = 0
    try:
        for executions in range(1, 60):
            ex.explore(
                Policy.RANDOM,
                seed=2,
                first=0,
                executions=executions,
                time_ns=0,
                switch_every=0,
                event_every=0,
                strategy=strategy,
                events_max=1,
            )
            log, key = ex.choices(), ex.fault()
            if any(thread["state"] != "done" for thread in ex.report()["threads"]):
                continue  # left by the search, which knows how it goes on
            whole += 1
            assert ex.replay(log) == key
        assert whole >= 10
    finally:
        ex.close()


@pytest.mark.parametrize("events", [0, 1])
def test_a_small_program_is_searched_to_the_end(events: int) -> None:
    """The search ends by itself on a right program; it visits each execution once, whatever the chunks it is run in."""
    ex = explorer(example("no_data_flush"), ("-DMENDED",))

    def dfs(first: int, executions: int) -> tuple[int, bool]:
        found = ex.explore(
            Policy.RANDOM,
            seed=1,
            first=first,
            executions=executions,
            time_ns=0,
            switch_every=0,
            event_every=0,
            strategy=Strategy.DFS,
            events_max=events,
        )
        assert not found.found
        return found.executions, found.complete

    try:
        whole, complete = dfs(0, 200_000)
        assert complete
        assert dfs(0, 1000) == (1000, False)
        assert dfs(1000, 200_000) == (whole - 1000, True)
    finally:
        ex.close()


# Faults of programs that are small enough, with what the exhaustive search needs: no or one cache event.
SEARCHED = (
    "no_data_flush",
    "late_flush",
    "no_store_fence",
    "no_load_fence",
    "early_invalidate",
    "clwb_reader",
    "seqlock",
)


@pytest.mark.parametrize("name", SEARCHED)
def test_the_exhaustive_search_finds_every_fault(name: str) -> None:
    """What sleep sets leave out hides no fault."""
    status, result = check(example(name), "--policy", "dfs")
    assert (status, result["kind"]) == (1, FAULTS[name][0])


@pytest.mark.parametrize("name", SEARCHED)
def test_priorities_find_every_fault(name: str) -> None:
    status, result = check(example(name), "--policy", "pct", "--executions", "20000")
    assert (status, result["kind"]) == (1, FAULTS[name][0])


def test_shrinking_keeps_what_the_fault_needs() -> None:
    """Against a predicate: entries 3 and 7 are needed, 7 only with 3; cache events go before changes of thread."""
    log = [Choice(0, step, 0, 3 if step % 2 else 0, 1, 0) for step in range(10)]
    tried: list[list[Choice]] = []

    def fails(shorter: list[Choice]) -> bool:
        tried.append(shorter)
        return {3, 7} <= {choice.step for choice in shorter}

    assert [choice.step for choice in Shrinker(fails).shrink(log)] == [3, 7]
    assert all(choice.step % 2 == 0 for choice in tried[0])


def test_shrinking_takes_whole_kinds_and_keeps_its_budget() -> None:
    """Entries of a kind that the fault needs all or none of go together; no replay beyond the budget."""
    log = [Choice(0, step, 0, 6 if step % 2 else 0, 1, 0) for step in range(1000)]

    def fails(shorter: list[Choice]) -> bool:
        return sum(choice.kind == 6 for choice in shorter) in (0, 500) and any(choice.step == 8 for choice in shorter)

    assert [choice.step for choice in Shrinker(fails).shrink(log)] == [8]
    cut = Shrinker(lambda shorter: len(shorter) == len(log), replays_max=5)
    assert cut.shrink(log) == log
    assert cut.replays == 5


def case(name: str, *arguments: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return prismem("check", str(CASES), "-D", f"CASE={name}", *flags, "--executions", "300", *arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("OWN_STATE", ()),
        ("THREADS", ()),
        ("SHM", ()),
        ("BY_PATH", ("--pool", "/mnt/shared/pool")),
        ("EXITS", ("--args", "one 'two words'")),
    ],
)
def test_programs_find_their_surroundings(name: str, arguments: tuple[str, ...]) -> None:
    """Globals and heap of a host, pthreads, shared memory by any name, arguments, exit()."""
    done = case(name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("nothing found in 300 executions")


@pytest.mark.parametrize(
    ("name", "status", "texts"),
    [
        ("CRASH", 1, ["FOUND crash", "Segmentation fault", "read_from at check_cases.c:", "called from main"]),
        ("ENDLESS", 1, ["FOUND endless", "main at check_cases.c:"]),
        ("NEVER_ENDS", 1, ["NEVER ENDS", "(--steps)"]),
        ("SYSTEM_CALL", 2, ["write() on pool memory", "check_cases.c:", "local buffer"]),
        ("EXITS", 1, ["exit(7) called at check_cases.c:"]),
        ("ASSERTS", 1, ["FOUND thread", "returned 5"]),
        ("BY_PATH", 1, ["returned 9"]),
        ("ASM", 2, ["main: clflush", "use the intrinsic"]),
        ("FORKS", 2, ["calls fork()", "--hosts"]),
        ("NO_SUCH_CASE", 2, ["does not compile", "NO_SUCH_CASE"]),
    ],
)
def test_what_goes_wrong_is_said(name: str, status: int, texts: list[str]) -> None:
    """A crash, an endless loop, a system call on the pool, inline assembly, a compiler's error: each by its place."""
    if name == "ASM":
        done = prismem("check", str(CASES), "-D", "CASE=10")
    elif name == "FORKS":
        done = prismem("check", str(CASES), "-D", "CASE=11")
    else:
        done = case(name, "--steps", "2000")
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    for text in texts:
        assert text in said


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "PROGRAM: name at least one"),
        (["no_such.c"], "there is no file no_such.c"),
        (["README.md"], "neither C nor C++"),
        ([str(CASES), "--hosts", "65"], "--hosts 65: outside 1..64"),
        ([str(CASES), "--time", "-1"], "--time -1.0"),
        ([str(CASES), "--policy", "lucky"], "--policy lucky: one of lazy"),
        ([str(CASES), "--args", "'"], "--args '"),
    ],
)
def test_misuse_names_the_option(arguments: list[str], text: str) -> None:
    done = prismem("check", *arguments)
    assert done.returncode == 2
    assert text in done.stderr


def test_a_log_that_is_none_is_refused(tmp_path: Path) -> None:
    log = tmp_path / LOG_FILE
    log.write_text('{"format": "prismem-check-log", "version": "1"}', encoding="utf-8")
    done = prismem("replay", str(log))
    assert done.returncode == 2
    assert "is no log of prismem check" in done.stderr
    assert PAGE_FILE not in done.stdout
    for option in ("--rtl", "--waves"):
        done = prismem("replay", str(log), option)
        assert done.returncode == 2
        assert "is no log of prismem check" in done.stderr


def test_the_output_of_the_failing_execution_is_shown() -> None:
    """Thousands of executions are silent; the replay shows what the programs print."""
    done = case("ASSERTS", "--json")
    result = json.loads(done.stdout)
    again = prismem("replay", result["log"])
    assert "host 1 of 2 gives up" in again.stdout
    assert again.returncode == 1
