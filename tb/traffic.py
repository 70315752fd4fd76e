"""Traffic engines from Python: descriptors by what they mean, and what the engines of a phase have measured.

An engine (`tb/hdl/traffic_engine.sv`) takes a host's place. A descriptor says which requests it makes; all engines of a
phase start together, and the hardware's counters are read after each phase. Nothing here runs while a simulation runs.

Bandwidth, latency and lines in flight come from the counted window of each engine: from its last warm-up request to its
last request, so neither filling nor draining is part of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

from prismem.lib.emu import LINE_BYTES, Machine
from prismem.lib.emu_traffic import Engine
from prismem.tb.job import CheckFailed, Context, Request

OUTSTANDING_MAX = 2048
OVERFLOW_NS = 4095  # last bin of the hardware's histograms: this long or longer
KINDS: tuple[Literal["read", "write"], ...] = ("read", "write")
QUANTILES_PERCENT = (0.1, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 100)
LITTLE_TOLERANCE = 0.02
FAIR = 0.97  # slowest host over the mean

Rows = Mapping[str, list[list[int]]]


class Pattern(IntEnum):
    """Walk through the footprint."""

    LINEAR = 0
    RANDOM = 1
    STRIDED = 2


def interval_q16(request_bytes: int, gb_per_s: float) -> int:
    """Mean time between arrivals of requests that offer this load, in ns / 65536."""
    return round(request_bytes / gb_per_s * 65536)


def footprint_log2(lines: int, outstanding: int) -> int:
    """log2 of a footprint of at least `lines` lines that an engine with `outstanding` lines in flight may have."""
    return max((lines - 1).bit_length(), (outstanding - 1).bit_length() + 1)


@dataclass
class Histogram:
    """Requests by latency in ns."""

    counts: Counter[int]
    max_ns: int = 0

    @property
    def count(self) -> int:
        """Requests."""
        return self.counts.total()

    def mean(self) -> float:
        """Mean latency; what is in the overflow bin counts as its lower end."""
        return sum(ns * count for ns, count in self.counts.items()) / self.count if self.count else 0.0

    def percentile(self, percent: float) -> int:
        """Latency that `percent` of the requests do not exceed (nearest rank): exact below the overflow bin."""
        rank = max(1, math.ceil(self.count * percent / 100))
        seen = 0
        for latency_ns in sorted(self.counts):
            seen += self.counts[latency_ns]
            if seen >= rank:
                return latency_ns if latency_ns < OVERFLOW_NS else self.max_ns
        return 0

    def quantiles(self) -> list[int]:
        """Latency that each of QUANTILES_PERCENT of the requests does not exceed: the distribution as a line."""
        return [self.percentile(percent) for percent in QUANTILES_PERCENT]

    def summary(self) -> dict[str, int]:
        """Count, P50, P99, P99.9 and maximum."""
        return {
            "count": self.count,
            "p50_ns": self.percentile(50),
            "p99_ns": self.percentile(99),
            "p999_ns": self.percentile(99.9),
            "max_ns": self.max_ns,
        }


@dataclass
class HostFigures:
    """What one engine measured in its counted window; pairs are (reads, writes)."""

    host: int
    window_ns: int
    requests: tuple[int, int]
    useful_bytes: tuple[int, int]
    lines: tuple[dict[int, int], dict[int, int]]  # by module
    line_ns: tuple[int, int]
    in_flight_ns: int
    latency: tuple[Histogram, Histogram]

    def moved_gb_s(self, module: int | None = None) -> float:
        """Payload of whole lines, to all modules or to one."""
        lines = sum(n for kind in self.lines for m, n in kind.items() if module in (None, m))
        return lines * LINE_BYTES / self.window_ns if self.window_ns else 0.0

    def useful_gb_s(self) -> float:
        """Bytes that were asked for."""
        return sum(self.useful_bytes) / self.window_ns if self.window_ns else 0.0

    def in_flight(self) -> float:
        """Lines in flight, on average."""
        return self.in_flight_ns / self.window_ns if self.window_ns else 0.0

    def little(self) -> float:
        """Lines in flight over rate x latency: 1 by Little's law."""
        expected = sum(self.line_ns)
        return self.in_flight_ns / expected if expected else 0.0


