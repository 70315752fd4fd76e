"""The coverage plan (plan.yaml): coverpoints, crosses, what is excluded and why, and the runs that must hit it."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

PLAN = Path(__file__).with_name("plan.yaml")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Exclusion(_Strict):
    """Bins that cannot be hit. A `bins` entry None stands for every bin of that coverpoint."""

    bins: list[str | None]
    reason: str = Field(min_length=10)


class Point(_Strict):
    """A coverpoint."""

    name: str
    goal: str
    bins: list[str]


class Cross(_Strict):
    """A cross of coverpoints that are sampled together."""

    name: str
    of: list[str]
    exclude: list[Exclusion] = []


class LineExclusion(_Strict):
    """Lines of rtl/ that no run can reach: those that match `pattern`, and when it opens a block, that block."""

    files: str
    pattern: str
    reason: str = Field(min_length=10)


class Run(_Strict):
    """A run of the regression: a test of the environment (`uvm`) or a job of `prismem sim` (`job`)."""

    uvm: str | None = None
    job: str | None = None
    seed: int = 1
    hosts: int = 2
    modules: int = 2
    profile: str = "pfma"
    sets: list[str] = []
    options: dict[str, str] = {}
    plusargs: dict[str, int | str] = {}

    @model_validator(mode="after")
    def _one_kind(self) -> "Run":
        if (self.uvm is None) == (self.job is None):
            raise ValueError("a run is either a uvm test or a job")
        return self


class Plan(_Strict):
    """The whole plan."""

    line_percent_min: float
    points: list[Point]
    crosses: list[Cross]
    lines: list[LineExclusion]
    runs: list[Run]

    @model_validator(mode="after")
    def _whole(self) -> "Plan":
        names = [point.name for point in self.points] + [cross.name for cross in self.crosses]
        if len(names) != len(set(names)):
            raise ValueError("a coverpoint or cross has the name of another")
        bins = {point.name: point.bins for point in self.points}
        for cross in self.crosses:
            for name in cross.of:
                if name not in bins:
                    raise ValueError(f"cross {cross.name}: coverpoint {name} does not exist")
            for exclusion in cross.exclude:
                pairs = zip(exclusion.bins, cross.of, strict=True)
                unknown = [b for b, name in pairs if b is not None and b not in bins[name]]
                if unknown:
                    raise ValueError(f"cross {cross.name}: excluded bins {unknown} do not exist")
        return self

    def all_bins(self) -> dict[str, str | None]:
        """Name of every bin -> reason for which it is excluded, None when it has to be hit."""
        found: dict[str, str | None] = {f"{p.name}.{b}": None for p in self.points for b in p.bins}
        bins = {point.name: point.bins for point in self.points}
        for cross in self.crosses:
            for chosen in product(*(bins[name] for name in cross.of)):
                reason = next((e.reason for e in cross.exclude if _excluded(e, chosen)), None)
                found[f"{cross.name}.{'.'.join(chosen)}"] = reason
        return found


def _excluded(exclusion: Exclusion, chosen: tuple[str, ...]) -> bool:
    return all(name is None or name == bin_ for name, bin_ in zip(exclusion.bins, chosen, strict=True))


@cache
def load(path: Path = PLAN) -> Plan:
    """The plan. Raises pydantic's ValidationError for one that is not whole."""
    data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Plan.model_validate(data)
