"""Idle latency by stage, for the profile and the baselines: what the probes saw, the formula, what the paper prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prismem.models.flit import FLIT_BYTES
from prismem.models.frame import LINE_BYTES, Kind
from prismem.models.latency import idle_ns, idle_stages_ns, serialization_ns
from prismem.models.profile import Profile
from prismem.tb.report.model import Figure, Results, Section, Table

KINDS: tuple[Kind, ...] = ("read", "write")
PRINTED_GB_S = {"pfma": 25.6, "niagara": 10.1}  # of a port, of the device: arXiv 2607.27187 and 2512.18194
PARTS = ("request", "memory", "response")
PRINTED_NS = {  # arXiv 2607.27187 and 2512.18194; the rest is printed nowhere
    ("pfma", "read"): {"request": "24", "memory": "212", "response": "47", "total": "283"},
    ("pfma", "write"): {"request": "24", "memory": "153", "response": "47", "total": "224"},
    ("niagara", "read"): {"total": "640"},
    ("switch", "read"): {"total": "800 to 900"},
}
# Stages that are too small to see alone keep the order of the way.
STAGE_NAMES = {
    "cxl_request": "CXL request",
    "nic_decode": "NIC decode",
    "path_queue": "path queue",
    "serialize": "serialize",
    "flight": "flight or hops",
    "port_queue": "module port",
    "media": "media",
    "media_return": "module return",
    "rsp_serialize": "serialize back",
    "rsp_flight": "flight or hops back",
    "cxl_response": "CXL response",
}


def build(results: Results) -> Section | None:
    """Section of all `idle...` points; None without one."""
    names = [name for name in results.points if name == "idle" or name.startswith("idle/")]
    shown = [(name, found) for name in names if (found := results.get(name))]
    if not shown:
        return None
    section = Section(
        "idle",
        "Idle latency by stage",
        "One line of 64 bytes at a time, all else idle, from the offer at the host port to the answer there. The "
        "stages are stamped by probes in the hardware, and their sum is checked against the total for every "
        "transaction. Medians.",
    )
    bars: dict[str, dict[str, float]] = {}
    rows: list[list[Any]] = []
    for name, metrics in shown:
        idle, profile = metrics["idle"], results.profile_of(name)
        for kind in KINDS:
            label = f"{profile.name} {kind}"
            bars[label] = {STAGE_NAMES.get(k, k): ns for k, ns in idle["stages_ns"][kind].items() if ns}
            total = section.add(
                f"{profile.name}.{kind}_ns", idle[f"{kind}_ns"], "ns", f"idle {kind} of {profile.name}", point=name
            )
            formula = section.add(
                f"{profile.name}.{kind}_formula_ns",
                idle_ns(profile, kind),
                "ns",
                f"the same from the formula of the profile, {profile.name}",
                origin="computed",
            )
            _floors(section, profile, kind)
            if rate := PRINTED_GB_S.get(profile.name):
                lines = round(rate * total / LINE_BYTES, 1)
                what = f"lines in flight for {rate} GB/s at this latency, {kind}"
                section.add(f"{profile.name}.{kind}_in_flight", lines, "1", what, point=name)
            for part in PARTS:
                measured = idle[f"{kind}_parts_ns"][part]
                expected = idle["formula_ns"][kind][part]
                section.add(f"{profile.name}.{kind}.{part}_ns", measured, "ns", f"{part} part of it", point=name)
                rows.append([profile.name, kind, part, _printed(profile, kind, part)])
                rows[-1] += [expected, measured, measured - expected]
            rows.append([profile.name, kind, "total", _printed(profile, kind, "total")])
            rows[-1] += [formula, total, total - formula]
    _ratio(section)
    section.result = _result(section, dict.fromkeys(results.profile_of(name).name for name, _ in shown))
    section.tables.append(
        Table(
            "idle_parts",
            "Request: host port to adapter; memory: adapter to module and back; response: adapter to host port",
            ["profile", "access", "part", "printed, ns", "computed, ns", "measured, ns", "measured - computed, ns"],
            rows,
        )
    )
    section.tables.append(
        Table(
            "idle_stages",
            "Stages, medians in ns (measured)",
            ["profile and access", *STAGE_NAMES.values()],
            [[label, *(stages.get(stage, 0) for stage in STAGE_NAMES.values())] for label, stages in bars.items()],
        )
    )
    section.figures.append(Figure("idle", "Idle latency by stage (measured, median)", "latency (ns)", "", bars=bars))
    return section


def _printed(profile: Profile, kind: Kind, part: str) -> str:
    return PRINTED_NS.get((profile.name, kind), {}).get(part, "")


def _result(section: Section, names: Iterable[str]) -> str:
    """Both totals of each profile, and how they compare."""
    totals = [f"{name} {section.value(f'{name}.read_ns')} and {section.value(f'{name}.write_ns')} ns" for name in names]
    known = {metric.id: metric.value for metric in section.metrics}
    ratio = known.get("idle.pfma_over_switch")
    against = f" A read of pfma takes {100 * ratio:.0f} % of the time of the switched pool's." if ratio else ""
    return f"An idle read and an idle write take: {'; '.join(totals)}.{against}"


def floor_ns(profile: Profile, kind: Kind) -> dict[str, int]:
    """What no machine of this profile can be faster than: flits, frames, flight in the fibre and media, no more."""
    stages = idle_stages_ns(profile, kind)
    wires = sum(ns for name, ns in stages.items() if name.endswith("serialize"))
    flight = 2 * profile.path.fibre_length.canonical if profile.path else 0
    memory = wires + flight + stages["media"]
    flit = serialization_ns(FLIT_BYTES, profile.cxl.rate)
    return {"flit": flit, "memory": memory, "total": memory + 2 * flit}


def _floors(section: Section, profile: Profile, kind: Kind) -> None:
    floor = floor_ns(profile, kind)
    what = "flits, frames, flight and media alone"
    if kind == KINDS[0]:
        section.add(f"{profile.name}.flit_ns", floor["flit"], "ns", "a flit on the host's link", origin="computed")
    section.add(f"{profile.name}.{kind}_floor_ns", floor["total"], "ns", what, origin="computed")
    section.add(f"{profile.name}.{kind}_memory_floor_ns", floor["memory"], "ns", what, origin="computed")


def _ratio(section: Section) -> None:
    """The appliance against the switched pool at the same boundary."""
    known = {metric.id: metric.value for metric in section.metrics}
    if "idle.pfma.read_ns" in known and "idle.switch.read_ns" in known:
        ratio = round(known["idle.pfma.read_ns"] / known["idle.switch.read_ns"], 4)
        section.add("pfma_over_switch", ratio, "1", "idle read of pfma over that of the switched pool")
