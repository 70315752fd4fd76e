"""docs/library.md from the comments of the public headers; ``python -m prismem.lib.manual`` writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from prismem.paths import ROOT, SOFTWARE

DOCUMENT = ROOT / "docs" / "library.md"
HEADERS = (
    "pool",
    "verbs",
    "alloc",
    "object",
    "lock",
    "digest",
    "index",
    "dma",
    "rendezvous",
    "recover",
    "fsck",
    "inspect",
)
INTRODUCTION = SOFTWARE / "include" / "introduction.md"
_ITEM = re.compile(r"^/\*\*(?!<)(?P<comment>.*?)\*/\n(?P<code>.*?)(?=\n\n|\n/\*\*|\n#)", re.DOTALL | re.MULTILINE)
_FUNCTION = re.compile(r"^[\w ]+?[ *]+(pm_\w+|cxl_\w+|tract_\w+|sh\w+|clflush)\([^;{]*\)\s*[;{]", re.MULTILINE)


@dataclass
class Entry:
    """Declarations that share one comment."""

    text: str
    code: str
    functions: list[str] = field(default_factory=list)


@dataclass
class Header:
    """One public header; `notes` are threads, visibility and see of its opening comment."""

    name: str
    about: str
    notes: dict[str, str]
    entries: list[Entry]

    @property
    def functions(self) -> list[str]:
        """Names of all functions that it declares."""
        return [name for entry in self.entries for name in entry.functions]


def _plain(comment: str) -> str:
    """Comment text without stars; paragraphs and indented lines stay."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in comment.strip().splitlines()]
    return "\n".join(lines).strip()


def read_header(path: Path) -> Header:
    """Opening comment, and each documented declaration with its comment."""
    text = path.read_text(encoding="utf-8")
    opening = _plain(re.match(r"/\*\*(.*?)\*/", text, re.DOTALL)[1])  # type: ignore[index]
    about, *tags = re.split(r"^@(?=threads|visibility|see)", opening.replace(f"@file {path.name}\n", ""), flags=re.M)
    notes = {name: " ".join(value.split()) for name, value in (tag.split(" ", 1) for tag in tags)}
    body = text[text.index("*/") + 2 :].replace("/** @name", "/* @name").replace("/** @}", "/* @}")
    entries = []
    for found in _ITEM.finditer(body):
        code = (
            re.sub(r"\{.*?^\}", ";", found["code"].strip(), flags=re.DOTALL | re.MULTILINE)
            if ("static inline" in found["code"])
            else found["code"].strip()
        )
        comment = "\n".join(line.strip() for line in _plain(found["comment"]).splitlines())
        entries.append(Entry(comment, code, _FUNCTION.findall(code)))
    return Header(path.name, about.strip(), notes, entries)


def headers() -> list[Header]:
    """All public headers in the order of the manual, tract.h apart."""
    return [read_header(SOFTWARE / "include" / "prismem" / f"{name}.h") for name in HEADERS]


def paper_names() -> list[tuple[str, str]]:
    """Name of the paper and what of the library it stands for, from tract.h."""
    text = (SOFTWARE / "include" / "prismem" / "tract.h").read_text(encoding="utf-8")
    found = re.findall(r"^static inline [\w ]+?\*?(\w+)\([^{]*\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return [(name, ", ".join(dict.fromkeys(re.findall(r"\b(pm_\w+)\(", body)))) for name, body in found]


def _section(header: Header) -> list[str]:
    lines = [f"## {header.name}", "", header.about, ""]
    for name, title in (("threads", "Threads"), ("visibility", "Visibility"), ("see", "Example")):
        if name in header.notes:
            value = header.notes[name]
            lines.append(f"- {title}: {f'`{value}`' if name == 'see' else value}")
    lines.append("")
    for entry in header.entries:
        title = ", ".join(entry.functions) or re.findall(r"\b(?:pm_\w+|PM_\w+)\b", entry.code)[0]
        lines += [f"### {title}", "", "```c", entry.code, "```", "", entry.text, ""]
    return lines


def render() -> str:
    """The whole document."""
    lines = [INTRODUCTION.read_text(encoding="utf-8").rstrip(), ""]
    for header in headers():
        lines += _section(header)
    lines += ["## tract.h", "", "The names of the TraCT paper (arXiv 2512.18194), inline over the calls above.", ""]
    lines += ["| name of the paper | stands for |", "|---|---|"]
    lines += [f"| `{name}` | {', '.join(f'`{call}`' for call in calls.split(', '))} |" for name, calls in paper_names()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(render(), encoding="utf-8")
