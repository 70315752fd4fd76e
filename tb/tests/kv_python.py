"""Job kv_python: the prefill host and the decode host are Python programs.

Both call libprismem through prismem.lib.pool; each call runs on an emulated host and blocks in simulated time, on the
functional port or in front of the RTL. Digest, payload and hits come from the models, so C and Python check each other.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib.emu import POOL_PATH, ExternalHost, MachineConfig, external_host, load_library
from prismem.lib.mutants import select_mutant
from prismem.lib.pool import Pool, PoolError, RefState, format_pool, load
from prismem.lib.structs import FormatOptions, Ref, Signal
from prismem.models import digest, lru, trace
from prismem.models.payload import block_payload
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register

NAME_SPACE = b"prismem/kvpython"
POOL_BYTES = 8 << 20
PREFILL, DECODE, MANAGER = 0, 1, 2
DECODE_PIN = 1 << 63
HOSTS_MAX = 2
OPEN_POLLS_MAX = 10_000


class KvPythonOptions(JobOptions):
    """Options of kv_python."""

    requests: int = Field(6, ge=1, le=200, description="requests of a generated trace")
    block_bytes: int = Field(256, ge=64, le=4096, multiple_of=64, description="payload of a block")


def open_pool(host: ExternalHost, node: int, library: ctypes.CDLL) -> Pool:
    """Open the pool as soon as somebody has formatted it."""
    for _ in range(OPEN_POLLS_MAX):
        try:
            return Pool(POOL_PATH, node=node, name_space=NAME_SPACE, library=library, caller=host)
        except PoolError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOENT):
                raise
    raise CheckFailed("nobody formats the pool", component=f"node {node}")


class _Run:
    """What the three programs share: plain Python, out of the machine's sight."""

    def __init__(self, ctx: Context, chains: Sequence[Sequence[int]]) -> None:
        self.options: KvPythonOptions = ctx.options
        self.library = load(instrumented=True)
        self.chains = chains
        self.root = digest.seed(ctx.seed, NAME_SPACE)
        self.format = FormatOptions(
            pool_bytes=POOL_BYTES,
            nodes=3,
            index_slots=1024,
            block_bytes=self.options.block_bytes,
            hash_seed=ctx.seed,
            name_space=(ctypes.c_uint8 * 16)(*NAME_SPACE),
        )
        self.stop = ctypes.c_int(0)
        self.hits: list[int] = []
        self.verified_bytes = 0

    def digests(self, ids: Sequence[int]) -> list[digest.Digest]:
        """Chained digests of a request; a block's content is its id, as two tokens."""
        found: list[digest.Digest] = []
        parent = self.root
        for block in ids:
            parent = digest.chain(parent, [block & 0xFFFF_FFFF, block >> 32])
            found.append(parent)
        return found

    def prefill(self, host: ExternalHost) -> None:
        """Look up, compute what is missing, move it in, publish, signal, wait for the acknowledgement."""
        format_pool(POOL_PATH, self.format, library=self.library, caller=host)
        with open_pool(host, PREFILL, self.library) as pool:
            for number, ids in enumerate(self.chains):
                chain = self.digests(ids)
                hits = pool.lookup(number, chain)
                self.hits.append(len(hits))
                refs = pool.reserve(number, self.root, chain, hits)
                for block, ref in zip(chain, refs, strict=True):
                    if ref.state == RefState.RESERVED:
                        pool.dma_write(ref.offset, block_payload(*block, self.options.block_bytes))
                refs = pool.commit(refs)
                pool.send(DECODE, Signal(tag=number, length=len(chain)))
                acknowledged = pool.receive(DECODE).tag
                if acknowledged != number:
                    raise CheckFailed(
                        "wrong acknowledgement", component="prefill", expected=number, actual=acknowledged
                    )
                pool.release(number, refs)
            pool.audit()
            self.stop.value = 1

    def decode(self, host: ExternalHost) -> None:
        """Look up, move out, compare every byte, ask once more whether it was the right block."""
        with open_pool(host, DECODE, self.library) as pool:
            for number, ids in enumerate(self.chains):
                signal = pool.receive(PREFILL)
                chain = self.digests(ids)
                refs = pool.lookup(number | DECODE_PIN, chain)
                if (signal.tag, len(refs)) != (number, len(chain)):
                    raise CheckFailed(
                        "published blocks are not found",
                        component="decode",
                        expected=f"request {number}, {len(chain)} blocks",
                        actual=f"request {signal.tag}, {len(refs)} blocks",
                    )
                for block, ref in zip(chain, refs, strict=True):
                    self._verify(pool, block, ref)
                pool.release(number | DECODE_PIN, refs)
                pool.send(PREFILL, Signal(tag=number))

    def _verify(self, pool: Pool, block: digest.Digest, ref: Ref) -> None:
        want = block_payload(*block, self.options.block_bytes)
        got = pool.dma_read(ref.offset, len(want))
        if not pool.is_current(ref) or got != want:
            at = next((i for i, (a, b) in enumerate(zip(got, want, strict=True)) if a != b), 0)
            raise CheckFailed(
                f"wrong byte {at} of the block at pool+0x{ref.offset:x}",
                component="decode",
                expected=want[at],
                actual=got[at],
            )
        self.verified_bytes += len(want)

    def manage(self, host: ExternalHost) -> None:
        """Lock manager until the prefill host is done."""
        with open_pool(host, MANAGER, self.library) as pool:
            pool.manager_run(self.stop)


@register
class KvPython(Job):
    """KV blocks shared by Python hosts."""

    name = "kv_python"
    description = "a Python prefill host and a Python decode host share KV blocks"
    takes_mutant = True
    Options = KvPythonOptions

    def check(self, request: Request) -> None:
        """One host or two: there is one prefill and one decode program."""
        if request.hosts > HOSTS_MAX:
            raise MisuseError(
                f"HOSTS: {request.hosts}: test '{self.name}' has a prefill and a decode program; choose 1..{HOSTS_MAX}"
            )

    def machine_config(self, request: Request) -> MachineConfig:
        """A small pool."""
        return request.machine_config(pool_bytes=POOL_BYTES)

    def prepare(self, ctx: Context) -> None:
        """Three operating-system threads behind two hosts."""
        load_library()
        workload = trace.Workload(requests=ctx.options.requests, seed=ctx.seed & 0xFFFF_FFFF)
        chains = [r.hash_ids for r in trace.generate(workload)]
        self._run = _Run(ctx, chains)
        select_mutant(ctx.mutant or "none")
        last = ctx.hosts - 1
        self._hosts = [
            external_host(ctx.machine, 0, self._run.prefill, "prefill"),
            external_host(ctx.machine, last, self._run.decode, "decode"),
            external_host(ctx.machine, 0, self._run.manage, "manager"),
        ]

    def finish(self, ctx: Context) -> dict[str, Any]:
        """What the programs raised, then their hits against the oracle's."""
        for host in self._hosts:
            host.join()
        cache = lru.PrefixCache()
        want = [cache.request(chain).hits for chain in self._run.chains]
        if self._run.hits != want:
            raise CheckFailed(
                "hits differ from the oracle's", component="prefix index", expected=want, actual=self._run.hits
            )
        return {"kv": {"requests": len(want), "hits": sum(want), "verified_bytes": self._run.verified_bytes}}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """One line."""
        kv = metrics["kv"]
        return f"{kv['requests']} requests, {kv['hits']} hits, {kv['verified_bytes']:,} bytes verified by Python"
