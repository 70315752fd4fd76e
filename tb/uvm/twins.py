"""Corruptions of what monitors publish, for the negative twins: what a wrong device would look like there.

A twin acts once, on message number `SKIP` of those that fit; one that hides resets hides all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from prismem.tb.uvm.lightpath.crossing import Crossing
from prismem.tb.uvm.messages import Opcode, Request, Reset, Response

SKIP = 8
Corrupt = Callable[[Any], list[Any]]


def _read_data(message: Any) -> bool:
    return isinstance(message, Response) and message.with_data and not message.nxm


def _out(message: Any, direction: str) -> bool:
    return isinstance(message, Crossing) and message.end == "out" and message.direction == direction


TWINS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], list[Any]]]] = {
    "wrong_bit": (_read_data, lambda m: [replace(m, data=m.data ^ 1 << 77)]),
    "wrong_tag": (_read_data, lambda m: [replace(m, tag=m.tag ^ 0x800)]),
    "wrong_ld": (_read_data, lambda m: [replace(m, ld_id=m.ld_id ^ 1)]),
    "lost_cmp": (lambda m: isinstance(m, Response) and not m.with_data, lambda m: []),
    "doubled_cmp": (lambda m: isinstance(m, Response) and not m.with_data, lambda m: [m, m]),
    "wrong_channel": (_read_data, lambda m: [replace(m, with_data=False)]),
    "nxm_as_data": (lambda m: isinstance(m, Response) and m.nxm, lambda m: [replace(m, nxm=False)]),
    "nxm_without_error": (lambda m: isinstance(m, Response) and m.error, lambda m: [replace(m, error=False)]),
    "error_at_random": (
        lambda m: isinstance(m, Response) and not m.with_data and not m.error,
        lambda m: [replace(m, error=True)],
    ),
    "poison_lost": (lambda m: isinstance(m, Response) and m.poison, lambda m: [replace(m, poison=False)]),
    "poison_at_random": (lambda m: _read_data(m) and not m.poison, lambda m: [replace(m, poison=True)]),
    "load_at_random": (lambda m: isinstance(m, Response) and m.load == 0, lambda m: [replace(m, load=3)]),
    "ghost_request": (
        lambda m: isinstance(m, Request) and m.opcode is Opcode.MEM_WR,
        lambda m: [m, replace(m, tag=m.tag ^ 0x800)],
    ),
    "reset_unseen": (lambda m: isinstance(m, Reset), lambda m: []),
    "path_lost": (lambda m: _out(m, "req"), lambda m: []),
    "path_doubled": (lambda m: _out(m, "rsp"), lambda m: [m, m]),
    "path_changed": (lambda m: _out(m, "rsp") and m.with_data, lambda m: [replace(m, data=m.data ^ 1)]),
    "path_wrong_line": (
        lambda m: isinstance(m, Crossing) and m.end == "in" and m.direction == "req",
        lambda m: [replace(m, line=m.line ^ 4)],
    ),
}


def corrupter(name: str) -> Corrupt:
    """What to do with each message that a monitor is about to publish. Raises KeyError for an unknown twin."""
    if not name:
        return lambda message: [message]
    fits, change = TWINS[name]
    left = SKIP

    def corrupt(message: Any) -> list[Any]:
        nonlocal left
        if not fits(message):
            return [message]
        left -= 1
        return change(message) if left == 0 or isinstance(message, Reset) else [message]

    return corrupt
