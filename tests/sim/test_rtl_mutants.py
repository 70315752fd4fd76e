"""Must-fail runs of the hardware: each fault of tests/rtl_mutants makes a named test fail, and all still apply."""

from pathlib import Path

import pytest

from prismem.errors import PrismemError
from prismem.paths import ROOT
from prismem.tb.runner.rtl_mutants import Mutant, judge, load, problems, write_result

MUTANTS = {mutant.name: mutant for mutant in load()}
# Built and run by `make test`; the others by `make regress` and `make rtl-mutants`.
DAILY = ("header_slot_off_by_one", "poison_forgotten")
HARMLESS = Mutant(
    name="a_comment",
    description="changes a comment of the hardware alone",
    file="rtl/common/pf_rr_arbiter.sv",
    old="// Round robin arbiter:",
    new="// Arbiter:",
    killed_by=("tests/unit/test_lru.py",),
)


def test_every_mutant_can_be_applied() -> None:
    """The text that a mutant replaces stands exactly once in the hardware, and each test that it names is there."""
    assert problems(MUTANTS.values()) == []
    for mutant in MUTANTS.values():
        for test in mutant.killed_by:
            path, _, name = test.partition("::")
            assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text(encoding="utf-8"), (mutant.name, test)


def test_a_rotten_mutant_is_named(tmp_path: Path) -> None:
    """Text that is gone, that stands twice, a file that is gone, a mutant without a test, a name that stands twice."""
    changes = ({"old": "gone"}, {"old": "logic"}, {"file": "rtl/gone.sv"}, {"killed_by": ()}, {"new": HARMLESS.old})
    rotten = [HARMLESS.model_copy(update={"name": f"m{i}", **change}) for i, change in enumerate(changes)]
    assert problems([HARMLESS]) == []
    found = problems(rotten)
    assert [text.partition(":")[0] for text in found] == ["m0", "m1", "m2", "m3", "m4"], found
    with pytest.raises(PrismemError, match="m0"):
        rotten[0].apply(tmp_path)
    (tmp_path / "twice.yaml").write_text(f"mutants: [{HARMLESS.model_dump_json()}, {HARMLESS.model_dump_json()}]")
    with pytest.raises(PrismemError, match="a_comment"):
        load(tmp_path)


def test_a_mutant_that_nobody_notices_survives(tmp_path: Path) -> None:
    """A changed comment survives, the tree stays as it is, and the result says so."""
    before = (ROOT / HARMLESS.file).read_text()
    verdict = judge(HARMLESS)
    assert not verdict.killed
    assert (ROOT / HARMLESS.file).read_text() == before
    write_result([verdict], tmp_path / "result.json")
    assert '"survivors": [\n    "a_comment"' in (tmp_path / "result.json").read_text()


def test_a_mutant_that_does_not_build_is_no_kill() -> None:
    """Broken SystemVerilog makes tests fail, too; that proves nothing and is an error."""
    broken = MUTANTS[DAILY[0]].model_copy(update={"name": "broken", "new": "endmodule"})
    with pytest.raises(PrismemError, match="broken"):
        judge(broken)


@pytest.mark.parametrize("name", DAILY)
def test_mutant_is_killed(name: str) -> None:
    verdict = judge(MUTANTS[name])
    assert verdict.killed, verdict


@pytest.mark.regress
@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in DAILY])
def test_every_mutant_is_killed(name: str) -> None:
    verdict = judge(MUTANTS[name])
    assert verdict.killed, verdict
