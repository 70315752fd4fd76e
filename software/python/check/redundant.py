"""Flushes and fences that nothing depends on: each is left out in turn, and the program is searched as before.

What is found without one shows that it is needed. Where nothing is, it is advice and no fault: within what was explored
the program does the same without it, and would be faster. Each stands for itself; of two that do the same work both are
named, and only one of them may go.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from prismem.lib.check.machine import Explorer

VERBS_MAX = 64
"""Flushes and fences that are tried, those issued most first."""

Search = Callable[[Explorer, dict[str, Any]], dict[str, Any]]


def redundant(
    explorer: Explorer, request: dict[str, Any], search: Search, base: dict[str, Any]
) -> list[dict[str, Any]]:
    """Advice after a search that found nothing, `base` its result: a record a flush or fence without which the same
    budget finds nothing either. Keys: those of Explorer.verbs, and executions, complete (as Outcome.complete)."""
    verbs = sorted(explorer.verbs(), key=lambda verb: -verb["count"])
    budget = request | {"executions": base["executions"], "time_s": request["time_s"]}
    found = []
    for verb in verbs[:VERBS_MAX]:
        explorer.skip(int(verb["place"]))
        start_s = time.monotonic()
        result = search(explorer, budget)
        never_ends = result["cut"] == result["executions"]
        if result["policy"] is None and not never_ends:
            elapsed_s = round(time.monotonic() - start_s, 3)
            found.append(
                verb | {"executions": result["executions"], "complete": result["complete"], "elapsed_s": elapsed_s}
            )
    explorer.skip(0)
    return sorted(found, key=lambda verb: verb["source"])


def text(advice: list[dict[str, Any]], tried: int) -> list[str]:
    """Lines for a person."""
    if not advice:
        return [f"advice  none: each of the {tried} flushes and fences was left out in turn, and something was found"]
    lines = ["advice  nothing was found without one of these (each alone; the program stays right, and gets faster):"]
    for verb in advice:
        sure = "" if verb["complete"] is None else ", every order of the threads"
        if verb["complete"]:
            sure += f" with up to {verb['complete']} cache events"
        lines.append(
            f"        {verb['verb']} at {verb['source']} ({verb['function']}): {verb['executions']} executions "
            f"without it{sure}; had nothing to do in {verb['idle']} of {verb['count']} times"
        )
    return lines
