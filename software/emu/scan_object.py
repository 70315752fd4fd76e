#!/usr/bin/env python3
"""Fails on instructions in instrumented objects that the hooks cannot see.

The compiler's hooks report loads, stores and atomics, and prismem_hooks.h turns cache intrinsics into calls; inline
assembly and what the compiler expands by itself go past both. Each finding names object, function and instruction.

    scan_object.py OBJECT... [--allow FUNCTION]

Exit status 0: clean; 1: findings; 2: misuse.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>.+)>:$")
INSTRUCTION = re.compile(r"^\s*(?P<address>[0-9a-f]+):\s+(?P<text>\S.*)$")

SECTION = re.compile(r"^Disassembly of section (?P<name>.+):$")
SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/local/include/", "/include/c++/")

CACHE_OPS = ("clflush", "clflushopt", "clwb", "cldemote", "clzero", "wbinvd", "invd")
CURES = {
    "cache": "use the intrinsic or the library's verb",
    "stream": "use the _mm_stream or _movdir64b intrinsic",
    "prefetch": "prefetch for writing is banned on shared lines",
    "lock": "use C11 or __atomic operations",
    "string": "call memcpy or memset (and compile with -fno-builtin)",
    "masked": "load or store whole vectors, or their elements one by one",
    "fence": "use the _mm_mfence, _mm_sfence or _mm_lfence intrinsic",
    "memory": "inline assembly reads or writes memory where no hook sees it; use C, intrinsics or __atomic operations",
    "kernel": "inline assembly calls the kernel, which would reach past the caches; call the C library",
}


@dataclass(frozen=True)
class Finding:
    """One instruction that no hook sees."""

    place: str
    """Source and line, or the object file where nothing is known."""
    function: str
    instruction: str
    kind: str

    def __str__(self) -> str:
        return f"{self.place}: {self.function}: {self.instruction}: {CURES[self.kind]}"


def classify(text: str) -> str | None:
    """Kind of a disassembled instruction, None if the hooks need not see it."""
    words = text.replace(",", " ").split()
    prefixes = [word for word in words[:3] if word in ("lock", "rep", "repz", "repnz", "xacquire", "xrelease")]
    operation = next((word for word in words if word not in prefixes), "")
    if "lock" in prefixes:
        return "lock"
    if operation in CACHE_OPS:
        return "cache"
    if operation.startswith(("movnt", "vmovnt", "movdir")) or operation in ("maskmovdqu", "maskmovq", "enqcmd"):
        return "stream"
    if re.match(r"v?p?(gather|scatter)|vp?maskmov", operation) or ("{%k" in text and "(" in text):
        return "masked"
    if operation.startswith("prefetchw"):
        return "prefetch"
    if re.match(r"(movs|stos|lods|scas|cmps)[bwlq]?$", operation) and "(" in text and "xmm" not in text:
        return "string"
    if operation.startswith("xchg") and "(" in text:
        return "lock"
    if operation in ("mfence", "sfence", "lfence"):
        return "fence"
    return None


def place_of(path: Path, section: str, address: str) -> str:
    """Source and line of an instruction; what comes from a system's header belongs to the line that called it."""
    command = ["addr2line", "-i", "-j", section, "-e", str(path), f"0x{address}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in result.stdout.splitlines():
        source, _, number = line.split(" (")[0].rpartition(":")
        if number.isdigit() and not any(part in source for part in SYSTEM):
            return f"{Path(source).name}:{number}"
    return path.name


def disassemble(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(section, address, function, instruction) of an object, by objdump."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise OSError(f"{path}: {result.stderr.strip() or 'objdump failed'}")
    function, section = "?", ".text"
    for line in result.stdout.splitlines():
        head = FUNCTION.match(line)
        if head:
            function = head["name"]
            continue
        if begin := SECTION.match(line):
            section = begin["name"]
        body = INSTRUCTION.match(line)
        if body:
            yield section, body["address"], function, body["text"].split("#")[0].strip()


def scan(path: Path, allowed: frozenset[str] = frozenset()) -> list[Finding]:
    """All findings of one object file."""
    return [
        Finding(place_of(path, section, address), function, text, kind)
        for section, address, function, text in disassemble(path)
        if (kind := classify(text)) is not None and function not in allowed
    ]


def main(arguments: list[str]) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Find instructions in instrumented objects that the hooks cannot see.")
    parser.add_argument("objects", nargs="+", type=Path)
    parser.add_argument("--allow", action="append", default=[], help="a function that may contain them")
    options = parser.parse_args(arguments)
    findings: list[Finding] = []
    for path in options.objects:
        try:
            findings += scan(path, frozenset(options.allow))
        except OSError as error:
            print(f"scan_object: {error}", file=sys.stderr)
            return 2
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
