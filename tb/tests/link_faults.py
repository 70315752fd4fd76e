"""Job link_faults: checked traffic on every path while links flip bits, lose frames, go dark or die.

Every host keeps requests in flight to every module, each path on lines of its own. Reads must return what was written,
every request must be answered, and nothing may take effect twice. Requests may be answered with poison or an error only
where a link or a module stays dark; the others must not notice. What was injected and what the links did about it is
counted in the hardware. A run that was asked for faults and dealt none fails: it would show nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field

from prismem.errors import MisuseError
from prismem.lib.emu import LINE_BYTES, MachineConfig, Policy, pool_size
from prismem.lib.emu_traffic import Traffic
from prismem.models.hdm import HdmMap
from prismem.tb.job import CheckFailed, Context, Job, JobOptions, Request, register

LINES_OF_A_PATH = 64  # at least, and whole granules
FOR_EVER = 0
GROUPS = ("req", "rsp", "cxl")
GROUP_IDS = {1: "req", 2: "rsp", 3: "cxl"}  # of the injectors' counters
COUNTERS = {"req": "path_req_", "rsp": "path_rsp_", "cxl": "cxl_"}  # prefixes of the links' counters
LATENCIES = ("p50", "p99", "max")

Links = Literal["all", "paths", "cxl", "requests", "responses"]


class LinkFaultsOptions(JobOptions):
    """Options of link_faults."""

    requests: int = Field(
        2_000,
        ge=1,
        le=1_000_000_000,
        description="lines that each host moves on its first path; path after path one more",
    )
    outstanding: int = Field(16, ge=1, le=256, description="lines in flight on each path")
    read_permille: int = Field(500, ge=0, le=1000, description="share of reads")
    gap_ns: int = Field(0, ge=0, le=1_000_000, description="idle time after each completion")
    links: Links = Field("all", description="links with errors: all, paths, cxl, requests, responses")
    ber_e12: int = Field(10_000_000, ge=0, le=10_000_000_000, description="bit errors in 10^12 bits")
    drop_e6: int = Field(0, ge=0, le=500_000, description="frames lost in 10^6")
    every: int = Field(0, ge=0, le=1_000_000, description="flip one bit of every Nth frame, position after position")
    span: int = Field(2048, ge=1, le=65_536, description="positions that `every` visits")
    host: int = Field(0, ge=0, le=15, description="host of the path or link that goes dark")
    module: int = Field(0, ge=0, le=15, description="module of the path that goes dark, or that dies")
    dark: Literal["nothing", "path", "request", "response", "module", "cxl"] = Field(
        "nothing", description="what goes dark: nothing, path, request, response, module, cxl"
    )
    dark_ns: int = Field(5_000, ge=0, le=1_000_000_000, description="when it goes dark")
    dark_for_ns: int = Field(1_000, ge=0, le=1_000_000_000, description="for how long; 0: for ever")
    answer_ns_max: int = Field(80_000, ge=1, le=100_000_000, description="bound for answers of what has died")

    @property
    def groups(self) -> dict[str, bool]:
        """Groups of links with errors."""
        chosen = {"all": GROUPS, "paths": ("req", "rsp"), "cxl": ("cxl",), "requests": ("req",), "responses": ("rsp",)}
        return {group: group in chosen[self.links] for group in GROUPS}

    @property
    def asks(self) -> bool:
        """Anything is to be injected."""
        return bool(self.ber_e12 or self.drop_e6 or self.every or self.dark != "nothing")

    def dead(self, host: int, module: int) -> bool:
        """This path never comes back."""
        if self.dark == "module":
            return module == self.module
        if self.dark == "nothing" or self.dark_for_ns != FOR_EVER:
            return False
        return host == self.host and (self.dark == "cxl" or module == self.module)


@register
class LinkFaults(Job):
    """No wrong byte, everything exactly once, whatever the links do."""

    name = "link_faults"
    description = "checked traffic on every path while links flip bits, lose frames, go dark or die"
    ports = ("rtl",)
    Options = LinkFaultsOptions

    def check(self, request: Request) -> None:
        """What goes dark has to exist."""
        options: LinkFaultsOptions = request.options
        for name, value, count in (("host", options.host, request.hosts), ("module", options.module, request.modules)):
            if value >= count:
                raise MisuseError(f"option {name}: {value} is outside 0..{count - 1}, what the machine has; choose one")
        if options.dark == "module" and options.dark_for_ns != FOR_EVER:
            raise MisuseError("option dark: a dead module stays dead; use dark_for_ns=0 with dark=module")

    def machine_config(self, request: Request) -> MachineConfig:
        """A pool that holds the lines of all paths."""
        lines = len(_granules(request)) * _granule_lines(request)
        # Reads and writes have half of the tags each.
        outstanding = 2 * request.options.outstanding * request.modules
        return request.machine_config(
            pool_bytes=pool_size(lines * LINE_BYTES), policy=Policy.LAZY, outstanding_max=outstanding
        )

    def plusargs(self, request: Request) -> dict[str, int]:
        """The faults, for tb_link_faults.sv."""
        options: LinkFaultsOptions = request.options
        args = {"fault_seed": request.seed}
        for group, chosen in options.groups.items():
            if chosen:
                args[f"fault_{group}_ber_e12"] = options.ber_e12
                args[f"fault_{group}_drop_e6"] = options.drop_e6
                args[f"fault_{group}_every"] = options.every
                args[f"fault_{group}_span"] = options.span
        if options.dark == "module":
            return args | {"fault_dead_module": options.module, "fault_dead_ns": options.dark_ns}
        if options.dark == "nothing":
            return args
        # Errors and darkness each choose their own links, so the plusarg that names a link is the darkness's.
        numbers = {
            "req": options.host * request.modules + options.module,
            "rsp": options.module * request.hosts + options.host,
        }
        if options.dark == "cxl":
            numbers = {"cxl": 2 * options.host}
        elif options.dark != "path":
            group = "req" if options.dark == "request" else "rsp"
            numbers = {group: numbers[group]}
        for group, number in numbers.items():
            args |= {f"fault_{group}_down_only": number, f"fault_{group}_down_ns": options.dark_ns}
            if options.dark_for_ns != FOR_EVER:
                args[f"fault_{group}_down_for_ns"] = options.dark_for_ns
        return args

    def prepare(self, ctx: Context) -> None:
        """A generator for each granule of each path; those of a path share its `outstanding` and `requests`."""
        options: LinkFaultsOptions = ctx.options
        self._paths: list[tuple[int, int]] = []
        granules = _granules(ctx)
        share = len(granules) // (ctx.hosts * ctx.modules)
        for path, granule in granules:
            index = self._paths.count(path)
            # No two paths move equally many, so that a line on the wrong path shows.
            number = path[0] * ctx.modules + path[1]
            requests, outstanding = (
                total // share + (index < total % share) for total in (options.requests + number, options.outstanding)
            )
            if requests == 0 or outstanding == 0:
                continue
            self._paths.append(path)
            ctx.machine.traffic_add(
                Traffic(
                    host=path[0],
                    outstanding=outstanding,
                    read_permille=options.read_permille,
                    random=True,
                    gap_ns=options.gap_ns,
                    first_line=granule * _granule_lines(ctx),
                    lines=_granule_lines(ctx),
                    requests=requests,
                    tolerate=True,
                )
            )

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Everything answered once, refusals only from what has died, and in time."""
        options: LinkFaultsOptions = ctx.options
        report = ctx.machine.report()
        paths = _by_path(self._paths, report["traffic"])
        faults = _count(report["counters"])
        faults |= {"wrong": 0, "doubled": 0}  # the first of either ends the run
        faults["lost"] = sum(path["issued"] - path["completed"] for path in paths)
        faults["answered_with_poison"] = sum(path["poisoned"] for path in paths)
        faults["answered_with_error"] = sum(path["failed"] for path in paths)
        faults["transactions"] = sum(path["completed"] for path in paths)
        if faults["lost"]:
            raise CheckFailed("requests were never answered", component="links", expected=0, actual=faults["lost"])
        if options.asks and not faults["injected"]:
            raise CheckFailed("no fault was injected", component="tb_link_faults", expected="at least one", actual=0)
        for path in paths:
            _check_refusals(options, path)
        latency = ctx.machine.latency_report()
        for port in latency["ports"]:
            path = next(p for p in paths if (p["host"], p["module"]) == (port["host"], port["module"]))
            span_ns = port["last_ns"] - port["first_ns"]
            lines = port["read_lines"] + port["write_lines"]
            if lines != path["completed"] - path["poisoned"] - path["failed"]:
                raise CheckFailed(
                    f"host {port['host']} module {port['module']}: lines went to another module than the decoder says",
                    component="nic_hdm_decode",
                    expected=path["completed"] - path["poisoned"] - path["failed"],
                    actual=lines,
                )
            path["gb_s"] = round((lines - 1) * LINE_BYTES / span_ns, 3) if span_ns else 0.0
            path["last_ns"] = port["last_ns"]
        tail = {kind: {key: latency[kind]["total_ns"][key] for key in LATENCIES} for kind in ("read", "write")}
        return {"faults": faults, "paths": paths, "tail_ns": tail}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """What was injected, what the links did, what the hosts saw."""
        faults, tail = metrics["faults"], metrics["tail_ns"]
        return (
            f"{faults['transactions']:,} requests; {faults['injected']:,} faults injected, "
            f"{faults['crc_errors']:,} CRC errors, {faults['naks']:,} Naks, {faults['replays']:,} replays\n"
            f"wrong {faults['wrong']}, lost {faults['lost']}, doubled {faults['doubled']}; answered with poison "
            f"{faults['answered_with_poison']:,}, with an error {faults['answered_with_error']:,}\n"
            f"read {tail['read']['p50']} ns median, {tail['read']['p99']} P99, {tail['read']['max']} at most; "
            f"write {tail['write']['p50']}, {tail['write']['p99']}, {tail['write']['max']}"
        )


