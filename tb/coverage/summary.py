"""Summary of a coverage run: percentages, what is excluded and why, what is missing; JSON, LCOV and a table a file."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from prismem.tb.coverage.functional import percent
from prismem.tb.coverage.plan import LineExclusion, Plan
from prismem.tb.coverage.verilator_dat import FileCoverage, Point, by_file

PERCENT = 100.0


@dataclass
class FileRow:
    """Coverage of a source file, excluded lines left out."""

    file: str
    lines: int
    covered: int
    missing: list[int] = field(default_factory=list)


@dataclass
class Summary:
    """What `build/coverage/summary.json` holds."""

    line_percent: float
    branch_percent: float
    functional_percent: float
    excluded: list[dict[str, str]]
    missing_bins: list[str]
    files: list[FileRow]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def excluded_lines(text: str, exclusions: list[LineExclusion]) -> dict[int, str]:
    """Lines that a pattern excludes -> reason; a statement goes to its semicolon, a block or function to its end."""
    found: dict[int, str] = {}
    lines = text.splitlines()
    for exclusion in exclusions:
        for start, line in enumerate(lines):
            if not re.search(exclusion.pattern, line):
                continue
            end = start
            if re.search(r"\bfunction\b", line):
                while end + 1 < len(lines) and "endfunction" not in lines[end]:
                    end += 1
            elif re.search(r"\bbegin\b", line):
                indent = len(line) - len(line.lstrip())
                while end + 1 < len(lines) and not re.match(rf" {{0,{indent}}}end\b", lines[end]):
                    end += 1
            else:
                while end + 1 < len(lines) and ";" not in lines[end]:
                    end += 1
            found |= dict.fromkeys(range(start + 1, end + 2), exclusion.reason)
    return found


def summarize(
    plan: Plan, points: Mapping[Point, int], hits: Mapping[str, int], rtl: Path
) -> tuple[Summary, dict[str, FileCoverage]]:
    """The summary, and the counts by file that LCOV wants."""
    files = by_file(points.items(), rtl)
    rows: list[FileRow] = []
    reasons: Counter[tuple[str, str]] = Counter()
    branches = taken = 0
    for name, coverage in sorted(files.items()):
        wanted = [exclusion for exclusion in plan.lines if fnmatch(name, exclusion.files)]
        excluded = excluded_lines((rtl / name).read_text(encoding="utf-8"), wanted)
        for number in set(coverage.lines) & set(excluded):
            if not coverage.lines[number]:
                reasons[name, excluded[number]] += 1
                del coverage.lines[number]
        missing = sorted(number for number, count in coverage.lines.items() if not count)
        rows.append(FileRow(name, len(coverage.lines), coverage.covered, missing))
        kept = [count for point, count in coverage.branches.items() if count or point.line not in excluded]
        branches += len(kept)
        taken += sum(count > 0 for count in kept)
    functional, missing_bins = percent(plan, hits)
    bins = Counter(reason for reason in plan.all_bins().values() if reason is not None)
    summary = Summary(
        line_percent=_share(sum(row.covered for row in rows), sum(row.lines for row in rows)),
        branch_percent=_share(taken, branches),
        functional_percent=round(functional, 2),
        excluded=[{"what": f"{n} lines of {name}", "reason": reason} for (name, reason), n in sorted(reasons.items())]
        + [{"what": f"{n} bins", "reason": reason} for reason, n in sorted(bins.items())],
        missing_bins=missing_bins,
        files=rows,
    )
    return summary, files


def _share(part: int, whole: int) -> float:
    return round(PERCENT * part / whole, 2) if whole else 0.0
