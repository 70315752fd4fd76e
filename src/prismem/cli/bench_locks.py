"""`prismem bench --locks`: the global tiers of the locks beside each other; leaves build/bench_locks/result.json.

Everything is simulated time of the timed port, so the figures are the same on every machine. A row is a tier and a
number of hosts:

- uncontended: one node takes and releases the lock again and again, 3 us apart, while the others are idle.
- contended: all nodes want it all the time; `period_ns` is the time from one holder to the next, the lock being held
  for no time at all, so it is what handing over takes.
- lines: 64-byte lines that the nodes publish and acquire for one acquisition and release, polls included, beside the
  fewest that the layout allows; `messages` are the lines that cross between hosts and memory for it, the manager's too.
- starved: 1 when a node was passed more often than the tier promises in the long run, or got the lock less often.

Profile pfma has 16 hosts; with 32 each of the others gets lightpaths of its own as well, which is no longer one
appliance: those figures are an extrapolation.
"""

import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from prismem.errors import PrismemError
from prismem.lib.emu import Policy, State
from prismem.lib.lock_speed import PASSED_BY_ONE_MAX, Outcome, Tier, run
from prismem.lib.timed import model
from prismem.models.profile import load
from prismem.paths import BUILD, SOFTWARE, relative
from prismem.tb.report.calibrate import calibrate
from prismem.tb.runner import timed
from prismem.tb.runner.build import build_software, progress
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.toolchain import commit, tool_versions

RESULT = BUILD / "bench_locks" / "result.json"
PROFILE = "pfma"
MODULES = 16
HOSTS = (2, 4, 8, 16, 32)
ROUNDS_ALONE = 100
ACQUISITIONS = 2_000
THINK_NS = 3_000
FAIR_HOSTS = 16
FAIR_ACQUISITIONS = 100_000
PROCESSES = 2
DECIDED_AT = (16, 32)


def fewest_lines(tier: Tier, hosts: int, *, contended: bool) -> dict[str, int]:
    """Lines that an acquisition and its release cannot do without, published and acquired, over all nodes.

    queue, bakery: choosing, number and release go out; the other lines and the state of the lock come in twice. A queue
    that is contended takes one look at the predecessor more, a bakery one at each of the others, which all were before
    this one, and at the state.
    slots: request, bell, grant, and at the release request and bell again; each is acquired once by the other side.
    """
    if tier is Tier.SLOTS:
        return {"out": 5, "in": 5}
    looks = 2 * hosts
    if contended:
        looks += 1 if tier is Tier.QUEUE else hosts - 1
    return {"out": 3, "in": looks + (1 if tier is Tier.BAKERY else 0)}


def _figures(o: Outcome) -> dict[str, float]:
    if o.state is not State.DONE:
        raise PrismemError(f"bench: a run of the locks ended {o.state.name}: {o.fault}")
    kept = ("acquire_ns", "acquire_ns_max", "release_ns", "period_ns", "lines_out", "lines_in", "messages", "polls")
    return {key: round(value, 1) for key, value in asdict(o).items() if key in kept}


def _model() -> Any:
    measured = json.loads(timed.calibration_file(load(PROFILE)).read_text(encoding="utf-8"))["measured"]
    return model(timed.numbers(load(PROFILE), MODULES, measured))


