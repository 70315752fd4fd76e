"""Transactions as trace events (the JSON that chrome://tracing and ui.perfetto.dev open).

Processes of the trace are hosts, paths and modules. A transaction is a slice on its host, from the offer at the host
port to the answer there, and its eleven stages lie in it end to end; what happens on the path and in the module is
drawn there once more. Slices that overlap in time go to lanes (threads of the trace) of their own. Times are
microseconds with three decimals, so that nothing of the nanosecond clock is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np

from prismem.lib.emu import LINE_BYTES
from prismem.lib.transactions import KINDS, MEDIA_DONE, MOD_RX, NEVER, NIC_RSP, PATH_TX, RSP_TX, STAGES
from prismem.tb.runner.files import write_atomic

Table = np.ndarray[Any, Any]
TRACED_MAX = 50_000
"""Transactions of a run that are traced: a viewer takes about 150 MB. The file says how many were left out."""
PARTS = {"path": ((PATH_TX, MOD_RX), (RSP_TX, NIC_RSP)), "module": ((MOD_RX, RSP_TX),)}
"""What is drawn on a path and in a module: stages from one boundary to another."""


class _Lanes:
    """Threads of one process of the trace: a slice goes to the first one that is free."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._busy: list[tuple[int, int]] = []
        self.count = 0

    def take(self, start_ns: int, end_ns: int) -> int:
        """Lane for a slice; slices come in order of their start."""
        while self._busy and self._busy[0][0] <= start_ns:
            heappush(self._free, heappop(self._busy)[1])
        if not self._free:
            heappush(self._free, self.count)
            self.count += 1
        lane = heappop(self._free)
        heappush(self._busy, (max(end_ns, start_ns + 1), lane))
        return lane


def _slice(name: str, cat: str, where: tuple[int, int], start_ns: int, end_ns: int, args: Any = None) -> dict[str, Any]:
    event = {
        "name": name,
        "cat": cat,
        "ph": "X",
        "pid": where[0],
        "tid": where[1],
        "ts": start_ns / 1000,
        "dur": (end_ns - start_ns) / 1000,
    }
    return event if args is None else event | {"args": args}


def _name(process: int, text: str) -> dict[str, Any]:
    return {"name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": {"name": text}}


def _hosts(table: Table, first: int) -> Iterator[dict[str, Any]]:
    """Transactions and their stages, on their hosts."""
    lanes: dict[int, _Lanes] = {}
    for row in table:
        at = [int(ns) for ns in row["stage_ns"]]
        host = int(row["host"])
        where = (first + host, lanes.setdefault(host, _Lanes()).take(at[0], at[-1]))
        args = {
            "transaction": int(row["id"]),
            "address": f"pool+{int(row['line']) * LINE_BYTES:#x}",
            "module": int(row["module"]),
            "tag": int(row["tag"]),
            "latency_ns": at[-1] - at[0],
        }
        yield _slice(KINDS[int(row["kind"])], "transaction", where, at[0], at[-1], args)
        for i, stage in enumerate(STAGES):
            yield _slice(stage, "stage", where, at[i], at[i + 1])


def _parts(table: Table, part: str, processes: Table, first: int) -> Iterator[dict[str, Any]]:
    """What a path or a module does, in order of time."""
    lanes: dict[int, _Lanes] = {}
    spans = sorted(
        (int(row["stage_ns"][begin]), int(row["stage_ns"][end]), begin, i)
        for i, row in enumerate(table)
        for begin, end in PARTS[part]
    )
    for start_ns, end_ns, begin, i in spans:
        row, process = table[i], first + int(processes[i])
        where = (process, lanes.setdefault(process, _Lanes()).take(start_ns, end_ns))
        at = [int(ns) for ns in row["stage_ns"]]
        name = f"{KINDS[int(row['kind'])]} {'back' if begin == RSP_TX else 'out' if part == 'path' else 'access'}"
        yield _slice(name, part, where, start_ns, end_ns, {"transaction": int(row["id"])})
        for stage in range(begin, dict(PARTS[part])[begin]):
            yield _slice(STAGES[stage], f"{part} stage", where, at[stage], at[stage + 1])


def _late(table: Table, first: int) -> Iterator[dict[str, Any]]:
    """Writes that were completed before the media had them."""
    for row in table:
        done_ns, visible_ns = int(row["stage_ns"][MEDIA_DONE]), int(row["visible_ns"])
        if NEVER > visible_ns > done_ns:
            key = {"id": int(row["id"]), "pid": first + int(row["module"]), "tid": 0, "cat": "posted"}
            yield key | {"name": "completed, not visible", "ph": "b", "ts": done_ns / 1000}
            yield key | {"name": "completed, not visible", "ph": "e", "ts": visible_ns / 1000}


def trace_events(transactions: Table, hosts: int, modules: int) -> list[dict[str, Any]]:
    """Events of an array of prismem.lib.transactions.RECORD. Transactions that left out a stage (no decoder claims
    their address) are not drawn."""
    whole = transactions[(transactions["stage_ns"] != NEVER).all(axis=1)]
    order = np.argsort(whole["stage_ns"][:, 0], kind="stable")
    numbered = np.dtype([("id", np.uint64), *transactions.dtype.descr])
    table = np.zeros(len(whole), numbered)
    for name in transactions.dtype.names or ():
        table[name] = whole[name][order]
    table["id"] = np.arange(len(whole))
    paths, memory = hosts, hosts + hosts * modules
    path_of = table["host"].astype(int) * modules + table["module"]
    return [
        *(_name(host, f"host {host}") for host in range(hosts)),
        *(_name(paths + i, f"path {i // modules} - {i % modules}") for i in range(hosts * modules)),
        *(_name(memory + module, f"module {module}") for module in range(modules)),
        *_hosts(table, 0),
        *_parts(table, "path", path_of, paths),
        *_parts(table, "module", table["module"], memory),
        *_late(table, memory),
    ]


def write(path: Path, transactions: Table, left_out: int, hosts: int, modules: int) -> None:
    """Leave a trace file. ``left_out``: transactions that were not kept, named in the file."""
    content = {
        "displayTimeUnit": "ns",
        "otherData": {
            "unit": "1 us of the trace is 1000 ns of simulated time",
            "transactions_left_out": left_out + max(0, len(transactions) - TRACED_MAX),
        },
        "traceEvents": trace_events(transactions[:TRACED_MAX], hosts, modules),
    }
    write_atomic(path, json.dumps(content, separators=(",", ":")) + "\n")
