"""What a report is made of: metrics with their origin, tables, figures, sections. Renderers turn them into files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from prismem.models.profile import Profile
from prismem.tb.report.measure import Measured

Origin = Literal["measured", "computed", "fitted", "printed"]
Number = int | float


@dataclass(frozen=True)
class Metric:
    """One number. `exact`: a simulated figure, the same in every run with this seed."""

    id: str
    value: Number
    unit: str
    origin: Origin
    what: str
    point: str | None = None


@dataclass(frozen=True)
class Series:
    """A line or the points of a figure."""

    label: str
    x: Sequence[Number]
    y: Sequence[Number]
    style: Literal["line", "dashed", "points"] = "line"


@dataclass(frozen=True)
class Figure:
    """A picture: lines over an axis, or stacked bars by category. Axis labels carry their units."""

    id: str
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series] = ()
    bars: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)  # bar -> part -> height
    log_x: bool = False
    log_y: bool = False
    categories: Sequence[str] = ()  # names of x = 0, 1, ...
    y_max: float | None = None


@dataclass(frozen=True)
class Table:
    """Columns and rows of text or numbers. `id` names the CSV file."""

    id: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass
class Section:
    """A part of the report."""

    id: str
    title: str
    text: str
    result: str = ""  # what came out, in a sentence or two, for somebody who reads nothing else
    metrics: list[Metric] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def value(self, name: str) -> Number:
        """Value of the metric `<section>.<name>`. Raises KeyError when there is none."""
        return {metric.id: metric.value for metric in self.metrics}[f"{self.id}.{name}"]

    def add(
        self, name: str, value: Number, unit: str, what: str, *, origin: Origin = "measured", point: str | None = None
    ) -> Number:
        """Add a metric `<section>.<name>`; returns the value."""
        self.metrics.append(Metric(f"{self.id}.{name}", value, unit, origin, what, point))
        return value


@dataclass(frozen=True)
class Results:
    """Measured points by id, and the profiles that they belong to."""

    profile: Profile
    baselines: Mapping[str, Profile]
    points: Mapping[str, Measured]

    def get(self, point: str) -> dict[str, Any] | None:
        """Metrics of a point; None when it was not measured or failed."""
        found = self.points.get(point)
        return found.metrics if found is not None and found.failure is None else None

    def group(self, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(value of the sweep, metrics) of the points `prefix/...`, in the order of the table."""
        for name in self.points:
            metrics = self.get(name)
            if name.startswith(f"{prefix}/") and metrics is not None:
                yield name.partition("/")[2], metrics

    def profile_of(self, point: str) -> Profile:
        """Profile that a point was measured on, without its overrides."""
        return self.baselines.get(self.points[point].point.spec.profile, self.profile)
