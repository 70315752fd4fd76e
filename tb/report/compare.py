"""Two reports side by side: what moved, counts first, then times and rates; exact unless a tolerance is given.

Simulated figures have no noise, so one that moved means that the machine, the bench or the software has changed. How
long the simulation took is shown last and never judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prismem.errors import MisuseError
from prismem.tb.report.render import FORMAT

ORDER = ("1", "B", "%", "ns", "ns/m", "GB/s")  # units, counts first
RUN_FACTS = ("report_s", "measured_s")


@dataclass(frozen=True)
class Change:
    """A metric that differs; None where a report does not have it."""

    id: str
    unit: str
    before: float | None
    after: float | None

    @property
    def percent(self) -> float | None:
        """Change in percent of the earlier value; None when there is nothing to relate it to."""
        if self.before is None or self.after is None:
            return None
        if self.before == 0:
            return None if self.after else 0.0
        return 100 * (self.after - self.before) / abs(self.before)

    def beyond(self, tolerance_percent: float) -> bool:
        """More than the tolerance, or there on one side only."""
        return self.percent is None or abs(self.percent) > tolerance_percent


@dataclass(frozen=True)
class Comparison:
    """What two reports have in common and what not."""

    equal: int
    changes: list[Change]
    run: dict[str, tuple[float | None, float | None]]

    def beyond(self, tolerance_percent: float) -> list[Change]:
        """Changes that a tolerance does not cover."""
        return [change for change in self.changes if change.beyond(tolerance_percent)]


def load(path: Path) -> dict[str, Any]:
    """A report.json, or that of a report's folder. Raises MisuseError for anything else."""
    file = path / "report.json" if path.is_dir() else path
    try:
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        fits = report["format"] == FORMAT and isinstance(report["metrics"], dict)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MisuseError(f"{file}: not a report.json: {error}; name one that `prismem report` has written") from None
    if not fits:
        raise MisuseError(f"{file}: format {report['format']}, this version reads {FORMAT}; make the report again")
    return report


def _place(unit: str) -> int:
    return ORDER.index(unit) if unit in ORDER else len(ORDER)


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """All metrics of two reports. Raises MisuseError when they are reports of different things."""
    for key in ("quick", "seed", "mesh"):
        if before[key] != after[key]:
            raise MisuseError(
                f"{key}: {before[key]} and {after[key]} cannot be compared; make both with the same {key}"
            )
    left, right = before["metrics"], after["metrics"]
    changes, equal = [], 0
    for name in sorted(left.keys() | right.keys()):
        pair = [side[name]["value"] if name in side else None for side in (left, right)]
        if pair[0] == pair[1]:
            equal += 1
        else:
            changes.append(Change(name, (left.get(name) or right[name])["unit"], *pair))
    changes.sort(key=lambda change: (_place(change.unit), change.id))
    run = {key: (before["about"].get(key), after["about"].get(key)) for key in RUN_FACTS}
    return Comparison(equal, changes, run)
