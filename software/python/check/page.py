"""The whole interleaving as one self-contained HTML page: hosts as lanes, lines as colours, time downward."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jinja2

from prismem.lib.check import story
from prismem.lib.check.diagnosis import Diagnosis
from prismem.lib.check.log import CheckLog
from prismem.lib.check.trace import Trace

TEMPLATE = Path(__file__).with_name("page.html.j2")
EVENTS_MAX = 2000
"""Events on a page: the last ones, since the fault is at the end."""
GOLDEN_ANGLE_DEG = 137.508


def render(log: CheckLog, trace: Trace, diagnosis: Diagnosis, sources: Sequence[Path]) -> str:
    """The page as text."""
    told = {event.n for event in story.steps(trace, diagnosis)}
    rows = [
        {
            "n": event.n,
            "t": event.t,
            "host": event.host,
            "line": event.line,
            "own": event.event in ("prefetch", "evict"),
            "told": event.n in told,
            "text": story.action(event),
            "place": event.place if event.source else "",
            "code": story.source_text(event.source, sources),
        }
        for event in trace.events[-EVENTS_MAX:]
    ]
    lines = sorted({event.line for event in trace.events if event.line >= 0})
    hues = {line: round(i * GOLDEN_ANGLE_DEG) % 360 for i, line in enumerate(lines)}
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        log=log,
        rows=rows,
        hosts=range(trace.hosts),
        hues=hues,
        diagnosis=diagnosis,
        headline=story.headline(log.fault),
        left_out=max(0, len(trace.events) - EVENTS_MAX),
    )
