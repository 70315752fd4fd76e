"""Runs what the coverage plan lists on builds with coverage, merges, and leaves the summary in build/coverage."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from prismem.errors import PrismemError
from prismem.paths import BUILD, RTL, relative
from prismem.tb.coverage.functional import merged
from prismem.tb.coverage.plan import Plan, Run, load
from prismem.tb.coverage.summary import Summary, summarize
from prismem.tb.coverage.verilator_dat import Point, lcov, parse
from prismem.tb.runner.execute import execute
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.spec import RunSpec, make_spec
from prismem.tb.uvm import launch

FOLDER = BUILD / "coverage"
SUMMARY = FOLDER / "summary.json"
LCOV = FOLDER / "rtl.info"


def collect(tell: Callable[[str], None], plan: Plan | None = None) -> Summary:
    """Run everything. Raises PrismemError when a run does not end as the plan says or left no counts."""
    plan = plan or load()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    points: Counter[Point] = Counter()
    hits: list[dict[str, int]] = []
    for number, run in enumerate(plan.runs):
        counts = FOLDER / f"{number:02d}.dat"
        name = run.uvm or run.job or ""
        tell(f"run {number + 1} of {len(plan.runs)}: {name}")
        hits.append(_uvm(run, counts) if run.uvm else _job(run, counts))
        if not counts.exists():
            raise PrismemError(f"coverage: run {number + 1} ({name}) left no counts")
        points.update(parse(counts.read_text(encoding="utf-8")))
    summary, files = summarize(plan, points, merged(hits), RTL)
    write_atomic(SUMMARY, json.dumps(summary.as_dict(), indent=1) + "\n")
    write_atomic(LCOV, lcov(files, f"{relative(RTL)}/"))
    return summary


def _uvm(run: Run, counts: Path) -> dict[str, int]:
    assert run.uvm is not None
    done = launch.run(
        run.uvm,
        seed=run.seed,
        hosts=run.hosts,
        modules=run.modules,
        profile=run.profile,
        plusargs=run.plusargs,
        coverage=counts,
    )
    if not done.passed:
        first = (done.outcome.get("findings") or [done.problem])[0]
        raise PrismemError(f"coverage: uvm test {run.uvm}, seed {run.seed}: {first}")
    return dict(done.outcome["coverage"])


def spec_of(run: Run) -> RunSpec:
    """What the run of a job is started with. Raises MisuseError for options that the job does not have."""
    return make_spec(
        run.job,
        port="rtl",
        hosts=run.hosts,
        modules=run.modules,
        profile=run.profile,
        sets=tuple(run.sets),
        seed=run.seed,
        options=run.options,
    )


def _job(run: Run, counts: Path) -> dict[str, int]:
    result = execute(spec_of(run), coverage=counts)
    if not result.passed:
        raise PrismemError(f"coverage: {result.text()}")
    return {}
