"""`prismem plan`: the test plan as a table for the README, which must hold exactly this."""

from typing import Any

import yaml

from prismem.paths import ROOT

PLAN = ROOT / "tests" / "testplan.yaml"


def plan_entries() -> list[dict[str, Any]]:
    """The entries of the plan."""
    return list(yaml.safe_load(PLAN.read_text(encoding="utf-8"))["testpoints"])


def table() -> str:
    """Markdown: what is shown, and by which job or test module."""
    rows = ["| testpoint | what is shown | by |", "|---|---|---|"]
    for point in plan_entries():
        tests = ", ".join(dict.fromkeys(f"`{test.partition('::')[0]}`" for test in point["tests"]))
        rows.append(f"| {point['name']} | {point['goal']} | {tests} |")
    return "\n".join(rows)
