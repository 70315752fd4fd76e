"""What a program holds for a while, as context managers: a lock, pins on blocks, the pins of a batch of chains."""

from __future__ import annotations

import ctypes as c
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from prismem.lib.buffers import Buffer
from prismem.lib.structs import Chain, Ref

if TYPE_CHECKING:
    from prismem.lib.pool import Digest, Pool


class _Held(ABC):
    """Let go at the end of the `with`, also when it ends by an exception."""

    @abstractmethod
    def release(self) -> None:
        """Let go; nothing happens when that has been done."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class HeldLock(_Held):
    """A lock that this thread holds.

    Attributes:
        number: of the lock.
        fresh: another node held it in between, so what it protects must be acquired before it is read.
        owner_died: a node died while it held the lock: repair what it protects, then call :meth:`consistent`.
    """

    def __init__(self, pool: Pool, number: int, *, fresh: bool, owner_died: bool) -> None:
        self._pool: Pool | None = pool
        self.number, self.fresh, self.owner_died = number, fresh, owner_died

    def consistent(self) -> None:
        """What the lock protects is repaired and published (``pm_lock_consistent``)."""
        if self._pool is not None:
            self._pool.lock_consistent(self.number)

    def release(self) -> None:
        """Give the lock up; what was changed has been published before."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.unlock(self.number)


class Hit(list[Ref], _Held):
    """The resident prefix of a chain, pinned for ``request`` until it is released: one ref a block.

    Args:
        pool: where the blocks are.
        request: who holds the pins.
        refs: of the blocks, all HIT.
    """

    def __init__(self, pool: Pool, request: int, refs: Iterable[Ref]) -> None:
        super().__init__(refs)
        self._pool, self.request = pool, request
        self._views: list[tuple[memoryview, weakref.ref[Any]]] = []
        self._held = True

    def blocks(self) -> list[memoryview]:
        """The payload of each block where it lies in the pool, read-only, without a copy; valid until the release.

        Only natively: an emulated host reads through its own cache.
        """
        made = [self._pool.view(ref.offset, self._pool.block_bytes).toreadonly() for ref in self]
        self._views += [(view, weakref.ref(view.obj)) for view in made]
        return made

    def fetch(self, into: Buffer | None = None) -> Buffer:
        """Copy all payloads in order (``pm_index_fetch``) and check that they are right.

        Args:
            into: a writable contiguous buffer of ``len(self) * block_bytes`` bytes; a new bytearray by default.

        Raises:
            PoolError: ESTALE, a block was evicted meanwhile (only after this node was taken for dead); drop the bytes.
        """
        target = bytearray(len(self) * self._pool.block_bytes) if into is None else into
        self._pool.fetch(self, target)
        return target

    def release(self) -> None:
        """Drop the pins. BufferError while something (a numpy array) still uses a block: the pins stay then."""
        if self._held:
            while self._views:
                view, memory = self._views[-1]
                view.release()
                if memory() is not None:
                    raise BufferError("hit: something still uses a block of it; drop the array before the pins")
                self._views.pop()
            self._held = False
            self._pool.release(self.request, self)


class Batch(_Held):
    """Many chains, looked up, filled and released in one call each (``pm_index_*_many``).

    Args:
        pool: where the blocks are.
        chains: (request, digests) of each.

    Attributes:
        results: of the last call, a chain each: hits, blocks RESERVED, or -errno.
    """

    def __init__(self, pool: Pool, chains: Sequence[tuple[int, Sequence[Digest]]]) -> None:
        self._pool = pool
        self._digests = [(c.c_uint64 * (2 * len(d) or 1))(*(w for digest in d for w in digest)) for _, d in chains]
        self._refs = [(Ref * max(len(d), 1))() for _, d in chains]
        self._lengths = [len(d) for _, d in chains]
        self._chains = (Chain * max(len(chains), 1))()
        for raw, (request, digests), words, refs in zip(self._chains, chains, self._digests, self._refs, strict=False):
            raw.request, raw.n = request, len(digests)
            raw.digests, raw.refs = c.addressof(words), c.addressof(refs)
        self._pinned = False

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def results(self) -> list[int]:
        """Of the last call."""
        return [int(chain.result) for chain in self._chains[: len(self)]]

    @property
    def hits(self) -> list[int]:
        """Leading blocks of each chain that are resident and pinned."""
        return [int(chain.hits) for chain in self._chains[: len(self)]]

    def refs(self, number: int) -> list[Ref]:
        """Of the blocks of chain ``number``."""
        return list(self._refs[number][: self._lengths[number]])

    def lookup(self) -> list[int]:
        """Pin the longest resident prefix of each chain; the hits of each."""
        self._pool.call_many("pm_index_lookup_many", self._chains, len(self))
        self._pinned = True
        return self.hits

    def reserve(self, root: Digest) -> list[int]:
        """Make room for what is missing; blocks to fill of each chain, or -errno (``-ENOSPC`` undoes that one)."""
        self._pool.call_many("pm_index_reserve_many", self._chains, len(self), root=root)
        self._pinned = True
        return self.results

    def commit(self) -> None:
        """Publish what was filled."""
        self._pool.call_many("pm_index_commit_many", self._chains, len(self))

    def release(self) -> None:
        """Drop the pins of all chains."""
        if self._pinned:
            self._pinned = False
            self._pool.call_many("pm_index_release_many", self._chains, len(self))
