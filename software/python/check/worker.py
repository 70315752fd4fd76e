"""The process in which programs under test run: searches, shortens, replays, traces; its crash is no crash of ours.

Reads one request as JSON from standard input, writes one answer as JSON to the file that the request names.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from prismem.lib.check.machine import Choice, Explorer, FaultKey, Strategy
from prismem.lib.check.redundant import VERBS_MAX, redundant
from prismem.lib.check.shrink import Shrinker
from prismem.lib.emu import MachineConfig, Policy, pool_size
from prismem.lib.mutation.battery import Session, Trial

FIRST_EXECUTIONS = 8
"""Executions of each of the extreme policies before the random ones."""
CHUNK_EXECUTIONS = 500
"""Executions of one setting in a row."""


DFS_EXECUTIONS = {0: 20_000, 1: 100_000, 2: 300_000}
"""Cache events an execution may have: executions that the exhaustive search may take. Each needs the one before."""
EVENT_EVERY = 5
"""Steps between two cache events: the next step is one with a probability of 0.2."""


class Setting(NamedTuple):
    """How a chunk of executions is chosen."""

    name: str
    switch_every: int
    executions: int
    events_max: int = 0

    @property
    def strategy(self) -> Strategy:
        """Of the emulator."""
        return {"pct": Strategy.PCT, "dfs": Strategy.DFS}.get(self.name, Strategy.SEEDED)

    @property
    def policy(self) -> Policy:
        """Of the caches, where the seed chooses."""
        return Policy[self.name.upper()] if self.strategy is Strategy.SEEDED else Policy.RANDOM


def plan(policies: Sequence[str]) -> Iterator[Setting]:
    """A few of each first, since most faults show there; then every order of a small program; then all in turn."""
    searched = [name for name in policies if name != "dfs"]
    for switch_every, name in itertools.product((0, 8), searched):
        yield Setting(name, switch_every, FIRST_EXECUTIONS)
    for switch_every, name in itertools.product((4, 16), [name for name in searched if name in ("random", "pct")]):
        yield Setting(name, switch_every, CHUNK_EXECUTIONS)
    if "dfs" in policies:
        for events_max, executions in DFS_EXECUTIONS.items():
            yield Setting("dfs", 0, executions, events_max)
    for switch_every in itertools.cycle((4, 16, 2, 8, 50)):
        for name in searched:
            yield Setting(name, switch_every, CHUNK_EXECUTIONS if name in ("random", "pct") else CHUNK_EXECUTIONS // 10)
        if not searched:
            return


def search(explorer: Explorer, request: dict[str, Any]) -> dict[str, Any]:
    """Run executions until one has a fault or the budget is used up."""
    executions_max, seed = request["executions"], request["seed"]
    started = time.monotonic()
    done = steps = cut = 0
    found: str | None = None
    complete: int | None = None
    mapped = False
    for setting in plan(request["policies"]):
        if setting.events_max and complete != setting.events_max - 1:
            continue
        left_s = request["time_s"] - (time.monotonic() - started)
        count = min(setting.executions, executions_max - done)
        if count <= 0 or left_s <= 0:
            break
        explored = explorer.explore(
            setting.policy,
            seed=seed,
            first=0 if setting.strategy is Strategy.DFS else done,
            executions=count,
            time_ns=int(left_s * 1e9),
            switch_every=setting.switch_every,
            event_every=EVENT_EVERY,
            strategy=setting.strategy,
            events_max=setting.events_max,
        )
        mapped |= explored.mapped
        done, steps, cut = done + explored.executions, steps + explored.steps, cut + explored.cut
        if explored.found:
            found = setting.name
            break
        if explored.complete:
            complete = setting.events_max
    elapsed_s = time.monotonic() - started
    return {
        "executions": done,
        "steps": steps,
        "cut": cut,
        "elapsed_s": elapsed_s,
        "policy": found,
        "complete": complete,
        "mapped": mapped,
    }


def shorten(explorer: Explorer, log: list[Choice], key: FaultKey) -> tuple[list[Choice], int]:
    """The log without what the fault does not need, and how many replays that took."""
    shrinker = Shrinker(lambda shorter: explorer.replay(shorter).same_fault(key))
    return shrinker.shrink(log), shrinker.replays


def _send_output_to(path: str) -> None:
    """What the programs print from now on; what the C library still holds back goes to where it went so far."""
    ctypes.CDLL(None).fflush(None)
    sink = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    os.close(sink)


def replay_traced(explorer: Explorer, log: list[Choice], output: str) -> dict[str, Any]:
    """The execution of a log with everything that happened in it; what the programs print goes to a file."""
    _send_output_to(output)
    explorer.replay(log, trace=True)
    _send_output_to(os.devnull)
    return traced(explorer)


def traced(explorer: Explorer) -> dict[str, Any]:
    """What is known of an execution that was replayed with its trace."""
    return {"key": list(explorer.fault()), "trace": explorer.trace(), "report": explorer.report()}


def machine_config(request: Mapping[str, Any], **changes: Any) -> MachineConfig:
    """The machine on which programs are searched and replayed."""
    fields: dict[str, Any] = {
        "hosts": request["hosts"],
        "pool_bytes": pool_size(request["pool_bytes"]),
        "seed": request["seed"],
        "coherent": request["coherent"],
        "completion_posted": request["posted"],
        "step_limit": request["steps"],
        "switch_every": 8,
        "event_every": EVENT_EVERY,
    }
    return MachineConfig(**(fields | changes))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Do what the request asks."""
    if request["trial"] is not None:
        explorer = Session(Path(request["copies"][0]), Trial(**request["trial"])).explorer
    else:
        programs = [(Path(copy), [request["name"], *request["args"]]) for copy in request["copies"]]
        explorer = Explorer(machine_config(request), programs, request["pool_paths"])
    try:
        if request["choices"] is not None:
            log = [Choice(*entry) for entry in request["choices"]]
            return {"choices": request["choices"], **replay_traced(explorer, log, request["output"])}
        if request["redundant"]:
            explorer.watch_verbs()
        result = search(explorer, request)
        if result["policy"] is None:
            if request["redundant"]:
                result["tried"] = min(len(explorer.verbs()), VERBS_MAX)
                result["redundant"] = redundant(explorer, request, search, result)
            return result
        log, key = explorer.choices(), explorer.fault()
        again = explorer.replay(log)
        result["replays"] = again == key
        result["choices_found"] = len(log)
        log, result["shrink_replays"] = shorten(explorer, log, key)
        result["choices"] = [list(entry) for entry in log]
        return result | replay_traced(explorer, log, request["output"])
    finally:
        explorer.close()


def main() -> None:
    """Serve one request."""
    request = json.load(sys.stdin)
    errors = os.dup(2)
    _send_output_to(os.devnull)
    try:
        result = answer(request)
    except BaseException:
        os.dup2(errors, 2)
        raise
    Path(request["answer"]).write_text(json.dumps(result), encoding="utf-8")
    os._exit(0)  # the programs' exit handlers are not ours to run


if __name__ == "__main__":
    main()
