"""Python bindings: what is held is let go, buffers are not copied, errors carry errno, other threads run meanwhile."""

from __future__ import annotations

import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from lib_support import build

from prismem.lib.buffers import pinned_address
from prismem.lib.pool import NodeState, Pool, PoolError, RefState, format_pool
from prismem.lib.structs import FormatOptions, Signal
from prismem.models import lru

BLOCK_BYTES = 4096
LOCK = 9


@pytest.fixture
def pool_path(tmp_path: Path) -> Path:
    build()
    format_pool(
        tmp_path / "pool",
        FormatOptions(pool_bytes=8 << 20, nodes=3, index_slots=64, index_capacity=40, block_bytes=BLOCK_BYTES),
    )
    return tmp_path / "pool"


@pytest.fixture
def pool(pool_path: Path) -> Iterator[Pool]:
    with Pool(pool_path, node=0) as opened, opened.manager():
        yield opened


def chain_of(first: int, count: int) -> list[tuple[int, int]]:
    return [(1 + number * 0x9E3779B9, number) for number in range(first, first + count)]


def payload_of(digest: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(digest[1]).integers(0, 256, BLOCK_BYTES, dtype=np.uint8)


def fill(pool: Pool, request: int, chain: list[tuple[int, int]]) -> int:
    """Insert what is missing from numpy arrays; returns the hits."""
    with pool.lookup(request, chain) as hit:
        hits = len(hit)
        refs = pool.reserve(request, (0, 0), chain, hit)
        for digest, ref in zip(chain, refs, strict=True):
            if ref.state == RefState.RESERVED:
                pool.dma_write(ref.offset, payload_of(digest))
        fresh = pool.commit(refs)[hits:]
        pool.release(request, fresh)
    return hits


def test_lock_is_released_by_with(pool: Pool, pool_path: Path) -> None:
    """Goal: `with pool.lock(n)` holds and lets go, also on an exception. Method: another node gets it afterwards."""

    def fail_inside() -> None:
        with pool.lock(LOCK) as held:
            assert held.fresh
            assert not held.owner_died
            with pytest.raises(PoolError, match="EDEADLK"):
                pool.lock(LOCK)
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    with Pool(pool_path, node=1) as other, other.lock(LOCK) as held:
        assert held.fresh
        held.release()
        held.release()  # nothing is left to be done
    with pool.lock(LOCK) as held:
        assert held.fresh
    with pool.lock(LOCK) as held:
        assert not held.fresh


def test_other_threads_run_while_one_waits(pool: Pool, pool_path: Path) -> None:
    """Goal: a call that blocks lets Python go on. Method: a counter moves while a thread waits for a lock."""
    with Pool(pool_path, node=1) as other:
        held = pool.lock(LOCK)
        got = threading.Event()

        def wait_for_lock() -> None:
            with other.lock(LOCK):
                got.set()

        waiter = threading.Thread(target=wait_for_lock)
        waiter.start()
        count, end = 0, time.monotonic() + 0.2
        while time.monotonic() < end:
            count += 1
        assert count > 1000
        assert not got.is_set()
        held.release()
        waiter.join()
        assert got.is_set()


def test_errors_are_os_errors(pool: Pool) -> None:
    """Goal: errno and text of the library reach `except OSError`. Method: an unknown and a duplicate key."""
    with pytest.raises(OSError, match="pm_get: ENOENT") as raised:
        pool.get(b"none")
    assert raised.value.errno == errno.ENOENT
    pool.put(b"twice", 0)
    with pytest.raises(PoolError, match="'twice' is in the table") as again:
        pool.put(b"twice", 0)
    assert (again.value.errno, again.value.strerror) == (errno.EEXIST, str(again.value))


def test_hit_pins_until_its_end(pool: Pool) -> None:
    """Goal: pinned blocks are read in place and stay; afterwards they can go. Method: views, numpy, eviction."""
    chain = chain_of(1, 4)
    assert fill(pool, 1, chain) == 0
    with pool.lookup(2, chain_of(1, 6)) as hit:
        assert len(hit) == 4
        blocks = hit.blocks()
        assert all(np.array_equal(np.asarray(b), payload_of(d)) for b, d in zip(blocks, chain, strict=True))
        assert all(block.readonly for block in blocks)
        assert pool.evict(10) == 0
    with pytest.raises(ValueError, match="released"):
        blocks[0][0]
    assert pool.evict(10) == 4
    with pool.lookup(3, chain) as hit:
        assert hit == []
    pool.audit()


def over_export(block: memoryview) -> np.ndarray:
    return np.asarray(block)


def over_memory(block: memoryview) -> np.ndarray:
    return np.frombuffer(block, dtype=np.uint8)


@pytest.mark.parametrize("look_at", [over_export, over_memory])
def test_an_array_over_a_block_keeps_the_pin(pool: Pool, look_at: Callable[[memoryview], np.ndarray]) -> None:
    """Goal: memory that is still looked at is neither unpinned nor unmapped. Method: a numpy array over a block."""
    chain = chain_of(1, 1)
    fill(pool, 1, chain)
    hit = pool.lookup(2, chain)
    array = look_at(hit.blocks()[0])
    with pytest.raises(BufferError):
        hit.release()
    assert pool.evict(1) == 0
    with pytest.raises(BufferError, match="views of it are in use"):
        pool.close()
    assert np.array_equal(array, payload_of(chain[0]))
    del array
    hit.release()
    assert pool.evict(1) == 1


def test_fetch_fills_a_buffer(pool: Pool) -> None:
    """Goal: payloads arrive in order, in memory of the caller. Method: bytearray and a numpy array; a wrong size."""
    chain = chain_of(5, 3)
    fill(pool, 1, chain)
    want = np.concatenate([payload_of(digest) for digest in chain])
    into = np.zeros((3, BLOCK_BYTES), dtype=np.uint8)
    with pool.lookup(2, chain) as hit:
        assert hit.fetch() == want.tobytes()
        assert hit.fetch(into) is into
        with pytest.raises(ValueError, match=r"into: 10 bytes instead of 3 blocks of 4096"):
            hit.fetch(bytearray(10))
        with pytest.raises(TypeError, match="read-only"):
            hit.fetch(bytes(3 * BLOCK_BYTES))
    assert np.array_equal(into.ravel(), want)


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, np.frombuffer], ids=lambda make: make.__name__)
def test_any_contiguous_buffer_goes_in(pool: Pool, make: type) -> None:
    """Goal: whatever has a buffer is written from where it lies. Method: one pattern in four types."""
    pattern = bytes(range(256)) * 16
    data = make(pattern) if make is not np.frombuffer else np.frombuffer(b"x" + pattern, dtype=np.uint8)[1:]
    place = pool.alloc(BLOCK_BYTES)
    with pinned_address(data) as (address, count):
        assert count == BLOCK_BYTES
        pool.dma_write(place, data)
        with pinned_address(data) as (again, _):
            assert again == address
    assert pool.dma_read(place, BLOCK_BYTES) == pattern
    into = np.zeros(BLOCK_BYTES, dtype=np.uint8)
    pool.dma_read_into(place, into)
    assert into.tobytes() == pattern
    pool.free(place)


