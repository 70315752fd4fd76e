"""Bindings of ``software/jobs/lock_speed.h``: the global lock of each tier, taken by one node or by all at once."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from prismem.lib import timed
from prismem.lib.emu import POOL_PATH, Machine, MachineConfig, Policy, Port, State, load_library
from prismem.lib.hosted import JOB_HEAD, first_fault, node_type
from prismem.lib.structs import FormatOptions, LockInfo
from prismem.paths import software_library

NODES_MAX = 32
POOL_BYTES = 4 << 20
LEASE_NS = 2_000_000_000
STEPS_PER_ACQUISITION_MAX = 20_000
"""Of one node, for each node there is: looks at all others while all others wait."""


class Tier(IntEnum):
    """``enum pm_lock_tier``."""

    QUEUE = 0
    SLOTS = 1
    BAKERY = 2


PASSED_BY_ONE_MAX = {Tier.QUEUE: 1, Tier.BAKERY: 1, Tier.SLOTS: 2}
"""How often one other node may get the lock while a node stands in the queue. With a number, nobody who comes later is
before it. The manager may grant once more before it looks at the bell of the newcomer; from then on grants go round."""


class _Result(c.Structure):
    _fields_ = [
        *(
            (name, c.c_uint64)
            for name in (
                *("acquisitions", "acquire_ns", "acquire_ns_max", "release_ns", "lines_out", "lines_in"),
                *("passed_max", "passed_by_one_max"),
            )
        ),
        ("info", LockInfo),
    ]


class _Job(c.Structure):
    _fields_ = [
        *JOB_HEAD,
        ("active", c.c_uint32),
        ("rounds", c.c_uint32),
        ("think_ns", c.c_uint32),
        ("check", c.c_uint32),
        ("results", _Result * NODES_MAX),
        ("start_ns", c.c_uint64),
        ("end_ns", c.c_uint64),
        ("count", c.c_uint64),
        ("overlaps", c.c_uint64),
        ("pools", c.c_void_p * NODES_MAX),
        *((name, c.c_uint32) for name in ("opened", "ready", "done", "inside", "managed")),
        ("stop_manager", c.c_int32),
        ("offset", c.c_uint64),
        ("served", c.c_uint64 * NODES_MAX),
        ("passed", c.c_uint64 * NODES_MAX),
        ("passed_by", c.c_uint64 * NODES_MAX * NODES_MAX),
    ]


_Node = node_type(_Job)


@dataclass(frozen=True)
class Outcome:
    """What a run did. Times are ns of simulated time, over all acquisitions unless said otherwise."""

    state: State
    fault: str
    acquisitions: int
    acquire_ns: float  # mean
    acquire_ns_max: int
    release_ns: float  # mean
    period_ns: float  # from the first acquisition to the last release, for each
    lines_out: float  # published, by nodes, for each
    lines_in: float  # acquired, by nodes, for each
    messages: float  # lines that all hosts read from the device or wrote to it, the manager's included, for each
    polls: float  # looks at the line of another node, for each
    passed_max: int
    passed_by_one_max: int
    count: int
    overlaps: int
    fewest: int  # acquisitions of the node that got the fewest


def run(
    tier: Tier,
    hosts: int,
    rounds: int,
    *,
    active: int | None = None,
    think_ns: int = 0,
    check: bool = False,
    seed: int = 1,
    policy: Policy = Policy.RANDOM,
    model: timed.TimedModel | None = None,
) -> Outcome:
    """One run of `rounds` acquisitions by each of the first `active` hosts (None: all of them).

    With `model` on the timed port, otherwise on the functional one, where times mean nothing. `check` makes the nodes
    count in a line that the lock protects, and note who is passed by whom.
    """
    load_library()
    library = c.CDLL(str(software_library("lock_speed_inst")), mode=c.RTLD_GLOBAL)
    taking = hosts if active is None else active
    job = _Job(
        struct_bytes=c.sizeof(_Job),
        nodes=hosts,
        pool_path=POOL_PATH.encode(),
        format=FormatOptions(
            pool_bytes=POOL_BYTES, nodes=hosts, index_slots=64, lease_ns=LEASE_NS, lock_tier=int(tier)
        ),
        active=taking,
        rounds=rounds,
        think_ns=think_ns,
        check=int(check),
    )
    nodes = [_Node(c.pointer(job), node) for node in range(hosts)]
    config = MachineConfig(
        hosts=hosts,
        pool_bytes=POOL_BYTES,
        seed=seed,
        policy=policy,
        port=Port.FUNCTIONAL if model is None else Port.RTL,
        step_limit=STEPS_PER_ACQUISITION_MAX * hosts * (taking * rounds + 100),
    )
    with Machine(config) as machine:
        for node in range(hosts):
            machine.spawn(node, f"node{node}", library.lock_speed_run, c.addressof(nodes[node]))
        machine.spawn(0, "manager", library.lock_speed_manager, c.addressof(nodes[0]))
        state = machine.run() if model is None else timed.run(machine, model)
        return _outcome(job, taking, state, machine.report())


def _outcome(job: _Job, taking: int, state: State, report: dict[str, Any]) -> Outcome:
    results = [job.results[node] for node in range(taking)]
    count = sum(r.acquisitions for r in results)
    each = max(count, 1)
    moved = sum(h[key] for h in report["hosts"] for key in ("fills", "prefetches", "writebacks"))
    return Outcome(
        state=state,
        fault=first_fault(report),
        acquisitions=count,
        acquire_ns=sum(r.acquire_ns for r in results) / each,
        acquire_ns_max=max(r.acquire_ns_max for r in results),
        release_ns=sum(r.release_ns for r in results) / each,
        period_ns=(job.end_ns - job.start_ns) / each,
        lines_out=sum(r.lines_out for r in results) / each,
        lines_in=sum(r.lines_in for r in results) / each,
        messages=moved / each,
        polls=sum(r.info.polls for r in results) / each,
        passed_max=max(r.passed_max for r in results),
        passed_by_one_max=max(r.passed_by_one_max for r in results),
        count=job.count,
        overlaps=job.overlaps,
        fewest=min(r.acquisitions for r in results),
    )