ERRORS = {
    "engine_wrong_bytes": "wrong bytes",
    "engine_unsure_lines": "lines that a failed write has left unknown",
    "engine_unexpected_answers": "answers nobody waits for",
    "engine_lost_lines": "lines without an answer",
    "engine_nxm": "reads that no decoder claims",
    "engine_poisoned": "poisoned reads",
    "engine_failed_writes": "failed writes",
}


@dataclass
class Reading:
    """What the engines and the probes of the hardware said after a phase."""

    rows: Rows

    def of(self, name: str) -> dict[tuple[int, int], int]:
        """A counter by its two indices; empty when nothing has it."""
        return {(a, b): value for a, b, value in self.rows.get(name, [])}

    def errors(self) -> dict[str, int]:
        """Errors of all engines by counter."""
        return {name: sum(self.of(name).values()) for name in ERRORS}

    def check_clean(self, phase: object) -> None:
        """Raise CheckFailed unless every line was answered once, with the right bytes."""
        for name, count in self.errors().items():
            if count:
                hosts = [host for (host, _), value in self.of(name).items() if value]
                raise CheckFailed(
                    f"{phase}: {count} {ERRORS[name]} at hosts {hosts}",
                    component="traffic engine",
                    expected=0,
                    actual=count,
                )

    def hosts(self) -> list[HostFigures]:
        """Figures of every engine."""
        pair = {
            name: self.of(f"engine_{name}") for name in ("window_ns", "requests", "useful_bytes", "line_ns", "max_ns")
        }
        in_flight = self.of("engine_in_flight_ns")
        figures = []
        for host in sorted({host for host, _ in in_flight}):
            lines = tuple(self._row(f"engine_{kind}_lines", host) for kind in KINDS)
            latency = tuple(
                Histogram(Counter(self._row(f"engine_{kind}_ns", host)), pair["max_ns"][host, i])
                for i, kind in enumerate(KINDS)
            )
            figures.append(
                HostFigures(
                    host=host,
                    window_ns=pair["window_ns"][host, 1] - pair["window_ns"][host, 0],
                    requests=(pair["requests"][host, 0], pair["requests"][host, 1]),
                    useful_bytes=(pair["useful_bytes"][host, 0], pair["useful_bytes"][host, 1]),
                    lines=(lines[0], lines[1]),
                    line_ns=(pair["line_ns"][host, 0], pair["line_ns"][host, 1]),
                    in_flight_ns=in_flight[host, 0],
                    latency=(latency[0], latency[1]),
                )
            )
        return figures

    def _row(self, name: str, host: int) -> dict[int, int]:
        return {b: value for (a, b), value in self.of(name).items() if a == host}

    def module_latency(self, kind: str) -> dict[int, Histogram]:
        """Latencies of requests by the module of their last line; the maximum is exact below the overflow bin."""
        found: dict[int, Counter[int]] = {}
        for (module, latency_ns), count in self.of(f"module_{kind}_ns").items():
            found.setdefault(module, Counter())[latency_ns] = count
        return {module: Histogram(counts, max(counts)) for module, counts in sorted(found.items())}


def combined(figures: Iterable[HostFigures], kind: int) -> Histogram:
    """Latencies of reads (0) or writes (1) of several hosts."""
    total: Counter[int] = Counter()
    longest = 0
    for host in figures:
        total += host.latency[kind].counts
        longest = max(longest, host.latency[kind].max_ns)
    return Histogram(total, longest)


@dataclass(frozen=True, kw_only=True)
class Load:
    """What every host does in a phase; `region` numbers the footprints that a phase shares with no other."""

    name: str
    pattern: Pattern = Pattern.RANDOM
    request_bytes: int = 64
    read_permille: int = 1000
    outstanding: int = 256
    lines: int = 4096
    offered_gb_s: float = 0.0  # a host; 0: closed loop
    poisson: bool = False
    own_module: bool = False  # host h on module h, and so on round
    hosts: int = 0  # the first so many take part; 0: all
    stride_log2: int = 0  # strided: requests from one to the next
    hot_permille: int = 0  # share of the requests that go to hot_module
    hot_module: int = 0
    hot_outstanding: int = 0
    warm_ns: int = 15_000
    measure_ns: int = 10_000

    @property
    def read_share(self) -> float:
        """0..1."""
        return self.read_permille / 1000


