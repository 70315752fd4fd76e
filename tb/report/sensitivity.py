"""Sensitivity: each number of a profile moves the figure that it should, by the amount that a formula gives.

The rows are sensitivity.yaml. Both runs of a row differ by one number; what the RTL measures with the one and with the
other is compared with the difference of the formula over the two profiles. A number that moved nothing would be a knob
without effect.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from prismem.models import latency, sensitivity
from prismem.models.profile import Profile
from prismem.paths import PROFILES
from prismem.tb.runner.spec import RunSpec, load_profile, make_spec

TABLE = Path(__file__).with_name("sensitivity.yaml")
PREFIX = "sensitivity"
FIRST = "pfma"
HOSTS = MODULES = 1
Metrics = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A row of the table for one profile."""

    profile: str
    key: str
    to: str
    metric: str
    with_: tuple[str, ...]

    @property
    def sets(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Overrides of the run with the profile's value and of the run with the other."""
        return self.with_, (*self.with_, f"{self.key}={self.to}")

    @property
    def profiles(self) -> tuple[Profile, Profile]:
        """Both machines."""
        before, after = self.sets
        return load_profile(self.profile, before), load_profile(self.profile, after)


@dataclass(frozen=True)
class Figure:
    """What a row measures: in which run, how it is read from the run's metrics, and its formula.

    A difference holds within `share` of what was computed, and `slack` units of rounding and queueing beside it.
    """

    run: str
    unit: str
    what: str
    read: Callable[[Metrics], float]
    formula: Callable[[Profile], float]
    share: float = 0.0
    slack: float = 1.0


@dataclass(frozen=True)
class Moved:
    """A row's outcome: (measured, computed) with the profile's value and with the other."""

    row: Row
    before: tuple[float, float]
    after: tuple[float, float]

    @property
    def measured(self) -> float:
        """By how much the figure moved."""
        return self.after[0] - self.before[0]

    @property
    def computed(self) -> float:
        """By how much it should."""
        return self.after[1] - self.before[1]

    @property
    def holds(self) -> bool:
        """It moved, in the right direction, by the right amount; a rate is the computed one with either value, too."""
        figure = FIGURES[self.row.metric]
        right_way = self.measured * self.computed > 0
        if figure.unit == "GB/s":
            right_way &= all(abs(m - c) <= figure.slack + figure.share * c for m, c in (self.before, self.after))
        return right_way and abs(self.measured - self.computed) <= figure.slack + figure.share * abs(self.computed)


# --- what runs measured


def _counter(metrics: Metrics, *names: str, second: int | None = None) -> float:
    rows = [row for name in names for row in metrics["counters"].get(name, [])]
    return float(sum(value for _, b, value in rows if second in (None, b)))


def _accesses(metrics: Metrics) -> float:
    return _counter(metrics, "port_lines")


def _gb_s(metrics: Metrics) -> float:
    return float(metrics["paths"][0]["gb_s"])


def _refused_ns(metrics: Metrics) -> float:
    return float(max(path["refused_ns_max"] for path in metrics["paths"]))


def _clflush(key: str) -> Callable[[Metrics], float]:
    return lambda metrics: float(metrics["flush"]["methods"]["clflush"][key])


def _outstanding(run: str) -> int:
    return int(runs()[run]["options"]["outstanding"])


def _rate(run: str, reads: float) -> Callable[[Profile], float]:
    return lambda profile: sensitivity.rate_gb_s(profile, reads, _outstanding(run))


RATE_SHARE = 0.1  # bounds are reached to 90 % at least

FIGURES: dict[str, Figure] = {
    "read_ns": Figure("idle", "ns", "idle read", lambda m: m["idle"]["read_ns"], sensitivity.read_ns),
    "write_ns": Figure(
        "idle", "ns", "idle write", lambda m: m["idle"]["write_ns"], lambda p: latency.idle_ns(p, "write")
    ),
    "miss_ns": Figure(
        "miss", "ns", "read that misses in HBM", lambda m: m["latency"]["read"]["total_ns"]["p50"], sensitivity.miss_ns
    ),
    "visible_ns": Figure("flush", "ns", "flush until visible", _clflush("visible_ns"), sensitivity.visible_ns),
    "behind_fence_ns": Figure(
        "flush",
        "ns",
        "flush, window behind the fence",
        _clflush("window_behind_fence_ns"),
        sensitivity.behind_fence_ns,
        slack=4,
    ),
    "reads_gb_s": Figure("reads", "GB/s", "random reads", _gb_s, _rate("reads", 1.0), RATE_SHARE, 0.05),
    "writes_gb_s": Figure("writes", "GB/s", "random writes", _gb_s, _rate("writes", 0.0), RATE_SHARE, 0.05),
    "mix_gb_s": Figure("mix", "GB/s", "reads and writes 1:1", _gb_s, _rate("mix", 0.5), RATE_SHARE, 0.05),
    "rows_gb_s": Figure(
        "rows",
        "GB/s",
        "linear reads",
        _gb_s,
        lambda p: sensitivity.row_rate_gb_s(p, _outstanding("rows")),
        RATE_SHARE,
        0.05,
    ),
    "flits": Figure(
        "idle",
        "1",
        "flits an idle access",
        lambda m: _counter(m, "cxl_flits") / _accesses(m),
        lambda p: sensitivity.messages_an_access(p, p.cxl.ack_time),
        slack=0.1,
    ),
    "frames": Figure(
        "idle",
        "1",
        "frames an idle access",
        lambda m: _counter(m, "path_req_frames", "path_rsp_frames", "path_req_notes", "path_rsp_notes") / _accesses(m),
        lambda p: sensitivity.messages_an_access(p, p.path.ack_time),
        slack=0.1,
    ),
    "queue_lines": Figure(
        "reads",
        "1",
        "lines that queue for a path",
        lambda m: _counter(m, "nic_queue_max"),
        lambda p: float(p.nic.queue_depth.canonical),
    ),
    "misses": Figure(
        "rows",
        "1",
        "share of linear reads that miss in HBM",
        lambda m: _counter(m, "mem_misses", second=0) / _accesses(m),
        lambda p: sensitivity.miss_share(p, *(int(runs()["rows"]["options"][key]) for key in ("lines", "requests"))),
        slack=0.02,
    ),
    "dead_path_ns": Figure(
        "dead_path",
        "ns",
        "dark path until it is given up",
        _refused_ns,
        sensitivity.dead_path_ns,
        RATE_SHARE,
        100,
    ),
    "dead_cxl_ns": Figure(
        "dead_cxl",
        "ns",
        "dark host link until it is given up",
        _refused_ns,
        sensitivity.dead_cxl_ns,
        RATE_SHARE,
        100,
    ),
    "dead_module_ns": Figure(
        "dead_module",
        "ns",
        "dead module until requests are answered",
        _refused_ns,
        lambda p: float(p.nic.timeout.canonical),
        RATE_SHARE,
        100,
    ),
}


# --- the plan


@cache
def _table() -> dict[str, Any]:
    return dict(yaml.safe_load(TABLE.read_text(encoding="utf-8")))


def runs() -> dict[str, Any]:
    """Job and options of each run."""
    return dict(_table()["runs"])


def numbers(name: str) -> list[str]:
    """The generated list: every number of the profile of that name as `table.key`."""
    raw = tomllib.loads((PROFILES / f"{name}.toml").read_text(encoding="utf-8"))
    tables = [(table, content) for table, content in raw.items() if isinstance(content, dict)]
    return [f"{table}.{key}" for table, content in tables for key, entry in content.items() if isinstance(entry, dict)]


def shown_elsewhere() -> dict[str, str]:
    """Numbers that move no time and no rate, and the test that shows what they do."""
    return {row["key"]: row["shown_by"] for row in _table()["rows"] if "shown_by" in row}


def rows(profile: str | None = None) -> Iterator[Row]:
    """All rows, or those of one profile."""
    for row in _table()["rows"]:
        for name in row.get("profiles", [FIRST]):
            if "metric" in row and profile in (None, name):
                yield Row(name, row["key"], row["to"], row["metric"], tuple(row.get("with", ())))


def spec(row: Row, sets: tuple[str, ...], seed: int) -> RunSpec:
    """One of the two runs of a row."""
    run = runs()[FIGURES[row.metric].run]
    return make_spec(
        run["test"],
        port="rtl",
        hosts=HOSTS,
        modules=MODULES,
        profile=row.profile,
        seed=seed,
        options=dict(run["options"]),
        sets=sets,
    )


def point_ids(row: Row) -> tuple[str, str]:
    """Names of both runs; rows with the same overrides share the run with the profile's value."""
    base = "+".join(row.with_) or "as it is"
    run = FIGURES[row.metric].run
    return f"{PREFIX}/{row.profile}/{run}/{base}", f"{PREFIX}/{row.profile}/{run}/{row.key}={row.to}"


def moved(row: Row, before: Metrics, after: Metrics) -> Moved:
    """The outcome of a row from the metrics of its runs."""
    figure = FIGURES[row.metric]
    one, other = row.profiles
    return Moved(row, (figure.read(before), figure.formula(one)), (figure.read(after), figure.formula(other)))
