"""`prismem bench`: speed of the simulation and of the emulator, measured here and now; leaves build/bench/result.json.

Speeds are wall-clock numbers of this machine: never an input of a test. What each means:
- cycles_per_s: clocked cycles of the RTL a second. `idle`: one host with one line in flight now and then; `loaded`:
  every host keeps 256 lines in flight over all modules, made by the emulator; `engines`: every host keeps 1,024 random
  reads in flight, made and checked by the bench's own engines: every link is full.
- hook_hit_ns: what a hooked load that hits costs more than the same load without hooks.
- port_level: lines a second of port-level traffic from Python, beside the same traffic made in the bench.
- accesses_per_s: checked 64-byte accesses that miss, half loads and half stores, one outstanding a host.
"""

import json
import subprocess
from typing import Any

from rich.console import Console
from rich.table import Table

from prismem.errors import PrismemError
from prismem.paths import BUILD, BUILD_SW, SOFTWARE, relative
from prismem.tb.runner.build import build_software, progress
from prismem.tb.runner.execute import execute
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import make_spec
from prismem.tb.runner.toolchain import commit, tool_versions
from prismem.tb.uvm.speed import compare

RESULT = BUILD / "bench" / "result.json"
SIZES = (2, 4)
ENGINE_SIZES = {4: 60_000, 16: 8_000}  # requests a host
RTL_RUNS = 10
GOALS = {
    "hook_hit_ns": "at most 5",
    "accesses_per_s.functional_1host": "at least 1,500,000",
    "accesses_per_s.functional_2hosts": "at least 1,500,000",
    "accesses_per_s.functional_2hosts_shared": "at least 1,500,000",
    "accesses_per_s.rtl_2hosts": "at least 5,000",
    "cycles_per_s.4x4_engines": "at least 150,000",
    "cycles_per_s.16x16_engines": "at least 10,000",
    "port_level.ratio": "at least 20",
}


def _run(test: str, **options: Any) -> Result:
    result = execute(make_spec(test, port="rtl", **options))
    if not result.passed:
        raise PrismemError(f"bench: {result.text()}")
    return result


def _cycles_per_s() -> dict[str, int]:
    speeds = {}
    for size in SIZES:
        machine = {"hosts": size, "modules": size}
        idle = _run("idle_latency", options={"lines": "512"}, **machine)
        loaded = _run("traffic", options={"requests": "40000"}, **machine)
        speeds[f"{size}x{size}_idle"] = idle.metrics["run"]["cycles_per_s"]
        speeds[f"{size}x{size}_loaded"] = loaded.metrics["run"]["cycles_per_s"]
    for size, requests in ENGINE_SIZES.items():
        options = {"outstanding": "1024", "requests": str(requests)}
        engines = _run("engines", hosts=size, modules=size, options=options)
        speeds[f"{size}x{size}_engines"] = engines.metrics["run"]["cycles_per_s"]
    return speeds


def _emulator() -> dict[str, Any]:
    build_software(SOFTWARE / "emu", "bench_build")
    progress("measuring the emulator")
    done = subprocess.run([str(BUILD_SW / "emu_bench")], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PrismemError(f"bench: emu_bench failed: {(done.stdout + done.stderr).strip()}")
    return dict(json.loads(done.stdout))


def _rtl_accesses() -> tuple[dict[str, int], bool]:
    speeds = {}
    equal = True
    for name, shared in (("rtl_2hosts", "false"), ("rtl_2hosts_shared", "true")):
        options = {"shared": shared, "count": "2000"}
        runs = [_run("accesses", hosts=2, modules=2, options=options).metrics for _ in range(RTL_RUNS)]
        speeds[name] = max(round(m["accesses"]["count"] / m["run"]["run_s"]) for m in runs)
        equal = equal and len({(m["run"]["digest"], m["run"]["cycles"]) for m in runs}) == 1
    return speeds, equal


def measure() -> dict[str, Any]:
    """All metrics. Raises PrismemError when a run fails."""
    build_software()
    emulator = _emulator()
    rtl, rtl_equal = _rtl_accesses()
    return {
        "cycles_per_s": _cycles_per_s(),
        "port_level": compare(),
        "hook_hit_ns": emulator["hook_hit_ns"],
        "accesses_per_s": emulator["accesses_per_s"] | rtl,
        "digests_equal": bool(emulator["digests_equal"]) and rtl_equal,
        "digest_runs": {"functional": int(emulator["runs"]), "rtl": RTL_RUNS},
    }


def run(console: Console) -> bool:
    """Measure, print and store; False when equal seeds gave different digests."""
    metrics = measure()
    result = {"metrics": metrics, "commit": commit(), "tools": tool_versions()}
    write_atomic(RESULT, json.dumps(result, indent=2) + "\n")
    table = Table("metric", "measured", "goal")
    for name, value in _flat(metrics):
        table.add_row(name, f"{value:,}" if not isinstance(value, bool) else str(value), GOALS.get(name, ""))
    console.print(table)
    console.print(relative(RESULT))
    return bool(metrics["digests_equal"])


def _flat(metrics: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in metrics.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
    return rows