REGION_LINES = 1 << 26  # of a phase, on each module: 4 GiB


def post(machine: Machine, ctx: Request, loads: Sequence[Load], seed: int = 1) -> None:
    """Hand a phase a load to the bench; before the run. Phases that write have a region of their own."""
    base = ctx.profile.hdm.base.canonical // LINE_BYTES
    for phase, load in enumerate(loads):
        region = phase if load.read_permille < 1000 else 0
        log2 = footprint_log2(load.lines, load.outstanding + load.hot_outstanding)
        for host in range(load.hosts or ctx.hosts):
            place = region * REGION_LINES + (host << log2)
            machine.engine_add(
                Engine(
                    host=host,
                    phase=phase,
                    pattern=load.pattern,
                    request_bytes=load.request_bytes,
                    read_permille=load.read_permille,
                    outstanding=load.outstanding,
                    poisson=load.poisson,
                    stride_log2=load.stride_log2,
                    hot_permille=1000 if load.own_module else load.hot_permille,
                    hot_module=host % ctx.modules if load.own_module else load.hot_module,
                    hot_outstanding=load.hot_outstanding,
                    lines_log2=log2,
                    interval_q16=interval_q16(load.request_bytes, load.offered_gb_s) if load.offered_gb_s else 0,
                    first_line=base + region * REGION_LINES * ctx.modules + (host << log2),
                    hot_line=REGION_LINES // 2 + place,
                    count_ns=load.warm_ns,
                    stop_ns=load.warm_ns + load.measure_ns,
                    seed=seed,  # the same draws in every phase: phases differ by their loads alone
                )
            )


def readings(ctx: Context) -> list[Reading]:
    """Readings after each phase of the traffic, in order."""
    report: dict[str, Any] = ctx.machine.report()
    return [Reading(rows) for rows in report["readings"][:-1]]


class Checks:
    """Checks of a job: all run, then all that failed are printed and the first one fails the job."""

    def __init__(self) -> None:
        self.failed: list[CheckFailed] = []

    def run(self, check: Callable[..., None], *args: object) -> None:
        """Run one check."""
        try:
            check(*args)
        except CheckFailed as problem:
            self.failed.append(problem)

    def done(self, report: str) -> None:
        """Raise the first failure, after the report and all failures have gone to the log."""
        if self.failed:
            print(report, flush=True)
            for problem in self.failed:
                failure = problem.failure
                print(f"FAILED {problem}: expected {failure.expected}, actual {failure.actual}", flush=True)
            raise self.failed[0]


def check_fair(phase: object, figures: Sequence[HostFigures]) -> None:
    """Raise CheckFailed unless the slowest host gets at least 97 % of the mean."""
    rates = [host.moved_gb_s() for host in figures]
    least = FAIR * sum(rates) / len(rates)
    if min(rates) < least:
        raise CheckFailed(
            f"{phase}: the slowest host gets less than {FAIR:.0%} of the mean",
            component=f"host {rates.index(min(rates))}",
            expected=f"at least {least:.3f} GB/s",
            actual=f"{min(rates):.3f} GB/s",
        )


def check_little(phase: object, figures: Iterable[HostFigures]) -> None:
    """Raise CheckFailed unless rate x latency is the lines in flight, at every host that moved lines."""
    for host in figures:
        ratio = host.little()
        if abs(ratio - 1) > LITTLE_TOLERANCE:
            raise CheckFailed(
                f"{phase}: Little's law does not hold at host {host.host}: lines in flight / (rate x latency)",
                component="traffic engine",
                expected=f"1 within {LITTLE_TOLERANCE:.0%}",
                actual=f"{ratio:.4f}",
            )
