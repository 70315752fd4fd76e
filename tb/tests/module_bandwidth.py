"""Job module_bandwidth: all ports of one module at once, by pattern, size and mix; every byte checked.

Goal: at least 25.6 GB/s of payload on every port for reads from a footprint that HBM holds (arXiv 2607.27187: 32 B to
1 KB, linear and random, all 16 ports), nothing faster than the wire, Little's law in every case. Writes, mixes and
footprints beyond HBM are measured, and the resource that limits them is named from the counters of the hardware.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from prismem.lib.emu import LINE_BYTES
from prismem.tb import limits, traffic
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register
from prismem.tb.traffic import HostFigures, Load, Pattern

PRINTED_GB_S = 25.6

RESIDENT, BEYOND = 4096, 1 << 20  # lines a host; 64 MiB each do not fit into HBM's 64 MiB


def _reads(name: str, pattern: Pattern, request_bytes: int) -> Load:
    return Load(name=name, pattern=pattern, request_bytes=request_bytes, lines=RESIDENT)


CASES = {
    load.name: load
    for load in (
        _reads("read_64_random", Pattern.RANDOM, 64),
        _reads("read_64_linear", Pattern.LINEAR, 64),
        _reads("read_256_linear", Pattern.LINEAR, 256),
        _reads("read_1024_linear", Pattern.LINEAR, 1024),
        _reads("read_32_linear", Pattern.LINEAR, 32),
        _reads("read_32_random", Pattern.RANDOM, 32),
        Load(name="read_beyond_hbm", lines=BEYOND),
        Load(name="write_64_random", read_permille=0),
        Load(name="write_1024_linear", pattern=Pattern.LINEAR, request_bytes=1024, read_permille=0),
        Load(name="mix_3_1", read_permille=750),
        Load(name="mix_2_1", read_permille=667),
        Load(name="mix_1_1", read_permille=500),
    )
}
PROMISED = ("read_64_random", "read_64_linear", "read_256_linear", "read_1024_linear", "read_32_linear")


class ModuleBandwidthOptions(JobOptions):
    """Options of module_bandwidth."""

    case: str = Field("all", description="one case, or all")
    measure_ns: int = Field(10_000, ge=1000, le=10_000_000, description="counted time of each case")
    warm_ns: int = Field(15_000, ge=0, le=10_000_000, description="time before it: a footprint is read once")
    outstanding: int = Field(256, ge=16, le=1024, description="lines in flight a host")


@register
class ModuleBandwidth(Job):
    """Ports of one module."""

    name = "module_bandwidth"
    description = "all ports of one module at once, by pattern, size and mix, every byte checked"
    ports = ("rtl",)
    hosts = 16
    modules = 1
    probes = False
    Options = ModuleBandwidthOptions

    def check(self, request: Request) -> None:
        """Known case."""
        request.options.one_of("case", ("all", *CASES))

    def prepare(self, ctx: Context) -> None:
        """A phase a case."""
        options: ModuleBandwidthOptions = ctx.options
        times = {"measure_ns": options.measure_ns, "warm_ns": options.warm_ns, "outstanding": options.outstanding}
        chosen = CASES if options.case == "all" else {options.case: CASES[options.case]}
        self._loads = [Load(**(vars(load) | times)) for load in chosen.values()]
        traffic.post(ctx.machine, ctx, self._loads, ctx.seed)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Figures of all cases; the first thing that is wrong fails the job after all have been printed."""
        checks = traffic.Checks()
        cases: dict[str, Any] = {}
        for load, reading, figures, limit in limits.phases(ctx, self._loads):
            cases[load.name] = _case(load, figures, limit)
            checks.run(reading.check_clean, load.name)
            checks.run(traffic.check_little, load.name, figures)
            checks.run(traffic.check_fair, load.name, figures)
            checks.run(_promised, load, figures)
            checks.run(_below_the_wire, ctx, load, figures)
        metrics = {"bandwidth": {"ports_gb_s": next(iter(cases.values()))["ports_gb_s"], "cases": cases}}
        checks.done(self.report(metrics))
        return metrics

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A line a case, and what limits it."""
        lines = ["case                 slowest    mean  useful GB/s   P50 / P99.9 ns read, write   limit (measured)"]
        for name, case in metrics["bandwidth"]["cases"].items():
            latency = ", ".join(f"{case[kind]['p50_ns']} / {case[kind]['p999_ns']}" for kind in traffic.KINDS)
            lines.append(
                f"{name:20} {min(case['ports_gb_s']):7.2f} {case['mean_gb_s']:7.2f} {case['useful_gb_s']:7.2f}       "
                f"{latency:28} {case['limit']}: {case['why']}"
            )
        return "\n".join(lines)


def _case(load: Load, figures: list[HostFigures], limit: limits.Limit) -> dict[str, Any]:
    rates = [round(host.moved_gb_s(), 3) for host in figures]
    return {
        "ports_gb_s": rates,
        "mean_gb_s": round(sum(rates) / len(rates), 3),
        "useful_gb_s": round(sum(host.useful_gb_s() for host in figures) / len(figures), 3),
        "moved_bytes": sum(n for host in figures for kind in host.lines for n in kind.values()) * LINE_BYTES,
        "useful_bytes": sum(sum(host.useful_bytes) for host in figures),
        "in_flight": [round(host.in_flight(), 1) for host in figures],
        "little": [round(host.little(), 4) for host in figures],
        "read_permille": load.read_permille,
        "read": traffic.combined(figures, 0).summary(),
        "write": traffic.combined(figures, 1).summary(),
        "limit": limit.resource,
        "why": limit.why,
        "shares": limit.shares,
    }


def _promised(load: Load, figures: list[HostFigures]) -> None:
    """Raise CheckFailed for a port below what the paper prints."""
    rates = [host.moved_gb_s() for host in figures]
    if load.name in PROMISED and min(rates) < PRINTED_GB_S:
        raise CheckFailed(
            f"{load.name}: a port is below the printed rate",
            component=f"host {rates.index(min(rates))}",
            expected=f"at least {PRINTED_GB_S} GB/s",
            actual=f"{min(rates):.3f} GB/s",
        )


def _below_the_wire(ctx: Context, load: Load, figures: list[HostFigures]) -> None:
    """Raise CheckFailed for a port that is faster than its wire in one direction."""
    raw = ctx.profile.path.rate.canonical / 16
    for kind in (0, 1):
        for host in figures:
            rate = sum(host.lines[kind].values()) * LINE_BYTES / host.window_ns
            if rate > raw:
                raise CheckFailed(
                    f"{load.name}: a port is faster than its wire",
                    component=f"host {host.host}",
                    expected=f"at most {raw} GB/s",
                    actual=f"{rate:.3f} GB/s",
                )
