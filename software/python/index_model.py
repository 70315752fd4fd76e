"""Bindings of ``software/jobs/index_model.h``: hosts of the functional port take turns at the prefix index."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from random import Random

import numpy as np

from prismem.lib.emu import POOL_PATH, Machine, MachineConfig, Policy, State, load_library, pool_size
from prismem.lib.hosted import JOB_HEAD, first_fault, node_type
from prismem.lib.structs import FormatOptions, IndexInfo, as_dict
from prismem.paths import software_library

NODES_MAX = 32
BLOCK_BYTES = 64
STEPS_PER_BLOCK_MAX = 100_000


class Replacement:
    """``enum pm_replacement``."""

    LRU = 0
    CLOCK = 1


class _Job(c.Structure):
    _fields_ = [
        *JOB_HEAD,
        ("requests", c.c_uint64),
        ("first_block", c.c_void_p),
        ("ids", c.c_void_p),
        ("hits", c.c_void_p),
        ("inserted", c.c_void_p),
        ("index", IndexInfo),
        ("verified_blocks", c.c_uint64 * NODES_MAX),
        ("refused_blocks", c.c_uint64 * NODES_MAX),
        ("stop_manager", c.c_int32),
        ("nodes_done", c.c_int32),
    ]


_Node = node_type(_Job)


@dataclass(frozen=True)
class Outcome:
    """What a run did. Counts are blocks."""

    state: State
    fault: str
    hits: list[int]  # of each request
    inserted: list[int]
    verified: int
    refused: int
    index: dict[str, int]


def chains(seed: int, requests: int) -> list[list[int]]:
    """Seeded chains of 2 to 6 blocks: 24 families of unequal popularity share their first blocks, leaves differ."""
    random = Random(seed)
    made = []
    for _ in range(requests):
        family = int(random.paretovariate(0.9)) % 24
        leaf, shared, length = random.randrange(12), 1 + family % 3, random.randint(2, 6)
        made.append([family << 20 | d if d < shared else family << 20 | (leaf + 1) << 8 | d for d in range(length)])
    return made


def run(
    requests: list[list[int]], *, hosts: int = 4, capacity: int = 96, replacement: int = Replacement.LRU, seed: int = 1
) -> Outcome:
    """One run of all requests, in their order, on ``hosts`` emulated hosts.

    The index has 128 buckets and ``capacity`` blocks; cache events follow the policy ``seed % 4``.
    """
    load_library()
    library = c.CDLL(str(software_library("index_model_inst")), mode=c.RTLD_GLOBAL)
    first = np.array([0, *np.cumsum([len(chain) for chain in requests])], dtype=np.uint64)
    ids = np.array([block for chain in requests for block in chain], dtype=np.uint64)
    hits, inserted = (np.zeros(len(requests), dtype=np.uint32) for _ in range(2))
    size = pool_size(4 << 20)
    job = _Job(
        struct_bytes=c.sizeof(_Job),
        nodes=hosts,
        pool_path=POOL_PATH.encode(),
        format=FormatOptions(
            pool_bytes=size,
            nodes=hosts + 1,
            index_slots=128,
            index_capacity=capacity,
            block_bytes=BLOCK_BYTES,
            hash_seed=seed,
            replacement=replacement,
        ),
        requests=len(requests),
        first_block=first.ctypes.data,
        ids=ids.ctypes.data,
        hits=hits.ctypes.data,
        inserted=inserted.ctypes.data,
    )
    nodes = [_Node(c.pointer(job), node) for node in range(hosts + 1)]
    config = MachineConfig(
        hosts=hosts,
        pool_bytes=size,
        seed=seed,
        policy=Policy(seed % len(Policy)),
        step_limit=STEPS_PER_BLOCK_MAX * (len(ids) + 1000),
    )
    with Machine(config) as machine:
        for node in range(hosts):
            machine.spawn(node, f"node{node}", library.index_model_run, c.addressof(nodes[node]))
        machine.spawn(0, "manager", library.index_model_manager, c.addressof(nodes[hosts]), daemon=True)
        state = machine.run()
        report = machine.report()
    return Outcome(
        state=state,
        fault=first_fault(report),
        hits=hits.tolist(),
        inserted=inserted.tolist(),
        verified=sum(job.verified_blocks),
        refused=sum(job.refused_blocks),
        index=as_dict(job.index),
    )
