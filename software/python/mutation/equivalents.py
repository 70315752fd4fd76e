"""Mutants that differ from the library in nothing that anybody can notice, and why: tests/mutants/*.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prismem.errors import PrismemError
from prismem.lib.mutation.judge import Verdict
from prismem.paths import MUTANTS, relative


class Equivalent(BaseModel):
    """One mutant that no test can notice."""

    model_config = ConfigDict(extra="forbid")
    id: str
    reason: str = Field(min_length=20)
    """Why it cannot be noticed, in a sentence."""
    unless: str = Field(min_length=10)
    """What would make it a fault."""


def load(folder: Path = MUTANTS) -> list[Equivalent]:
    """All entries; one argument may hold for several ids. Raises PrismemError for a file that is not well formed."""
    found: list[Equivalent] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["equivalent"]:
                ids = entry.pop("ids")
                found += [Equivalent.model_validate({"id": one, **entry}) for one in ids]
        except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValidationError) as error:
            raise PrismemError(f"{relative(path)}: {error}") from None
    names = [entry.id for entry in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PrismemError(f"{relative(folder)}: ids that stand twice: {', '.join(twice)}")
    return found


def stale(equivalents: Iterable[Equivalent], verdicts: Iterable[Verdict], *, whole: bool) -> list[str]:
    """What is wrong with the list: mutants that are gone (if `verdicts` are of all) or were noticed after all."""
    by_id = {verdict.id: verdict for verdict in verdicts}
    problems = []
    for entry in equivalents:
        verdict = by_id.get(entry.id)
        if verdict is None:
            if whole:
                problems.append(f"{entry.id}: there is no such mutant any more; take it out of the list")
        elif verdict.state == "killed":
            problems.append(f"{entry.id}: is said to be equivalent and was noticed: {verdict.message}")
        elif verdict.state == "invalid":
            problems.append(f"{entry.id}: does not compile; take it out of the list")
    return problems
