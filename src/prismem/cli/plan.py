"""`prismem plan`: the test plan as a table for the README, which must hold exactly this."""

from typing import Any

import yaml

from prismem.paths import ROOT

PLAN = ROOT / "tests" / "testplan.yaml"
STAGES = ("unit", "block", "system", "regress")


def plan_entries() -> list[dict[str, Any]]:
    """The entries of the plan."""
    return list(yaml.safe_load(PLAN.read_text(encoding="utf-8"))["testpoints"])


def stage(point: dict[str, Any]) -> str:
    """Stage of a testpoint: what it says, else by where its tests lie (docs/verification.md)."""
    if "stage" in point:
        return str(point["stage"])
    tests = point.get("tests") or []
    if all(test.startswith(("tests/unit/", "tests/repo/")) for test in tests):
        return "unit"
    return "system" if any(test.startswith(("job ", "tests/software/")) for test in tests) else "block"


def table() -> str:
    """Markdown: what is shown, in which stage, and by which job or test module."""
    rows = ["| testpoint | stage | what is shown | by |", "|---|---|---|---|"]
    for point in plan_entries():
        tests = ", ".join(dict.fromkeys(f"`{test.partition('::')[0]}`" for test in point["tests"]))
        rows.append(f"| {point['name']} | {stage(point)} | {point['goal']} | {tests} |")
    return "\n".join(rows)