def _granule_lines(request: Request) -> int:
    return int(request.profile.hdm.granularity.canonical) // LINE_BYTES


def _granules(request: Request) -> list[tuple[tuple[int, int], int]]:
    """((host, module), granule of the pool) of every granule in use; each path has equally many."""
    share = -(-LINES_OF_A_PATH // _granule_lines(request))
    address_map = HdmMap.of(request.profile, request.modules)
    granularity_b = address_map.granularity_b
    found = []
    for module in range(request.modules):
        rows = np.arange(share * request.hosts, dtype=np.uint64) * np.uint64(granularity_b)
        hpa = address_map.encode(np.full(len(rows), module), rows)
        granules = (hpa - np.uint64(address_map.base)) // np.uint64(granularity_b)
        found += [((row // share, module), int(granule)) for row, granule in enumerate(granules)]
    return found


def _by_path(owners: list[tuple[int, int]], traffic: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What became of the requests, by path; generators of a path are added up."""
    paths: dict[tuple[int, int], dict[str, Any]] = {}
    for owner, generator in zip(owners, traffic, strict=True):
        path = paths.setdefault(owner, {"host": owner[0], "module": owner[1], "refused_ns_max": 0})
        for key in ("issued", "completed", "poisoned", "failed"):
            path[key] = path.get(key, 0) + generator[key]
        path["refused_ns_max"] = max(path["refused_ns_max"], generator["refused_ns_max"])
    return list(paths.values())


def _count(counters: Mapping[str, list[list[int]]]) -> dict[str, Any]:
    """Faults dealt and what the links did about them: over all links, and by group of links."""
    groups: dict[str, dict[str, int]] = {}
    for group in GROUPS:
        dealt = {
            what: sum(row[2] for row in counters.get(f"fault_{what}", []) if GROUP_IDS[row[0]] == group)
            for what in ("hits", "drops", "outages")
        }
        done = {
            what: sum(row[2] for row in counters.get(COUNTERS[group] + what, []))
            for what in ("crc_errors", "naks", "replays")
        }
        groups[group] = {"injected": sum(dealt.values())} | dealt | done
    names = ("injected", "crc_errors", "naks", "replays")
    return {name: sum(group[name] for group in groups.values()) for name in names} | {"groups": groups}


def _check_refusals(options: LinkFaultsOptions, path: Mapping[str, Any]) -> None:
    refused = path["poisoned"] + path["failed"]
    name = f"host {path['host']} module {path['module']}"
    if refused and not options.dead(path["host"], path["module"]):
        raise CheckFailed(f"{name}: requests were refused on a path that works", expected=0, actual=refused)
    if not refused and options.dead(path["host"], path["module"]):
        raise CheckFailed(f"{name}: the path is dead and nothing was refused", expected="poison or errors", actual=0)
    if path["refused_ns_max"] > options.answer_ns_max:
        raise CheckFailed(
            f"{name}: an answer of a dead path came too late",
            expected=f"within {options.answer_ns_max} ns",
            actual=f"{path['refused_ns_max']} ns",
        )
