"""Check and repair of a pool that nobody uses: ``pm_fsck`` of the native library."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from pathlib import Path

from prismem.lib.pool import PoolError, load


class _Options(c.Structure):
    _fields_ = [("repair", c.c_int), ("finding", c.c_void_p), ("context", c.c_void_p)]


_COUNTS = ("errors", "leaks", "repaired", "chunks_used", "blocks_live", "resident", "objects")


class _Report(c.Structure):
    _fields_ = [(name, c.c_uint64) for name in _COUNTS]


_FINDING = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p)


@dataclass(frozen=True)
class Finding:
    """One thing that must not be in a closed pool; ``kind`` as in fsck.h."""

    kind: str
    text: str


@dataclass(frozen=True)
class FsckResult:
    """Counts of ``pm_fsck_report``, and what was found (before a repair)."""

    errors: int
    leaks: int
    repaired: int
    chunks_used: int
    blocks_live: int
    resident: int
    objects: int
    findings: list[Finding]

    @property
    def clean(self) -> bool:
        """Nothing is (or is left) wrong."""
        return self.errors == 0 and self.leaks == 0


def fsck(path: Path, *, repair: bool = False) -> FsckResult:
    """Check the pool, mend it with ``repair``.

    Raises:
        PoolError: it is not a pool of this library, or in use.
    """
    library = load()
    findings: list[Finding] = []

    def found(_: int | None, kind: bytes, text: bytes) -> None:
        findings.append(Finding(kind.decode(), text.decode()))

    callback = _FINDING(found)
    options = _Options(repair=int(repair), finding=c.cast(callback, c.c_void_p))
    report = _Report()
    code = library.pm_fsck(bytes(path), c.byref(options), c.byref(report))
    if code < 0:
        raise PoolError("pm_fsck", -code, library.pm_error_text().decode())
    counts = {name: int(getattr(report, name)) for name in _COUNTS}
    return FsckResult(findings=findings, **counts)