def measure(case: tuple[Tier, int]) -> dict[str, Any]:
    """One row: a tier and a number of hosts."""
    tier, hosts = case
    rounds = max(ACQUISITIONS // hosts, 1)
    alone = run(tier, hosts, ROUNDS_ALONE, active=1, think_ns=THINK_NS, policy=Policy.LAZY, model=_model())
    together = run(tier, hosts, rounds, policy=Policy.LAZY, model=_model())
    row: dict[str, Any] = {"tier": tier.name.lower(), "hosts": hosts}
    for name, outcome in (("uncontended", alone), ("contended", together)):
        fewest = fewest_lines(tier, hosts, contended=name == "contended")
        row[name] = _figures(outcome) | {"fewest_out": fewest["out"], "fewest_in": fewest["in"]}
    return row


def fairness(tier: Tier) -> dict[str, Any]:
    """A long run of all nodes, each acquisition checked: exclusive, nothing lost, nobody passed too often."""
    rounds = FAIR_ACQUISITIONS // FAIR_HOSTS
    o = run(tier, FAIR_HOSTS, rounds, check=True, policy=Policy.LAZY, model=_model())
    _figures(o)
    starved = o.passed_by_one_max > PASSED_BY_ONE_MAX[tier] or o.fewest < rounds
    return {
        "tier": tier.name.lower(),
        "hosts": FAIR_HOSTS,
        "acquisitions": o.acquisitions,
        "starved": int(starved),
        "overlaps": o.overlaps,
        "lost": o.acquisitions - o.count,
        "wait_ns_max": o.acquire_ns_max,
        "passed_max": o.passed_max,
        "passed_by_one_max": o.passed_by_one_max,
    }


def best(rows: list[dict[str, Any]]) -> str:
    """The tier with the shortest way from holder to holder at many hosts."""
    sums: dict[str, float] = {}
    for r in rows:
        if r["hosts"] in DECIDED_AT:
            sums[r["tier"]] = sums.get(r["tier"], 0.0) + r["contended"]["period_ns"]
    return min(sorted(sums), key=lambda tier: sums[tier])


def _show(console: Console, rows: list[dict[str, Any]], fair: list[dict[str, Any]]) -> None:
    table = Table("tier", "hosts", "alone: acquire ns", "release", "lines", "fewest", title="one node")
    for r in rows:
        u = r["uncontended"]
        lines = f"{u['lines_out']:.0f} out {u['lines_in']:.0f} in"
        fewest = f"{u['fewest_out']} / {u['fewest_in']}"
        cells = (r["tier"], str(r["hosts"]), f"{u['acquire_ns']:,.0f}", f"{u['release_ns']:,.0f}", lines, fewest)
        table.add_row(*cells)
    console.print(table)
    table = Table("tier", "hosts", "hand-over ns", "acquire ns", "longest", "lines", "fewest", title="all nodes")
    for r in rows:
        u = r["contended"]
        lines = f"{u['lines_out']:.0f} out {u['lines_in']:.0f} in"
        times = (f"{u[key]:,.0f}" for key in ("period_ns", "acquire_ns", "acquire_ns_max"))
        table.add_row(r["tier"], str(r["hosts"]), *times, lines, f"{u['fewest_out']} / {u['fewest_in']}")
    console.print(table)
    table = Table("tier", "hosts", "acquisitions", "starved", "longest wait ns", "passed at most", "by one node")
    for f in fair:
        table.add_row(*(f"{f[key]:,}" if key != "tier" else f[key] for key in f if key not in ("overlaps", "lost")))
    console.print(table)


def bench(console: Console) -> bool:
    """Measure, print and store. False when a long run was not fair, not exclusive, or lost a count."""
    build_software(SOFTWARE, "inst")
    if not timed.calibration_file(load(PROFILE)).exists():
        progress(f"calibrating the timed port for profile {PROFILE}")
        calibrate(PROFILE)
    progress(f"measuring {len(Tier)} tiers; the long runs take minutes")
    with ProcessPoolExecutor(PROCESSES) as pool:
        long_runs = pool.map(fairness, Tier)
        rows = list(pool.map(measure, [(tier, hosts) for hosts in HOSTS for tier in Tier]))
        fair = list(long_runs)
    result = {
        "port": "timed",
        "profile": PROFILE,
        "modules": MODULES,
        "calibration": relative(timed.calibration_file(load(PROFILE))),
        "extrapolated_hosts": [hosts for hosts in HOSTS if hosts > load(PROFILE).rack.hosts.canonical],
        "rows": rows,
        "fairness": fair,
        "best": best(rows),
        "default": Tier(0).name.lower(),
        "commit": commit(),
        "tools": tool_versions(),
    }
    write_atomic(RESULT, json.dumps(result, indent=2) + "\n")
    _show(console, rows, fair)
    at = " and ".join(map(str, DECIDED_AT))
    console.print(f"shortest hand-over at {at} hosts: {result['best']}; the default is {result['default']}")
    console.print(relative(RESULT))
    return not any(f["starved"] or f["overlaps"] or f["lost"] for f in fair)
