"""What the jobs of the library on emulated hosts have in common: a thread a node, and a structure they all work on."""

from __future__ import annotations

import ctypes as c
from typing import Any

from prismem.lib.structs import FormatOptions

JOB_HEAD: list[tuple[str, Any]] = [
    ("struct_bytes", c.c_uint32),
    ("nodes", c.c_uint32),
    ("pool_path", c.c_char_p),
    ("format", FormatOptions),
]
"""How the structure of a job begins (software/jobs/*.h)."""


def node_type(job: type[c.Structure]) -> type[c.Structure]:
    """What the thread of a node gets: the job and the node's number."""
    return type("Node", (c.Structure,), {"_fields_": [("job", c.POINTER(job)), ("node", c.c_uint32)]})


def first_fault(report: dict[str, Any]) -> str:
    """The message of the first fault of a run; empty without one."""
    return str(report["faults"][0]["message"]) if report["faults"] else ""
