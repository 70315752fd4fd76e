"""Runs the points of a report, two at a time, and keeps each result, so that a report that was stopped goes on.

A kept result holds what is the same in every run of the point; how long it took stands beside it. Points that fail are
not kept: the next report tries them again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from prismem.tb.report.points import Point
from prismem.tb.runner.build import build_bench, build_software
from prismem.tb.runner.execute import execute
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.processes import worker_pool
from prismem.tb.runner.spec import RunSpec

JOBS_MAX = 2
BUILD_SECONDS = 120.0  # of a build, for the time left that is shown
HISTOGRAMS = ("engine_", "module_")  # of the counters of engines
HOST_SPEED = ("run_s", "cpu_s", "cycles_per_s")  # of metrics.run: what depends on the machine that simulates


@dataclass(frozen=True)
class Measured:
    """A point and what its run gave; `failure` says what was wrong with a run that did not pass."""

    point: Point
    metrics: dict[str, Any]
    replay: str
    failure: str | None
    wall_s: float
    kept: bool  # from an earlier report


def _path(folder: Path, point: Point) -> Path:
    return folder / f"{point.key}.json"


def load_kept(folder: Path, point: Point) -> Measured | None:
    """What an earlier report has kept of this point, if it is whole."""
    try:
        kept = json.loads(_path(folder, point).read_text(encoding="utf-8"))
        return Measured(point, kept["metrics"], kept["replay"], None, kept["wall_s"], kept=True)
    except (OSError, ValueError, KeyError):
        return None


def _without_speed(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics without the histograms among the counters, which are large, and without what depends on the simulating
    machine."""
    kept = {key: value for key, value in metrics.items() if key not in ("run", "counters")}
    kept["run"] = {key: value for key, value in metrics.get("run", {}).items() if key not in HOST_SPEED}
    counters = metrics.get("counters", {})
    return kept | {"counters": {key: rows for key, rows in counters.items() if not key.startswith(HISTOGRAMS)}}


def _run(spec_json: str) -> dict[str, Any]:
    """In a worker: one run."""
    result = execute(RunSpec.model_validate_json(spec_json))
    return {
        "metrics": _without_speed(result.metrics),
        "replay": result.replay,
        "failure": None if result.passed else result.text(),
        "wall_s": result.wall_s,
    }


def _builds(todo: Sequence[Point]) -> list[tuple[str, dict[str, int]]]:
    """Distinct builds of the bench that these points need, with a name for each."""
    wanted: dict[str, tuple[str, dict[str, int]]] = {}
    for point in todo:
        if point.spec.port == "rtl":
            parameters = point.spec.request().profile.parameters(point.spec.hosts, point.spec.modules)
            name = f"{point.spec.profile} {point.spec.hosts} x {point.spec.modules}"
            wanted.setdefault(json.dumps(parameters, sort_keys=True), (name, parameters))
    return list(wanted.values())


@contextmanager
def _shown() -> Iterator[Progress]:
    """Progress with the time left on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:34}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, speed_estimate_period=600) as progress:
        yield progress


def measure(
    points: Sequence[Point],
    folder: Path,
    *,
    resume: bool = True,
    runner: Callable[[str], dict[str, Any]] = _run,
    workers: Callable[[int], Executor] = worker_pool,
) -> list[Measured]:
    """Results of all points in their order; those that `folder` keeps are not run again. Raises PrismemError if a build
    fails. `runner` makes a result of the JSON of a spec, on `workers`."""
    kept = {point.key: found for point in points if resume and (found := load_kept(folder, point))}
    todo = [point for point in points if point.key not in kept]
    done = dict(kept)
    with _shown() as progress:
        if runner is _run and todo:
            _build(progress, _builds(todo))
        task = progress.add_task(f"measuring, {len(kept)} kept", total=sum(p.seconds for p in todo) or 1.0)
        for measured in _in_parallel(todo, runner, workers):
            point = measured.point
            if measured.failure is None:
                _keep(folder, measured)
            done[point.key] = measured
            progress.update(task, advance=point.seconds, description=f"measured {point.id}")
    return [done[point.key] for point in points]


def _keep(folder: Path, measured: Measured) -> None:
    kept = {
        "id": measured.point.id,
        "spec": measured.point.spec.model_dump(),
        "replay": measured.replay,
        "metrics": measured.metrics,
        "wall_s": measured.wall_s,
    }
    write_atomic(_path(folder, measured.point), json.dumps(kept, indent=1) + "\n")


def _build(progress: Progress, builds: Sequence[tuple[str, dict[str, int]]]) -> None:
    task = progress.add_task("building software", total=BUILD_SECONDS * len(builds))
    build_software()
    for name, parameters in builds:
        progress.update(task, description=f"building {name}")
        build_bench(parameters)
        progress.update(task, advance=BUILD_SECONDS)
    progress.remove_task(task)


def _in_parallel(
    todo: Sequence[Point], runner: Callable[[str], dict[str, Any]], workers: Callable[[int], Executor]
) -> Iterator[Measured]:
    """Results as they come. A run whose process dies is a failed one."""
    if not todo:
        return
    with workers(min(JOBS_MAX, os.cpu_count() or 1)) as pool:
        waiting = {pool.submit(runner, point.spec.model_dump_json()): point for point in todo}
        while waiting:
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                point = waiting.pop(future)
                error = future.exception()
                if error is not None:
                    yield Measured(point, {}, point.spec.replay, f"{type(error).__name__}: {error}", 0.0, kept=False)
                else:
                    yield Measured(point, **future.result(), kept=False)
