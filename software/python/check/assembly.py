"""Inline assembly that touches memory, in what the compiler has written: no hook sees what it loads and stores.

The compiler marks inline assembly (``#APP`` to ``#NO_APP``) and says in it from which line of the source it comes. What
stays in registers, on the stack or in the program's own globals harms nobody; any other address may be the pool's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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
CURE = "inline assembly reads or writes memory where no hook sees it; use C, intrinsics or __atomic operations"
CURE_KERNEL = "inline assembly calls the kernel, which would reach past the caches; call the C library"


@dataclass(frozen=True)
class Found:
    """One instruction of inline assembly that cannot be followed."""

    place: str
    function: str
    instruction: str
    cure: str

    def __str__(self) -> str:
        return f"{self.place}: {self.function}: {self.instruction}: {self.cure}"


def _cure(text: str, scanner: ModuleType) -> str | None:
    """What to use instead; None if the instruction touches no memory that others may see."""
    kind = scanner.classify(text)
    if kind is not None:
        return str(scanner.CURES[kind])
    if KERNEL.match(text):
        return CURE_KERNEL
    if HARMLESS.match(text):
        return None
    for operand in MEMORY.finditer(text):
        base = operand["inside"].split(",")[0].strip()
        if operand["segment"] is None and base not in OWN_BASES:
            return CURE
    return None


def scan(assembly: Path, scanner: ModuleType) -> Iterator[Found]:
    """Findings in the text that the compiler wrote for the assembler; `scanner` is the emulator's scan_object."""
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
                if instruction and (cure := _cure(instruction, scanner)) is not None:
                    yield Found(place, function, instruction, cure)
