"""What the tests of libprismem share: one build a process, and one run of a C test on the functional port."""

from __future__ import annotations

import functools
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prismem.lib.emu import Machine, MachineConfig, Policy, State
from prismem.lib.lib_tests import POOL_BYTES, LibTests
from prismem.paths import BUILD_SW, SOFTWARE

NATIVE_TESTS = BUILD_SW / "pm_tests_native"


@functools.cache
def build(goal: str = "all") -> None:
    """`make -C software GOAL`, once a process; several processes queue inside."""
    made = subprocess.run(["make", "-C", str(SOFTWARE), goal], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-4000:]


@functools.cache
def lib_tests() -> LibTests:
    """The instrumented tests, built and loaded."""
    build()
    return LibTests()


@dataclass(frozen=True)
class Mutant:
    """One line of software/src/mutants.def."""

    name: str
    description: str
    noncoherence: bool


def mutants() -> list[Mutant]:
    """All faults that can be switched on."""
    text = Path(SOFTWARE / "src" / "mutants.def").read_text(encoding="utf-8")
    found = re.findall(r'^PM_MUTANT\((\w+), "(.*)", ([01])\)$', text, re.MULTILINE)
    return [Mutant(name, description, flag == "1") for name, description, flag in found]


def mutants_of_death() -> list[str]:
    """Names of the faults that show only when a node dies."""
    text = Path(SOFTWARE / "src" / "mutants.def").read_text(encoding="utf-8")
    found = re.findall(r'^PM_MUTANT\((\w+), ".*", 2\)$', text, re.MULTILINE)
    assert len(found) >= 4
    return found


def names_in_source() -> list[str]:
    """Test names, read from the sources so that collecting tests needs no build."""
    listed = re.findall(r"&pm_test_(\w+)", (SOFTWARE / "tests" / "tests.c").read_text(encoding="utf-8"))
    assert len(listed) >= 10
    return listed


def run_functional(
    name: str, seed: int, *, hosts: int = 3, coherent: bool = False, step_limit: int = 5_000_000
) -> tuple[State, dict[str, Any]]:
    """One run; the policy of cache events goes round with the seed."""
    config = MachineConfig(
        hosts=hosts,
        pool_bytes=POOL_BYTES,
        seed=seed,
        policy=Policy(seed % len(Policy)),
        coherent=coherent,
        step_limit=step_limit,
    )
    tests = lib_tests()
    with Machine(config) as machine:
        tests.spawn(machine, name, seed=seed)
        state = machine.run()
        return state, machine.report()


def first_fault(report: dict[str, Any]) -> str:
    """The first fault as text."""
    return str(report["faults"][0]["message"]) if report["faults"] else str(report["state_name"])
