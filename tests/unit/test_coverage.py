"""Coverage without a simulator: the plan, counting bins, reading Verilator's files, the summary."""

from collections import Counter
from pathlib import Path

import pytest
from pydantic import ValidationError

from prismem.tb.coverage.collect import spec_of
from prismem.tb.coverage.functional import FunctionalCoverage, merged, percent
from prismem.tb.coverage.plan import LineExclusion, Plan, load
from prismem.tb.coverage.summary import excluded_lines, summarize
from prismem.tb.coverage.verilator_dat import by_file, lcov, line_ranges, parse
from prismem.tb.job import jobs
from prismem.tb.uvm.tests import TESTS

SMALL = {
    "line_percent_min": 95,
    "points": [{"name": "op", "goal": "g", "bins": ["rd", "wr"]}, {"name": "hit", "goal": "g", "bins": ["y", "n"]}],
    "crosses": [
        {"name": "x", "of": ["op", "hit"], "exclude": [{"bins": ["wr", None], "reason": "writes look up nothing"}]}
    ],
    "lines": [{"files": "*.sv", "pattern": r"\$fatal", "reason": "ends the run before counts are written"}],
    "runs": [],
}
SOURCE = """module m;
  always_ff @(posedge clk_i) begin
    if (a) begin
      x <= 1;
    end
    y <= 2;
  end
  initial begin
    if (Bad) $fatal(1,
      "no");
    if (Worse) begin
      z = 1;
      $fatal(1);
    end
  end
  function automatic int table_of();
    int x = 1;
    return x;
  endfunction
endmodule
"""


def point(line: int, lines: str, count: int, kind: str = "line", file: str = "/r/rtl/m.sv", what: str = "block") -> str:
    fields = {"f": file, "l": line, "n": 3, "t": kind, "page": f"v_{kind}/m", "o": what, "S": lines, "h": "top.m"}
    return "C '" + "".join(f"\1{key}\2{value}" for key, value in fields.items()) + f"' {count}"


def test_the_plan_is_whole_and_names_what_exists() -> None:
    plan = load()
    assert all(run.uvm in TESTS for run in plan.runs if run.uvm)
    assert all(run.job in jobs() for run in plan.runs if run.job)
    assert {run.uvm for run in plan.runs if run.uvm} == set(TESTS)
    for run in plan.runs:
        if run.job:
            spec_of(run)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"crosses": [{"name": "x", "of": ["op", "gone"]}]}, "coverpoint gone does not exist"),
        ({"crosses": [{"name": "op", "of": ["op", "hit"]}]}, "has the name of another"),
        (
            {"crosses": [{"name": "x", "of": ["op"], "exclude": [{"bins": ["zz"], "reason": "not needed"}]}]},
            r"excluded bins \['zz'\] do not exist",
        ),
        ({"crosses": [{"name": "x", "of": ["op"], "exclude": [{"bins": ["rd"], "reason": ""}]}]}, "at least 10"),
        ({"runs": [{"seed": 3}]}, "either a uvm test or a job"),
    ],
)
def test_a_plan_that_is_not_whole_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Plan.model_validate(SMALL | change)


def test_bins_and_crosses_are_counted_and_excluded_ones_do_not_matter() -> None:
    plan = Plan.model_validate(SMALL)
    coverage = FunctionalCoverage(plan)
    coverage.sample(op="rd", hit="y")
    coverage.sample(op="wr")
    assert coverage.hits == {"op.rd": 1, "hit.y": 1, "x.rd.y": 1, "op.wr": 1}
    share, missing = percent(plan, coverage.hits)
    assert missing == ["hit.n", "x.rd.n"]
    assert share == pytest.approx(100 * 4 / 6)
    share, missing = percent(plan, merged([coverage.hits, {"hit.n": 1, "x.rd.n": 2}]))
    assert (share, missing) == (100.0, [])
    with pytest.raises(ValueError, match="op has no bin inv"):
        coverage.sample(op="inv")


def test_points_of_all_instances_count_for_the_line() -> None:
    text = "# SystemC::Coverage-3\n" + "\n".join(
        [point(3, "3-4", 0), point(3, "3-4", 5), point(9, "9,11", 0, "branch")]
    )
    files = by_file(parse(text).items(), Path("/r/rtl"))
    assert files["m.sv"].lines == {3: 5, 4: 5, 9: 0, 11: 0}
    assert files["m.sv"].covered == 2
    assert not by_file(parse(text).items(), Path("/r/tb"))
    assert "SF:rtl/m.sv\nDA:3,5\nDA:4,5\nDA:9,0\nDA:11,0\nBRDA:9,3,block,-\nLF:4\nLH:2\n" in lcov(files, "rtl/")


def test_line_ranges_and_broken_files() -> None:
    assert line_ranges("3,7-9") == (3, 7, 8, 9)
    assert line_ranges("") == ()
    with pytest.raises(ValueError, match="not a coverage point"):
        parse("C what")


def test_patterns_exclude_statements_and_blocks() -> None:
    exclusion = LineExclusion(files="*", pattern=r"\$fatal|Worse", reason="ends the run early")
    assert sorted(excluded_lines(SOURCE, [exclusion])) == [9, 10, 11, 12, 13, 14]
    function = LineExclusion(files="*", pattern=r"function .* table_of", reason="computed by the compiler")
    assert sorted(excluded_lines(SOURCE, [function])) == [16, 17, 18, 19]


def test_summary_leaves_out_what_is_excluded_and_names_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "m.sv").write_text(SOURCE)
    file = str(tmp_path / "m.sv")
    text = [point(3, "4", 0, file=file), point(2, "3,6", 7, file=file), point(9, "9-10", 0, file=file)]
    summary, _ = summarize(Plan.model_validate(SMALL), parse("\n".join(text)), Counter({"op.rd": 1}), tmp_path)
    assert [(row.lines, row.covered, row.missing) for row in summary.files] == [(3, 2, [4])]
    assert summary.line_percent == pytest.approx(66.67)
    assert {"what": "2 lines of m.sv", "reason": "ends the run before counts are written"} in summary.excluded
    assert {"what": "2 bins", "reason": "writes look up nothing"} in summary.excluded
    assert "hit.n" in summary.missing_bins
