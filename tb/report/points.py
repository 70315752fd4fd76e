"""The measurement points of a report: read from points.yaml, made into runs for a profile and a size of mesh.

A run is known by the hash of all that decides its result: what is asked for, the profile's text, and the sources of
hardware, bench and software. So a result that is kept can be used again exactly as long as it would come out the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from prismem.errors import MisuseError
from prismem.paths import BENCH_HDL, PROFILES, ROOT, RTL, SOFTWARE, found
from prismem.tb.report import sensitivity
from prismem.tb.runner.build import hdl_sources
from prismem.tb.runner.spec import RunSpec, load_profile, make_spec
from prismem.tb.runner.toolchain import tool_versions

TABLE = Path(__file__).with_name("points.yaml")
MAIN = "main"
MODULE_HOSTS = 16
MESH = 4
SENSITIVITY_SECONDS = 3.0  # of a run
KEYS = set("id test profile size port fabric sets options sweep quick quick_sweep seconds".split())
SOURCES = {"*.py": ("tb", "models", "software/python"), "*.[ch]": ("software",), "*.[ch]pp": ("software",)}
NOT_MEASURED = ("tb/report/", "tb/uvm/", "tb/coverage/")  # they read results, or belong to other runs


@dataclass(frozen=True)
class Point:
    """One run of the report."""

    id: str
    spec: RunSpec
    seconds: float

    @property
    def key(self) -> str:
        """Hash of what decides the result."""
        facts = [self.spec.model_dump(), _profile_text(self.spec.profile), sources_digest(), tool_versions()]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a report measures."""

    profile: str = "pfma"
    quick: bool = False
    seed: int = 1
    mesh: int = MESH
    only: tuple[str, ...] = ()


def table() -> list[dict[str, Any]]:
    """Rows of points.yaml. Raises MisuseError for a key that means nothing."""
    rows: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["points"]
    for row in rows:
        if unknown := set(row) - KEYS:
            raise MisuseError(f"{TABLE.name}: {row.get('id')}: no such key: {', '.join(sorted(unknown))}")
    return rows


def points(plan: Plan) -> list[Point]:
    """The runs of a report, in the order of the table. Raises MisuseError when none is left or a profile is wrong."""
    rows = [row for row in table() if _asked(row["id"], plan, part=True) and _wanted(row, plan)]
    found_points = [point for row in rows for point in _expand(row, plan) if _asked(point.id, plan)]
    if not plan.quick and _asked(sensitivity.PREFIX, plan, part=True):
        found_points += [point for point in _sensitivity(plan) if _asked(point.id, plan)]
    if not found_points:
        known = ", ".join(dict.fromkeys([*(row["id"] for row in table()), sensitivity.PREFIX]))
        raise MisuseError(f"POINTS: none is called {' or '.join(plan.only)}; the points are {known}")
    return found_points


def _sensitivity(plan: Plan) -> list[Point]:
    """Both runs of each row; many share the run with the profile's own values."""
    found_points: dict[str, Point] = {}
    for row in sensitivity.rows(None if plan.profile == sensitivity.FIRST else plan.profile):
        for name, sets in zip(sensitivity.point_ids(row), row.sets, strict=True):
            if name not in found_points:
                found_points[name] = Point(name, sensitivity.spec(row, sets, plan.seed), SENSITIVITY_SECONDS)
    return list(found_points.values())


def timed_profiles(plan: Plan) -> list[str]:
    """Profiles that a report runs on the timed port: they have to be calibrated before `points`."""
    rows = [row for row in table() if _asked(row["id"], plan, part=True) and _wanted(row, plan)]
    names = [plan.profile if row["profile"] == MAIN else row["profile"] for row in rows if row.get("port") == "timed"]
    return list(dict.fromkeys(names))


def _asked(name: str, plan: Plan, *, part: bool = False) -> bool:
    """A point, or with `part` one above it, is among those that were named; all are when none was."""
    return not plan.only or any(
        name == asked or name.startswith(f"{asked}/") or (part and asked.startswith(f"{name}/")) for asked in plan.only
    )


def _wanted(row: Mapping[str, Any], plan: Plan) -> bool:
    if plan.quick and "quick" not in row:
        return False
    name = plan.profile if row["profile"] == MAIN else row["profile"]
    fabric = load_profile(name).rack.fabric
    if row["profile"] != MAIN and row["profile"] == plan.profile:
        return False  # it is the main one already
    return fabric in row.get("fabric", [fabric])


def _expand(row: Mapping[str, Any], plan: Plan) -> Iterable[Point]:
    sweep = row.get("sweep", [None])
    for value in row.get("quick_sweep", sweep) if plan.quick else sweep:
        texts = {key: str(text).replace("{}", str(value)) for key, text in row.get("options", {}).items()}
        if plan.quick:
            texts |= {key: str(text) for key, text in row["quick"].items()}
        name = plan.profile if row["profile"] == MAIN else row["profile"]
        hosts, modules = _size(row["size"], name, plan.mesh, value)
        spec = make_spec(
            row["test"],
            port=row.get("port"),
            hosts=hosts,
            modules=modules,
            profile=name,
            seed=plan.seed,
            options=texts,
            sets=tuple(text.replace("{}", str(value)) for text in row.get("sets", ())),
        )
        yield Point(row["id"] if value is None else f"{row['id']}/{value}", spec, float(row["seconds"]))


def _size(size: str | list[Any], name: str, mesh: int, value: Any) -> tuple[int, int]:
    rack = load_profile(name).rack
    if isinstance(size, str):
        hosts, modules = {"mesh": (mesh, mesh), "module": (MODULE_HOSTS, 1)}[size]
    else:
        hosts, modules = (int(str(part).replace("{}", str(value))) for part in size)
    return min(hosts, rack.hosts.canonical), min(modules, rack.modules.canonical)


def _profile_text(name: str) -> str:
    path = found(name) if name.endswith(".toml") else PROFILES / f"{name}.toml"
    return path.read_text(encoding="utf-8")


@cache
def sources_digest() -> str:
    """Hash of the sources that a measurement depends on."""
    paths = {*hdl_sources(), *(p for folder in (RTL, BENCH_HDL) for p in folder.rglob("*.svh"))}
    for pattern, folders in SOURCES.items():
        paths |= {path for folder in folders for path in (ROOT / folder).rglob(pattern)}
    digest = hashlib.sha256()
    for path in sorted(paths):
        name = str(path.relative_to(ROOT))
        if not name.startswith(NOT_MEASURED) and not path.is_relative_to(SOFTWARE / "tests"):
            digest.update(f"\0{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
