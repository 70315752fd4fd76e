"""Job software_ops: the library's operations on every host at once, each in simulated ns, lines and messages.

A sample is one operation of one node. The library counts the lines that it published and acquired in it; the messages
that its host sent to the memory in that time are counted from the transactions themselves, and so is where the time
went: waiting for lines that were read, for lines that were written back, for DMA, or for none of them (computing,
pausing between polls, and waiting for what others do).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib import transactions
from prismem.lib.emu import POOL_PATH, MachineConfig, pool_size
from prismem.lib.hosted import node_type
from prismem.lib.structs import FormatOptions
from prismem.paths import software_library
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register

OPS = (
    "lock_alone unlock lock_contended publish visible rendezvous insert lookup_hit lookup_miss release evict "
    "transfer_in transfer_out stream_in stream_out"
).split()
"""``enum software_op``."""
OF_A_CHAIN = ("insert", "lookup_hit", "lookup_miss", "release", "evict")
TRANSFERS = ("transfer_in", "transfer_out", "stream_in", "stream_out")
SAMPLE = np.dtype(
    [
        *((name, np.uint64) for name in ("start_ns", "end_ns")),
        *((name, np.uint32) for name in ("op", "node", "size", "bytes", "published", "acquired")),
    ]
)
STREAM_BYTES, SIZES, SIZE_MIN = 256 << 10, 5, 512  # software_ops.h
CAUSES = ("reads", "write_backs", "dma")
KIND_CAUSE = np.array([0, 0, 1, 1, 2, 2, 0, 1])  # by kind of transaction: index of CAUSES
AHEAD_NS_MAX = 64
PART_MIB = 8  # of the pool for the library's own parts


class _Job(ctypes.Structure):
    """``ops_job`` of software/jobs/software_ops.h."""

    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("struct_bytes", "nodes", "rounds", "blocks")),
        ("pool_path", ctypes.c_char_p),
        ("format", FormatOptions),
        ("samples", ctypes.c_void_p),
        ("samples_max", ctypes.c_uint32),
        ("stop_manager", ctypes.c_int32),
        ("counts", ctypes.c_void_p),
        *((name, ctypes.c_int32) for name in ("arrived", "part", "failed", "seen")),
        *((name, ctypes.c_uint64) for name in ("lock", "line", "stored_ns")),
    ]


_Node = node_type(_Job)


class OpsOptions(JobOptions):
    """Options of software_ops."""

    rounds: int = Field(8, ge=1, le=1000, description="times that every node does each operation")
    blocks: int = Field(4, ge=1, le=256, description="KV blocks of a chain")
    block_bytes: int = Field(4096, ge=64, le=1 << 17, multiple_of=64, description="payload of a block in the index")


@register
class SoftwareOps(Job):
    """Operations of the library."""

    name = "software_ops"
    description = "locks, publish, rendezvous, prefix index and block transfers on all hosts at once: ns and messages"
    ports = ("rtl", "timed")
    records_transactions = True
    Options = OpsOptions

    def check(self, request: Request) -> None:
        """Operations between hosts need two."""
        if request.hosts < 2:
            raise MisuseError(f"HOSTS: {request.hosts} has nobody to share with; use 2 or more")

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds index, chains and what is transferred; no cache events of their own."""
        return request.machine_config(pool_bytes=self._format(request).pool_bytes, event_every=0)

    def _format(self, request: Request) -> FormatOptions:
        options: OpsOptions = request.options
        chains = 2 * request.hosts * options.blocks
        slots = 1 << max(8, (2 * chains).bit_length())
        payload = chains * options.block_bytes * 2 + request.hosts * 4 * STREAM_BYTES
        return FormatOptions(
            pool_bytes=pool_size(payload + (PART_MIB << 20)),
            nodes=request.hosts + 1,
            index_slots=slots,
            index_capacity=chains,
            block_bytes=options.block_bytes,
            hash_seed=request.seed,
        )

    def prepare(self, ctx: Context) -> None:
        """A node a host, and the lock manager beside node 0."""
        options: OpsOptions = ctx.options
        each = 10 * max(options.rounds, ctx.hosts) + 4 * options.rounds + 4 * (SIZES + 1)
        self._samples = np.zeros((ctx.hosts, each), SAMPLE)
        self._counts = np.zeros(ctx.hosts, np.uint32)
        self._job = _Job(
            struct_bytes=ctypes.sizeof(_Job),
            nodes=ctx.hosts,
            rounds=options.rounds,
            blocks=options.blocks,
            pool_path=POOL_PATH.encode(),
            format=self._format(ctx),
            samples=self._samples.ctypes.data,
            samples_max=each,
            counts=self._counts.ctypes.data,
        )
        library = ctypes.CDLL(str(software_library("software_ops_inst")), mode=ctypes.RTLD_GLOBAL)
        self._nodes = [_Node(ctypes.pointer(self._job), node) for node in range(ctx.hosts + 1)]
        for host in range(ctx.hosts):
            ctx.machine.spawn(host, f"node{host}", library.software_ops, self._nodes[host])
        ctx.machine.spawn(0, "manager", library.software_ops_manager, self._nodes[-1], daemon=True)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Figures of each operation; every sample ends after its start, and transfers are not faster than the paths."""
        samples = np.concatenate([row[:count] for row, count in zip(self._samples, self._counts, strict=True)])
        if (samples["end_ns"] < samples["start_ns"]).any():
            raise CheckFailed("an operation ends before it starts", component="software_ops")
        table, left_out = transactions.recorded(ctx.machine)
        if left_out:
            raise CheckFailed(f"{left_out} transactions were not kept: too many to count messages; use fewer rounds")
        by_host = [_Host(table[table["host"] == host]) for host in range(ctx.hosts)]
        found: dict[str, Any] = {"hosts": ctx.hosts, "blocks": ctx.options.blocks, "ops": {}, "transfers": []}
        for op, name in enumerate(OPS):
            chosen = samples[samples["op"] == op]
            if name in TRANSFERS:
                sizes = np.unique(chosen["size"])
                found["transfers"] += [_transfer(name, int(size), chosen[chosen["size"] == size]) for size in sizes]
            else:
                found["ops"][name] = _figures(chosen, by_host)
        return {"software": found}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A line an operation, and the transfers."""
        found = metrics["software"]
        lines = [f"{found['hosts']} hosts at once, chains of {found['blocks']} blocks; ns"]
        lines.append("operation          P50      mean       max   lines   messages   waits for")
        for name, op in found["ops"].items():
            waits = ", ".join(f"{cause} {op['waits_percent'][cause]:.0f} %" for cause in (*CAUSES, "nothing"))
            count = f"{op['lines']:7.1f} {op['messages']:10.1f}"
            lines.append(f"{name:15} {op['p50_ns']:7.0f} {op['mean_ns']:9.1f} {op['max_ns']:9d} {count}   {waits}")
        for item in found["transfers"]:
            name = f"{item['op']} {item['size']} B"
            lines.append(f"{name:24} {item['gb_s']:7.2f} GB/s a host, {item['p50_ns']:.0f} ns")
        return "\n".join(lines)