def test_views_are_the_pool(pool: Pool, pool_path: Path) -> None:
    """Goal: stores through a view reach another node once published. Method: numpy over the view, a second handle."""
    place = pool.alloc(128)
    view = pool.view(place, 128)
    np.asarray(view)[:] = 7
    pool.publish(view)
    with Pool(pool_path, node=1) as other:
        assert other.dma_read(place, 128) == b"\7" * 128
    with pytest.raises(ValueError, match="offset, count"):
        pool.view(8 << 20, 1)
    with pytest.raises(BufferError, match="not contiguous"):
        pool.publish(view[::2])
    view.release()
    pool.free(place)


def test_batch_is_many_single_calls(pool: Pool) -> None:
    """Goal: batches pin, fill and release as single calls do. Method: random chains; hits as the LRU model has them."""
    model = lru.PrefixCache(40)
    seeded = random.Random(7)
    for round_ in range(40):
        starts = seeded.sample(range(1, 41, 8), 3)
        chains = [(100 * round_ + i, chain_of(start, seeded.randint(2, 7))) for i, start in enumerate(starts)]
        expected = [sum(digest[1] in model for digest in chain) for _, chain in chains]
        with pool.batch(chains) as batch:
            assert batch.lookup() == expected
            reserved = batch.reserve((0, 0))
            assert reserved == [len(chain) - hits for (_, chain), hits in zip(chains, expected, strict=True)]
            for number, (_, chain) in enumerate(chains):
                for digest, ref in zip(chain, batch.refs(number), strict=True):
                    if ref.state == RefState.RESERVED:
                        pool.dma_write(ref.offset, payload_of(digest))
            batch.commit()
            for number, (_, chain) in enumerate(chains):
                data = [pool.dma_read(ref.offset, BLOCK_BYTES) for ref in batch.refs(number)]
                assert data == [payload_of(digest).tobytes() for digest in chain]
        for _, chain in chains:
            model.request([digest[1] for digest in chain])
    pool.audit()


