"""The litmus explorer against the second implementation in models/litmus: catalogue and generated programs."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from prismem.models.litmus import cycles
from prismem.models.litmus.explore import verdict
from prismem.models.litmus.machine import Entry, Machine, ordered
from prismem.models.litmus.program import condition, parse
from prismem.tb.litmus import CATALOGUE, explore, programs

FILES = programs([CATALOGUE])
LARGE = "LOCK-peterson"  # takes the slow implementation a minute
DAILY = range(40)
MORE = range(40, 740)
REDUCED = range(740, 900)


def generated(folder: Path, seeds: range) -> list[Path]:
    files = [folder / f"{seed}.litmus" for seed in seeds]
    for seed, path in zip(seeds, files, strict=True):
        path.write_text(cycles.program(seed))
    return files


def disagreements(files: list[Path]) -> list[dict[str, Any]]:
    """Records of the explorer that the second implementation contradicts, with what it says."""
    found = []
    for record in explore(files):
        program = parse(Path(record["file"]).read_text())
        second = verdict(program, coherent=record["mode"] == "coherent")
        if (record["verdict"] == "allowed", record["trap"]) != (second.allowed, second.trap):
            found.append(record | {"second": second})
    return found


def test_catalogue() -> None:
    """Equal verdicts and trap states in both modes, for all that is small."""
    files = [path for path in FILES if not path.name.startswith(LARGE)]
    assert len(files) > 50
    assert disagreements(files) == []


@pytest.mark.regress
def test_catalogue_of_locks() -> None:
    """The same for the large ones."""
    assert disagreements([path for path in FILES if path.name.startswith(LARGE)]) == []


def test_generated_programs(tmp_path: Path) -> None:
    """Seeded programs, of which both verdicts occur."""
    files = generated(tmp_path, DAILY)
    assert disagreements(files) == []
    assert {record["verdict"] for record in explore(files)} == {"allowed", "forbidden"}


@pytest.mark.regress
def test_more_generated_programs(tmp_path: Path) -> None:
    assert disagreements(generated(tmp_path, MORE)) == []


@pytest.mark.parametrize("reduction", ["local", "fill", "evict"])
def test_reductions_keep_verdicts_of_generated_programs(tmp_path: Path, reduction: str) -> None:
    """Switches of the model and mixes of instructions that the catalogue does not have."""
    files = generated(tmp_path, REDUCED)
    pairs = zip(explore(files), explore(files, "--without", reduction), strict=True)
    different = [a["name"] for a, b in pairs if (a["verdict"], a["trap"]) != (b["verdict"], b["trap"])]
    assert different == []


def test_comparison_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule wrong in the second implementation, and the catalogue shows it."""

    def strong(older: Entry, younger: Entry) -> bool:
        return ordered(older, younger) or older.kind == "FO"

    monkeypatch.setattr("prismem.models.litmus.machine.ordered", strong)
    files = [path for path in FILES if path.stem in ("PUB-fo-fo", "PUB-fl-fl")]
    assert [(r["name"], r["mode"]) for r in disagreements(files)] == [("PUB-fo-fo", "noncoherent")]


def test_generator_is_seeded_and_varied() -> None:
    """Equal seeds give equal programs; every instruction and switch of the generator occurs."""
    texts = [cycles.program(seed) for seed in MORE]
    assert texts == [cycles.program(seed) for seed in MORE]
    together = "\n".join(texts)
    words = {*cycles.STORES, *cycles.LOADS, *filter(None, (*cycles.FLUSHES, *cycles.FENCES, *cycles.OPTIONS))}
    assert [word for word in words if word not in together] == []
    assert len(set(texts)) == len(texts)


def test_order_of_buffered_entries() -> None:
    """The table of docs/litmus.md, entry by entry: 1 ordered, 0 not, for one line and for two."""
    kinds = ("W", "U", "FL", "FO", "WB", "NT", "SF")
    same = ["1111111", "1111111", "1111111", "0011111", "0011111", "1111111", "1111111"]
    apart = ["1110001", "1110001", "1110001", "0000001", "0000001", "0000001", "1111111"]
    for line, table in ((0, same), (1, apart)):
        for (i, older), (j, younger) in itertools.product(enumerate(kinds), repeat=2):
            assert ordered(Entry(older, 0), Entry(younger, line)) == (table[i][j] == "1"), (older, younger, line)


def test_conditions_and_places() -> None:
    """`bad` as a function; a program's lines by number."""
    holds = condition("0.r0 == 1 and not (mem.x % 2 != 0 or 1.a >= 3)")
    assert holds({(0, "r0"): 1, (1, "a"): 2}, {"x": 4})
    assert not holds({(0, "r0"): 1, (1, "a"): 3}, {"x": 4})
    program = parse("litmus t\nvars x=5:1 y=2:0\ninit x=7\nthread 0 host=3\n  st x 1\nbad mem.x == 7\n")
    assert program.lines == [2, 5]
    assert Machine(program, coherent=False).hosts == 4
    assert Machine(program, coherent=False).memory(Machine(program, coherent=True).initial()) == {"x": 7, "y": 0}
