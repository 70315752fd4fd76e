"""Inline assembly that touches memory, in what the compiler has written: no hook sees what it loads and stores.

The compiler marks inline assembly (``#APP`` to ``#NO_APP``) and says in it from which line of the source it comes. What
stays in registers, on the stack or in the program's own globals harms nobody; any other address may be the pool's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

FUNCTION = re.compile(r"^\s*\.type\s+(?P<name>[^,\s]+),\s*@function")
PLACE = re.compile(r'^#\s+(?P<line>\d+)\s+"(?P<file>[^"]+)"')
COMMENT = re.compile(r"#.*$")
PREFIX = re.compile(r"\b(lock|rep|repn?e|repn?z)\s*;")
MEMORY = re.compile(r"(?P<segment>%[fg]s:)?(?P<offset>[\w.+@-]*)\((?P<inside>[^)]*)\)")
HARMLESS = re.compile(r"^(lea[wlq]?|nop[wlq]?|prefetch(nta|t[012]))\b")
KERNEL = re.compile(r"^(syscall|sysenter|int)\b")
OWN_BASES = ("%rsp", "%rbp", "%rip")


def _kind(text: str, scanner: ModuleType) -> str | None:
    """Kind of the finding, as of the scanner's; None if the instruction touches no memory that others may see."""
    kind = scanner.classify(text)
    if kind is not None:
        return str(kind)
    if KERNEL.match(text):
        return "kernel"
    if HARMLESS.match(text):
        return None
    for operand in MEMORY.finditer(text):
        base = operand["inside"].split(",")[0].strip()
        if operand["segment"] is None and base not in OWN_BASES:
            return "memory"
    return None


def scan(assembly: Path, scanner: ModuleType) -> Iterator[str]:
    """Findings, as text, in what the compiler wrote for the assembler; `scanner` is the emulator's scan_object."""
    function, place, inside = "?", assembly.name, False
    for raw in assembly.read_text(encoding="utf-8", errors="replace").splitlines():
        if raw.startswith("#APP"):
            inside = True
        elif raw.startswith("#NO_APP"):
            inside = False
        elif head := FUNCTION.match(raw):
            function = head["name"]
        elif inside and (mark := PLACE.match(raw)):
            place = f"{Path(mark['file']).name}:{mark['line']}"
        elif inside:
            for text in PREFIX.sub(r"\1 ", COMMENT.sub("", raw)).split(";"):
                instruction = " ".join(text.split())
                if instruction and (kind := _kind(instruction, scanner)) is not None:
                    yield str(scanner.Finding(place, function, instruction, kind))
