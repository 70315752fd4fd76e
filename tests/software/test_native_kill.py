"""Eight processes on one pool file are killed at random; the others go on, and what is left can be mended."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lib_support import build

from prismem.lib.fsck import fsck
from prismem.lib.pool import Digest, Pool, PoolError, format_pool
from prismem.lib.structs import FormatOptions

PROCESSES = 8
NODES = 12
BLOCK = 4096
FAMILIES, CHAIN = 40, 4
LEASE_NS = 100_000_000
PERIOD_S = 0.15
WRONG = 3  # exit code of a process that read wrong bytes


def digest_of(family: int, block: int) -> Digest:
    return (1 + family * 0x9E3779B97F4A7C15 % (1 << 63) + block, family << 8 | block)


def payload_of(digest: Digest) -> bytes:
    return struct.pack("<QQ", *digest) * (BLOCK // 16)


def use_blocks(pool: Pool, generator: random.Random) -> None:
    """Requests for ever: look up a chain, check what is there, insert the rest."""
    request = 0
    while True:
        request += 1
        family = generator.randrange(FAMILIES)
        chain = [digest_of(family, block) for block in range(CHAIN)]
        hits = pool.lookup(request, chain)
        for digest, ref in zip(chain, hits, strict=False):
            data = pool.dma_read(ref.offset, BLOCK)
            if pool.is_current(ref) and data != payload_of(digest):
                os._exit(WRONG)
        refs = pool.reserve(request, (0, 0), chain, hits)
        for digest, ref in zip(chain, refs, strict=True):
            if ref.state == 2:
                pool.dma_write(ref.offset, payload_of(digest))
        pool.release(request, [ref for ref in pool.commit(refs) if ref.state == 1])


def process(path: Path, seed: int) -> None:
    """One node until it is killed; one that slept through its lease opens the pool again."""
    generator = random.Random(seed)
    while True:
        try:
            pool = Pool(path)
            threading.Thread(target=pool.manager_run, args=(ctypes.c_int(),), daemon=True).start()
            use_blocks(pool, generator)
        except PoolError as error:
            if "taken for dead" not in str(error) and "ids are taken" not in str(error):
                print(f"process {os.getpid()}: {error}", flush=True)
                os._exit(1)
            time.sleep(LEASE_NS / 1e9)


def start(path: Path, seed: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            process(path, seed)
        finally:
            os._exit(2)
    return child


def kill_for(path: Path, seconds: float, seed: int) -> int:
    """Kill one process after the other and start it anew. Returns how many were killed."""
    generator = random.Random(seed)
    children = [start(path, seed * 1000 + i) for i in range(PROCESSES)]
    end, killed = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < end:
            time.sleep(generator.uniform(0, 2 * PERIOD_S))
            at = generator.randrange(PROCESSES)
            os.kill(children[at], signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(children[at], 0)[1])
            assert status == -signal.SIGKILL, f"a process had ended by itself, exit code {status}"
            killed += 1
            children[at] = start(path, seed * 1000 + PROCESSES + killed)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert WRONG not in statuses
    return killed


@contextmanager
def managed(path: Path) -> Iterator[Pool]:
    """The pool, with a lock manager."""
    stop = ctypes.c_int()
    with Pool(path) as pool:
        manager = threading.Thread(target=pool.manager_run, args=(stop,))
        manager.start()
        try:
            yield pool
        finally:
            stop.value = 1
            manager.join()


def check_what_is_left(path: Path) -> int:
    """All dead, so the pool is mended from outside; then every block has its bytes. Returns how many there are."""
    before = fsck(path)
    serious = [f for f in before.findings if "two buckets" in f.text or "outside of the heap" in f.text]
    assert serious == []
    mended = fsck(path, repair=True)
    assert mended.clean, mended.findings[:5]
    found = 0
    with managed(path) as pool:
        for family in range(FAMILIES):
            chain = [digest_of(family, block) for block in range(CHAIN)]
            hits = pool.lookup(1, chain)
            for digest, ref in zip(chain, hits, strict=False):
                assert pool.dma_read(ref.offset, BLOCK) == payload_of(digest)
            pool.release(1, hits)
            found += len(hits)
        pool.audit()
        assert pool.evict(10_000) == mended.resident
        assert pool.alloc_info()["bytes_live"] == 0
    return found


def make_pool(path: Path) -> None:
    build()
    format_pool(
        path,
        FormatOptions(
            pool_bytes=8 << 20, nodes=NODES, index_slots=256, index_capacity=100, block_bytes=BLOCK, lease_ns=LEASE_NS
        ),
    )


def run(path: Path, seconds: float, seed: int) -> None:
    make_pool(path)
    killed = kill_for(path, seconds, seed)
    found = check_what_is_left(path)
    print(f"{killed} processes killed in {seconds} s, {found} blocks left")
    assert killed >= seconds / PERIOD_S / 4


def test_a_wrong_byte_is_found(tmp_path: Path) -> None:
    """Goal: the check of what is left can fail. Method: one byte of a payload changed in the file."""
    path = tmp_path / "pool"
    make_pool(path)
    chain = [digest_of(0, block) for block in range(CHAIN)]
    with managed(path) as pool:
        refs = pool.reserve(1, (0, 0), chain, [])
        for digest, ref in zip(chain, refs, strict=True):
            pool.dma_write(ref.offset, payload_of(digest))
        pool.release(1, pool.commit(refs))
    raw = bytearray(path.read_bytes())
    raw[raw.index(payload_of(chain[1])) + 8] ^= 1
    path.write_bytes(raw)
    with pytest.raises(AssertionError, match="At index 8 diff"):
        check_what_is_left(path)


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_for_seconds(tmp_path: Path, seed: int) -> None:
    """Goal: after SIGKILL at random points the pool can be mended and no byte is wrong. Method: 6 seconds each."""
    run(tmp_path / "pool", 6, seed)


@pytest.mark.regress
def test_killed_for_ten_minutes(tmp_path: Path) -> None:
    """Goal: the same for ten minutes."""
    for seed in range(10):
        run(tmp_path / f"pool{seed}", 60, 100 + seed)
