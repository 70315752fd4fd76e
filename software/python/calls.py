"""Calls into the C library by name, from the calling thread or through a host of the emulated machine; their errors.

Arguments are 64-bit integers and addresses either way, so nothing above knows the difference.
"""

from __future__ import annotations

import ctypes as c
import errno
import os
from collections.abc import Sequence
from typing import Any, Protocol

from prismem.errors import PrismemError
from prismem.paths import relative, software_library

LINE_BYTES = 64
_NAMES = {**errno.errorcode, errno.EDEADLK: "EDEADLK"}  # the table has only one name of each number


class PoolError(PrismemError, OSError):
    """A call of the library failed; ``errno`` is its error number, the text names the call and the field."""

    def __init__(self, call: str, number: int, text: str) -> None:
        OSError.__init__(self, number, f"{call}: {_NAMES.get(number, number)}: {text or os.strerror(number)}")

    def __str__(self) -> str:
        return str(self.strerror)


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


def to_int(result: int) -> int:
    """What a C ``int`` says; the upper half of the register is undefined."""
    return c.c_int32(result).value


def address_of(memory: Any) -> int:
    """Where a ctypes object lies; the caller keeps the object in a variable until the call is over."""
    return c.addressof(memory)


def aligned(count: int) -> tuple[Any, int]:
    """A buffer and the first 64-byte aligned address in it with ``count`` bytes behind."""
    buffer = c.create_string_buffer(count + LINE_BYTES)
    return buffer, (c.addressof(buffer) + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES


class Library:
    """Calls by name; negative results become PoolError with the library's own text."""

    def __init__(self, library: c.CDLL, caller: Caller) -> None:
        self._library = library
        self.caller = caller

    def raw(self, name: str, *args: int) -> int:
        """Call by name; the 64-bit result."""
        return self.caller.call(getattr(self._library, name), [c.c_int64(a).value for a in args])

    def text(self) -> str:
        """Error text of the thread that ran the call."""
        return c.string_at(self.raw("pm_error_text")).decode()

    def check(self, name: str, *args: int) -> int:
        """An ``int`` function: its result, or PoolError."""
        result = to_int(self.raw(name, *args))
        if result < 0:
            raise PoolError(name, -result, self.text())
        return result
