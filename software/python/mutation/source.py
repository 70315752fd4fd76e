"""A C source as the mutation operators see it: its verb calls, the statement of each, and what stands beside that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from prismem.lib.mutation.verbs import VERBS, Verb
from prismem.paths import SOFTWARE

_PARSER = Parser(Language(tree_sitter_c.language()))
_INJECTED = re.compile(r"(?<!!)PM_MUTANT_ON")
_LINES_OF_TYPE = re.compile(r"PMI_ASSERT_LINES\((\w+), (\d+)\)")
# What reads or writes the pool although it is no verb.
_ACCESS = re.compile(r"\b(pmi_(load|peek|look|store|poke)|memcpy|memset|poll|submit|pm_\w+|pmi_\w+)\s*\(")
_NO_ACCESS = re.compile(
    r"\b(pmi_(error|count|lines|\w+_of|\w+_at|at|state_of|kind_of|words_in_bitmap|blocks_in_chunk|slot_mask|usable|"
    r"now_ns|control|with_state|looked|poking|chunk_word|block_offset|digest_is|is_fenced|fenced_error|sleep_ns|"
    r"lease_age_ns)|pm_(relax|error_text|lock_dead))\s*\("
)


def lines_of_types() -> dict[str, int]:
    """Lines of each structure of the pool, from the static assertions of the headers."""
    found: dict[str, int] = {}
    for header in sorted((SOFTWARE / "src").glob("*.h")):
        found |= {name: int(lines) for name, lines in _LINES_OF_TYPE.findall(header.read_text(encoding="utf-8"))}
    return found


@dataclass(frozen=True)
class Site:
    """One call of a verb."""

    source: Source
    function: Node
    call: Node
    verb: Verb
    number: int
    """Of the calls of this verb in the function, from 1."""

    @property
    def name(self) -> str:
        """`file:function:verb`, with a number where the function calls the verb more than once before."""
        declarator = self.function.child_by_field_name("declarator")
        assert declarator is not None
        while declarator.type != "identifier":
            inner = declarator.child_by_field_name("declarator")
            assert inner is not None
            declarator = inner
        suffix = f".{self.number}" if self.number > 1 else ""
        return f"{self.source.path.name}:{text(declarator)}:{self.verb.name}{suffix}"

    @property
    def line(self) -> int:
        """In the source, from 1."""
        return self.call.start_point[0] + 1

    @cached_property
    def arguments(self) -> list[str]:
        """As they stand there."""
        listed = self.call.child_by_field_name("arguments")
        return [] if listed is None else [text(child) for child in listed.named_children if child.type != "comment"]

    @cached_property
    def is_statement(self) -> bool:
        """The call's value is not used."""
        return self.call.parent is not None and self.call.parent.type == "expression_statement"

    @cached_property
    def unit(self) -> Node | None:
        """The statement of a block that moves with the call; None where the call has no such statement."""
        node = self.call.parent if self.is_statement else None
        while node is not None and node.parent is not None and node.parent.type != "compound_statement":
            node = node.parent if node.parent.type in ("if_statement", "for_statement", "while_statement") else None
            if node is not None and node.child_by_field_name("alternative") is not None:
                return None
        return node

    def neighbour(self, after: bool) -> Node | None:
        """The statement behind or before the unit, if it is one that touches the pool."""
        node = self.unit
        while node is not None:
            node = node.next_named_sibling if after else node.prev_named_sibling
            if node is None or node.type != "comment":
                break
        if node is None or node.type not in _STATEMENTS or not self.source.touches_pool(node, self.function):
            return None
        return node

    def several_lines(self) -> bool:
        """The range of the call may be longer than a line."""
        if self.verb.range_at is None or self.is_vanishing:
            return False
        size = self.arguments[self.verb.range_at + 1]
        if re.fullmatch(r"PM_LINE|1|(\d \* )?sizeof\(uint64_t\)", size):
            return False
        whole = re.fullmatch(r"sizeof\s*(?:\(\s*(\w+)\s*\)|\*\s*(\w+)|([\w.>\[\]-]+))", size)
        if whole is None:
            return True
        kind = whole[1] or self.source.type_of(whole[2] or whole[3], self.function)
        return LINES_OF_TYPES.get(kind, 1) > 1

    @property
    def is_vanishing(self) -> bool:
        """It hands a range on that its own caller gave."""
        assert self.verb.range_at is not None
        return self.arguments[self.verb.range_at + 1] == "n" and self.source.path.name == "handle.h"


_STATEMENTS = ("expression_statement", "declaration", "if_statement", "for_statement", "while_statement")
LINES_OF_TYPES = lines_of_types()


def text(node: Node) -> str:
    """Of a node."""
    return (node.text or b"").decode()


class Source:
    """One file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = path.read_bytes()
        self._root = _PARSER.parse(self.bytes).root_node
        self._functions = [node for node in _walk(self._root) if node.type == "function_definition"]
        own = {Site(self, node, node, next(iter(VERBS.values())), 1).name.split(":")[1] for node in self._functions}
        self._calls_own = re.compile(r"\b(" + "|".join(sorted(own) or ["\0"]) + r")\s*\(")

    def sites(self) -> Iterator[Site]:
        """All calls of verbs in code that runs on emulated hosts without an injected fault."""
        for function in self._functions:
            seen: dict[str, int] = {}
            for node in _walk(function):
                if node.type != "call_expression":
                    continue
                called = node.child_by_field_name("function")
                verb = VERBS.get(text(called)) if called is not None else None
                if verb is None or _is_dead(node):
                    continue
                seen[verb.name] = seen.get(verb.name, 0) + 1
                yield Site(self, function, node, verb, seen[verb.name])

    def type_of(self, variable: str, function: Node) -> str:
        """Structure that a pointer of the function points to; empty if it is none of the pool."""
        name = variable.rpartition(">")[2]
        found = re.search(rf"\b(pmi_\w+)\s*\*\s*(?:const )?{re.escape(name)}\b", text(function))
        return found[1] if found else ""

    def touches_pool(self, node: Node, function: Node) -> bool:
        """The statement may read or write the pool, or call what does."""
        code = _NO_ACCESS.sub("(", text(node))
        if _ACCESS.search(code) or self._calls_own.search(code):
            return True
        pointers = re.findall(r"\b(\w+)->", code)
        return any(self.type_of(name, function) in LINES_OF_TYPES for name in pointers)


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.named_children:
        yield from _walk(child)


def _is_dead(node: Node) -> bool:
    """The code is there for real processors only, or belongs to a fault that is switched on by hand."""
    child, parent = node, node.parent
    while parent is not None:
        if parent.type == "if_statement":
            condition = parent.child_by_field_name("condition")
            consequence = parent.child_by_field_name("consequence")
            assert condition is not None
            if child == consequence and _INJECTED.search(text(condition)):
                return True
        if parent.type == "preproc_ifdef" and text(parent).split(None, 2)[1] == "PRISMEM_HOOKED":
            hooked = text(parent).startswith("#ifdef")
            if hooked == (child.type == "preproc_else"):
                return True
        child, parent = parent, parent.parent
    return False
