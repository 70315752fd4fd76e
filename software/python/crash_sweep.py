"""Crash sweep of libprismem: an emulated host dies before each shared-memory event of each operation.

What must hold afterwards is checked by software/tests/hosted_crash.c. `python -m prismem.lib.crash_sweep` visits every
point and writes a report.
"""

from __future__ import annotations

import argparse
import ctypes as c
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from prismem.errors import MisuseError
from prismem.lib.emu import Crash, Machine, MachineConfig, Policy, State, load_library
from prismem.lib.mutants import select_mutant
from prismem.paths import BUILD, software_library

HOSTS = 3
POOL_BYTES = 2 << 20
STEP_LIMIT = 3_000_000
STRIDES = {Crash.HOST_DROP: 1, Crash.PROCESS: 7}
"""Kinds that a sweep visits, and of which it takes every so many-th point: the whole host dies, or its program alone
and the caches live on."""


@dataclass(frozen=True)
class Point:
    """One run: the host of `operation` dies before its `event`-th event (0: never); seed and policy decide the rest.

    Of kind PROCESS the host lives on with its caches, and `flushes` says whether its next program flushes them in time.
    """

    operation: str
    event: int
    policy: Policy
    seed: int
    kind: Crash = Crash.HOST_DROP
    flushes: bool = True

    def command(self) -> str:
        """The command that runs it again."""
        return (
            f"python -m prismem.lib.crash_sweep --operation {self.operation} --event {self.event} "
            f"--policy {self.policy.name.lower()} --seed {self.seed} --kind {self.kind.name.lower()}"
            f"{'' if self.flushes else ' --no-flush'}"
        )


@dataclass(frozen=True)
class Violation:
    """A point after which something did not hold."""

    point: Point
    message: str


class CrashSweep:
    """The instrumented crash tests, loaded into this process."""

    def __init__(self) -> None:
        load_library()
        self._library = c.CDLL(str(software_library("pm_tests_inst")), mode=c.RTLD_GLOBAL)
        self._library.pm_crash_name.restype = c.c_char_p
        self._library.pm_crash_select.argtypes = [c.c_uint32, c.c_uint64, c.c_uint32, c.c_uint32]
        self._library.pm_crash_points.restype = c.c_uint64
        self.crashed = False

    def operations(self) -> list[str]:
        """Names, in their order."""
        found: list[str] = []
        while (name := self._library.pm_crash_name(len(found))) is not None:
            found.append(name.decode())
        return found

    def run(self, point: Point) -> Violation | None:
        """One run. Raises MisuseError for an unknown operation."""
        names = self.operations()
        if point.operation not in names:
            raise MisuseError(f"operation: '{point.operation}' is unknown; there are {', '.join(names)}")
        number = names.index(point.operation)
        victim = int(self._library.pm_crash_select(number, point.event, int(point.kind), point.flushes))
        config = MachineConfig(
            hosts=HOSTS, pool_bytes=POOL_BYTES, seed=point.seed, policy=point.policy, step_limit=STEP_LIMIT
        )
        with Machine(config) as machine:
            for node in range(HOSTS):
                machine.spawn(node, f"node{node}", self._library.pm_crash_thread, node)
                machine.spawn(node, f"again{node}", self._library.pm_crash_again, node, after_crash=True)
            state = machine.run()
            self.crashed = machine.crashed(victim)
            if state is State.DONE:
                return None
            faults = machine.report()["faults"]
            return Violation(point, str(faults[0]["message"] if faults else state.name))

    def events(self, operation: str, policy: Policy, seed: int, kind: Crash = Crash.HOST_DROP) -> int:
        """Shared-memory events of the operation when nobody dies: as many points there are.

        Raises:
            RuntimeError: the operation fails without any crash.
        """
        point = Point(operation, 0, policy, seed, kind)
        violation = self.run(point)
        if violation is not None:
            raise RuntimeError(f"without a crash: {violation.message}\nreplay: {point.command()}")
        return int(self._library.pm_crash_points())

    def points(
        self,
        policies: list[Policy],
        seeds: list[int],
        every: int = 1,
        operations: list[str] | None = None,
        kinds: Mapping[Crash, int] = MappingProxyType({Crash.HOST_DROP: 1}),
    ) -> Iterator[Point]:
        """Of these operations, or of all, every `every`-th point, times the stride of the kind."""
        for operation, policy, seed, kind in product(operations or self.operations(), policies, seeds, kinds):
            for event in range(1, self.events(operation, policy, seed, kind) + 1, every * kinds[kind]):
                yield Point(operation, event, policy, seed, kind)

    def sweep(self, points: Iterator[Point], violations_max: int = 20) -> dict[str, Any]:
        """Visit the points. Returns the report: points, by operation, and the violations (at most `violations_max`)."""
        by_operation: dict[str, int] = {}
        by_kind: dict[str, int] = {}
        violations: list[Violation] = []
        for point in points:
            violation = self.run(point)
            if self.crashed:
                by_operation[point.operation] = by_operation.get(point.operation, 0) + 1
                by_kind[point.kind.name.lower()] = by_kind.get(point.kind.name.lower(), 0) + 1
            if violation is not None:
                violations.append(violation)
                if len(violations) == violations_max:
                    break
        return {
            "points": sum(by_operation.values()),
            "by_operation": by_operation,
            "by_kind": by_kind,
            "violations": [asdict(v) | {"replay": v.point.command()} for v in violations],
        }


def main(arguments: list[str] | None = None) -> int:
    """Command line: exit code 0 when every point holds, 1 when one does not, 2 for misuse."""
    parser = argparse.ArgumentParser(prog="python -m prismem.lib.crash_sweep", description=__doc__.splitlines()[0])
    names = [policy.name.lower() for policy in Policy]
    parser.add_argument("--operation", help="only this one; with --event only one point of it")
    parser.add_argument("--event", type=int)
    parser.add_argument("--policy", choices=names)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="every N-th point")
    parser.add_argument("--kind", choices=[kind.name.lower() for kind in STRIDES], help="what dies; each, unless given")
    parser.add_argument("--no-flush", action="store_true", help="nobody flushes the caches of a dead process")
    parser.add_argument("--mutant", default="none", help="with this seeded fault of the library")
    parser.add_argument("--out", type=Path, default=BUILD / "crash_sweep" / "result.json")
    options = parser.parse_args(arguments)
    sweep = CrashSweep()
    policies = [Policy[options.policy.upper()]] if options.policy else list(Policy)
    kinds = {Crash[options.kind.upper()]: 1} if options.kind else STRIDES
    try:
        select_mutant(options.mutant)
        if options.event is not None:
            point = Point(options.operation or "", options.event, policies[0], options.seed, next(iter(kinds)))
            points = iter([point])
        else:
            operations = [options.operation] if options.operation else None
            points = sweep.points(policies, [options.seed], options.every, operations, kinds)
        report = sweep.sweep(replace(point, flushes=not options.no_flush) for point in points)
    except MisuseError as error:
        print(error, file=sys.stderr)
        return 2
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"{report['points']} crash points, {len(report['violations'])} violations: {options.out}")
    for violation in report["violations"]:
        print(f"{violation['message']}\n  {violation['replay']}")
    return 1 if report["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
