"""The electrical switch under load: its ports are the limit and shared fairly, back-pressure loses nothing.

Each of its checkers can fail.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from prismem.models import latency
from prismem.tb.runner.build import build_bench, build_software
from prismem.tb.runner.execute import BENCH_TEST, simulate
from prismem.tb.runner.result import LOG_FILE
from prismem.tb.runner.session import OUTCOME_FILE, RUN_DIR_VARIABLE, SPEC_FILE, Outcome
from prismem.tb.runner.spec import make_spec

HOSTS, DEVICES = 2, 2
SLOW_PORTS = "switch.rate=8 GB/s"
END_EFFECT = 1.001  # N lines are counted over the N - 1 intervals between them


def drive(run_dir: Path, *sets: str, plusargs: dict[str, Any] | None = None, **options: Any) -> tuple[Outcome, str]:
    """Outcome and log of job traffic on the switch, with plusargs over the straps of the profile."""
    texts = {key: str(value) for key, value in options.items()}
    spec = make_spec("traffic", profile="switch", hosts=HOSTS, modules=DEVICES, sets=sets, options=texts)
    profile = spec.request().profile
    build_software()
    build = build_bench(profile.parameters(HOSTS, DEVICES))
    (run_dir / SPEC_FILE).write_text(spec.model_dump_json())
    arguments: dict[str, Any] = profile.straps(DEVICES) | (plusargs or {})
    problem = simulate(
        build, BENCH_TEST, run_dir, seed=1, plusargs=arguments, environment={RUN_DIR_VARIABLE: str(run_dir)}
    )
    left = run_dir / OUTCOME_FILE
    outcome = Outcome(verdict="failed")
    if problem is None and left.exists():
        outcome = Outcome.model_validate_json(left.read_text())
    return outcome, (run_dir / LOG_FILE).read_text(errors="replace")


def test_the_ports_are_the_limit_and_are_shared_fairly(tmp_path: Path) -> None:
    """All hosts read all devices through ports of 8 GB/s: each host's port is full, each device has its share of it.

    A port moves 85 B for 64 B of payload, so it carries 8 x 64 / 85 = 6.02 GB/s.
    """
    outcome, _ = drive(tmp_path, SLOW_PORTS, requests=8_000, lines=4096)
    assert outcome.verdict == "passed"
    bound = 8 * 64 / 85
    assert latency.path_bound_gb_per_s(
        make_spec("traffic", profile="switch", sets=(SLOW_PORTS,)).request().profile, 1.0
    ) == pytest.approx(bound)
    ports = outcome.metrics["latency"]["ports"]
    for host in range(HOSTS):
        mine = [port for port in ports if port["host"] == host]
        span_ns = max(port["last_ns"] for port in mine) - min(port["first_ns"] for port in mine)
        rate = (sum(port["read_lines"] for port in mine) - 1) * 64 / span_ns
        assert 0.97 * bound <= rate <= bound * END_EFFECT
    rates = [path["gb_s"] for path in outcome.metrics["paths"]]
    assert min(rates) >= 0.97 * sum(rates) / len(rates)
    # The counters name the resource: the ports to the hosts were busy nearly all the time, those to the devices not.
    counters = outcome.metrics["counters"]
    end_ns = max(port["last_ns"] for port in ports)
    busy = {(a, b): value / end_ns for a, b, value in counters["switch_busy_ns"]}
    assert all(busy[1, host] > 0.9 for host in range(HOSTS))
    assert all(busy[0, device] < 0.3 for device in range(DEVICES))


@pytest.mark.parametrize("credits", [1, 256])
def test_back_pressure_loses_nothing(tmp_path: Path, credits: int) -> None:
    """Random reads and writes on few lines, hosts that refuse responses, short queues: every value is right."""
    outcome, log = drive(
        tmp_path,
        f"switch.credits={credits}",
        plusargs={"host_stall_permille": 300},
        requests=3_000,
        random=True,
        read_permille=500,
        lines=64,
    )
    assert outcome.verdict == "passed", log[-2000:]
    assert outcome.metrics["latency"]["sum_errors"] == 0
    deepest = max(value for _, _, value in outcome.metrics["counters"]["switch_queue_max"])
    assert deepest == 1 if credits == 1 else deepest > 1


FAULTS = {
    "hop_credit": r"output \d hop \d: \d+ messages with 256 credits",
    "hop_order": r"output \d: message \d+ left as",
    "starve": r"input \d was passed over \d+ times",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_checker_fails(tmp_path: Path, fault: str) -> None:
    """A checker that cannot fail checks nothing."""
    outcome, log = drive(tmp_path, SLOW_PORTS, plusargs={"inject": fault}, requests=8_000, random=True, lines=64)
    assert outcome.verdict != "passed"
    assert re.search(FAULTS[fault], log), log[-2000:]
