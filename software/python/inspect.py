"""What stands in a pool (``prismem/inspect.h``), as dictionaries; read-only, also while others use the pool."""

from __future__ import annotations

import ctypes as c
import os
from pathlib import Path
from typing import Any

from prismem.lib.pool import PoolError, load

_FACT = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_uint64, c.c_char_p, c.c_uint64, c.c_char_p)
LISTS = {"node": "nodes", "lock": "locks", "chunk": "chunks", "pin": "pins", "object": "objects"}
"""Sections of which there are many things, and the names of their lists."""


def inspect(path: str | Path) -> dict[str, Any]:
    """Superblock, nodes, locks, allocator, chunks, index, pins and objects of the pool at ``path``.

    Returns:
        ``superblock``, ``allocator`` and ``index`` are dictionaries; ``nodes``, ``locks``, ``chunks`` (those in use),
        ``pins`` and ``objects`` are lists of dictionaries with an ``id``. Values are integers (bytes, counts, ns) or
        text; what the library cannot have written reads "damaged: ...". The index has ``load`` (ready blocks a bucket)
        and ``probes_mean`` (buckets that a hit looks at) besides.

    Raises:
        PoolError: it is not a pool of this library; the text names the field of the superblock.
    """
    library = load()
    found: dict[str, dict[int, dict[str, Any]]] = {}

    def take(_: int | None, section: bytes, number: int, field: bytes, value: int, text: bytes | None) -> None:
        thing = found.setdefault(section.decode(), {}).setdefault(number, {})
        thing[field.decode()] = value if text is None else text.decode()

    code = library.pm_inspect(os.fsencode(path), _FACT(take), None)
    if code < 0:
        raise PoolError("pm_inspect", -code, library.pm_error_text().decode())
    index = found["index"][0]
    resident = sum(index[state] for state in ("reserved", "ready", "evicting"))
    index["load"] = round(index["ready"] / index["slots"], 4)
    index["probes_mean"] = round(index["probes"] / resident, 3) if resident else 0.0
    result: dict[str, Any] = {name: found[name][0] for name in ("superblock", "allocator", "index")}
    for section, name in LISTS.items():
        result[name] = [{"id": number} | thing for number, thing in found.get(section, {}).items()]
    for thing in result["objects"]:
        if "key" in thing:
            thing["key"] = bytes.fromhex(thing["key"]).decode(errors="backslashreplace")
    return result
