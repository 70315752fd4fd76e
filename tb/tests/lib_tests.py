"""Job lib_tests: one of the library's C tests, a node a host, on either port.

The sources are those that run natively in several processes (software/tests); here their nodes are threads of emulated
hosts.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from prismem.lib.emu import MachineConfig
from prismem.lib.lib_tests import POOL_BYTES, LibTests
from prismem.lib.mutants import select_mutant
from prismem.tb.job import Context, Job, JobOptions, Request, register


class LibTestsOptions(JobOptions):
    """Options of lib_tests."""

    name: str = Field("index_share", description="C test to run; a wrong name lists them")
    scale: int = Field(1, ge=1, le=1000, description="rounds that a test repeats")


@register
class LibTestsJob(Job):
    """A C test of the library."""

    name = "lib_tests"
    description = "one C test of libprismem, a node a host"
    hosts = 4
    modules = 4
    takes_mutant = True
    Options = LibTestsOptions

    def machine_config(self, request: Request) -> MachineConfig:
        """The pool size that every test fits in."""
        return request.machine_config(pool_bytes=POOL_BYTES)

    def prepare(self, ctx: Context) -> None:
        """The test's threads."""
        select_mutant(ctx.mutant or "none")
        tests = LibTests()
        self._nodes = tests.spawn(ctx.machine, ctx.options.name, seed=ctx.seed, scale=ctx.options.scale)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """The test checks itself; its threads returned 0."""
        return {"nodes": self._nodes}
