"""Numbers of a profile on the RTL: each moves its figure by the computed amount (tb/report/sensitivity.yaml)."""

from functools import cache
from typing import Any

import pytest

from prismem.tb.report import sensitivity
from prismem.tb.report.sensitivity import Row
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import RunSpec

ROWS = list(sensitivity.rows())
BRIEF = (
    "pfma-cxl.ack_time",
    "pfma-path.ack_time",
    "pfma-path.rate",
    "pfma-module.completion",
    "pfma-nic.timeout",
)
# Figures whose formula holds for every profile. Rates are judged row by row in the report: many need a build.
EXACT = ("read_ns", "write_ns", "miss_ns", "visible_ns", "flits", "frames", "dead_cxl_ns", "dead_module_ns")


def name(row: Row) -> str:
    return f"{row.profile}-{row.key}"


@cache
def _measured(text: str) -> dict[str, Any]:
    result = execute(RunSpec.model_validate_json(text))
    assert result.passed, result.text()
    return result.metrics


def check(row: Row) -> None:
    before, after = (_measured(sensitivity.spec(row, sets, 1).model_dump_json()) for sets in row.sets)
    found = sensitivity.moved(row, before, after)
    assert found.holds, f"{name(row)}: measured {found.measured:+g}, computed {found.computed:+g}"


@pytest.mark.parametrize("row", [row for row in ROWS if name(row) in BRIEF], ids=name)
def test_a_number_moves_its_figure(row: Row) -> None:
    """One of each kind that no other test measures."""
    check(row)


@pytest.mark.regress
@pytest.mark.parametrize("row", [row for row in ROWS if row.metric in EXACT and name(row) not in BRIEF], ids=name)
def test_every_latency_moves_by_the_computed_amount(row: Row) -> None:
    check(row)
