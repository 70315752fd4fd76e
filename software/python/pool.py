"""libprismem from Python: one typed class over the C handle.

The same class works natively, where a call is a call, and on an emulated host, where a caller carries each call over
and blocks in simulated time (:class:`prismem.lib.emu.ExternalHost` is such a caller). Arguments are 64-bit integers and
addresses either way, so nothing here knows the difference.
"""

from __future__ import annotations

import ctypes as c
import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from prismem.errors import PrismemError
from prismem.lib.buffers import Buffer, Views, pinned_address
from prismem.lib.calls import LINE_BYTES, Caller, DirectCaller, Library, PoolError, address_of, aligned, load
from prismem.lib.holds import Batch, HeldLock, Hit
from prismem.lib.structs import AllocInfo, FormatOptions, IndexInfo, OpenOptions, Ref, Signal, Stats, as_dict

__all__ = ["NODE_ANY", "DirectCaller", "NodeState", "Pool", "PoolError", "RefState", "format_pool", "load"]

NODE_ANY = 0xFFFFFFFF
LOCK_OWNER_DIED = 1

Digest = tuple[int, int]
"""(lo, hi) of a block's 128-bit digest."""


class NodeState(IntEnum):
    """``enum pm_node_state``."""

    VACANT = 0
    CLAIMED = 1
    DEAD = 2


class RefState(IntEnum):
    """``enum pm_ref_state``."""

    NONE = 0
    HIT = 1
    RESERVED = 2
    PENDING = 3


def _chain(digests: Sequence[Digest]) -> Any:
    flat = [word for digest in digests for word in digest]
    return (c.c_uint64 * len(flat))(*flat)


def format_pool(
    path: str | Path, options: FormatOptions, *, library: c.CDLL | None = None, caller: Caller | None = None
) -> None:
    """Lay out a pool (``pm_format``). PoolError names the field that is wrong."""
    raw_path = c.create_string_buffer(os.fsencode(path))
    calls = Library(library or load(), caller or DirectCaller())
    calls.check("pm_format", address_of(raw_path), address_of(options))


def flush_host(path: str | Path, *, library: c.CDLL | None = None, caller: Caller | None = None) -> None:
    """Flush the pool out of this host's caches (``pm_flush_host``), after a process of this host has died with it."""
    raw_path = c.create_string_buffer(os.fsencode(path))
    Library(library or load(), caller or DirectCaller()).check("pm_flush_host", address_of(raw_path))


