"""Validation of the timed port: traffic that it was not calibrated on, on both ports; latency, rate, and speed.

The calibration knows idle accesses and saturated single paths. These are loads in between, other mixes, several hosts
and modules, and the jobs that run software on the timed port: the library's operations that the report measures, and
the main job. Speed is processor time from the start of the machine to its end, both ports measured here and now, doing
the same work, so that what else the processors do hardly counts. It is given for each workload. The bound is that of
the main job on 4 x 4: the emulated hosts cost the same on both ports, and the RTL skips clocks in which nothing
happens, so traffic and transfers that fill a small machine gain less, and larger machines more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prismem.errors import PrismemError
from prismem.paths import BUILD
from prismem.tb.runner.execute import execute
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import load_profile, make_spec

FOLDER = BUILD / "report"
DEFAULT = "pfma"
LATENCY_PERCENT_MAX, BANDWIDTH_PERCENT_MAX, SPEEDUP_MIN = 5.0, 3.0, 100.0
SEED = 3
KINDS = ("read", "write", "dma_read", "dma_write")
CPU_S_MIN = 1e-4  # shorter is not measured


@dataclass(frozen=True)
class Workload:
    """A job that runs on both ports."""

    name: str
    test: str
    options: dict[str, str]
    size: int = 2  # hosts and modules


def _traffic(name: str, outstanding: int, permille: int, *, random: bool = True, requests: int = 8000) -> Workload:
    options = {"outstanding": outstanding, "read_permille": permille, "requests": requests, "lines": 2048}
    texts = {key: str(value) for key, value in options.items()} | {"random": str(random).lower()}
    return Workload(name, "traffic", texts)


WORKLOADS = (
    _traffic("reads, 24 in flight", 24, 1000),
    _traffic("reads, 96 in flight", 96, 1000),
    _traffic("reads, 256 in flight", 256, 1000),
    _traffic("writes, 48 in flight", 48, 0),
    _traffic("2 reads a write, 64 in flight", 64, 667),
    _traffic("3 reads a write, 192 in flight", 192, 750),
    _traffic("linear reads, 80 in flight", 80, 1000, random=False),
    Workload("software_ops", "software_ops", {}),
    Workload("kv_share", "kv_share", {"requests": "24"}),
    Workload("software_ops, 4 x 4", "software_ops", {}, 4),
    Workload("kv_share, 4 x 4", "kv_share", {"requests": "96"}, 4),
)
SPEED_WORKLOAD = "kv_share, 4 x 4"


@dataclass(frozen=True)
class Row:
    """A workload on both ports: (RTL, timed)."""

    name: str
    latency_ns: tuple[float, float]
    gb_s: tuple[float, float]
    lines: tuple[int, int]
    cpu_s: tuple[float, float]

    @property
    def speedup(self) -> float:
        """Processor time of the RTL over that of the timed port."""
        return self.cpu_s[0] / max(self.cpu_s[1], CPU_S_MIN)

    @property
    def latency_error_percent(self) -> float:
        """Of the mean latency of all lines."""
        return 100 * abs(self.latency_ns[1] / self.latency_ns[0] - 1)

    @property
    def bandwidth_error_percent(self) -> float:
        """Of the lines moved in the time of the whole run."""
        return 100 * abs(self.gb_s[1] / self.gb_s[0] - 1)


@dataclass(frozen=True)
class Validation:
    """All rows and what is beyond its bound."""

    rows: Sequence[Row]
    problems: Sequence[str]


def mean_latency_ns(metrics: dict[str, Any]) -> float:
    """Mean over all lines, whatever moved them."""
    tables = [metrics["latency"][kind] for kind in KINDS]
    return float(sum(table["count"] * table["total_ns"]["mean"] for table in tables) / lines(metrics))


def lines(metrics: dict[str, Any]) -> int:
    """Lines that were moved, by whatever."""
    return sum(metrics["latency"][kind]["count"] for kind in KINDS)


def rate_gb_s(metrics: dict[str, Any]) -> float:
    """Lines over the simulated time from the first to the last completion of any port."""
    ports = metrics["latency"]["ports"]
    span_ns = max(port["last_ns"] for port in ports) - min(port["first_ns"] for port in ports)
    return float(sum(port["read_lines"] + port["write_lines"] for port in ports) * 64 / span_ns)


def problems(rows: Iterable[Row]) -> list[str]:
    """What is beyond a bound, in words."""
    found = []
    for row in rows:
        if row.latency_error_percent > LATENCY_PERCENT_MAX:
            found.append(
                f"{row.name}: mean latency {row.latency_error_percent:.1f} % off, at most {LATENCY_PERCENT_MAX}"
            )
        if row.bandwidth_error_percent > BANDWIDTH_PERCENT_MAX:
            found.append(f"{row.name}: rate {row.bandwidth_error_percent:.1f} % off, at most {BANDWIDTH_PERCENT_MAX}")
        if row.name == SPEED_WORKLOAD and row.speedup < SPEEDUP_MIN:
            found.append(f"{row.name}: {row.speedup:.0f} times as fast as the RTL, at least {SPEEDUP_MIN:.0f}")
    return found


def result_file(profile: str) -> Path:
    """Where the validation of a profile is left."""
    name = load_profile(profile).name
    return FOLDER / ("timed_validation.json" if name == DEFAULT else f"timed_validation_{name}.json")


def _run(workload: Workload, profile: str, port: str) -> Result:
    rack = load_profile(profile).rack
    spec = make_spec(
        workload.test,
        port=port,
        profile=profile,
        hosts=min(workload.size, rack.hosts.canonical),
        modules=min(workload.size, rack.modules.canonical),
        seed=SEED,
        options=workload.options,
    )
    result = execute(spec)
    if not result.passed:
        raise PrismemError(f"validate: {result.text()}")
    return result


def validate(profile: str, workloads: Sequence[Workload] = WORKLOADS) -> Validation:
    """Run all workloads on both ports and leave the result_file. Raises PrismemError when a run fails."""
    rows = []
    for workload in workloads:
        rtl, timed = (_run(workload, profile, port).metrics for port in ("rtl", "timed"))
        rows.append(
            Row(
                workload.name,
                (mean_latency_ns(rtl), mean_latency_ns(timed)),
                (rate_gb_s(rtl), rate_gb_s(timed)),
                (lines(rtl), lines(timed)),
                (rtl["run"]["cpu_s"], timed["run"]["cpu_s"]),
            )
        )
    found = Validation(rows, problems(rows))
    content = {
        "profile": profile,
        "latency_error_percent": round(max(row.latency_error_percent for row in rows), 3),
        "bandwidth_error_percent": round(max(row.bandwidth_error_percent for row in rows), 3),
        "speedup": round(next((row.speedup for row in rows if row.name == SPEED_WORKLOAD), 0.0), 1),
        "rows": [
            {
                "workload": r.name,
                "latency_ns": r.latency_ns,
                "gb_s": r.gb_s,
                "lines": r.lines,
                "cpu_s": r.cpu_s,
                "speedup": round(r.speedup, 1),
            }
            for r in rows
        ],
        "problems": list(found.problems),
    }
    write_atomic(result_file(profile), json.dumps(content, indent=1) + "\n")
    return found
