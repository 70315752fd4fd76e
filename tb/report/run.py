"""A whole report: measure what is planned, make sections of the results, judge the papers' rows, write the files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prismem.tb.report import bandwidth, fabrics, flush, idle, loaded, paper, render, sensitivity_section, software
from prismem.tb.report.calibrate import calibrate
from prismem.tb.report.measure import Measured, measure
from prismem.tb.report.model import Results, Section
from prismem.tb.report.points import Plan, points, timed_profiles
from prismem.tb.runner.spec import load_profile
from prismem.tb.runner.timed import calibration_file
from prismem.tb.runner.toolchain import commit, tool_versions

SECTIONS: tuple[Callable[[Results], Section | None], ...] = (
    idle.build,
    loaded.build,
    flush.build,
    bandwidth.build,
    fabrics.build,
    software.build,
    sensitivity_section.build,
)
POINTS_FOLDER = "points"


@dataclass(frozen=True)
class Report:
    """What a report came to."""

    folder: Path
    measured: Sequence[Measured]
    judged: Sequence[paper.Judged]

    @property
    def failures(self) -> list[Measured]:
        """Points whose run did not pass."""
        return [m for m in self.measured if m.failure is not None]


def sections_of(plan: Plan, measured: Sequence[Measured]) -> list[Section]:
    """The sections for which there are results, in their order."""
    names = {m.point.spec.profile for m in measured} - {plan.profile}
    results = Results(
        profile=load_profile(plan.profile),
        baselines={name: load_profile(name) for name in sorted(names)},
        points={m.point.id: m for m in measured},
    )
    return [section for build in SECTIONS if (section := build(results)) is not None]


def run(plan: Plan, folder: Path, *, resume: bool = True) -> Report:
    """Measure and write a report. Raises MisuseError for a wrong plan and PrismemError if a build fails."""
    start_s = time.monotonic()
    for name in timed_profiles(plan):
        if not calibration_file(load_profile(name)).exists():
            calibrate(name)
    planned = points(plan)
    measured = measure(planned, folder / POINTS_FOLDER, resume=resume)
    sections = sections_of(plan, measured)
    judged = paper.judge_all(metric for section in sections for metric in section.metrics)
    about: dict[str, Any] = {
        "commit": commit(),
        "tools": tool_versions(),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "report_s": round(time.monotonic() - start_s, 1),
        "measured_s": round(sum(m.wall_s for m in measured), 1),
        "points_kept": sum(m.kept for m in measured),
        "point_s": {m.point.id: m.wall_s for m in measured},
    }
    profile = load_profile(plan.profile)
    title = (profile.name, profile.description)
    render.write(folder, plan, title, [paper.section(judged), *sections], judged, measured, about)
    return Report(folder, measured, judged)
