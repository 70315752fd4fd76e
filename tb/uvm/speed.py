"""Speed of port-level traffic from Python beside the same traffic from the bench's engines: why Python moves no data.

Both run the same lines on hardware of the same size, loaded alike, in one process after the other.
"""

import json
from typing import Any

from prismem.errors import PrismemError
from prismem.models import profile as profiles
from prismem.paths import BUILD_RUN
from prismem.tb.runner.execute import execute, simulate
from prismem.tb.runner.processes import parent_environment
from prismem.tb.runner.result import LOG_FILE
from prismem.tb.runner.spec import make_spec
from prismem.tb.uvm import launch
from prismem.tb.uvm.bfm import BfmSpec
from prismem.tb.uvm.config import OUTCOME_FILE, SPEC_VARIABLE

BENCH_TEST = "prismem.tb.uvm.bfm"


def run_bfm(
    *,
    hosts: int = 2,
    modules: int = 2,
    lines: int = 1024,
    requests: int = 2000,
    outstanding: int = 64,
    read_permille: int = 500,
    sizes: dict[str, int] | None = None,
    flip_answer: int = -1,
) -> dict[str, Any]:
    """Run the host models; what they left, with `problem` None when all went well."""
    bench = launch.build(hosts, modules, sizes=launch.SIZES if sizes is None else sizes)
    straps: dict[str, int | str] = dict(profiles.load("pfma").straps(modules))
    folder = BUILD_RUN / f"bfm-{hosts}x{modules}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / OUTCOME_FILE).unlink(missing_ok=True)
    base = int(straps["hdm_base"])
    spec = BfmSpec(hosts, modules, base, lines, requests, outstanding, read_permille, str(folder), flip_answer)
    spec.write(folder / launch.SPEC_FILE)
    problem = simulate(
        bench,
        BENCH_TEST,
        folder,
        seed=1,
        plusargs=straps,
        environment={SPEC_VARIABLE: str(folder / launch.SPEC_FILE)} | parent_environment(),
    )
    left = folder / OUTCOME_FILE
    outcome: dict[str, Any] = json.loads(left.read_text(encoding="utf-8")) if left.exists() else {}
    return outcome | {"problem": problem, "log": folder / LOG_FILE}


def compare(size: int = 4, requests: int = 20_000, outstanding: int = 256) -> dict[str, float]:
    """Lines a second of both, all hosts reading, and how many times slower Python is. Raises PrismemError."""
    options = {"pattern": "linear", "requests": str(requests), "outstanding": str(outstanding), "lines": "4096"}
    result = execute(make_spec("engines", port="rtl", hosts=size, modules=size, options=options))
    if not result.passed:
        raise PrismemError(f"bench: {result.text()}")
    engine = size * requests / float(result.metrics["run"]["run_s"])
    bfm = run_bfm(
        hosts=size,
        modules=size,
        lines=4096,
        requests=requests // 10,  # its speed does not depend on how long it runs, and it takes long
        outstanding=outstanding,
        read_permille=1000,
        sizes={},
    )
    if bfm["problem"]:
        raise PrismemError(f"bench: port-level traffic: {bfm['problem']}; log: {bfm['log']}")
    python = bfm["lines"] / bfm["run_s"]
    return {
        "engine_lines_per_s": round(engine),
        "python_lines_per_s": round(python),
        "ratio": round(engine / python, 1),
    }
