"""Flush latency as software sees it: instruction returned, line visible at the module, fence returned, the window."""

from __future__ import annotations

from typing import Any

from prismem.models.latency import idle_ns
from prismem.tb.report.model import Figure, Results, Section, Table

MOMENTS = {
    "returned_ns": "instruction returned",
    "visible_ns": "visible at the module",
    "fenced_ns": "fence returned",
    "window_ns": "window: returned, not yet visible",
    "window_behind_fence_ns": "window behind the fence",
}


def _steps(moments: dict[str, float]) -> dict[str, float]:
    """Time from moment to moment, in the order in which they came."""
    order = sorted(list(MOMENTS)[:3], key=lambda key: moments[key])
    starts = [0.0, *(moments[key] for key in order)]
    return {f"until {MOMENTS[key]}": moments[key] - start for key, start in zip(order, starts, strict=False)}


def build(results: Results) -> Section | None:
    """Section of the points `flush/...`; None without one."""
    section = Section(
        "flush",
        "Flush latency as software sees it",
        "A host stores to a line and writes it back; all else is idle. The instruction returns at once, the line "
        "travels, the memory module applies it, and the completion comes back, for which MFENCE waits. Between the "
        "first and the second moment software has gone on and no other host sees the line: that is the window in "
        "which a missing fence loses data. With posted completion (module.completion = 1) the module answers before "
        "it has applied the write, and the window reaches beyond the fence: then not even right software is right. "
        "Medians, from the start of the instruction.",
    )
    rows: list[list[Any]] = []
    bars: dict[str, dict[str, float]] = {}
    clflush: list[tuple[str, str, dict[str, float]]] = []
    for value, metrics in results.group("flush"):
        flush, profile = metrics["flush"], results.profile_of(f"flush/{value}")
        kind = "posted" if flush["posted"] else "when visible"
        for method, moments in flush["methods"].items():
            for key, what in MOMENTS.items():
                name = f"{profile.name}.{kind.replace(' ', '_')}.{method}.{key}"
                section.add(name, moments[key], "ns", f"{method}, completion {kind}: {what}", point=f"flush/{value}")
            rows.append([profile.name, kind, method, *(moments[key] for key in MOMENTS)])
            if method == "clflush":
                bars[f"{profile.name}, {kind}"] = _steps(moments)
                clflush.append((profile.name, kind, moments))
        section.add(
            f"{profile.name}.write_ns", idle_ns(profile, "write"), "ns", "idle write at the port", origin="computed"
        )
    if not rows:
        return None
    section.figures.append(
        Figure(
            "flush",
            "CLFLUSH and MFENCE of one line (measured, median)",
            "time since the instruction (ns)",
            "",
            bars=bars,
        )
    )
    section.result = " ".join(
        f"{profile}, completion {kind}: CLFLUSH returns after {moments['returned_ns']:g} ns, the line is visible after "
        f"{moments['visible_ns']:g} ns, and MFENCE returns after {moments['fenced_ns']:g} ns."
        for profile, kind, moments in clflush
    )
    columns = ["profile", "completion", "instruction", *(f"{what}, ns" for what in MOMENTS.values())]
    section.tables.append(Table("flush", "Write-back of one line (measured)", columns, rows))
    return section