class Pool:
    """An open pool; a context manager that closes it.

    Calls block without the interpreter lock: other Python threads run meanwhile.

    Args:
        path: file, device or the emulated host's pool path.
        node: node id, or NODE_ANY.
        name_space: when given (16 bytes), a pool with another one is refused.
        block_bytes: when given, a pool of blocks of another size is refused.
        hash_seed: when given, a pool whose digests follow from another one is refused.
        library: from :func:`load`.
        caller: who runs the calls; the calling thread by default.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        node: int = NODE_ANY,
        name_space: bytes | None = None,
        block_bytes: int = 0,
        hash_seed: int | None = None,
        library: c.CDLL | None = None,
        caller: Caller | None = None,
    ) -> None:
        self._calls = Library(library or load(), caller or DirectCaller())
        self._views = Views()
        options = OpenOptions(node=node, check_namespace=name_space is not None, block_bytes=block_bytes)
        if hash_seed is not None:
            options.hash_seed, options.check_hash_seed = hash_seed, 1
        if name_space is not None:
            if len(name_space) != 16:
                raise ValueError(f"name_space: {len(name_space)} bytes instead of 16")
            options.name_space = (c.c_uint8 * 16)(*name_space)
        raw_path, handle = c.create_string_buffer(os.fsencode(path)), c.c_void_p()
        self._calls.check("pm_open", address_of(raw_path), address_of(options), address_of(handle))
        self._handle: int = handle.value or 0
        self.node = self._calls.check("pm_node", self._handle)
        self.block_bytes = self._calls.raw("pm_block_bytes", self._handle)

    def on(self, caller: Caller) -> Pool:
        """The same handle for another thread of the node; the original closes it."""
        twin = copy(self)
        twin._calls = Library(self._calls._library, caller)
        return twin

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def _call(self, name: str, *args: int) -> int:
        return self._calls.check(name, self._handle, *args)

    def close(self) -> None:
        """Release the node id and unmap; EBUSY while pins or locks are held, BufferError while views are in use."""
        if self._handle:
            self._views.require_none()
            self._call("pm_close")
            self._handle = 0

    # Locks

    def manager_run(self, stop: c.c_int) -> None:
        """Be the lock manager until ``stop`` is non-zero."""
        self._call("pm_manager_run", address_of(stop))

    def lock(self, number: int) -> HeldLock:
        """Acquire for this thread; ``with pool.lock(3) as held:`` releases it at the end."""
        fresh = c.c_int()
        died = self._call("pm_lock_acquire", number, address_of(fresh))
        return HeldLock(self, number, fresh=bool(fresh.value), owner_died=died == LOCK_OWNER_DIED)

    def lock_consistent(self, number: int) -> None:
        """What the lock protects is repaired after a death."""
        self._call("pm_lock_consistent", number)

    def unlock(self, number: int) -> None:
        """Release."""
        self._call("pm_lock_release", number)

    def lock_alloc(self) -> int:
        """Take a lock id that nobody uses; ENOSPC when all are taken."""
        number = c.c_uint32()
        self._call("pm_lock_alloc", address_of(number))
        return number.value

    def lock_free(self, number: int) -> None:
        """Give a lock id back."""
        self._call("pm_lock_free", number)

    @contextmanager
    def manager(self) -> Iterator[None]:
        """Be a lock manager on a thread of its own for as long as the `with` lasts."""
        stop = c.c_int()
        runner = threading.Thread(target=self.manager_run, args=(stop,), name="lock manager", daemon=True)
        runner.start()
        try:
            yield
        finally:
            stop.value = 1
            runner.join()

    # Memory and named roots

    def recover(self, node: int) -> None:
        """Bury the dead `node` now and mend what it left, so that its id is free (`pm_recover`)."""
        self._call("pm_recover", node)

    def alloc(self, count: int) -> int:
        """Offset of ``count`` new bytes."""
        offset = c.c_uint64()
        self._call("pm_alloc", count, address_of(offset))
        return offset.value

    def free(self, offset: int) -> None:
        """Free what any node allocated."""
        self._call("pm_free", offset)

    def put(self, key: bytes, offset: int) -> None:
        """Name an offset."""
        raw_key = c.create_string_buffer(key)
        self._call("pm_put", address_of(raw_key), len(key), offset)

    def get(self, key: bytes) -> tuple[int, int]:
        """(offset, generation) of a name."""
        offset, generation = c.c_uint64(), c.c_uint32()
        raw_key = c.create_string_buffer(key)
        self._call("pm_get", address_of(raw_key), len(key), address_of(offset), address_of(generation))
        return offset.value, generation.value

    def destroy(self, key: bytes) -> None:
        """Forget a name."""
        raw_key = c.create_string_buffer(key)
        self._call("pm_destroy", address_of(raw_key), len(key))

    # Prefix index

    def lookup(self, request: int, chain: Sequence[Digest]) -> Hit:
        """Longest resident prefix of the chain, pinned for ``request`` until :meth:`Hit.release`, :meth:`release` or
        the end of ``with pool.lookup(...) as hit:``."""
        digests, refs = _chain(chain), (Ref * max(len(chain), 1))()
        hits = self._call("pm_index_lookup", request, address_of(digests), len(chain), address_of(refs))
        return Hit(self, request, refs[:hits])

    def batch(self, chains: Sequence[tuple[int, Sequence[Digest]]]) -> Batch:
        """(request, digests) of many chains, to be handled together."""
        return Batch(self, chains)

    def call_many(self, name: str, chains: Any, count: int, *, root: Sequence[int] = ()) -> None:
        """A batch call over ``count`` ``pm_chain`` structures."""
        self._call(name, *root, address_of(chains), count)

    def fetch(self, refs: Sequence[Ref], into: Buffer) -> None:
        """Copy the payload of pinned blocks in order to a writable buffer and check each; ESTALE: drop the bytes."""
        raw = (Ref * max(len(refs), 1))(*refs)
        with pinned_address(into, writable=True) as (address, count):
            if count != len(refs) * self.block_bytes:
                raise ValueError(f"into: {count} bytes instead of {len(refs)} blocks of {self.block_bytes}")
            self._call("pm_index_fetch", address_of(raw), len(refs), address)

    def reserve(self, request: int, root: Digest, chain: Sequence[Digest], hits: Sequence[Ref]) -> list[Ref]:
        """Make room for the rest of the chain behind ``hits``: one ref a block; fill the RESERVED ones, then commit."""
        digests, refs = _chain(chain), (Ref * max(len(chain), 1))(*hits)
        self._call("pm_index_reserve", request, *root, address_of(digests), len(chain), len(hits), address_of(refs))
        return list(refs[: len(chain)])

    def commit(self, refs: Sequence[Ref]) -> list[Ref]:
        """Publish the RESERVED refs; returns all with their new state."""
        raw = (Ref * max(len(refs), 1))(*refs)
        self._call("pm_index_commit", address_of(raw), len(refs))
        return list(raw[: len(refs)])

    def abort(self, request: int, refs: Sequence[Ref]) -> None:
        """Give up the RESERVED refs."""
        raw = (Ref * max(len(refs), 1))(*refs)
        self._call("pm_index_abort", request, address_of(raw), len(refs))

    def release(self, request: int, refs: Sequence[Ref]) -> None:
        """Drop the pins of the HIT refs; EPROTO when ``request`` does not hold one."""
        raw = (Ref * max(len(refs), 1))(*refs)
        self._call("pm_index_release", request, address_of(raw), len(refs))

    def is_current(self, ref: Ref) -> bool:
        """Whether the block of ``ref`` is still there; ask after the payload copy."""
        try:
            self._call("pm_index_check", address_of(ref))
        except PoolError as error:
            if error.errno == errno.ESTALE:
                return False
            raise
        return True

    def exists(self, digest: Digest) -> bool:
        """Whether a block is resident; takes no pin."""
        return bool(self._call("pm_index_exists", *digest))

    def evict(self, count: int) -> int:
        """Evict up to ``count`` unpinned blocks, oldest first; returns how many."""
        return self._call("pm_index_evict", count)

    def audit(self) -> None:
        """Full check of the index; EUCLEAN names the first fault."""
        self._call("pm_index_audit")

    # Payload and signals

    def dma_write(self, offset: int, data: Buffer) -> None:
        """Write whole lines to the pool around the cache; complete in the device on return. Natively without a copy."""
        with pinned_address(data) as (source, count):
            buffer, address = (None, source) if self._is_native else aligned(count)
            if buffer is not None:
                c.memmove(address, source, count)
            self._transfer("pm_dma_write", offset, address, count)

    def dma_read(self, offset: int, count: int) -> bytes:
        """``count`` bytes of the pool, whole lines."""
        buffer, address = aligned(count)
        self._transfer("pm_dma_read", offset, address, count)
        return c.string_at(address, len(buffer) - LINE_BYTES)

    def dma_read_into(self, offset: int, into: Buffer) -> None:
        """Fill a writable contiguous buffer from the pool, whole lines. Natively without a copy."""
        with pinned_address(into, writable=True) as (target, count):
            if self._is_native:
                self._transfer("pm_dma_read", offset, target, count)
            else:
                c.memmove(target, self.dma_read(offset, count), count)

    def view(self, offset: int, count: int) -> memoryview:
        """``count`` bytes of the pool where they lie, as the device has them now; writable, see :meth:`publish`.

        Release it before the pool is closed. PrismemError on an emulated host, which reads through its own cache.
        """
        if not self._is_native:
            raise PrismemError("view: an emulated host has no view of the pool; use dma_read")
        size = self._calls.raw("pm_pool_bytes", self._handle)
        if offset < 0 or count <= 0 or offset + count > size:
            raise ValueError(f"offset, count: {offset}, {count} are outside of the pool's {size} bytes")
        address = self._calls.raw("pm_ptr", self._handle, offset)
        self._calls.raw("pm_acquire", address, count)
        return self._views.make(address, count)

    def publish(self, view: memoryview) -> None:
        """What was stored through a view (all of it, or a slice) is in the device before any later publish."""
        with pinned_address(view, writable=True) as (address, count):
            self._calls.raw("pm_publish", address, count)

    @property
    def _is_native(self) -> bool:
        return isinstance(self._calls.caller, DirectCaller)

    def _transfer(self, name: str, offset: int, address: int, count: int) -> None:
        """Start and wait."""
        ticket = self._calls.raw(name, self._handle, offset, address, count)
        if ticket < 0:
            raise PoolError(name, -ticket, self._calls.text())
        self._call("pm_dma_wait", ticket)

    def send(self, node: int, signal: Signal, *, channel: int = 0) -> None:
        """Send a signal; waits until the one before was taken."""
        self._call("pm_send", node, channel, address_of(signal))

    def receive(self, node: int, *, channel: int = 0) -> Signal:
        """Wait for the next signal from ``node``."""
        signal = Signal()
        self._call("pm_receive", node, channel, address_of(signal))
        return signal

    def try_receive(self, node: int, *, channel: int = 0) -> Signal | None:
        """The next signal from ``node``, or None when there is none yet."""
        signal = Signal()
        return signal if self._call("pm_try_receive", node, channel, address_of(signal)) else None

    # What happened

    def node_state(self, node: int) -> NodeState:
        """Whether an id may be claimed, is claimed, or its owner is dead and not repaired yet."""
        return NodeState(self._call("pm_node_state", node))

    def stats(self) -> dict[str, int]:
        """Counters of this handle (``pm_stats``)."""
        raw = Stats()
        self._calls.raw("pm_get_stats", self._handle, address_of(raw))
        return as_dict(raw)

    def index_info(self) -> dict[str, int]:
        """State of the prefix index (``pm_index_info``)."""
        raw = IndexInfo()
        self._call("pm_index_stat", address_of(raw))
        return as_dict(raw)

    def alloc_info(self) -> dict[str, int]:
        """State of the allocator (``pm_alloc_info``)."""
        raw = AllocInfo()
        self._call("pm_alloc_stat", address_of(raw))
        return as_dict(raw)
