"""Trace events of a run: slices nest, add up to the latency of their transaction, and each track is right."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prismem.errors import MisuseError
from prismem.lib.transactions import KINDS, NEVER, RECORD, STAGES
from prismem.tb.runner import trace_events
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec

Events = list[dict[str, Any]]


def traced(path: Path, **spec: Any) -> tuple[dict[str, Any], Any]:
    result = execute(make_spec(**({"test": "kv_share", "trace_events": str(path)} | spec)))
    assert result.passed, result.text()
    return json.loads(path.read_text()), result


def ns(event: dict[str, Any]) -> tuple[int, int]:
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def problems(events: Events) -> list[str]:
    """What a viewer would draw wrongly: slices of a track that overlap without nesting, sums that differ."""
    found = []
    lanes: dict[tuple[int, int], Events] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            lanes[event["pid"], event["tid"]].append(event)
    for track, slices in lanes.items():
        parent: dict[str, Any] = {}
        inside = 0
        for event in slices:  # parents come before their stages
            start, end = ns(event)
            if "args" in event:
                if parent and inside != ns(parent)[1] - ns(parent)[0]:
                    found.append(f"{track}: stages of {parent['args']} add up to {inside} ns")
                if parent and start < ns(parent)[1]:
                    found.append(f"{track}: {event['args']} starts before {parent['args']} ends")
                parent, inside = event, 0
                if event["args"].get("latency_ns", end - start) != end - start:
                    found.append(f"{track}: {event['args']} is not as long as its latency")
            else:
                inside += end - start
                if not (ns(parent)[0] <= start <= end <= ns(parent)[1]):
                    found.append(f"{track}: {event['name']} lies outside of {parent['args']}")
    return found


def test_slices_nest_and_add_up_on_the_rtl(tmp_path: Path) -> None:
    """Every transaction of a run of the main job, by the probes; hosts, paths and modules have tracks."""
    trace, result = traced(tmp_path / "trace.json", test="kv_share", options={"requests": "4"})
    events = trace["traceEvents"]
    assert problems(events) == []
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert names == {f"host {h}" for h in (0, 1)} | {f"module {m}" for m in (0, 1)} | {
        f"path {h} - {m}" for h in (0, 1) for m in (0, 1)
    }
    transactions = [event for event in events if event.get("cat") == "transaction"]
    latency = result.metrics["latency"]
    assert len(transactions) == sum(latency[kind]["count"] for kind in ("read", "write", "dma_read", "dma_write"))
    assert (
        max(e["args"]["latency_ns"] for e in transactions if e["name"] == "dma_read")
        == (latency["dma_read"]["total_ns"]["max"])
    )
    stages = [event["name"] for event in events if event.get("cat") == "stage"]
    assert stages == STAGES * len(transactions)
    assert trace["otherData"]["transactions_left_out"] == 0


def row(host: int, start: int, **changes: Any) -> Any:
    """A transaction by hand: each stage 10 ns."""
    fields = {"stage_ns": start + 10 * np.arange(len(STAGES) + 1), "host": host, "visible_ns": NEVER} | changes
    made = np.zeros(1, RECORD)
    for name, value in fields.items():
        made[name] = value
    return made


def test_transactions_at_the_same_time_have_lanes_of_their_own() -> None:
    """Three overlap: three lanes; the fourth comes when the first has ended, and takes its lane."""
    table = np.concatenate([row(0, 5), row(0, 0), row(0, 60), row(0, 110)])
    events = trace_events.trace_events(table, 1, 1)
    assert problems(events) == []
    lanes = [event["tid"] for event in events if event.get("cat") == "transaction"]
    assert lanes == [0, 1, 2, 0]


def test_what_is_wrong_is_seen() -> None:
    """The check of these tests: a stage that is longer than the time to the next one."""
    events = trace_events.trace_events(np.concatenate([row(0, 0), row(0, 500)]), 1, 1)
    stage = next(event for event in events if event.get("cat") == "stage")
    stage["dur"] += 0.2
    assert any("lies outside" in text or "add up" in text for text in problems(events))


def test_a_posted_write_shows_until_when_nobody_sees_it() -> None:
    """Completed at 70 ns, visible at 570 ns; a transaction that no decoder claims has no stages and is left out."""
    lost = row(0, 0)
    lost["stage_ns"][0, 3:9] = NEVER
    table = np.concatenate([row(0, 0, kind=KINDS.index("write_back"), visible_ns=570), lost])
    events = trace_events.trace_events(table, 1, 1)
    late = {event["ph"]: event["ts"] for event in events if event.get("cat") == "posted"}
    assert late == {"b": 0.07, "e": 0.57}
    assert len([event for event in events if event.get("cat") == "transaction"]) == 1


def test_a_run_without_transactions_is_refused(tmp_path: Path) -> None:
    file = str(tmp_path / "trace.json")
    with pytest.raises(MisuseError, match="TRACE_EVENTS: the functional port has no time"):
        make_spec("kv_share", port="functional", trace_events=file)
    with pytest.raises(MisuseError, match="TRACE_EVENTS: test 'engines' counts and stamps nothing"):
        make_spec("engines", trace_events=file)
    with pytest.raises(MisuseError, match="TRACE_EVENTS: there is no folder"):
        make_spec("kv_share", trace_events=str(tmp_path / "none" / "trace.json"))
