"""`prismem check` and the replay of its logs, on a terminal."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from rich.console import Console

from prismem.errors import MisuseError
from prismem.lib.check.compiler import check_flags
from prismem.lib.check.log import LOG_FILE, POLICIES, CheckLog, Request, Source
from prismem.lib.check.redundant import text
from prismem.lib.check.run import PAGE_FILE, TEXT_FILE, Outcome, check, output_of, replay
from prismem.lib.emu import pool_size
from prismem.paths import relative

HOSTS_MAX = 64


def _words(option: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise MisuseError(f"{option} {text}: {error}") from None


def make_request(programs: tuple[Path, ...], **asked: Any) -> Request:
    """A checked request.

    Raises:
        MisuseError: a value is out of range; the text names option, value and cure.
    """
    if not programs:
        raise MisuseError("PROGRAM: name at least one C or C++ source")
    for path in programs:
        if not path.is_file():
            raise MisuseError(f"PROGRAM: there is no file {path}")
    bounds = {"hosts": (1, HOSTS_MAX), "executions": (1, 10**12), "steps": (100, 10**12), "pool_mib": (1, 1 << 20)}
    for name, (low, high) in bounds.items():
        if asked[name] is not None and not low <= asked[name] <= high:
            raise MisuseError(f"--{name.replace('_', '-')} {asked[name]}: outside {low}..{high}")
    if asked["time"] is not None and asked["time"] <= 0:
        raise MisuseError(f"--time {asked['time']}: seconds of search, more than 0")
    for policy in asked["policies"]:
        if policy not in POLICIES:
            raise MisuseError(f"--policy {policy}: one of {', '.join(POLICIES)}")
    policies = list(asked["policies"] or POLICIES)
    if asked["posted"]:  # when a write lands is not among the choices of the exhaustive search
        policies = [policy for policy in policies if policy != "dfs"]
        if not policies:
            raise MisuseError("--policy dfs: does not go with --posted; leave one of them out")
    # A number of executions alone is the only bound; otherwise time is.
    time_s = asked["time"] or (10.0 if asked["executions"] is None else 3600.0)
    for folder in asked["includes"]:
        if not Path(folder).is_dir():
            raise MisuseError(f"-I {folder}: there is no such folder")
    flags = [f"-D{text}" for text in asked["defines"]] + [f"-I{Path(text).resolve()}" for text in asked["includes"]]
    flags += check_flags(_words("--cflags", asked["cflags"]))
    return Request(
        sources=[Source.of(path.resolve()) for path in programs],
        hosts=asked["hosts"],
        args=_words("--args", asked["args"]),
        flags=flags,
        pool_paths=list(asked["pools"]),
        pool_bytes=pool_size(asked["pool_mib"] << 20),
        policies=policies,
        executions=asked["executions"] or 10**12,
        time_s=time_s,
        seed=asked["seed"],
        steps=asked["steps"],
        coherent=asked["coherent"],
        posted=asked["posted"],
        redundant=asked["redundant"],
    )


def run(console: Console, request: Request, *, as_json: bool) -> bool:
    """Check; False when a fault is found, or when no execution came to its end."""
    outcome = check(request)
    never_ends = not outcome.found and outcome.cut == outcome.executions
    if as_json:
        console.out(json.dumps(outcome.summary(), indent=2), highlight=False)
        return not outcome.found and not never_ends
    _warn(console, outcome)
    rate = outcome.executions / outcome.elapsed_s if outcome.elapsed_s else 0.0
    explored = f"{outcome.executions} executions, {outcome.steps} steps in {outcome.elapsed_s:.2f} s ({rate:.0f}/s)"
    if outcome.log is not None:
        console.out(f"FOUND {outcome.log.fault.kind} after {explored}, policy {outcome.log.policy}\n", highlight=False)
        _story(console, outcome)
        return False
    if never_ends:
        console.out(f"NEVER ENDS: each of {explored} was cut after {request.steps} steps (--steps)", highlight=False)
        return False
    console.out(f"nothing found in {explored}", highlight=False)
    if outcome.complete is not None:
        events = f"with up to {outcome.complete}" if outcome.complete else "without"
        console.out(f"complete: every order of the threads {events} cache events of their own", highlight=False)
    if outcome.cut:
        console.out(f"{outcome.cut} of them were cut after {request.steps} steps (--steps)", highlight=False)
    for line in text(outcome.advice, outcome.tried) if outcome.advice is not None else ():
        console.out(line, highlight=False)
    return True


def run_replay(console: Console, log: CheckLog) -> bool:
    """Replay; False when the fault is there again, as in a run that fails."""
    outcome = replay(log)
    _warn(console, outcome)
    printed = output_of(outcome)
    if printed:
        console.out(f"the programs printed:\n{printed}", highlight=False)
    # An execution that was cut has no fault of the emulator's, which `found` would see: it is known by its digest.
    if log.fault.kind == "endless" and outcome.replays_exactly:
        console.out(f"REPLAYED: step by step the same execution\n\n{log.fault.message}", highlight=False)
        return False
    if not outcome.found:
        console.out("the fault is not there any more", highlight=False)
        return True
    same = "step by step the same execution" if outcome.replays_exactly else "the execution differs from the log's"
    console.out(f"REPLAYED: {same}\n", highlight=False)
    _story(console, outcome)
    return False


def _warn(console: Console, outcome: Outcome) -> None:
    for warning in outcome.warnings:
        console.out(f"warning: {warning}", highlight=False)


def _story(console: Console, outcome: Outcome) -> None:
    assert outcome.folder is not None
    for line in outcome.lines:
        console.out(line, highlight=False)
    console.out(f"all     {relative(outcome.folder / TEXT_FILE)}", highlight=False)
    console.out(f"page    {relative(outcome.folder / PAGE_FILE)}", highlight=False)
    console.out(f"replay  prismem replay {relative(outcome.folder / LOG_FILE)}", highlight=False)
