"""The test plan is whole: what it names exists, and nothing that tests is outside it."""

import ast
from pathlib import Path
from typing import Any

from prismem.cli.plan import STAGES, plan_entries, stage, table
from prismem.paths import ROOT
from prismem.tb.job import jobs

FIELDS = {"name", "goal", "tests"}


def functions(path: Path) -> set[str]:
    """Names of the tests of a module."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def problems(testpoints: list[dict[str, Any]], modules: set[str], job_names: set[str]) -> list[str]:
    """What is wrong with a plan, given the test modules and the jobs that there are."""
    found = []
    covered: set[str] = set()
    for point in testpoints:
        name = point.get("name", "?")
        if FIELDS - set(point):
            found.append(f"{name}: lacks {', '.join(sorted(FIELDS - set(point)))}")
        for test in point.get("tests") or []:
            kind, _, rest = test.partition(" ")
            if kind == "job":
                covered.add(test)
                if rest not in job_names:
                    found.append(f"{name}: job '{rest}' does not exist")
                continue
            module, _, function = test.partition("::")
            covered.add(module)
            if module not in modules:
                found.append(f"{name}: {module} does not exist")
            elif function and function not in functions(ROOT / module):
                found.append(f"{name}: {module} has no {function}")
        if stage(point) not in STAGES:
            found.append(f"{name}: stage {stage(point)} is none of {', '.join(STAGES)}")
        if not point.get("tests"):
            found.append(f"{name}: no tests")
    names = [point.get("name") for point in testpoints]
    found += [f"{name}: twice" for name in sorted({n for n in names if names.count(n) > 1}, key=str)]
    found += [f"{module}: outside the plan" for module in sorted(modules - covered)]
    found += [f"job {name}: outside the plan" for name in sorted(job_names) if f"job {name}" not in covered]
    return found


def test_plan_is_whole() -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert problems(plan_entries(), modules, set(jobs())) == []


def test_readme_holds_the_plan() -> None:
    assert table() in (ROOT / "README.md").read_text(encoding="utf-8"), "README.md: put in what `prismem plan` prints"


def test_plan_check_refuses_what_it_should() -> None:
    here = "tests/repo/test_testplan.py"
    good = [{"name": "a", "goal": "g", "tests": [f"{here}::test_plan_is_whole", "job x"]}]
    assert problems(good, {here}, {"x"}) == []
    assert problems(good, {here, "tests/unit/test_new.py"}, {"x"}) == ["tests/unit/test_new.py: outside the plan"]
    assert problems(good, {here}, {"x", "y"}) == ["job y: outside the plan"]
    assert problems(good * 2, {here}, {"x"}) == ["a: twice"]
    assert problems([good[0] | {"stage": "later"}], {here}, {"x"}) == [
        "a: stage later is none of unit, block, system, regress"
    ]
    gone = [{"name": "a", "goal": "g", "tests": [f"{here}::test_gone", "tests/unit/test_gone.py", "job z"]}]
    assert problems(gone, {here}, set()) == [
        f"a: {here} has no test_gone",
        "a: tests/unit/test_gone.py does not exist",
        "a: job 'z' does not exist",
    ]
    assert "a: no tests" in problems([{"name": "a", "goal": "g", "tests": []}], set(), set())
