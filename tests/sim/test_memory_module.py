"""One memory module with generators on its 16 ports: bandwidth and what limits it, latency, order, poison, capacity.

The bench (hdl/mem_bench_top.sv) stands for hosts, NICs and lightpaths: frames take the time that the profile gives
them. HBM has 64 sets here, 16,384 lines, so that a footprint beyond it is filled quickly.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from prismem.models import dram, latency, profile
from prismem.paths import BUILD_SW, RTL
from prismem.tb.runner.build import Build, build_hdl, build_software, hdl_sources
from prismem.tb.runner.execute import simulate
from prismem.tb.runner.result import LOG_FILE

HERE = Path(__file__).parent
BENCH = HERE / "hdl"
PORTS = 16
GB_S_PRINTED = 25.6
TICKS_PER_NS = 4096  # of the generators
TIME_NS_MAX = 1_000_000
RESIDENT = {"lines": 512, "warm": 512}  # of each port: 8,192 lines, half of HBM
BEYOND = {"lines": 4096, "warm": 4096}  # 65,536 lines, four times HBM
# Bound by bind files: the checkers and counters of the module, without the probes of a transaction's stages.
BENCH_FILES = ("tb_straps", "check_pkg", "emu_dpi_pkg", "check_dram", "check_module", "count_mem")
# A rate is counted over the intervals between lines, and arrivals are random.
END_EFFECT = 1.002


@dataclass(frozen=True)
class Run:
    """What one run left: RESULT lines by name and index, and the log."""

    problem: str | None
    log: str
    results: dict[str, dict[int, int]]

    def value(self, name: str, index: int = 0) -> int:
        """One result."""
        return self.results[name][index]

    def rates(self) -> list[float]:
        """GB/s of every port."""
        measured, span = self.results["measured"], self.results["span_ns"]
        return [(measured[p] - 1) * latency.LINE_BYTES / span[p] for p in sorted(span) if measured[p]]

    def total(self) -> float:
        """GB/s of all ports together, from the first line of any to the last line of any."""
        first, span = self.results["first_ns"], self.results["span_ns"]
        end_ns = max(first[port] + span[port] for port in span)
        return sum(self.results["measured"].values()) * latency.LINE_BYTES / (end_ns - min(first.values()))

    def limit(self) -> str:
        """What the counters say."""
        rows = [[0, index, value] for index, value in self.results["mem_blocked_cycles"].items()]
        return dram.limiting({"mem_blocked_cycles": rows}, 0, PORTS * self.value("end_ns"))


Drive = Callable[..., Run]


@pytest.fixture(scope="module")
def bench() -> Build:
    build_software()
    parameters = profile.load("pfma").parameters(PORTS, 1)
    sizes = {name: value for name, value in parameters.items() if name.startswith(("Hbm", "Ddr"))}
    rtl = [RTL / "common", RTL / "pf_mem"]
    names = (*BENCH_FILES, "pf_hdm_pkg", "pf_crc_pkg", "pf_link_pkg")
    keep = [p for p in hdl_sources() if p.parent in rtl or p.suffix == ".vlt" or p.stem in names]
    link = ["-LDFLAGS", f"-L{BUILD_SW} -Wl,-rpath,{BUILD_SW} -lprismem_emu"]
    return build_hdl(
        "mem_bench_top",
        [BENCH / "mem_bench_top.vlt", *keep, BENCH / "mem_bench_top.sv"],
        sizes | {"Ports": PORTS, "HbmSets": 64},
        arguments=[str(BENCH / "mem_bench_counters.cpp"), *link],
    )


@pytest.fixture
def drive(bench: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """Run the bench with plusargs over the straps of a profile."""
    monkeypatch.syspath_prepend(str(HERE))

    def run(sets: Sequence[str] = (), **arguments: int | str) -> Run:
        straps: dict[str, int | str] = dict(profile.load("pfma", sets).straps(1))
        environment = {"PRISMEM_MEM_BENCH_NS_MAX": str(TIME_NS_MAX)}
        problem = simulate(bench, "mem_bench", tmp_path, seed=1, plusargs=straps | arguments, environment=environment)
        log = (tmp_path / LOG_FILE).read_text(errors="replace")
        results: dict[str, dict[int, int]] = {}
        for name, index, value in re.findall(r"^RESULT (\w+) (\d+) (\d+)$", log, re.MULTILINE):
            results.setdefault(name, {})[int(index)] = int(value)
        return Run(problem, log, results)

    return run


def good(run: Run) -> Run:
    """A run that ended well and returned what was written."""
    assert run.problem is None, run.log[-2000:]
    assert run.value("wrong") == 0
    return run


@pytest.mark.parametrize(
    ("random", "burst"), [(1, 1), (0, 1), (1, 4), (1, 16)], ids=["random", "linear", "256 B", "1 KB"]
)
def test_every_port_reads_at_the_printed_rate(drive: Drive, random: int, burst: int) -> None:
    """16 ports at once, HBM-resident: 25.6 GB/s on every port, none above its link, and the link is the limit."""
    run = good(drive(random=random, burst=burst, requests=8_000, **RESIDENT))
    bound = latency.path_bound_gb_per_s(profile.load("pfma"), 1.0)
    assert min(run.rates()) >= GB_S_PRINTED
    assert max(run.rates()) <= bound * END_EFFECT
    assert run.limit() == "link"
    assert run.value("mem_misses", 0) == 0


@pytest.mark.parametrize("read_permille", [750, 500, 0])
def test_mixes_are_bound_by_the_link(drive: Drive, read_permille: int) -> None:
    """Reads and writes on every port: in-order start costs less than 3 % of what frames allow; ports share alike."""
    run = good(drive(random=1, read_permille=read_permille, requests=10_000, **RESIDENT))
    rates = run.rates()
    bound = latency.path_bound_gb_per_s(profile.load("pfma"), read_permille / 1000)
    assert 0.97 * bound <= sum(rates) / PORTS <= bound * 1.01
    assert min(rates) >= 0.97 * sum(rates) / PORTS
    # Writes alone, 16 x 25.0 GB/s, come within 3 % of what eight DDR5 channels move behind the write-through cache.
    assert run.limit() == ("link" if read_permille else "ddr")


def test_ddr5_limits_what_misses(drive: Drive) -> None:
    """Reads beyond HBM: DDR5 is named, and is used to 85 % of its bus and not above; ports share alike."""
    slow = ("ddr.rate=32 GB/s",)
    run = good(drive(slow, random=0, requests=10_000, **BEYOND))
    rates = run.rates()
    bound = dram.module_bounds_gb_per_s(profile.load("pfma", slow), 1.0, hit_share=0.0)["ddr"]
    assert 0.85 * bound <= run.total() <= bound * END_EFFECT
    assert min(rates) >= 0.97 * sum(rates) / PORTS
    assert run.limit() == "ddr"
    assert run.value("mem_hits", 0) <= 0.01 * run.value("mem_misses", 0)


def test_write_through_makes_ddr5_the_limit_of_writes(drive: Drive) -> None:
    """Half of the DDR5 rate: HBM-resident writes are bound by it, reads of the same lines are not."""
    slow = ("ddr.rate=25 GB/s",)
    run = good(drive(slow, random=1, read_permille=0, requests=6_000, **RESIDENT))
    bound = dram.module_bounds_gb_per_s(profile.load("pfma", slow), 0.0)["ddr"]
    assert 0.85 * bound <= run.total() <= bound * END_EFFECT
    assert run.limit() == "ddr"
    assert min(good(drive(slow, random=1, requests=6_000, **RESIDENT)).rates()) >= GB_S_PRINTED


def test_hbm_limits_when_it_is_slow(drive: Drive) -> None:
    """2 GB/s a pseudo channel, and writes, so that DDR5 cannot help: HBM is named."""
    slow = ("hbm.rate=2 GB/s",)
    run = good(drive(slow, random=1, read_permille=0, requests=3_000, **RESIDENT))
    bound = dram.module_bounds_gb_per_s(profile.load("pfma", slow), 0.0)["hbm"]
    assert run.total() <= bound * END_EFFECT
    assert run.limit() == "hbm"


def test_reads_at_half_load(drive: Drive) -> None:
    """Half of the full rate, random: at most 7 ns more than idle in the median, 37 ns for all but 1 in 1,000 reads."""
    idle = profile.load("pfma")
    idle_ns = idle.module.port_time.canonical + latency.hbm_read_ns(idle) + idle.module.return_time.canonical
    run = good(drive(random=1, requests=10_000, interval_4096=5 * TICKS_PER_NS, **RESIDENT))
    assert idle_ns <= run.value("read_p500") <= idle_ns + 7
    assert run.value("read_p999") <= idle_ns + 37
    assert run.value("mem_redirects") > 0
    assert run.value("hbm_rows", 3) > 0  # refreshes were in the way


@pytest.mark.parametrize(("mode", "base_mib"), [(1, 1), (1, 2), (2, 0)], ids=["memory", "ddr5 part", "off"])
def test_hbm_modes(drive: Drive, mode: int, base_mib: int) -> None:
    """HBM as memory from 1 MiB on: lines above are HBM's, lines below DDR5's; without HBM all are DDR5's. Idle latency
    says which."""
    machine = profile.load("pfma")
    # One port, one line in flight. Port 0 works on lines 16,384 to 16,399: 1 MiB is line 16,384.
    run = good(
        drive(
            hbm_mode=mode, hbm_base_mib=base_mib, ports_used=1, first_line=16_384, lines=16, warm=16, requests=400,
            outstanding=1, settle=0, hbm_refi_ns=0, ddr_refi_ns=0, interval_4096=400 * TICKS_PER_NS,
        )
    )  # fmt: skip
    media_ns = latency.hbm_read_ns(machine) if mode == 1 and base_mib == 1 else latency.ddr_read_ns(machine)
    assert (
        run.value("read_p500") == machine.module.port_time.canonical + media_ns + machine.module.return_time.canonical
    )
    assert run.value("hbm_busy_ns") == 0 or media_ns == latency.hbm_read_ns(machine)


def test_last_line_and_beyond(drive: Drive) -> None:
    """The last 1,024 lines of 2 TiB read back; beyond a smaller capacity every access is an error, and none hangs."""
    last = (2 << 40) // 64
    run = good(drive(first_line=last - 1024, lines=64, warm=64, random=1, read_permille=500, requests=400))
    assert run.value("errors") == 0
    beyond = good(
        drive(first_line=2 << 14, lines=64, warm=0, read_permille=500, requests=400, module_mib=2, hdm_size_mib=2)
    )
    assert beyond.value("errors") == PORTS * 400


def test_poison(drive: Drive) -> None:
    """A poisoned write marks its line until it is overwritten whole; partial writes do not clear it."""
    arguments = {"lines": 64, "warm": 64, "read_permille": 700, "requests": 1500, "random": 1, "ports_used": 1}
    run = good(drive(poison_permille=40, part_permille=300, **arguments))
    assert run.value("poisoned") > 20
    assert run.value("errors") == 0


def test_a_full_poison_list_refuses_and_counts(drive: Drive) -> None:
    """More bad lines than the 16 that the list holds: the writes are answered with an error, and the counter agrees.

    336 poisoned writes go round over 64 lines, five times and a quarter: 48 a round find no place.
    """
    run = drive(lines=64, warm=64, read_permille=0, requests=400, ports_used=1, poison_permille=1000)
    assert run.problem is None
    assert run.value("errors") == 5 * 48
    assert run.value("mem_refused") == 5 * 48


@pytest.mark.parametrize(
    ("sets", "stale", "torn"),
    [
        ((), False, False),
        (("module.completion=1", "module.posted_time=200 ns"), True, False),
        (("module.write_unit=32 B",), False, True),
    ],
    ids=["device", "posted", "32 B"],
)
def test_visibility(drive: Drive, sets: Sequence[str], stale: bool, torn: bool) -> None:
    """Port 0 writes a line again and again, the others read it: what has completed is seen, and whole, unless a
    parameter breaks that."""
    run = good(drive(sets, share=1, lines=1, requests=2_000, outstanding=1))
    assert (run.value("stale") > 0) == stale
    assert (run.value("torn") > 0) == torn


FAULTS = {
    "row": r"less than \d+ ns after its activate",
    "refresh": "inside the refresh that is due",
    "bus": "and its rate allows",
    "through": "write into the cache and not through to DDR5",
    "starve": "the head waits for the media since",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_checker_fails(drive: Drive, fault: str) -> None:
    """A checker that cannot fail checks nothing: each is shown what it must reject."""
    run = drive(inject=fault, random=1, read_permille=200, requests=4_000, **RESIDENT)
    assert run.problem is not None
    assert re.search(FAULTS[fault], run.log), run.log[-2000:]


def test_load_is_told(drive: Drive) -> None:
    """An idle module answers with the lowest of the four levels, one that DDR5 holds back with the highest."""
    idle = good(drive(random=1, requests=1_200, outstanding=1, ports_used=1, hbm_refi_ns=0, ddr_refi_ns=0, **RESIDENT))
    assert [idle.value("load", level) for level in range(1, 4)] == [0, 0, 0]
    busy = good(drive(("ddr.rate=4 GB/s",), random=1, read_permille=0, requests=1_200, **RESIDENT))
    assert busy.value("load", 3) > busy.value("load", 0)
