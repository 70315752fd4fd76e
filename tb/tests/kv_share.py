"""Job kv_share: hosts share KV blocks of a request trace through the pool, every byte checked on the reading host.

Prefill hosts look up the longest resident prefix of each request, compute the missing blocks, move them in by DMA and
publish them; decode hosts look the chain up, move it out and compare each byte with the payload that follows from its
digest. Hits of every request, insertions and evictions are compared with the LRU oracle of prismem.models.lru.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib.emu import LINE_BYTES, POOL_PATH, MachineConfig, pool_size
from prismem.lib.kv_job import STEPS, KvJob
from prismem.lib.mutants import select_mutant
from prismem.lib.structs import FormatOptions
from prismem.models import lru, trace
from prismem.paths import found
from prismem.tb.job import FILE_OPTION, CheckFailed, Context, Job, JobOptions, Request, register
from prismem.tb.kv_report import bandwidth_by_port, render, spread

MIB = 1 << 20
TRACE_SEED_MASK = 0xFFFF_FFFF
SLOTS_PER_BLOCK = 4 / 3  # a hash table with linear probing stays short of three quarters full


class KvOptions(JobOptions):
    """Options of kv_share."""

    trace: str | None = Field(
        None,
        min_length=1,
        json_schema_extra=FILE_OPTION,
        description="request trace in the Mooncake JSONL format; default: a generated one",
    )
    requests: int = Field(
        0, ge=0, le=1_000_000, description="take only the first so many requests; 0: all (24 of a generated trace)"
    )
    capacity: int = Field(0, ge=0, le=1 << 32, description="blocks that may be resident; 0: no limit")
    tokens_per_block: int = Field(16, ge=1, le=4096, description="token ids hashed into one block digest")
    bytes_per_token: int = Field(
        32, ge=1, le=65_536, description="payload bytes a token; a block is a multiple of 64 bytes"
    )
    compute_ns: int = Field(0, ge=0, lt=1_000_000_000, description="simulated time to compute a missing block")


GENERATED_REQUESTS = 24
# A run that needs more hooked accesses and polls than this is stuck: good runs need 250 to 700 a block, and one poll in
# about 100 ns while a block is computed. On the RTL each poll is a round trip, so the allowance is smaller there.
STEPS_START = {"functional": 2_000_000, "rtl": 200_000, "timed": 200_000}
STEPS_PER_BLOCK = {"functional": 10_000, "rtl": 3_000, "timed": 3_000}
POLL_NS = 100


def load_trace(options: KvOptions, seed: int) -> tuple[tuple[int, ...], ...]:
    """Block ids of each request, read or generated once. Raises TraceError."""
    version = 0
    if options.trace:
        with suppress(OSError):  # the reader has the words for it
            version = found(options.trace).stat().st_mtime_ns
    return _load_trace(options.trace, version, options.requests or None, seed & TRACE_SEED_MASK)


@lru_cache(maxsize=1)
def _load_trace(path: str | None, _version: int, limit: int | None, seed: int) -> tuple[tuple[int, ...], ...]:
    if path:
        return tuple(r.hash_ids for r in trace.read(found(path), limit))
    workload = trace.Workload(requests=limit or GENERATED_REQUESTS, seed=seed)
    return tuple(r.hash_ids for r in trace.generate(workload))


def roles(hosts: int) -> tuple[int, int, list[int]]:
    """Prefill nodes, decode nodes, and the host of each node; one host alone runs one of each."""
    if hosts == 1:
        return 1, 1, [0, 0]
    decodes = hosts // 2
    return hosts - decodes, decodes, list(range(hosts))


def blocks_open_max(prefills: int, decodes: int, longest: int) -> int:
    """Blocks that requests in flight may pin: of a prefill node one unacknowledged request a pair and one in hand."""
    return prefills * (decodes + 1) * longest


@register
class KvShare(Job):
    """The main job."""

    name = "kv_share"
    description = "hosts share KV blocks of a request trace; every byte and every hit checked"
    takes_mutant = True
    Options = KvOptions

    def check(self, request: Request) -> None:
        """Blocks in whole lines, and room for the requests in flight."""
        options: KvOptions = request.options
        if options.tokens_per_block * options.bytes_per_token % LINE_BYTES:
            raise MisuseError(
                f"option bytes_per_token: {options.tokens_per_block} tokens x {options.bytes_per_token} B is no "
                f"multiple of {LINE_BYTES} B; change one of them"
            )
        requests = load_trace(options, request.seed)
        prefills, decodes, _ = roles(request.hosts)
        need = blocks_open_max(prefills, decodes, max(map(len, requests)))
        if options.capacity and options.capacity < need:
            raise MisuseError(
                f"option capacity: {options.capacity} blocks, but the requests in flight on {request.hosts} hosts may "
                f"pin {need}; use at least that many, or 0 for no limit"
            )

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds index and payload."""
        blocks = sum(map(len, load_trace(request.options, request.seed)))
        polls = request.hosts * request.options.compute_ns // POLL_NS
        limit = STEPS_START[request.port] + (STEPS_PER_BLOCK[request.port] + polls) * blocks
        return request.machine_config(pool_bytes=self._format(request).pool_bytes, step_limit=limit)

    def _format(self, request: Request) -> FormatOptions:
        options: KvOptions = request.options
        requests = load_trace(options, request.seed)
        distinct = len({block for r in requests for block in r})
        blocks = min(options.capacity or distinct, distinct)  # more room than blocks is never used
        prefills, decodes, _ = roles(request.hosts)
        nodes = prefills + decodes + 1
        slots = 1 << max(6, int(blocks * SLOTS_PER_BLOCK)).bit_length()
        block_bytes = options.tokens_per_block * options.bytes_per_token
        table_bytes = slots * (LINE_BYTES + 16 + 8 * nodes)
        payload_bytes = 2 * (blocks + 1) * (1 << (block_bytes - 1).bit_length())
        return FormatOptions(
            pool_bytes=pool_size(table_bytes + payload_bytes + 8 * MIB),
            nodes=nodes,
            index_slots=slots,
            index_capacity=blocks,
            block_bytes=block_bytes,
            hash_seed=request.seed,
            name_space=(ctypes.c_uint8 * 16)(*b"prismem-kv-share"),
        )

    def prepare(self, ctx: Context) -> None:
        """One thread a node, and the lock manager."""
        options: KvOptions = ctx.options
        self._requests = load_trace(options, ctx.seed)
        prefills, decodes, host_of = roles(ctx.hosts)
        self._job = KvJob(
            self._requests,
            prefills=prefills,
            decodes=decodes,
            format_options=self._format(ctx),
            tokens_per_block=options.tokens_per_block,
            compute_ns=options.compute_ns,
            pool_path=POOL_PATH,
        )
        select_mutant(ctx.mutant or "none")
        self._job.spawn(ctx.machine, host_of)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Compare bytes, hits, insertions and evictions with the oracle's."""
        totals = self._job.totals()
        if totals.wrong_bytes:
            raise CheckFailed(
                f"{totals.wrong_bytes} wrong bytes in decoded payloads", expected=0, actual=totals.wrong_bytes
            )
        oracle = self._compare_with_oracle(ctx.options.capacity or None)
        inserted = int(self._job.requests["inserted"].sum())
        requests = len(self._requests)
        per_insert = totals.lines_flushed_insert / inserted if inserted else 0.0
        metrics: dict[str, Any] = {
            "kv": {
                "requests": requests,
                "blocks": oracle.blocks,
                "hits": oracle.hits,
                "hit_rate_percent": round(100.0 * float(self._job.requests["hits"].sum()) / oracle.blocks, 2),
                "inserts": inserted,
                "evictions": self._job.index["evictions"],
                "verified_bytes": totals.verified_bytes,
                "wrong_bytes": totals.wrong_bytes,
                "lines_flushed_per_insert": round(per_insert, 2),
                "lines_acquired_per_insert": round(totals.lines_acquired_insert / max(inserted, 1), 2),
                "lines_flushed_per_lookup_block": round(totals.lines_flushed_lookup / (2 * oracle.blocks), 2),
                "lines_acquired_per_lookup_block": round(totals.lines_acquired_lookup / (2 * oracle.blocks), 2),
                "locks_per_request": round(totals.stats["locks_global"] / requests, 2),
                "index": self._job.index,
                "step_ns": {step: spread(self._job.requests["step_ns"][:, i]) for i, step in enumerate(STEPS)},
            }
        }
        if ctx.port != "functional":
            ports = ctx.machine.latency_report()["ports"]
            metrics["ports"] = bandwidth_by_port(ports, ctx.machine.report()["now_ns"])
        return metrics

    def _compare_with_oracle(self, capacity: int | None) -> lru.Totals:
        cache = lru.PrefixCache(capacity)
        for number, (chain, got) in enumerate(zip(self._requests, self._job.requests, strict=True)):
            want = cache.request(chain)
            for field, expected in (("hits", want.hits), ("inserted", want.inserted), ("decoded", len(chain))):
                if int(got[field]) != expected:
                    raise CheckFailed(
                        f"request {number}: {field} differ from the oracle's",
                        component="prefix index",
                        expected=expected,
                        actual=int(got[field]),
                    )
        evictions = self._job.index["evictions"]
        if evictions != cache.totals.evictions:
            raise CheckFailed("evictions differ from the oracle's", expected=cache.totals.evictions, actual=evictions)
        return cache.totals

    def report(self, metrics: Mapping[str, Any]) -> str:
        """The tables of kv_report."""
        return render(metrics)
