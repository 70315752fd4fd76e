"""Job check_replay: an execution that `prismem check` found, once more, with the RTL as its memory.

The emulated hosts run on the lockstep port: the log imposes every switch of threads, fill, eviction and retirement of a
flush, and whatever a cache reads or writes is a transaction of the RTL, for which the whole machine waits. So the order
is the log's, whatever time the hardware takes; and each answer of the hardware is compared with what was written. The
run passes if it ends in the fault of the log.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib import transactions
from prismem.lib.check.compiler import build
from prismem.lib.check.log import CheckLog, load
from prismem.lib.check.machine import Choice, Explorer
from prismem.lib.check.worker import machine_config, traced
from prismem.lib.emu import MachineConfig, Port, State
from prismem.paths import found
from prismem.tb.job import FILE_OPTION, CheckFailed, Context, Job, JobOptions, Request, register

ANSWER_FILE = "answer.json"


class CheckReplayOptions(JobOptions):
    """Options of check_replay."""

    log: str = Field("", description="log.json of prismem check", json_schema_extra=FILE_OPTION)


def _log(request: Request) -> CheckLog:
    if not request.options.log:
        raise MisuseError("option log: name the log.json that prismem check has left, or use prismem replay")
    return load(found(request.options.log))


@register
class CheckReplay(Job):
    """A log of `prismem check` on the RTL."""

    name = "check_replay"
    description = "an execution that prismem check found, choice by choice, with the RTL as its memory"
    ports = ("rtl",)
    hosts = 2
    modules = 2
    profile = "pfma"
    records_transactions = True
    Options = CheckReplayOptions

    def check(self, request: Request) -> None:
        """There is a log, and it has as many hosts."""
        hosts = _log(request).request.hosts
        if hosts != request.hosts:
            raise MisuseError(f"HOSTS: the log has {hosts} hosts, not {request.hosts}; use --hosts {hosts}")

    def machine_config(self, request: Request) -> MachineConfig:
        """The machine of the check, in lockstep with the RTL."""
        asked = _log(request).request
        return machine_config(
            asked.model_dump(), port=Port.LOCKSTEP, hpa_base=request.machine_config().hpa_base, outstanding_max=64
        )

    def prepare(self, ctx: Context) -> None:
        """The programs, a copy a host, and the choices."""
        log = self._known = _log(ctx)
        sources = log.request.paths()
        binary = build(sources, ctx.hosts, tuple(log.request.flags))
        programs = [(copy, [sources[0].stem, *log.request.args]) for copy in binary.copies]
        self._explorer = Explorer(ctx.machine, programs, log.request.pool_paths)
        self._explorer.replay([Choice(*entry) for entry in log.choices], trace=True)

    def check_state(self, ctx: Context, state: State) -> None:
        """Any end is one: `finish` compares it."""

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Leave what happened; it has to be what the log says."""
        answer = traced(self._explorer) | {"transactions": transactions_of(ctx)}
        (ctx.run_dir / ANSWER_FILE).write_text(json.dumps(answer), encoding="utf-8")
        faults = answer["report"]["faults"]
        wanted = self._known.fault
        seen = f"{faults[0]['kind']} at {faults[0]['source']}" if faults else "no fault"
        if seen != f"{wanted.kind} at {wanted.source}":
            raise CheckFailed(
                f"not reproduced: {seen}",
                component="check_replay",
                expected=f"{wanted.kind} at {wanted.source}",
                actual=faults[0]["message"].rstrip() if faults else seen,
            )
        exactly = answer["key"][-1] == self._known.digest
        return {"replay": {"exactly": exactly, "transactions": len(answer["transactions"])}}


def transactions_of(ctx: Context) -> list[dict[str, Any]]:
    """What the hardware did, in order: host, kind, line, module, and when it was asked and has answered, in ns."""
    table, _ = transactions.recorded(ctx.machine)
    return [
        {
            "host": int(one["host"]),
            "kind": transactions.KINDS[one["kind"]],
            "line": int(one["line"]),
            "module": int(one["module"]),
            "asked_ns": int(one["stage_ns"][transactions.ISSUE]),
            "answered_ns": int(one["stage_ns"][transactions.HOST]),
        }
        for one in table
    ]


def answer_of(run_dir: Path) -> dict[str, Any] | None:
    """What a run left: key, trace, report and transactions; None if it came to no end."""
    path = run_dir / ANSWER_FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
