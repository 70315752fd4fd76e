"""Reader of Verilator's coverage files, and the merge of many of them: counts by line of source, LCOV, a table.

A point of a file has fields in one quoted key: `f` file, `l` line, `n` column, `t` type (`page` and `h` say which
instance, which does not matter here), `o` what it is, `S` the lines of the block. A line is covered when any point
that holds it was hit; a point is a branch when its type says so.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

_POINT = re.compile(r"^C '(?P<key>.*)' (?P<count>\d+)$")


@dataclass(frozen=True)
class Point:
    """A place that Verilator counts, the same in every build."""

    file: str
    line: int
    column: int
    kind: str
    what: str
    lines: tuple[int, ...]


@dataclass
class FileCoverage:
    """Counts of one source file."""

    lines: Counter[int] = field(default_factory=Counter)
    branches: Counter[Point] = field(default_factory=Counter)

    @property
    def covered(self) -> int:
        """Lines that were reached."""
        return sum(count > 0 for count in self.lines.values())


def line_ranges(text: str) -> tuple[int, ...]:
    """'3,7-9' -> (3, 7, 8, 9)."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def parse(text: str) -> Counter[Point]:
    """Points and counts of one file. Raises ValueError for a line that is neither a point nor a comment."""
    points: Counter[Point] = Counter()
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = _POINT.match(line)
        if match is None:
            raise ValueError(f"not a coverage point: {line[:80]!r}")
        fields = dict(part.partition("\2")[::2] for part in match["key"].split("\1") if part)
        number = int(fields["l"])
        lines = line_ranges(fields.get("S", ""))
        kind = fields.get("t") or fields.get("page", "").partition("/")[0].removeprefix("v_")
        points[Point(fields["f"], number, int(fields.get("n", 0)), kind, fields.get("o", ""), lines)] += int(
            match["count"]
        )
    return points


def by_file(points: Iterable[tuple[Point, int]], root: Path) -> dict[str, FileCoverage]:
    """Coverage of the files below `root`, by their path from there."""
    files: dict[str, FileCoverage] = {}
    for point, count in points:
        path = Path(point.file)
        if not path.is_relative_to(root):
            continue
        coverage = files.setdefault(str(path.relative_to(root)), FileCoverage())
        for line in point.lines:
            coverage.lines[line] = max(coverage.lines[line], count)
        if point.kind == "branch":
            coverage.branches[point] += count
    return files


def lcov(files: dict[str, FileCoverage], prefix: str) -> str:
    """The same as LCOV's tracefile."""
    text = ""
    for name, coverage in sorted(files.items()):
        text += f"TN:\nSF:{prefix}{name}\n"
        text += "".join(f"DA:{line},{count}\n" for line, count in sorted(coverage.lines.items()))
        for point, count in sorted(coverage.branches.items(), key=lambda item: (item[0].line, item[0].column)):
            text += f"BRDA:{point.line},{point.column},{point.what},{count or '-'}\n"
        text += f"LF:{len(coverage.lines)}\nLH:{coverage.covered}\nend_of_record\n"
    return text
