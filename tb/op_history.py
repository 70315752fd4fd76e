"""Bindings of ``software/jobs/op_history.h``: hosts use locks, allocator and index at once; calls as a history."""

from __future__ import annotations

import ctypes as c
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from prismem.lib.emu import POOL_PATH, Machine, MachineConfig, Policy, State, load_library, pool_size
from prismem.lib.fsck import fsck
from prismem.lib.hosted import JOB_HEAD, first_fault, node_type
from prismem.lib.structs import FormatOptions
from prismem.models.linearize import Operation
from prismem.paths import software_library

LOCKS_MAX = 8
BLOCK_BYTES = 64
STEPS_PER_CALL_MAX = 20_000
KINDS = {1: "lock", 2: "block", 3: "entry"}
BLOCK, ALL_ENTRIES = 2, 4
KEY_SHIFT = 56
CALLS = {
    1: "acquire",
    2: "release",
    3: "alloc",
    4: "free",
    5: "lookup",
    6: "exists",
    7: "reserve",
    8: "commit",
    9: "release",
    10: "evict",
}
"""enum pm_call."""


class RawOperation(c.Structure):
    """``pm_operation`` of prismem/history.h."""

    _fields_ = [
        *((name, c.c_uint64) for name in ("key", "invoked", "responded")),
        *((name, c.c_int64) for name in ("argument", "result")),
        *((name, c.c_uint32) for name in ("call", "process")),
    ]


class RawHistory(c.Structure):
    """``pm_history``."""

    _fields_ = [
        ("operation", c.POINTER(RawOperation)),
        *((name, c.c_uint64) for name in ("capacity", "used", "clock", "lost")),
    ]


class _Job(c.Structure):
    _fields_ = [
        *JOB_HEAD,
        ("seed", c.c_uint64),
        ("calls", c.c_uint64),
        ("locks", c.c_uint32),
        ("entries", c.c_uint32),
        ("history", RawHistory),
        ("lock", c.c_uint32 * LOCKS_MAX),
        ("ready", c.c_int32),
        ("nodes_done", c.c_int32),
        ("stop_manager", c.c_int32),
    ]


_Node = node_type(_Job)


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    state: State
    fault: str
    operations: list[Operation]
    findings: list[str]
    """Of pm_fsck on the memory at the end, with caches dropped and with everything written back."""


def operations(history: RawHistory, entries: int) -> list[Operation]:
    """A recorded history by keys "kind:number"; what concerns all entries stands under each of them.

    Calls that name nothing, as an allocation that failed, are left out.
    """
    found = []
    for raw in history.operation[: min(history.used, history.capacity)]:
        kind, number = raw.key >> KEY_SHIFT, raw.key & ((1 << KEY_SHIFT) - 1)
        one = Operation(
            process=raw.process,
            call=CALLS[raw.call],
            key="",
            argument=raw.argument,
            result=raw.result,
            invoked=raw.invoked,
            responded=raw.responded or None,
        )
        if kind == ALL_ENTRIES:
            found += [replace(one, key=f"entry:{entry}") for entry in range(entries)]
        elif kind in KINDS and (number or kind != BLOCK):
            found.append(replace(one, key=f"{KINDS[kind]}:{number}"))
    return found


def run(
    *, hosts: int = 3, calls: int = 200, locks: int = 2, entries: int = 6, seed: int = 1, policy: Policy | None = None
) -> Outcome:
    """One run on ``hosts`` emulated hosts, ``calls`` of each; cache events follow ``policy``, or ``seed % 4``.

    The race detector is off: the history alone judges.
    """
    load_library()
    library = c.CDLL(str(software_library("op_history_inst")), mode=c.RTLD_GLOBAL)
    raw = (RawOperation * (hosts * calls * 3))()
    size = pool_size(4 << 20)
    job = _Job(
        struct_bytes=c.sizeof(_Job),
        nodes=hosts,
        pool_path=POOL_PATH.encode(),
        format=FormatOptions(
            pool_bytes=size,
            nodes=hosts + 1,
            index_slots=64,
            index_capacity=4 * entries,
            block_bytes=BLOCK_BYTES,
            hash_seed=seed,
        ),
        seed=seed,
        calls=calls,
        locks=locks,
        entries=entries,
        history=RawHistory(operation=c.cast(raw, c.POINTER(RawOperation)), capacity=len(raw)),
    )
    nodes = [_Node(c.pointer(job), node) for node in range(hosts + 1)]
    config = MachineConfig(
        hosts=hosts,
        pool_bytes=size,
        seed=seed,
        policy=Policy(seed % len(Policy)) if policy is None else policy,
        switch_every=8,
        event_every=8,
        detect=False,
        step_limit=STEPS_PER_CALL_MAX * (calls * hosts + 1000),
    )
    findings: list[str] = []

    def look(image: bytes, dropped: bool) -> int:
        with tempfile.NamedTemporaryFile() as file:
            file.write(image)
            file.flush()
            result = fsck(Path(file.name))
        how = "caches dropped" if dropped else "written back"
        findings.extend(f"{how}: {finding.kind}: {finding.text}" for finding in result.findings)
        return 0 if result.clean else 1

    with Machine(config) as machine:
        for node in range(hosts):
            machine.spawn(node, f"node{node}", library.op_history_run, c.addressof(nodes[node]))
        machine.spawn(0, "manager", library.op_history_manager, c.addressof(nodes[hosts]))
        machine.audit_set(look)
        state = machine.run()
        report = machine.report()
    assert job.history.lost == 0
    return Outcome(
        state=state,
        fault=first_fault(report),
        operations=operations(job.history, entries),
        findings=findings,
    )
