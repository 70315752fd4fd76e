"""Job type3_share: heads of a multi-headed device write one block in turn, and every other head reads each byte of it.

The same lines change hands in every round, so whatever a head has kept in its cache from the round before is wrong: a
byte is right only if its writer flushed it to the device and its reader dropped the copy of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib.emu import LINE_BYTES, POOL_PATH, MachineConfig, pool_size
from prismem.paths import software_library
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register


class _Job(ctypes.Structure):
    """``type3_share_job`` of software/jobs/type3_share.h."""

    _fields_ = [
        ("pool_path", ctypes.c_char_p),
        *((name, ctypes.c_uint64) for name in ("seed", "verified_bytes", "wrong_bytes")),
        *((name, ctypes.c_uint32) for name in ("head", "heads", "lines", "rounds", "forget")),
    ]


class ShareOptions(JobOptions):
    """Options of type3_share."""

    lines: int = Field(64, ge=1, le=65_536, description="lines of the block")
    rounds: int = Field(24, ge=1, le=1_000_000, description="times that it is written, each time by the next head")
    forget: bool = Field(False, description="writers do not publish the block: the run has to fail")


@register
class Type3Share(Job):
    """What one head writes and flushes, the others read."""

    name = "type3_share"
    description = "heads write one block in turn, all others read and check every byte"
    hosts = 4
    modules = 1
    profile = "niagara"
    Options = ShareOptions

    def check(self, request: Request) -> None:
        """One head alone shares nothing."""
        if request.hosts < 2:
            raise MisuseError(f"HOSTS: {request.hosts} shares with nobody; use 2 or more")

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds the block and two lines a head."""
        return request.machine_config(pool_bytes=pool_size((request.options.lines + 2 * request.hosts) * LINE_BYTES))

    def prepare(self, ctx: Context) -> None:
        """One thread a head."""
        options: ShareOptions = ctx.options
        library = ctypes.CDLL(str(software_library("type3_share_inst")), mode=ctypes.RTLD_GLOBAL)
        self._jobs = [
            _Job(
                pool_path=POOL_PATH.encode(),
                seed=ctx.seed,
                head=head,
                heads=ctx.hosts,
                lines=options.lines,
                rounds=options.rounds,
                forget=int(options.forget),
            )
            for head in range(ctx.hosts)
        ]
        for head, job in enumerate(self._jobs):
            ctx.machine.spawn(head, f"head{head}", library.type3_share, job)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Every head has read every block that another wrote, and every byte was right."""
        rounds = ctx.options.rounds
        # Head h writes rounds h + 1, h + 1 + heads, ... and reads the others.
        reads = sum(rounds - len(range(head, rounds, ctx.hosts)) for head in range(ctx.hosts))
        expected = reads * ctx.options.lines * LINE_BYTES
        verified = sum(int(job.verified_bytes) for job in self._jobs)
        wrong = sum(int(job.wrong_bytes) for job in self._jobs)
        if wrong or verified != expected:
            raise CheckFailed(
                f"{wrong} wrong bytes read by other heads", component="type3_share", expected=expected, actual=verified
            )
        return {"share": {"heads": ctx.hosts, "rounds": rounds, "verified_bytes": verified, "wrong_bytes": wrong}}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """One line."""
        share = metrics["share"]
        return (
            f"{share['heads']} heads, {share['rounds']} blocks written in turn, {share['verified_bytes']:,} bytes read "
            f"by the other heads, {share['wrong_bytes']} wrong"
        )
