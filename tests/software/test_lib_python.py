"""Python bindings: natively, and two Python programs as prefill and decode host of one emulated machine."""

from __future__ import annotations

import ctypes
import errno
import threading
from pathlib import Path

import pytest
from lib_support import build

from prismem.lib.emu import POOL_PATH, ExternalHost, Machine, MachineConfig, State, external_host
from prismem.lib.pool import Pool, PoolError, RefState, flush_host, format_pool, load
from prismem.lib.structs import FormatOptions, Signal
from prismem.models import digest, payload

POOL_BYTES = 4 << 20
BLOCK_BYTES = 256
SPACE = b"python bindings!"


def options(nodes: int) -> FormatOptions:
    space = (ctypes.c_uint8 * 16)(*SPACE)
    return FormatOptions(pool_bytes=POOL_BYTES, nodes=nodes, block_bytes=BLOCK_BYTES, index_slots=64, name_space=space)


def make_chain(length: int) -> tuple[digest.Digest, list[digest.Digest]]:
    root = digest.seed(0, SPACE)
    chain, parent = [], root
    for i in range(length):
        parent = digest.chain(parent, [i, 7])
        chain.append(parent)
    return root, chain


def insert(pool: Pool, request: int, length: int) -> int:
    """Look up a chain, fill what is missing, release; returns the hits."""
    root, chain = make_chain(length)
    hits = pool.lookup(request, chain)
    refs = pool.reserve(request, root, chain, hits)
    for block, ref in zip(chain, refs, strict=True):
        if ref.state == RefState.RESERVED:
            pool.dma_write(ref.offset, payload.block_payload(*block, BLOCK_BYTES))
    pool.release(request, pool.commit(refs))
    return len(hits)


def read(pool: Pool, request: int, length: int) -> int:
    """Look up a chain and verify each block that is there; returns the hits."""
    _, chain = make_chain(length)
    refs = pool.lookup(request, chain)
    for block, ref in zip(chain, refs, strict=False):
        data = pool.dma_read(ref.offset, BLOCK_BYTES)
        assert pool.is_current(ref)
        assert data == payload.block_payload(*block, BLOCK_BYTES)
    pool.release(request, refs)
    return len(refs)


def test_native(tmp_path: Path) -> None:
    """Goal: the whole surface works natively. Method: one node, its manager on a thread."""
    build()
    format_pool(tmp_path / "pool", options(1))
    stop = ctypes.c_int()
    with Pool(tmp_path / "pool", node=0, name_space=SPACE) as pool:
        runner = threading.Thread(target=pool.manager_run, args=(stop,))
        runner.start()
        try:
            assert insert(pool, 1, 4) == 0
            assert insert(pool, 2, 6) == 4
            assert read(pool, 3, 8) == 6
            place = pool.alloc(300)
            pool.put(b"place", place)
            assert pool.get(b"place") == (place, 1)
            with pytest.raises(PoolError, match="EEXIST.*'place' is in the table") as raised:
                pool.put(b"place", 0)
            assert raised.value.errno == errno.EEXIST
            pool.destroy(b"place")
            pool.free(place)
            assert pool.lock(9).fresh
            pool.unlock(9)
            pool.send(0, Signal(tag=5))
            assert pool.receive(0).tag == 5
            assert pool.exists(make_chain(1)[1][0])
            assert pool.evict(100) == 6
            pool.audit()
            assert pool.alloc_info()["bytes_live"] == 0
            assert pool.stats()["inserts"] == 6
            flush_host(tmp_path / "pool")
            pool.audit()
        finally:
            stop.value = 1
            runner.join()


def test_flush_of_no_pool(tmp_path: Path) -> None:
    """A path that is not there is an error that names it."""
    build()
    with pytest.raises(PoolError, match="nothing here"):
        flush_host(tmp_path / "nothing here")


def test_prefill_and_decode_hosts() -> None:
    """Goal: two Python programs share blocks through non-coherent caches. Method: external hosts, functional port."""
    build()
    seen: dict[str, int] = {}
    stop = ctypes.c_int()
    pools: list[Pool] = []
    with Machine(MachineConfig(hosts=2, pool_bytes=POOL_BYTES, seed=3, step_limit=20_000_000)) as machine:
        library = load(instrumented=True)

        def wait_for_pool(host: ExternalHost) -> None:
            while not pools:  # the machine stands still between calls, so a host waits in simulated time
                host.call(library.pm_relax)

        def prefill(host: ExternalHost) -> None:
            format_pool(POOL_PATH, options(2), library=library, caller=host)
            pool = Pool(POOL_PATH, node=0, library=library, caller=host)
            pools.append(pool)
            seen["inserted"] = 5 - insert(pool, 1, 5)
            pool.send(1, Signal(tag=5))
            assert pool.receive(1).tag == 5
            stop.value = 1
            pool.close()

        def manage(host: ExternalHost) -> None:
            wait_for_pool(host)
            pools[0].on(host).manager_run(stop)

        def decode(host: ExternalHost) -> None:
            wait_for_pool(host)
            pool = Pool(POOL_PATH, node=1, library=library, caller=host)
            length = pool.receive(0).tag
            seen["decoded"] = read(pool, 2, length)
            pool.send(0, Signal(tag=length))
            pool.close()

        hosts = [
            external_host(machine, 0, prefill, "prefill"),
            external_host(machine, 0, manage, "manager"),
            external_host(machine, 1, decode, "decode"),
        ]
        state = machine.run()
        for host in hosts:
            host.join()
        report = machine.report()
    assert state is State.DONE, report["faults"]
    assert seen == {"inserted": 5, "decoded": 5}
