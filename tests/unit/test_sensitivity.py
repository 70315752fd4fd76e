"""The table of the sensitivity covers every number of every profile, and a number without effect is found."""

from typing import Any

import pytest

from prismem.models import profile as profiles
from prismem.paths import ROOT
from prismem.tb.report import sensitivity
from prismem.tb.report.sensitivity import Row, moved

ROWS = list(sensitivity.rows())


@pytest.mark.parametrize("name", profiles.names())
def test_every_number_has_a_row(name: str) -> None:
    """The list is generated from the profile, so a number that is added without a row fails here."""
    known = {row.key for row in ROWS} | set(sensitivity.shown_elsewhere())
    numbers = sensitivity.numbers(name)
    assert len(numbers) > 40
    assert [key for key in numbers if key not in known] == []


def test_no_row_is_of_a_number_that_does_not_exist() -> None:
    numbers = {key for name in profiles.names() for key in sensitivity.numbers(name)}
    assert {row.key for row in ROWS} | set(sensitivity.shown_elsewhere()) == numbers


def test_tests_that_are_named_exist() -> None:
    for key, node in sensitivity.shown_elsewhere().items():
        file, _, function = node.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(), key


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.profile}-{row.key}")
def test_every_formula_moves(row: Row) -> None:
    """The computed difference is larger than what rounding and queueing may hide."""
    before, after = row.profiles
    figure = sensitivity.FIGURES[row.metric]
    assert abs(figure.formula(after) - figure.formula(before)) > figure.slack


def idle(read_ns: float) -> dict[str, Any]:
    return {"idle": {"read_ns": read_ns}}


@pytest.mark.parametrize(
    ("after_ns", "holds"), [(283 + 48, True), (283, False), (283 - 48, False), (283 + 24, False), (283 + 60, False)]
)
def test_only_the_computed_amount_in_the_right_direction_holds(after_ns: float, holds: bool) -> None:
    """cxl.request_time 22 -> 70 ns: 48 ns more; a knob without effect, the wrong way, half and too much do not hold."""
    row = next(row for row in ROWS if (row.profile, row.key) == ("pfma", "cxl.request_time"))
    found = moved(row, idle(283), idle(after_ns))
    assert found.computed == 48
    assert found.holds == holds
