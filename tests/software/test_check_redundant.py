"""`prismem check --redundant`: a useless flush is named, one that only looks useless is not; advice is no fault."""

from __future__ import annotations

from typing import Any

import check_support

from prismem.lib.check.redundant import text

PROGRAM = check_support.PROGRAMS / "redundant.c"


def check(*arguments: str) -> tuple[int, dict[str, Any]]:
    return check_support.check(PROGRAM, "--time", "2", *arguments)


def line_of(code: str) -> str:
    [place] = check_support.lines_with(PROGRAM, code)
    return place


def test_the_useless_flush_alone_is_named() -> None:
    """Goal: advice is right. Method: two flushes that look useless; without the second one the check finds a fault."""
    status, result = check("--redundant")
    assert (status, result["found"]) == (0, False)
    [advice] = result["redundant"]
    assert (advice["verb"], advice["source"], advice["function"]) == ("clflush", line_of("useless: nobody"), "produce")
    assert advice["idle"] == advice["count"] > 0
    assert advice["executions"] > 1000
    assert advice["complete"] >= 1
    status, result = check("--redundant", "-D", "WRONG")
    assert (status, result["found"], result["redundant"]) == (1, True, None)


def test_nobody_asked() -> None:
    """Without the option nothing is left out and nothing said."""
    status, result = check("--executions", "100")
    assert (status, result["redundant"]) == (0, None)


def test_words() -> None:
    """What a person reads: how much was tried without it, and that there is no advice."""
    assert text([], 5) == [
        "advice  none: each of the 5 flushes and fences was left out in turn, and something was found"
    ]
    advice = {"verb": "clflush", "source": "a.c:3", "function": "f", "count": 4, "idle": 1, "executions": 9}
    assert text([advice | {"complete": 1}], 5)[1] == (
        "        clflush at a.c:3 (f): 9 executions without it, every order of the threads with up to 1 cache events; "
        "had nothing to do in 1 of 4 times"
    )
    assert "every order" not in text([advice | {"complete": None}], 5)[1]
