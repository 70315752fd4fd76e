"""Flush latency as software sees it, against the formula of the profile, with and without posted completion."""

from typing import Any

import pytest

from prismem.models import latency, profile
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec

POSTED = "module.completion=1"
SLACK_NS = 4  # the clock reads of the program


def methods(*sets: str, **options: str) -> dict[str, Any]:
    result = execute(make_spec("flush_latency", sets=sets, options={"lines": "8"} | options))
    assert result.passed, result.text()
    found: dict[str, Any] = result.metrics["flush"]["methods"]
    return found


def visible_ns(name: str = "pfma") -> int:
    """Stages of a write up to the media, its commit included: when the module has applied it."""
    stages = latency.idle_stages_ns(profile.load(name), "write")
    order = list(stages)
    return sum(stages[stage] for stage in order[: order.index("module_return")])


def test_moments_of_a_flush_are_those_of_an_idle_write() -> None:
    """The instruction does not wait; the line is visible after the way out; the fence waits for all 224 ns."""
    for name, moments in methods().items():
        assert moments["returned_ns"] <= SLACK_NS, name
        assert moments["visible_ns"] == pytest.approx(visible_ns(), abs=SLACK_NS), name
        assert moments["fenced_ns"] == pytest.approx(latency.idle_ns(profile.load("pfma"), "write"), abs=SLACK_NS + 1)
        assert moments["window_ns"] == moments["visible_ns"] - moments["returned_ns"] > 0
        assert moments["window_behind_fence_ns"] == 0


def test_posted_completion_opens_a_window_behind_the_fence() -> None:
    """The completion leaves at once, commit_time earlier; the line is there posted_time later, behind the fence."""
    machine = profile.load("pfma")
    commit_ns, posted_ns = machine.hbm.commit_time.canonical, machine.module.posted_time.canonical
    plain, posted = methods(), methods(POSTED)
    for name in plain:
        assert posted[name]["visible_ns"] - plain[name]["visible_ns"] == pytest.approx(posted_ns, abs=1)
        assert plain[name]["fenced_ns"] - posted[name]["fenced_ns"] == pytest.approx(commit_ns, abs=2)
        window_ns = posted[name]["visible_ns"] - posted[name]["fenced_ns"]
        assert posted[name]["window_behind_fence_ns"] == pytest.approx(window_ns, abs=1)  # medians, each its own
        assert window_ns > posted_ns / 2


def test_a_write_that_never_becomes_visible_is_found() -> None:
    """Posted for longer than the program waits: the job fails and names the cure."""
    spec = make_spec(
        "flush_latency", sets=(POSTED, "module.posted_time=2 us"), options={"lines": "2", "gap_ns": "1000"}
    )
    result = execute(spec)
    assert not result.passed
    assert "raise option gap_ns" in result.text()