class _Host:
    """Transactions of one host, ready to be asked what an interval held."""

    def __init__(self, table: np.ndarray[Any, Any]) -> None:
        self.cause = KIND_CAUSE[table["kind"]]
        self.start = table["stage_ns"][:, 0].astype(np.int64)
        self.end = table["stage_ns"][:, -1].astype(np.int64)

    def messages(self, start_ns: int, end_ns: int) -> int:
        """Requests that left the host in this time. A thread's clock is ahead of the machine's by its hits since it
        last waited; between the last request of an operation and its end lies at least a way to the memory and back."""
        return int(((self.start >= start_ns - AHEAD_NS_MAX) & (self.start < end_ns - AHEAD_NS_MAX)).sum())

    def waits(self, start_ns: int, end_ns: int) -> dict[str, float]:
        """Share of the time in which something was on its way; DMA counts before reads, reads before write-backs."""
        span = max(1, end_ns - start_ns)
        inside = (self.start < end_ns) & (self.end > start_ns)
        cause, begin, finish = self.cause[inside], self.start[inside], self.end[inside]
        taken = np.zeros(span, bool)
        shares = {}
        for name in ("dma", "reads", "write_backs"):
            here = np.zeros(span, bool)
            for i in np.flatnonzero(cause == CAUSES.index(name)):
                here[max(0, begin[i] - start_ns) : max(0, finish[i] - start_ns)] = True
            shares[name] = float((here & ~taken).sum() / span)
            taken |= here
        return shares | {"nothing": float(1 - taken.sum() / span)}


def _ns(samples: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    ns: np.ndarray[Any, Any] = samples["end_ns"].astype(np.int64) - samples["start_ns"].astype(np.int64)
    return ns


def _spread(ns: np.ndarray[Any, Any]) -> dict[str, float | int]:
    return {
        "count": len(ns),
        "p50_ns": float(np.median(ns)),
        "mean_ns": round(float(ns.mean()), 2),
        "max_ns": int(ns.max()),
    }


def _figures(samples: np.ndarray[Any, Any], by_host: list[_Host]) -> dict[str, Any]:
    """Time of all samples; messages of those whose host does not run the lock manager, which polls all the time."""
    quiet = samples[samples["node"] != 0]
    spans = [(by_host[s["node"]], int(s["start_ns"]), int(s["end_ns"])) for s in quiet]
    waits = [host.waits(start, end) for host, start, end in spans]
    messages = [host.messages(start, end) for host, start, end in spans]
    return _spread(_ns(samples)) | {
        "lines": round(float((quiet["published"] + quiet["acquired"]).mean()), 2),
        "messages": round(float(np.mean(messages)), 2),
        "waits_percent": {
            cause: round(100 * float(np.mean([wait[cause] for wait in waits])), 2) for cause in (*CAUSES, "nothing")
        },
    }


def _transfer(name: str, size: int, samples: np.ndarray[Any, Any]) -> dict[str, Any]:
    rates = samples["bytes"] / _ns(samples)
    return {"op": name, "size": size, "gb_s": round(float(rates.mean()), 3)} | _spread(_ns(samples))
