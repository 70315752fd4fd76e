"""The mutation operators: from each verb call of the library to the faulty sources that differ from it in that call."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from prismem.lib.mutation.source import Site, Source, text
from prismem.lib.mutation.verbs import VERBS, Kind
from prismem.paths import SOFTWARE, relative

OPERATORS = {
    "DROP": "the call is gone",
    "WEAKEN": "a weaker instruction or fence instead; the suffix says which",
    "MOVE_UP": "the call comes before the statement in front of it",
    "MOVE_DOWN": "the call comes after the statement behind it",
    "SHRINK": "the last line of the range is left out",
    "LATE_START": "the first line of the range is left out",
    "SPLIT": "the second half of the range comes after the next statement",
}
SOURCES_MAX = 200
# Code that no emulated host runs.
LEFT_OUT = {
    "dma_cuda.c": "payload by a GPU's runtime; emulated hosts have none",
    "fsck.c": "checks a pool that nobody has open, in a process of its own",
    "fsck_data.c": "the same",
    "inspect.c": "shows a pool file, in a process of its own",
}


@dataclass(frozen=True)
class Mutant:
    """One fault: the bytes of `path` are `source`. `id` stays the same while the call stays where it is."""

    id: str
    path: Path
    line: int
    operator: str
    before: str
    after: str
    noncoherence: bool
    """A coherent machine hides it."""
    source: bytes
    probe: bytes = b""
    """The library with an abort in the place of the call: where nothing notices that, no execution comes there."""

    @property
    def slug(self) -> str:
        """For file names."""
        return self.id.replace(":", "-")

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{relative(self.path)}:{self.line}"


Edit = tuple[int, int, str]


def _edited(source: bytes, edits: list[Edit]) -> bytes:
    for start, end, new in sorted(edits, reverse=True):
        source = source[:start] + new.encode() + source[end:]
    return source


def _swap(first: Node, second: Node) -> list[Edit]:
    return [
        (first.start_byte, first.end_byte, text(second)),
        (second.start_byte, second.end_byte, text(first)),
    ]


def _call(site: Site, changed: dict[int, str]) -> str:
    arguments = [changed.get(i, argument) for i, argument in enumerate(site.arguments)]
    return f"{site.verb.name}({', '.join(arguments)})"


def _replaced(site: Site, new: str) -> list[Edit]:
    """The call is an expression: what replaces it must be one as well."""
    return [(site.call.start_byte, site.call.end_byte, new)]


def _probe(site: Site) -> bytes:
    stop = "__builtin_abort()" if site.verb.value == "(void)0" else f"(__builtin_abort(), {site.verb.value})"
    return _edited(site.source.bytes, _replaced(site, stop))


def _ranges(site: Site) -> Iterator[tuple[str, list[Edit], str]]:
    assert site.verb.range_at is not None
    at, size = site.arguments[site.verb.range_at], site.arguments[site.verb.range_at + 1]
    first, second = site.verb.range_at, site.verb.range_at + 1
    less = f"(({size}) > PM_LINE ? ({size}) - PM_LINE : 0)"
    shorter = _call(site, {second: less})
    yield "SHRINK", _replaced(site, shorter), shorter
    later = _call(site, {first: f"(const char *)({at}) + PM_LINE", second: less})
    yield "LATE_START", _replaced(site, later), later
    behind = site.neighbour(after=True)
    if behind is None or site.unit != site.call.parent:
        return
    half = f"((({size}) + PM_LINE) / 2 / PM_LINE * PM_LINE)"
    start = _call(site, {second: half})
    rest = _call(site, {first: f"(const char *)({at}) + {half}", second: f"({size}) - {half}"})
    edits = [*_replaced(site, start), (behind.end_byte, behind.end_byte, f" {rest};")]
    yield "SPLIT", edits, f"{start}; ...; {rest}"


def _is_call(node: Node, *names: str) -> bool:
    return node.type == "expression_statement" and text(node).partition("(")[0] in names


def _is_call_of_kind(node: Node, kind: Kind) -> bool:
    return _is_call(node, *(verb.name for verb in VERBS.values() if verb.kind is kind))


_UP_TO_DATE = (Kind.ACQUIRE, Kind.HOLD)


def _is_same(site: Site, other: Node, after: bool) -> bool:
    """The move says the same, by the rules of hold.h.

    A changed line is noted in any order. Calls that bring different lines up to date may change places. What a held
    lock protects nobody else changes, so an earlier look in the same hold is as good.
    """
    kinds = _UP_TO_DATE if site.verb.kind in _UP_TO_DATE else (site.verb.kind,)
    if _is_call(other, "pmi_hold_changed"):
        return True
    if any(_is_call_of_kind(other, kind) for kind in kinds):
        return site.verb.kind is not Kind.STORE
    read = site.verb.name in ("pmi_hold_read", "pmi_hold_read_range") and not after
    return read and not re.search(r"epoch|pmi_hold_begin|pmi_hold_publish", text(other))


def _moves(site: Site) -> Iterator[tuple[str, list[Edit], str]]:
    """Not where it says the same."""
    if site.unit is None or site.verb.name == "pmi_hold_changed":
        return
    for operator, after in (("MOVE_UP", False), ("MOVE_DOWN", True)):
        other = site.neighbour(after)
        if other is None or _is_same(site, other, after):
            continue
        first, second = (site.unit, other) if after else (other, site.unit)
        past = " ".join(text(other).split())
        yield operator, _swap(first, second), f"{'behind' if after else 'before'} `{past[:80]}`"


def _variants(site: Site) -> Iterator[tuple[str, list[Edit], str]]:
    """Operator, edits, and what it comes to."""
    if site.is_statement or site.verb.value != "(void)0":
        yield "DROP", _replaced(site, site.verb.value), "nothing"
    if site.is_statement:
        for name, pattern in site.verb.weaker:
            new = pattern.replace("{args}", ", ".join(site.arguments))
            for i, argument in enumerate(site.arguments):
                new = new.replace(f"{{{i}}}", argument)
            yield name, _replaced(site, new), new
    if site.verb.range_at is not None and site.several_lines():
        yield from _ranges(site)
    yield from _moves(site)


def sources() -> list[Path]:
    """The files that are mutated: the library's, and its headers with code in them."""
    paths = [*(SOFTWARE / "src").glob("*.[ch]"), *(SOFTWARE / "include" / "prismem").glob("*.h")]
    assert len(paths) <= SOURCES_MAX
    return sorted(path for path in paths if path.name not in LEFT_OUT)


def generate(paths: list[Path] | None = None) -> list[Mutant]:
    """All mutants, in the order of the sources; no two have the same source."""
    found: list[Mutant] = []
    seen: set[str] = set()
    for path in sources() if paths is None else paths:
        source = Source(path)
        for site in source.sites():
            for operator, edits, after in _variants(site):
                faulty = _edited(source.bytes, edits)
                key = hashlib.sha256(path.name.encode() + faulty).hexdigest()
                if key in seen or faulty == source.bytes:
                    continue
                seen.add(key)
                noncoherence = site.verb.kind.noncoherence or operator == "WEAKEN_STORES"
                before = " ".join(text(site.call).split())
                name, probe = f"{site.name}:{operator}", _probe(site)
                found.append(Mutant(name, path, site.line, operator, before, after, noncoherence, faulty, probe))
    return found


def by_hand() -> list[Mutant]:
    """The faults of mutants.def, which the instrumented library has built in."""
    path = SOFTWARE / "src" / "mutants.def"
    found = re.findall(r'^PM_MUTANT\((\w+), "(.*)", (\d)\)$', path.read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return [
        Mutant(f"{path.name}:{name}", path, 0, "HAND", "", about, noncoherence == "1", b"")
        for name, about, noncoherence in found
    ]
