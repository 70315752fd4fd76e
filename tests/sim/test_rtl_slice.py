"""The RTL slice under load and under fault: data, order, limits, and a failing twin of every checker."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prismem.tb.runner.build import build_bench, build_software
from prismem.tb.runner.execute import BENCH_TEST, execute, simulate
from prismem.tb.runner.result import LOG_FILE
from prismem.tb.runner.session import OUTCOME_FILE, RUN_DIR_VARIABLE, SPEC_FILE, Outcome
from prismem.tb.runner.spec import make_spec

# Bounds at 28.125 GB/s in full frames: 256 of the 272 bytes of read data, 256 of the 276 bytes of linear writes.
READ_GB_S_PRINTED = 25.6
READ_GB_S_BOUND = 28.125 * 256 / 272
WRITE_GB_S_BOUND = 28.125 * 256 / 276
# N lines are counted over the N - 1 intervals between them.
END_EFFECT = 1.001


@dataclass(frozen=True)
class Bench:
    """What one run of the bench left."""

    problem: str | None
    log: str
    outcome: Outcome

    def passed(self) -> bool:
        """The process ended well and the job said so."""
        return self.problem is None and self.outcome.verdict == "passed"


def drive(
    run_dir: Path, plusargs: dict[str, Any] | None = None, hosts: int = 2, modules: int = 2, **options: Any
) -> Bench:
    """Run job traffic with `options`, the profile's straps and `plusargs` over them."""
    spec = make_spec("traffic", hosts=hosts, modules=modules, options={k: str(v) for k, v in options.items()})
    profile = spec.request().profile
    build_software()
    build = build_bench(profile.parameters(hosts, modules))
    (run_dir / SPEC_FILE).write_text(spec.model_dump_json())
    arguments: dict[str, Any] = profile.straps(modules) | (plusargs or {})
    problem = simulate(
        build, BENCH_TEST, run_dir, seed=1, plusargs=arguments, environment={RUN_DIR_VARIABLE: str(run_dir)}
    )
    left = run_dir / OUTCOME_FILE
    outcome = Outcome.model_validate_json(left.read_text()) if left.exists() else Outcome(verdict="failed")
    return Bench(problem, (run_dir / LOG_FILE).read_text(errors="replace"), outcome)


@pytest.mark.parametrize("stall_permille", [0, 300])
def test_every_read_returns_what_was_written_last(tmp_path: Path, stall_permille: int) -> None:
    """Reads and writes at random on few lines, at full load, with and without back-pressure at the host ports."""
    bench = drive(
        tmp_path,
        {"host_stall_permille": stall_permille},
        requests=20_000,
        random=True,
        read_permille=500,
        lines=256,
    )
    assert bench.passed(), bench.problem or bench.outcome
    assert bench.outcome.metrics["latency"]["sum_errors"] == 0


@pytest.mark.parametrize(("hosts", "modules"), [(1, 1), (3, 2), (4, 4)])
@pytest.mark.regress
def test_sizes(tmp_path: Path, hosts: int, modules: int) -> None:
    """Every host reaches every module, whatever their numbers."""
    bench = drive(tmp_path, hosts=hosts, modules=modules, requests=5_000, random=True, read_permille=500)
    assert bench.passed(), bench.problem or bench.outcome
    paths = {(path["host"], path["module"]) for path in bench.outcome.metrics["paths"]}
    assert paths == {(host, module) for host in range(hosts) for module in range(modules)}


@pytest.mark.regress
@pytest.mark.parametrize("random", [False, True])
def test_a_port_reads_at_the_printed_rate(tmp_path: Path, random: bool) -> None:
    """One port, HBM-resident after the first round: at least 25.6 GB/s, and not more than its frames allow."""
    options: dict[str, Any] = {"hosts": 1, "modules": 1, "outstanding": 512, "requests": 60_000, "random": random}
    rate = drive(tmp_path, **options).outcome.metrics["paths"][0]["gb_s"]
    assert READ_GB_S_PRINTED <= rate <= READ_GB_S_BOUND * END_EFFECT


