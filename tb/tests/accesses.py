"""Job accesses: how many checked 64-byte accesses a second the whole machine does, one outstanding a host.

The program is that of the emulator's own benchmark (software/emu/bench): half loads, half stores of whole lines that
miss in the private cache, each value checked. Here it runs on any port, so the RTL is measured with the same work; and,
with `python`, from Python threads that are the hosts.
"""

import ctypes
from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import Field

from prismem.lib.emu import ExternalHost, MachineConfig, external_host, load_library
from prismem.paths import software_library
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register

POOL_BYTES = 64 << 20
HOST_STRIDE_BYTES = 16 << 20
PYTHON_CALLS = 10
PRIVATE_LINES, SHARED_LINES = 4096, 256


class AccessesOptions(JobOptions):
    """Options of accesses."""

    count: int = Field(20_000, ge=1, le=1_000_000_000, description="accesses of each host")
    shared: bool = Field(False, description="all hosts on the same lines")
    python: bool = Field(False, description="each host is a Python thread that calls the program ten times")


class _BenchJob(ctypes.Structure):
    """`struct bench_job` of software/emu/bench/emu_bench.h."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("base", "lines", "count", "seed", "done")]


def _python_host(program: Any, job: _BenchJob, host: ExternalHost) -> None:
    """A host in Python: `count` accesses in ten calls of the C program, in simulated time."""
    total = int(job.count)
    shares = [total * (i + 1) // PYTHON_CALLS - total * i // PYTHON_CALLS for i in range(PYTHON_CALLS)]
    for share in shares:
        job.count = share
        status = host.call(program, [ctypes.addressof(job)])
        if status != 0:
            raise CheckFailed(f"bench_access returned {status}", component=f"host {host.host}")


@register
class Accesses(Job):
    """Checked accesses a second."""

    name = "accesses"
    description = "checked 64-byte accesses that miss, one outstanding a host: speed of the machine"
    emulator_goal = "bench_build"
    Options = AccessesOptions

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool with a stretch for each host."""
        return request.machine_config(pool_bytes=max(POOL_BYTES, request.hosts * HOST_STRIDE_BYTES))

    def prepare(self, ctx: Context) -> None:
        """One thread a host."""
        options: AccessesOptions = ctx.options
        load_library()
        library = ctypes.CDLL(str(software_library("emu_bench")), mode=ctypes.RTLD_GLOBAL)
        self._jobs = [
            _BenchJob(
                base=0 if options.shared else host * HOST_STRIDE_BYTES,
                lines=SHARED_LINES if options.shared else PRIVATE_LINES,
                count=options.count,
                seed=host + 1,
            )
            for host in range(ctx.hosts)
        ]
        self._externals: list[ExternalHost] = []
        for host, job in enumerate(self._jobs):
            if options.python:
                program = partial(_python_host, library.bench_access, job)
                self._externals.append(external_host(ctx.machine, host, program))
            else:
                ctx.machine.spawn(host, f"accesses{host}", library.bench_access, job)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """All accesses done, every value right (the program ends the run otherwise)."""
        for external in self._externals:
            external.join()
        done = sum(int(job.done) for job in self._jobs)
        wanted = ctx.hosts * ctx.options.count
        if done != wanted:
            raise CheckFailed("accesses are missing", component="accesses", expected=wanted, actual=done)
        return {"accesses": {"count": done}}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """Accesses a second of wall clock."""
        count, run_s = metrics["accesses"]["count"], metrics["run"]["run_s"]
        return f"{count:,} checked accesses in {run_s:.2f} s: {count / run_s:,.0f}/s\n"
