"""Builds tb_ports and runs a test of the environment on it, in a process and a folder of its own."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prismem.models import profile as profiles
from prismem.paths import BENCH_HDL, BUILD_RUN
from prismem.tb.runner.build import Build, build_bench, build_software
from prismem.tb.runner.execute import simulate
from prismem.tb.runner.files import locked
from prismem.tb.runner.processes import parent_environment
from prismem.tb.runner.result import LOG_FILE
from prismem.tb.uvm.config import OUTCOME_FILE, SPEC_VARIABLE, RunConfig
from prismem.tb.uvm.tests import TESTS

TOP = "tb_ports"
PORTS = Path(__file__).with_name("ports.vlt")
BENCH_TEST = "prismem.tb.uvm.bench"
# Small caches and few tags: evictions and every level of load come with little traffic.
SIZES = {"NicTags": 128, "PathQueueDepth": 128, "HbmSets": 16, "HbmWays": 2}
SPEC_FILE = "uvm.json"


@dataclass(frozen=True)
class UvmOutcome:
    """What a run left."""

    problem: str | None
    log: str
    outcome: dict[str, Any]
    run_dir: Path

    @property
    def passed(self) -> bool:
        """The process ended well and nothing was found."""
        return self.problem is None and self.outcome.get("findings") == []


def build(
    hosts: int = 2,
    modules: int = 2,
    profile: str = "pfma",
    *,
    sizes: Mapping[str, int] = SIZES,
    coverage: bool = False,
    waves: bool = False,
) -> Build:
    """The bench, from the cache if it is there; `sizes` are parameters other than the profile's."""
    build_software()
    # Parameters of the other fabrics are none of this bench's.
    own = re.findall(r"parameter int unsigned (\w+)", (BENCH_HDL / f"{TOP}.sv").read_text(encoding="utf-8"))
    parameters = profiles.load(profile).parameters(hosts, modules) | dict(sizes)
    parameters = {name: value for name, value in parameters.items() if name in own}
    return build_bench(parameters, top=TOP, ports=PORTS, coverage=coverage, waves=waves)


def run(
    test: str,
    *,
    seed: int = 1,
    hosts: int = 2,
    modules: int = 2,
    profile: str = "pfma",
    twin: str = "",
    time_ns_max: int | None = None,
    plusargs: Mapping[str, int | str] | None = None,
    coverage: Path | None = None,
    waves: bool = False,
) -> UvmOutcome:
    """Run a test. `coverage`: file for the line coverage of the RTL; that takes a build of its own."""
    bench = build(hosts, modules, profile, coverage=coverage is not None, waves=waves)
    straps: dict[str, int | str] = dict(profiles.load(profile).straps(modules))
    straps |= TESTS[test].plusargs | dict(plusargs or {})
    identity = json.dumps([hosts, modules, twin, time_ns_max, straps, coverage is not None, waves], sort_keys=True)
    run_dir = BUILD_RUN / f"uvm-{test}-{seed}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
    numbers = {name: value for name, value in straps.items() if isinstance(value, int)}
    with locked(run_dir / ".lock"):
        for path in run_dir.iterdir():
            if path.is_file() and path.name != ".lock":
                path.unlink()
        RunConfig(test, seed, hosts, modules, numbers, str(run_dir), twin, time_ns_max).write(run_dir / SPEC_FILE)
        problem = simulate(
            bench,
            BENCH_TEST,
            run_dir,
            seed=seed,
            plusargs=straps,
            environment={SPEC_VARIABLE: str(run_dir / SPEC_FILE)} | parent_environment(),
            coverage=coverage,
        )
        left = run_dir / OUTCOME_FILE
        outcome = json.loads(left.read_text(encoding="utf-8")) if left.exists() else {}
        return UvmOutcome(problem, (run_dir / LOG_FILE).read_text(errors="replace"), outcome, run_dir)
