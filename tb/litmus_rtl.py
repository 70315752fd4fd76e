"""The litmus catalogue in front of the RTL: many simulations of job litmus, outcomes against the model's, one table.

A program runs on a machine that has the switches it names; those are the kinds below. The simulations of a kind differ
in their seed: policy of the caches, jitter, fibre, media and traffic follow from it, and within a simulation each round
draws a timing of its own.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prismem.errors import MisuseError
from prismem.paths import BUILD, relative
from prismem.tb.litmus import CATALOGUE, explore, programs
from prismem.tb.litmus_code import Listing
from prismem.tb.runner.build import build_bench, build_software
from prismem.tb.runner.execute import execute
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.processes import worker_pool
from prismem.tb.runner.spec import RunSpec, make_spec
from prismem.tb.runner.toolchain import commit, tool_versions
from prismem.tb.tests.litmus import ROWS_FILE, machine_switches

FOLDER = BUILD / "litmus_rtl"
RESULT, TABLE = FOLDER / "result.json", FOLDER / "table.txt"
SEEN_PERCENT_MIN = 80.0
JOBS = 2
ROUNDS = {"as specified": 5, "posted completion": 10, "half-line writes": 10}
"""Of a simulation: more of them are cheaper, fewer see more policies and machines."""
ROUNDS_ELSE = 17
POLICIES = ("lazy", "random", "warm", "lazy", "warm", "random", "lazy", "eager", "warm", "lazy")
FIBRES = ("1 m", "1 m", "20 m", "100 m")
TRAFFIC = (0, 0, 0, 0, 4)


@dataclass(frozen=True)
class Kind:
    """A machine: what its profile and its caches have."""

    name: str
    sets: tuple[str, ...] = ()
    switches: str = ""


KINDS = (
    Kind("as specified"),
    Kind("posted completion", ("module.completion=1", "module.posted_time=6 us")),
    Kind("half-line writes", ("module.write_unit=32 B", "module.half_time=3 us")),
    Kind("clwb drops", switches="clwb=drop"),
    Kind("DMA snoops", switches="dma_snoop=0"),
    Kind("DMA allocates", switches="dma_snoop=0,ddio=0"),
    Kind("no prefetch", switches="prefetch=off"),
    Kind("no cache events", switches="prefetch=off,evict=off"),
    Kind("fills survive flushes", switches="fill_survives_flush=on"),
    Kind("clean lines written back", switches="spurious_dirty=on"),
)


def spec_of(kind: Kind, pattern: str, seed: int, rounds: int) -> RunSpec:
    """One simulation."""
    rng = random.Random(f"{kind.name} {seed}")
    sets = (*kind.sets, f"path.fibre_length={rng.choice(FIBRES)}", f"hbm.mode={rng.choice((0, 0, 2))}")
    options = {"rounds": str(rounds), "programs": pattern, "traffic": str(rng.choice(TRAFFIC))}
    if kind.switches:
        options["switches"] = kind.switches
    policy = POLICIES[seed % len(POLICIES)]
    return make_spec("litmus", port="rtl", hosts=2, modules=2, seed=seed, policy=policy, sets=sets, options=options)


def plan(pattern: str, seed: int, seeds: int) -> tuple[list[RunSpec], dict[str, str]]:
    """Simulations in which each program like the pattern gets `seeds` rounds, or a few more; why others get none."""
    left = {item.program.name: item for item in map(Listing, programs([CATALOGUE]))}
    left = {name: item for name, item in left.items() if Path(name).match(pattern)}
    if not left:
        raise MisuseError(f"PATTERN: no program of {relative(CATALOGUE)} is like '{pattern}'; try 'CON-*'")
    specs: list[RunSpec] = []
    for kind in KINDS:
        switches = machine_switches(spec_of(kind, "*", seed, 1).request())
        fitting = [name for name, item in left.items() if item.fits(switches)]
        if not fitting:
            continue
        for name in fitting:
            left.pop(name)
        rounds = min(seeds, ROUNDS.get(kind.name, ROUNDS_ELSE))
        specs += [spec_of(kind, pattern, seed + i, rounds) for i in range(math.ceil(seeds / rounds))]
    usual = machine_switches(spec_of(KINDS[0], "*", seed, 1).request())
    return specs, {name: item.unfit(usual) or "" for name, item in left.items()}


def simulate(spec_json: str) -> dict[str, Any]:
    """In a worker: one simulation; its rows even if one of them makes it fail."""
    spec = RunSpec.model_validate_json(spec_json)
    result = execute(spec)
    rows = spec.run_dir / ROWS_FILE
    return {
        "rows": json.loads(rows.read_text(encoding="utf-8")) if rows.exists() else [],
        "replay": spec.replay,
        "failure": None if result.passed or result.failure is None else result.failure.message,
    }


def merge(runs: Sequence[dict[str, Any]], records: Sequence[dict[str, Any]], not_run: dict[str, str]) -> dict[str, Any]:
    """The result: each test's outcomes with how often they were seen, what is outside of the model, what was not seen.

    `runs` as `simulate` returns them, `records` those of the explorer, `not_run` names with reasons.
    """
    seen: dict[str, Counter[str]] = {}
    bad: dict[str, set[str]] = {}
    cut: Counter[str] = Counter()
    outside = []
    for run in runs:
        for row in run["rows"]:
            seen.setdefault(row["name"], Counter()).update(row["seen"])
            bad.setdefault(row["name"], set()).update(row["bad_seen"])
            cut[row["name"]] += row["cut"]
            outside += [{"test": row["name"], "outcome": text, "replay": run["replay"]} for text in row["outside"]]
    tests = []
    for record in records:
        name = record["name"]
        counts = seen.get(name, Counter())
        allowed = set(record["outcomes"])
        tests.append(
            {
                "name": name,
                "verdict": record["verdict"],
                "runs": counts.total(),
                "cut": cut[name],
                "bad_seen": sum(counts[text] for text in bad.get(name, ())),
                "outcomes": [
                    {
                        "outcome": text,
                        "model": "allowed" if text in allowed else "forbidden",
                        "bad": text in bad.get(name, ()),
                        "seen": counts[text],
                    }
                    for text in sorted(allowed | set(counts))
                ],
                "not_run": not_run.get(name),
            }
        )
    weak = [test for test in tests if test["verdict"] == "allowed"]
    found = [test["name"] for test in weak if test["bad_seen"]]
    failures = [
        {"message": run["failure"], "replay": run["replay"]}
        for run in runs
        if run["failure"] and not any(row["outside"] for row in run["rows"])
    ]
    return {
        "outside_model": len(outside),
        "outside": outside,
        "allowed": len(weak),
        "allowed_seen": len(found),
        "allowed_seen_percent": round(100 * len(found) / len(weak), 1) if weak else 100.0,
        "unseen": [test["name"] for test in weak if not test["bad_seen"]],
        "failures": failures,
        "tests": tests,
    }


def table(result: dict[str, Any]) -> str:
    """As herd prints it: under each test the outcomes that were seen or may be, what the model says, and how often."""
    lines = []
    for test in result["tests"]:
        never = f"not run: {test['not_run']}" if test["not_run"] else f"{test['runs']} runs, {test['cut']} gave up"
        lines.append(f"{test['name']}: bad outcome {test['verdict']}, seen {test['bad_seen']} times; {never}")
        for row in test["outcomes"] if test["runs"] else ():
            mark = "*" if row["bad"] else " "
            lines.append(f"  {mark} {row['seen']:7}  {row['model']:9}  {row['outcome']}")
    lines += [f"OUTSIDE of the model: {one['test']}: {one['outcome']}\n  {one['replay']}" for one in result["outside"]]
    lines += [f"FAILED: {one['message']}\n  {one['replay']}" for one in result["failures"]]
    lines.append(
        f"{result['outside_model']} outcomes outside of the model; {result['allowed_seen']} of {result['allowed']} "
        f"allowed bad outcomes seen ({result['allowed_seen_percent']} %)"
    )
    if result["unseen"]:
        lines.append(f"never seen: {', '.join(result['unseen'])}")
    return "\n".join(lines)


def passed(result: dict[str, Any]) -> bool:
    """Nothing outside of the model, no run that failed, and most of what the model allows was seen."""
    return not result["outside_model"] and not result["failures"] and result["allowed_seen_percent"] >= SEEN_PERCENT_MIN


def campaign(
    *, seed: int = 1, seeds: int = 50, pattern: str = "*", tell: Callable[[int, int], None] = lambda done, of: None
) -> dict[str, Any]:
    """Run the catalogue; `tell` hears how many simulations of how many are done. Leaves result.json and table.txt."""
    specs, not_run = plan(pattern, seed, seeds)
    build_software()
    request = spec_of(KINDS[0], "*", seed, 1).request()
    build_bench(request.profile.parameters(request.hosts, request.modules), waves=False)
    runs: dict[int, dict[str, Any]] = {}
    with worker_pool(JOBS) as pool:
        waiting = {pool.submit(simulate, spec.model_dump_json()): number for number, spec in enumerate(specs)}
        for future in as_completed(waiting):
            runs[waiting[future]] = future.result()
            tell(len(runs), len(specs))
    files = [path for path in programs([CATALOGUE]) if Path(path.stem).match(pattern)]
    records = list(explore(files, "--noncoherent", "--outcomes"))
    result = merge([runs[number] for number in sorted(runs)], records, not_run)
    result |= {"seed": seed, "seeds": seeds, "simulations": len(specs), "commit": commit(), "tools": tool_versions()}
    write_atomic(RESULT, json.dumps(result, indent=1) + "\n")
    write_atomic(TABLE, table(result) + "\n")
    return result
