"""Memory that goes into and comes out of the library without a copy: addresses of buffers, views of the pool."""

from __future__ import annotations

import ctypes as c
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Buffer = Any
"""Whatever has a contiguous buffer: bytes, bytearray, memoryview, array, mmap, numpy arrays."""


@contextmanager
def pinned_address(buffer: Buffer, *, writable: bool = False) -> Iterator[tuple[int, int]]:
    """(address, bytes) of a contiguous buffer, which stays where it is inside of the `with`.

    Raises:
        TypeError: no buffer, or a read-only one where the library writes.
        BufferError: not contiguous.
    """
    view = memoryview(buffer)
    try:
        if not view.c_contiguous:
            raise BufferError("the buffer is not contiguous; copy it first (numpy.ascontiguousarray)")
        if view.readonly and writable:
            raise TypeError("the buffer is read-only; give a bytearray or a writable array")
        flat = view.cast("B") if view.nbytes else view
        if view.readonly:
            yield _address_of_readonly(flat), view.nbytes
        else:
            yield (c.addressof(c.c_char.from_buffer(flat)) if view.nbytes else 0), view.nbytes
    finally:
        view.release()


class _PyBuffer(c.Structure):
    """``Py_buffer`` of the C API, as far as it is needed: the rest is room."""

    _fields_ = [("buf", c.c_void_p), ("obj", c.py_object), ("len", c.c_ssize_t), ("rest", c.c_char * 128)]


def _address_of_readonly(view: memoryview) -> int:
    """ctypes refuses read-only memory, so the interpreter is asked."""
    raw = _PyBuffer()
    c.pythonapi.PyObject_GetBuffer(c.py_object(view), c.byref(raw), 0)
    address = int(raw.buf or 0)
    c.pythonapi.PyBuffer_Release(c.byref(raw))
    return address


class Views:
    """The views of one pool that are in use: the mapping must outlive them."""

    def __init__(self) -> None:
        self._given: list[weakref.ref[Any]] = []

    def make(self, address: int, count: int) -> memoryview:
        """``count`` bytes at ``address``, writable."""
        memory = (c.c_char * count).from_address(address)
        self._given = [given for given in self._given if given() is not None] + [weakref.ref(memory)]
        return memoryview(memory).cast("B")

    def require_none(self) -> None:
        """BufferError while one is in use."""
        alive = sum(given() is not None for given in self._given)
        if alive:
            raise BufferError(f"pool: {alive} views of it are in use; release them before it is closed")
