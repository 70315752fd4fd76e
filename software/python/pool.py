"""libprismem from Python: one typed class over the C handle.

The same class works natively, where a call is a call, and on an emulated host, where a caller carries each call over
and blocks in simulated time (:class:`prismem.lib.emu.ExternalHost` is such a caller). Arguments are 64-bit integers and
addresses either way, so nothing here knows the difference.
"""

from __future__ import annotations

import ctypes as c
import errno
import os
from collections.abc import Sequence
from copy import copy
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from prismem.errors import PrismemError
from prismem.lib.structs import AllocInfo, FormatOptions, IndexInfo, OpenOptions, Ref, Signal, Stats, as_dict
from prismem.paths import relative, software_library

NODE_ANY = 0xFFFFFFFF
LINE_BYTES = 64

Digest = tuple[int, int]
"""(lo, hi) of a block's 128-bit digest."""


class RefState(IntEnum):
    """``enum pm_ref_state``."""

    NONE = 0
    HIT = 1
    RESERVED = 2
    PENDING = 3


class PoolError(PrismemError):
    """A call of the library failed; ``errno`` is its error number."""

    def __init__(self, call: str, number: int, text: str) -> None:
        super().__init__(f"{call}: {errno.errorcode.get(number, number)}: {text or os.strerror(number)}")
        self.errno = number


class Caller(Protocol):
    """Runs a C function with integer arguments (at most 8) and returns its 64-bit result."""

    def call(self, function: Any, args: Sequence[int] = ()) -> int:
        """Run ``function(*args)``."""


class DirectCaller:
    """Natively: the calling thread runs the function."""

    def call(self, function: Any, args: Sequence[int] = ()) -> int:
        """Run ``function(*args)`` here."""
        prototype = c.CFUNCTYPE(c.c_int64, *(c.c_int64 for _ in args))
        return int(c.cast(function, prototype)(*(c.c_int64(a).value for a in args)))


def load(instrumented: bool = False) -> c.CDLL:
    """The library: native, or compiled for the emulated hosts."""
    path = software_library("prismem_inst" if instrumented else "prismem")
    if not path.exists():
        raise PrismemError(f"{relative(path)} is not built; run 'make software'")
    library = c.CDLL(str(path), mode=c.RTLD_GLOBAL if instrumented else c.DEFAULT_MODE)
    library.pm_error_text.restype = c.c_char_p
    return library


def _int(result: int) -> int:
    """What a C ``int`` says; the upper half of the register is undefined."""
    return c.c_int32(result).value


def _address(memory: Any) -> int:
    """Where a ctypes object lies; the caller keeps the object in a variable until the call is over."""
    return c.addressof(memory)


