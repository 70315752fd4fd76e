"""docs/library.md: written from the headers, whole, and every error that the library returns is explained in it."""

from __future__ import annotations

import re
import subprocess

from lib_support import build

from prismem.lib.manual import DOCUMENT, INTRODUCTION, headers, paper_names, render
from prismem.paths import BUILD_SW, ROOT, SOFTWARE

# Source files whose errors reach the caller of which header; those of the others may come out of any call.
SOURCES = {
    "alloc": ("alloc", "alloc_stat"),
    "dma": ("dma", "dma_cuda"),
    "fsck": ("fsck", "fsck_data"),
    "index": ("index", "reserve", "pins", "batch", "audit"),
    "lock": ("lock", "manager"),
    "object": ("object",),
    "pool": ("pool", "claim", "layout"),
    "recover": ("recover", "death"),
    "rendezvous": ("rendezvous",),
    "verbs": ("verbs",),
}


def test_the_document_is_what_the_headers_say() -> None:
    """Goal: no comment and its page differ. Method: rendered again; `python -m prismem.lib.manual` writes it."""
    assert DOCUMENT.read_text(encoding="utf-8") == render(), "run .venv/bin/python -m prismem.lib.manual"


def test_every_call_has_its_entry() -> None:
    """Goal: what the library exports is described, and nothing else. Method: its dynamic symbols against the page."""
    build("native")
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(BUILD_SW / "libprismem.so")], capture_output=True, text=True, check=True
    ).stdout
    exported = {line.split()[-1] for line in listed.splitlines() if " T pm_" in line}
    described = [name for header in headers() for name in header.functions]
    assert len(described) == len(set(described))
    assert exported == set(described) - {"pm_dma_provider"}  # the platform defines that one
    assert all(entry.text for header in headers() for entry in header.entries)
    assert all({"threads", "visibility", "see"} <= set(header.notes) for header in headers())


def test_every_error_is_explained() -> None:
    """Goal: a caller finds each errno. Method: those in a source file against its header and the common table."""
    common = set(re.findall(r"-(E[A-Z]+)", INTRODUCTION.read_text(encoding="utf-8")))
    for header, sources in SOURCES.items():
        text = (SOFTWARE / "include" / "prismem" / f"{header}.h").read_text(encoding="utf-8")
        known = common | set(re.findall(r"-(E[A-Z]+)", text))
        for source in sources:
            code = (SOFTWARE / "src" / f"{source}.c").read_text(encoding="utf-8")
            raised = set(re.findall(r"pmi_error\((E[A-Z]+),|-(E[A-Z]{3,})\b", code))
            names = {name for pair in raised for name in pair if name}
            assert names <= known, f"{source}.c: {sorted(names - known)} are not in {header}.h"


def test_names_of_the_paper() -> None:
    """Goal: every name of tract.h is set beside the calls that it stands for, and each example is there."""
    names = dict(paper_names())
    assert len(names) >= 15
    assert names["cxl_shm_put"] == "pm_put, pm_offset"
    assert all(names.values())
    for header in headers():
        assert (ROOT / header.notes["see"]).exists(), header.name