def test_a_chain_without_room_fails_alone(pool: Pool) -> None:
    """Goal: one chain's error does not take the others with it. Method: a chain of more blocks than the index holds."""
    chains = [(1, chain_of(100, 41)), (2, chain_of(1, 3))]
    with pool.batch(chains) as batch:
        assert batch.lookup() == [0, 0]
        with pytest.raises(PoolError, match="ENOSPC"):
            batch.reserve((0, 0))
        assert batch.results == [-errno.ENOSPC, 3]
        for digest, ref in zip(chains[1][1], batch.refs(1), strict=True):
            pool.dma_write(ref.offset, payload_of(digest))
        batch.commit()
    assert pool.index_info()["resident"] == 3
    pool.audit()


def test_residency_through_the_bindings_is_lru(pool: Pool) -> None:
    """Goal: the index as Python sees it holds what the model holds. Method: 200 random chains, hit by hit."""
    model = lru.PrefixCache(40)
    seeded = random.Random(3)
    for request in range(200):
        chain = chain_of(seeded.randrange(1, 70, 7), seeded.randint(1, 7))
        assert fill(pool, request, chain) == model.request([digest[1] for digest in chain]).hits
    assert pool.index_info()["evictions"] == model.totals.evictions > 0


def test_ids_and_signals(pool: Pool, pool_path: Path) -> None:
    """Goal: lock ids, node ids and polled signals as the library has them. Method: taken, used, given back."""
    number = pool.lock_alloc()
    with pool.lock(number):
        pass
    pool.lock_free(number)
    with pytest.raises(PoolError, match="pm_lock_free: EINVAL"):
        pool.lock_free(number)
    assert pool.node_state(1) is NodeState.VACANT
    with Pool(pool_path, node=1) as other:
        assert pool.node_state(1) is NodeState.CLAIMED
        assert other.try_receive(0) is None
        pool.send(1, Signal(tag=5, length=64))
        received = other.try_receive(0)
        assert received is not None
        assert (received.sequence, received.tag, received.length) == (1, 5, 64)


def test_forked_child_gets_an_os_error(pool: Pool) -> None:
    """Goal: a handle that came by fork answers EOWNERDEAD. Method: the child reports it as its exit code."""
    child = os.fork()
    if child == 0:
        try:
            pool.exists((1, 1))
        except OSError as error:
            os._exit(error.errno or 0)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == errno.EOWNERDEAD