@pytest.mark.regress
def test_a_port_writes_at_the_bound_of_its_frames(tmp_path: Path) -> None:
    """A burst carries its address once a frame; 97 % of the bound is reached, and no more than it."""
    options: dict[str, Any] = {"hosts": 1, "modules": 1, "outstanding": 512, "requests": 60_000, "read_permille": 0}
    rate = drive(tmp_path, **options).outcome.metrics["paths"][0]["gb_s"]
    assert 0.97 * WRITE_GB_S_BOUND <= rate <= WRITE_GB_S_BOUND * END_EFFECT


def test_few_tags_are_a_limit_and_nothing_else() -> None:
    """64 tags of the NIC and four times as many requests in flight: the checkers see no tag handed out while in use."""
    sets = ("nic.tags=64", "nic.queue_depth=64")
    result = execute(make_spec("traffic", sets=sets, options={"requests": "5000", "random": "true"}))
    assert result.passed, result.text()


def test_an_address_that_no_decoder_claims_is_answered(tmp_path: Path) -> None:
    """The decoders are moved away from where the hosts look: MemData-NXM, reported as such, no hang."""
    bench = drive(tmp_path, {"hdm_base": 1 << 45}, requests=500)
    assert bench.outcome.failure is not None
    assert "no decoder claims it" in bench.outcome.failure.message


def test_a_dark_lightpath_does_not_block_the_others(tmp_path: Path) -> None:
    """Path 0 -> 0 is dark for 20 us: host 1 is not held up, host 0 ends after the light is back, nothing is lost."""
    bench = drive(tmp_path, {"inject": "down", "down_ns": 20_000}, requests=4_000, random=True, read_permille=500)
    assert bench.passed(), bench.problem or bench.outcome
    last_ns = {(p["host"], p["module"]): p["last_ns"] for p in bench.outcome.metrics["latency"]["ports"]}
    assert last_ns[0, 0] > 21_000
    assert last_ns[1, 0] < 20_000
    assert last_ns[1, 1] < 20_000


FAULTS = {
    "double": r"host 0: tag \d+ is in flight already",
    "credit": r"places of class 0 freed, \d+ items have left",
    "overflow": r"items of class \d under way, over 127 credits",
    "sequence": r"accepts frame \d+, expected is",
    "swap": r"delivers item \d+ as",
    "crc": "accepts a frame with a wrong CRC",
    "ring": "push into a full ring",
    "tag": r"NIC tag \d+ handed out while in use",
    "order": "reaches the media after request",
    "twice": "reaches the media twice",
}
# The NIC's delay ring holds its own answers: requests to addresses that no decoder claims.
BESIDES: dict[str, dict[str, int]] = {"ring": {"hdm_base": 1 << 45, "inject_ns": 1}}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_checker_fails(tmp_path: Path, fault: str) -> None:
    """A checker that cannot fail checks nothing: each is shown what it must reject."""
    bench = drive(
        tmp_path,
        {"inject": fault} | BESIDES.get(fault, {}),
        requests=20_000,
        random=True,
        lines=64,
        read_permille=500,
    )
    assert not bench.passed()
    assert re.search(FAULTS[fault], bench.log), bench.log[-2000:]


@pytest.mark.parametrize("fault", ["deaf", "down"])
def test_liveness_prints_queues_and_credits(tmp_path: Path, fault: str) -> None:
    """A deaf host or a path that stays dark ends the run within the bound, with the state printed."""
    bench = drive(tmp_path, {"inject": fault, "live_ns_max": 5_000}, requests=20_000, random=True)
    assert not bench.passed()
    for words in (
        r"\d+ requests out",
        r"\d+ of 2048 tags in use",
        r"\d+ of 127 credits in use",
        "no progress for more than",
    ):
        assert re.search(words, bench.log), words


@pytest.mark.parametrize(
    ("strap", "value"),
    [("path_rate_b16", 0), ("path_read_credits", 128), ("hdm_ways", 3), ("hdm_gran_b", 300), ("hbm_rfc_ns", 60_000)],
)
def test_an_impossible_strap_is_refused_by_name(tmp_path: Path, strap: str, value: int) -> None:
    """The simulation does not start; the message names the module and the strap."""
    bench = drive(tmp_path, {strap: value}, requests=500)
    assert not bench.passed()
    assert re.search(rf"u_straps.*{strap}", bench.log)
