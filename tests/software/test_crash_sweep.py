"""A host dies before each store, flush, fence and DMA line of each operation; the others mend what it left."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from lib_support import build, mutants_of_death, run_functional

from prismem.lib.crash_sweep import CrashSweep, main
from prismem.lib.emu import Crash, Policy, State
from prismem.lib.mutants import select_mutant
from prismem.paths import BUILD

EVERY = 23  # of the points, in the daily run
EVERY_PROCESS = 41
POINTS_MIN = 2000
POINTS_OF_OPERATION_MIN = 40
OPERATIONS = [
    *("lock", "lock_slots", "lock_bakery", "manager", "bury", "allocate", "free", "collect", "put", "insert", "lookup"),
    *("evict", "abort", "recover", "open", "close"),
]
SEEDS_OF_ZOMBIE = 8


@functools.cache
def sweep() -> CrashSweep:
    build()
    return CrashSweep()


@pytest.fixture
def mutant() -> Iterator[None]:
    """Whatever a test switches on is off afterwards."""
    yield
    select_mutant("none")


def test_operations() -> None:
    """Goal: the list above is that of the C source."""
    assert sweep().operations() == OPERATIONS


@pytest.mark.parametrize("operation", OPERATIONS)
def test_points_spread_over_each_operation(operation: str) -> None:
    """Goal: nothing stuck, lost, owned twice or wrong after a crash. Method: every EVERY-th point, all policies."""
    points = [p for policy in Policy for p in sweep().points([policy], [1], EVERY, [operation])]
    assert points
    report = sweep().sweep(iter(points))
    print(f"{operation}: {report['points']} crash points")
    assert report["violations"] == []
    assert report["points"] >= len(points) * 9 // 10  # a schedule may end before the last of the counted events


@pytest.mark.parametrize("operation", OPERATIONS)
def test_only_the_process_dies(operation: str) -> None:
    """Goal: the same when the host lives on with what its dead process had in the caches, and flushes them in time."""
    points = sweep().points(list(Policy), [1], EVERY_PROCESS, [operation], {Crash.PROCESS: 1})
    report = sweep().sweep(points)
    assert report["points"]
    assert report["violations"] == []


def test_caches_that_nobody_flushes_are_found() -> None:
    """Goal: the guarantee hangs on that flush. Method: leave it out; a line comes out late, over what was repaired."""
    points = sweep().points([Policy.LAZY], [1], 3, ["insert", "evict"], {Crash.PROCESS: 1})
    report = sweep().sweep((replace(point, flushes=False) for point in points), violations_max=40)
    assert any("lost update" in violation["message"] for violation in report["violations"])


@pytest.mark.regress
def test_every_point() -> None:
    """Goal: the same at every point of every operation, of both kinds, under all policies; how many there are."""
    build()
    assert main(["--out", str(BUILD / "crash_sweep" / "result.json")]) == 0
    report = json.loads((BUILD / "crash_sweep" / "result.json").read_text(encoding="utf-8"))
    print(f"{report['points']} crash points: {report['by_operation']}")
    assert report["points"] >= POINTS_MIN
    assert set(report["by_operation"]) == set(OPERATIONS)
    assert min(report["by_operation"].values()) >= POINTS_OF_OPERATION_MIN


def violated() -> str | None:
    """First violation in a part of the sweep, or of the node that sleeps through its lease."""
    for operation in ("insert", "lock", "allocate"):
        report = sweep().sweep(sweep().points([Policy.LAZY], [1], 5, [operation]), violations_max=1)
        if report["violations"]:
            return str(report["violations"][0]["message"])
    for name in ("lease_zombie", "lease_zombie_slots", "lease_standstill", "lock_give_up"):
        for seed in range(SEEDS_OF_ZOMBIE):
            state, report = run_functional(name, seed, hosts=3)
            if state is not State.DONE:
                return str(report["faults"][0]["message"] if report["faults"] else report["state_name"])
    return None


@pytest.mark.parametrize("name", mutants_of_death())
@pytest.mark.usefixtures("mutant")
def test_a_broken_repair_is_caught(name: str) -> None:
    """Goal: the sweep can fail. Method: each seeded fault of leases and repair."""
    build()
    select_mutant(name)
    assert violated() is not None


def test_unbroken_repair_is_not() -> None:
    """Goal: the part of the sweep that hunts them is clean by itself."""
    build()
    assert violated() is None
