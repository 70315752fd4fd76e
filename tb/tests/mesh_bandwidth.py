"""Job mesh_bandwidth: all hosts to all modules, each host to one, and a hot module beside steady traffic to all others.

Goal: a host keeps its CXL link full when it is interleaved over the modules (at least 97 % of what flit packing
allows), reaches 25.6 GB/s on one module, and a module that everybody loads as much as its lightpaths carry slows
nobody's traffic to the others (less than 1 %). The slowest host gets at least 97 % of the mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from prismem.errors import MisuseError
from prismem.models.flit import packing_bound_gb_per_s
from prismem.models.latency import path_bound_gb_per_s
from prismem.tb import limits, traffic
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register
from prismem.tb.traffic import HostFigures, Load

PRINTED_GB_S = 25.6
REACHED = 0.97
LOSS_MAX = 0.01
STEADY_SHARE = 0.5  # of the bound, offered beside the hot module
HOT_MODULE = 0


class MeshBandwidthOptions(JobOptions):
    """Options of mesh_bandwidth."""

    measure_ns: int = Field(6_000, ge=1000, le=10_000_000, description="counted time of each case")
    warm_ns: int = Field(8_000, ge=0, le=10_000_000, description="time before it: a footprint is read once")
    outstanding: int = Field(1024, ge=16, le=1536, description="lines in flight a host, interleaved")


def bound_gb_s(request: Request, read_share: float = 1.0) -> float:
    """What a host can move at most: its CXL link, or its lightpaths together."""
    paths = request.modules * path_bound_gb_per_s(request.profile, read_share)
    return min(packing_bound_gb_per_s(request.profile, read_share), paths)


@register
class MeshBandwidth(Job):
    """The whole mesh."""

    name = "mesh_bandwidth"
    description = "all hosts to all modules, each host to one, a hot module; every byte checked"
    ports = ("rtl",)
    hosts = 4
    modules = 4
    probes = False
    Options = MeshBandwidthOptions

    def check(self, request: Request) -> None:
        """A hot module needs others beside it."""
        if request.modules < 2:
            raise MisuseError("MODULES: mesh_bandwidth needs at least 2; use module_bandwidth for one")

    def prepare(self, ctx: Context) -> None:
        """A phase a case."""
        options: MeshBandwidthOptions = ctx.options
        common: dict[str, Any] = {"measure_ns": options.measure_ns, "warm_ns": options.warm_ns}
        whole: dict[str, Any] = common | {"outstanding": options.outstanding}
        steady = STEADY_SHARE * bound_gb_s(ctx)
        self._loads = [
            Load(name="interleaved", **whole),
            Load(name="write", read_permille=0, **whole),
            Load(name="mix_1_1", read_permille=500, **whole),
            Load(name="one_module", own_module=True, outstanding=256, **common),
            Load(name="steady", offered_gb_s=steady, **whole),
            Load(name="steady_beside_hot", offered_gb_s=steady, hot_module=HOT_MODULE, hot_outstanding=192, **whole),
        ]
        traffic.post(ctx.machine, ctx, self._loads, ctx.seed)

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Rates by host, what the hot module did to the others, and what limits."""
        checks = traffic.Checks()
        cases: dict[str, Any] = {}
        by_name: dict[str, list[HostFigures]] = {}
        for load, reading, figures, limit in limits.phases(ctx, self._loads):
            bound = bound_gb_s(ctx, load.read_share)
            rates = [round(host.moved_gb_s(), 3) for host in figures]
            by_name[load.name] = figures
            cases[load.name] = {
                "hosts_gb_s": rates,
                "bound_gb_s": round(bound, 3),
                "reached": round(min(rates) / bound, 4),
                "little": [round(host.little(), 4) for host in figures],
                "read": traffic.combined(figures, 0).summary(),
                "write": traffic.combined(figures, 1).summary(),
                "limit": limit.resource,
                "why": limit.why,
                "shares": limit.shares,
            }
            checks.run(reading.check_clean, load.name)
            checks.run(traffic.check_little, load.name, figures)
            checks.run(traffic.check_fair, load.name, figures)
        checks.run(_at_least, "interleaved", by_name["interleaved"], REACHED * bound_gb_s(ctx))
        checks.run(_at_least, "one_module", by_name["one_module"], PRINTED_GB_S)
        loss = _loss(ctx, by_name["steady"], by_name["steady_beside_hot"])
        checks.run(_isolated, loss)
        hot = [host.moved_gb_s(HOT_MODULE) for host in by_name["steady_beside_hot"]]
        metrics = {
            "bandwidth": {
                "hosts_gb_s": cases["interleaved"]["hosts_gb_s"],
                "packing_bound_gb_s": round(packing_bound_gb_per_s(ctx.profile, 1.0), 3),
                "bound_gb_s": round(bound_gb_s(ctx), 3),
                "hot": {
                    "module": HOT_MODULE,
                    "hosts_gb_s": [round(rate, 3) for rate in hot],
                    "loss_max": round(loss, 5),
                },
                "cases": cases,
            }
        }
        checks.done(self.report(metrics))
        return metrics

    def report(self, metrics: Mapping[str, Any]) -> str:
        """A line a case."""
        bandwidth = metrics["bandwidth"]
        lines = ["case                slowest    mean   bound GB/s   P50 / P99.9 ns read, write   limit (measured)"]
        for name, case in bandwidth["cases"].items():
            rates = case["hosts_gb_s"]
            latency = ", ".join(f"{case[kind]['p50_ns']} / {case[kind]['p999_ns']}" for kind in traffic.KINDS)
            lines.append(
                f"{name:18} {min(rates):8.2f} {sum(rates) / len(rates):8.2f} {case['bound_gb_s']:8.2f}     "
                f"{latency:28} {case['limit']}: {case['why']}"
            )
        hot = bandwidth["hot"]
        lines.append(
            f"hot module {hot['module']}: {min(hot['hosts_gb_s']):.2f} GB/s a host; the others lose at most "
            f"{hot['loss_max']:.2%}; flits carry {bandwidth['packing_bound_gb_s']:.2f} GB/s of reads a host (computed)"
        )
        return "\n".join(lines)


def _at_least(name: str, figures: list[HostFigures], least: float) -> None:
    rates = [host.moved_gb_s() for host in figures]
    if min(rates) < least:
        raise CheckFailed(
            f"{name}: a host is too slow",
            component=f"host {rates.index(min(rates))}",
            expected=f"at least {least:.2f} GB/s",
            actual=f"{min(rates):.3f} GB/s",
        )


def _loss(ctx: Request, steady: list[HostFigures], beside_hot: list[HostFigures]) -> float:
    """Largest share of its rate that any path to another module loses beside the hot one."""
    return max(
        1 - hot.moved_gb_s(module) / alone.moved_gb_s(module)
        for alone, hot in zip(steady, beside_hot, strict=True)
        for module in range(ctx.modules)
        if module != HOT_MODULE
    )


def _isolated(loss: float) -> None:
    if loss >= LOSS_MAX:
        raise CheckFailed(
            "a hot module slows traffic to other modules",
            component=f"module {HOT_MODULE}",
            expected=f"less than {LOSS_MAX:.0%} lost",
            actual=f"{loss:.2%}",
        )