def _aligned(count: int) -> tuple[Any, int]:
    """A buffer and the first 64-byte aligned address in it with ``count`` bytes behind."""
    buffer = c.create_string_buffer(count + LINE_BYTES)
    return buffer, (c.addressof(buffer) + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES


def _chain(digests: Sequence[Digest]) -> Any:
    flat = [word for digest in digests for word in digest]
    return (c.c_uint64 * len(flat))(*flat)


class _Library:
    """Calls by name; negative results become PoolError with the library's own text."""

    def __init__(self, library: c.CDLL, caller: Caller) -> None:
        self._library = library
        self._caller = caller

    def raw(self, name: str, *args: int) -> int:
        return self._caller.call(getattr(self._library, name), [c.c_int64(a).value for a in args])

    def text(self) -> str:
        """Error text of the thread that ran the call."""
        return c.string_at(self.raw("pm_error_text")).decode()

    def check(self, name: str, *args: int) -> int:
        """An ``int`` function: its result, or PoolError."""
        result = _int(self.raw(name, *args))
        if result < 0:
            raise PoolError(name, -result, self.text())
        return result


def format_pool(
    path: str | Path, options: FormatOptions, *, library: c.CDLL | None = None, caller: Caller | None = None
) -> None:
    """Lay out a pool (``pm_format``). PoolError names the field that is wrong."""
    raw_path = c.create_string_buffer(os.fsencode(path))
    calls = _Library(library or load(), caller or DirectCaller())
    calls.check("pm_format", _address(raw_path), _address(options))


class Pool:
    """An open pool; a context manager that closes it.

    Args:
        path: file, device or the emulated host's pool path.
        node: node id, or NODE_ANY.
        name_space: when given (16 bytes), a pool with another one is refused.
        library: from :func:`load`.
        caller: who runs the calls; the calling thread by default.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        node: int = NODE_ANY,
        name_space: bytes | None = None,
        library: c.CDLL | None = None,
        caller: Caller | None = None,
    ) -> None:
        self._calls = _Library(library or load(), caller or DirectCaller())
        options = OpenOptions(node=node, check_namespace=name_space is not None)
        if name_space is not None:
            if len(name_space) != 16:
                raise ValueError(f"name_space: {len(name_space)} bytes instead of 16")
            options.name_space = (c.c_uint8 * 16)(*name_space)
        raw_path, handle = c.create_string_buffer(os.fsencode(path)), c.c_void_p()
        self._calls.check("pm_open", _address(raw_path), _address(options), _address(handle))
        self._handle: int = handle.value or 0
        self.node = self._calls.check("pm_node", self._handle)
        self.block_bytes = self._calls.raw("pm_block_bytes", self._handle)

    def on(self, caller: Caller) -> Pool:
        """The same handle for another thread of the node; the original closes it."""
        twin = copy(self)
        twin._calls = _Library(self._calls._library, caller)
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
        """Release the node id and unmap; EBUSY while pins or locks are held."""
        if self._handle:
            self._call("pm_close")
            self._handle = 0

    # Locks

    def manager_run(self, stop: c.c_int) -> None:
        """Be the lock manager until ``stop`` is non-zero."""
        self._call("pm_manager_run", _address(stop))

    def lock(self, number: int) -> bool:
        """Acquire; True when another node held it in between."""
        fresh = c.c_int()
        self._call("pm_lock_acquire", number, _address(fresh))
        return bool(fresh.value)

    def unlock(self, number: int) -> None:
        """Release."""
        self._call("pm_lock_release", number)

    # Memory and named roots

    def recover(self, node: int) -> None:
        """Bury the dead `node` now and mend what it left, so that its id is free (`pm_recover`)."""
        self._call("pm_recover", node)

    def alloc(self, count: int) -> int:
        """Offset of ``count`` new bytes."""
        offset = c.c_uint64()
        self._call("pm_alloc", count, _address(offset))
        return offset.value

    def free(self, offset: int) -> None:
        """Free what any node allocated."""
        self._call("pm_free", offset)

    def put(self, key: bytes, offset: int) -> None:
        """Name an offset."""
        raw_key = c.create_string_buffer(key)
        self._call("pm_put", _address(raw_key), len(key), offset)

    def get(self, key: bytes) -> tuple[int, int]:
        """(offset, generation) of a name."""
        offset, generation = c.c_uint64(), c.c_uint32()
        raw_key = c.create_string_buffer(key)
        self._call("pm_get", _address(raw_key), len(key), _address(offset), _address(generation))
        return offset.value, generation.value

    def destroy(self, key: bytes) -> None:
        """Forget a name."""
        raw_key = c.create_string_buffer(key)
        self._call("pm_destroy", _address(raw_key), len(key))

    # Prefix index

    def lookup(self, request: int, chain: Sequence[Digest]) -> list[Ref]:
        """Longest resident prefix of the chain, pinned for ``request`` until it is released."""
        digests, refs = _chain(chain), (Ref * max(len(chain), 1))()
        hits = self._call("pm_index_lookup", request, _address(digests), len(chain), _address(refs))
        return list(refs[:hits])

    def reserve(self, request: int, root: Digest, chain: Sequence[Digest], hits: Sequence[Ref]) -> list[Ref]:
        """Make room for the rest of the chain behind ``hits``: one ref a block; fill the RESERVED ones, then commit."""
        digests, refs = _chain(chain), (Ref * max(len(chain), 1))(*hits)
        self._call("pm_index_reserve", request, *root, _address(digests), len(chain), len(hits), _address(refs))
        return list(refs[: len(chain)])

    def commit(self, refs: Sequence[Ref]) -> list[Ref]:
        """Publish the RESERVED refs; returns all with their new state."""
        raw = (Ref * max(len(refs), 1))(*refs)
        self._call("pm_index_commit", _address(raw), len(refs))
        return list(raw[: len(refs)])

    def abort(self, request: int, refs: Sequence[Ref]) -> None:
        """Give up the RESERVED refs."""
        raw = (Ref * max(len(refs), 1))(*refs)
        self._call("pm_index_abort", request, _address(raw), len(refs))

    def release(self, request: int, refs: Sequence[Ref]) -> None:
        """Drop the pins of the HIT refs; EPROTO when ``request`` does not hold one."""
        raw = (Ref * max(len(refs), 1))(*refs)
        self._call("pm_index_release", request, _address(raw), len(refs))

    def is_current(self, ref: Ref) -> bool:
        """Whether the block of ``ref`` is still there; ask after the payload copy."""
        try:
            self._call("pm_index_check", _address(ref))
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

    def dma_write(self, offset: int, data: bytes) -> None:
        """Write whole lines to the pool around the cache; complete in the device on return."""
        buffer, address = _aligned(len(data))
        c.memmove(address, data, len(data))
        self._transfer("pm_dma_write", offset, address, buffer, len(data))

    def dma_read(self, offset: int, count: int) -> bytes:
        """``count`` bytes of the pool, whole lines."""
        buffer, address = _aligned(count)
        self._transfer("pm_dma_read", offset, address, buffer, count)
        return c.string_at(address, count)

    def _transfer(self, name: str, offset: int, address: int, buffer: Any, count: int) -> None:
        """Start and wait; ``buffer`` is what ``address`` points into and lives as long as the transfer."""
        ticket = self._calls.raw(name, self._handle, offset, address, count)
        if ticket < 0:
            raise PoolError(name, -ticket, self._calls.text())
        self._call("pm_dma_wait", ticket)

    def send(self, node: int, signal: Signal, *, channel: int = 0) -> None:
        """Send a signal; waits until the one before was taken."""
        self._call("pm_send", node, channel, _address(signal))

    def receive(self, node: int, *, channel: int = 0) -> Signal:
        """Wait for the next signal from ``node``."""
        signal = Signal()
        self._call("pm_receive", node, channel, _address(signal))
        return signal

    # What happened

    def stats(self) -> dict[str, int]:
        """Counters of this handle (``pm_stats``)."""
        raw = Stats()
        self._calls.raw("pm_get_stats", self._handle, _address(raw))
        return as_dict(raw)

    def index_info(self) -> dict[str, int]:
        """State of the prefix index (``pm_index_info``)."""
        raw = IndexInfo()
        self._call("pm_index_stat", _address(raw))
        return as_dict(raw)

    def alloc_info(self) -> dict[str, int]:
        """State of the allocator (``pm_alloc_info``)."""
        raw = AllocInfo()
        self._call("pm_alloc_stat", _address(raw))
        return as_dict(raw)
