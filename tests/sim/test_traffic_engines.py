"""Traffic engines on the RTL: every answer checked, exact counts, skipped cycles, and checks that fail."""

from pathlib import Path
from typing import Any

import pytest

from prismem.models import latency, profile
from prismem.tb.runner.build import build_bench, build_software
from prismem.tb.runner.execute import BENCH_TEST, execute, simulate
from prismem.tb.runner.result import Result
from prismem.tb.runner.session import OUTCOME_FILE, RUN_DIR_VARIABLE, SPEC_FILE, Outcome
from prismem.tb.runner.spec import make_spec

POOL_LINES_1_MODULE = (2 << 40) // 64


def run(hosts: int = 2, modules: int = 2, every_cycle: bool = False, **options: Any) -> Result:
    """Job engines."""
    texts = {key: str(value) for key, value in options.items()}
    return execute(make_spec("engines", hosts=hosts, modules=modules, every_cycle=every_cycle, options=texts))


def engines(**options: Any) -> dict[str, Any]:
    """Figures of a run that has to pass: wrong, lost or doubled lines end it otherwise."""
    result = run(**options)
    assert result.passed, result.text()
    return dict(result.metrics["engines"])


@pytest.mark.parametrize(
    "options",
    [
        {"read_permille": 500, "lines": 512, "requests": 20_000},
        {"pattern": "linear", "request_bytes": 1024, "read_permille": 500, "requests": 2_000},
        {"request_bytes": 32, "read_permille": 500, "lines": 256, "outstanding": 64, "requests": 20_000},
        {"pattern": "strided", "stride": 64, "read_permille": 700},
        {"hot_permille": 300, "hot_module": 1, "read_permille": 700, "requests": 10_000},
    ],
    ids=["random", "bursts", "halves", "strided", "hot"],
)
def test_every_line_is_answered_once_and_right(options: dict[str, Any]) -> None:
    """Lines are written over and over, whole or by halves, and read between: the newest bytes come back, once."""
    figures = engines(**options)
    lines = max(1, options.get("request_bytes", 64) // 64)
    assert figures["issued_lines"] == 2 * lines * options.get("requests", 20_000)
    assert set(figures["errors"].values()) == {0}


def test_idle_latency_is_that_of_the_formula() -> None:
    """One line in flight, arrivals far apart: the engine's histogram says what the profile's formula says."""
    pfma = profile.load("pfma", ["hbm.refresh_interval=0 ns"])
    for kind, permille in (("read", 1000), ("write", 0)):
        result = execute(
            make_spec(
                "engines",
                hosts=1,
                modules=1,
                sets=("hbm.refresh_interval=0 ns",),
                options={
                    "outstanding": "1",
                    "read_permille": str(permille),
                    "lines": "64",
                    "requests": "300",
                    "warmup": "100",
                    "load_mb_s": "50",
                },
            )
        )
        assert result.passed, result.text()
        assert result.metrics["engines"][kind]["p50_ns"] == latency.idle_ns(pfma, kind)


def test_first_and_last_line_of_the_pool() -> None:
    """A walk over all 2 TiB that starts 8 lines before the end goes on with the first lines: all right."""
    figures = engines(
        hosts=1,
        modules=1,
        pattern="linear",
        lines=POOL_LINES_1_MODULE,
        start=POOL_LINES_1_MODULE - 8,
        requests=16,
        outstanding=4,
        read_permille=500,
    )
    assert figures["issued_lines"] == 16


def test_skipped_cycles_change_nothing() -> None:
    """Light load with random arrivals: all figures are the same with every cycle clocked."""
    options = {"load_mb_s": 500, "poisson": True, "requests": 500, "read_permille": 600}
    short, whole = run(**options), run(every_cycle=True, **options)
    assert short.metrics["engines"] == whole.metrics["engines"]
    assert short.metrics["run"]["cycles"] < whole.metrics["run"]["cycles"]


@pytest.mark.parametrize("poisson", [False, True])
def test_offered_load_is_carried(poisson: bool) -> None:
    """Open loop at 10 GB/s a host, far below any limit: what is offered is what is moved, within 3 sigma."""
    figures = engines(load_mb_s=10_000, poisson=poisson, requests=11_000, warmup=1_000)
    tolerance = 0.03 if poisson else 0.002
    assert figures["hosts_gb_s"] == pytest.approx([10, 10], rel=tolerance)


def test_32_byte_requests_use_what_they_share() -> None:
    """Linear ones share a line, so all of it is used; random ones move 64 bytes and use 32."""
    linear = engines(pattern="linear", request_bytes=32)
    assert linear["useful_gb_s"] == pytest.approx(linear["hosts_gb_s"], rel=0.001)
    scattered = engines(pattern="random", request_bytes=32)
    assert [2 * rate for rate in scattered["useful_gb_s"]] == pytest.approx(scattered["hosts_gb_s"], rel=0.001)


def test_a_hot_module_gets_its_share() -> None:
    """Half of the requests go to module 1, the others to both alike: three quarters of the lines are its."""
    for lines in engines(hot_permille=500, hot_module=1, requests=20_000)["modules"]:
        assert lines[1] / sum(lines) == pytest.approx(0.75, abs=0.02)


def inject(run_dir: Path, fault: str) -> tuple[str | None, Outcome]:
    """Job engines with a fault of the bench."""
    spec = make_spec("engines", options={"requests": "3000", "read_permille": "700"})
    profile_ = spec.request().profile
    build_software()
    build = build_bench(profile_.parameters(2, 2))
    (run_dir / SPEC_FILE).write_text(spec.model_dump_json())
    plusargs: dict[str, Any] = profile_.straps(2) | {"inject": fault, "probes": 0, "lost_ns_max": 5_000}
    problem = simulate(
        build, BENCH_TEST, run_dir, seed=1, plusargs=plusargs, environment={RUN_DIR_VARIABLE: str(run_dir)}
    )
    return problem, Outcome.model_validate_json((run_dir / OUTCOME_FILE).read_text())


@pytest.mark.parametrize(
    ("fault", "found"),
    [("flip", "1 wrong bytes"), ("lose", "lines without an answer"), ("again", "1 answers nobody waits for")],
)
def test_each_check_of_the_engine_fails(tmp_path: Path, fault: str, found: str) -> None:
    """One turned bit, one lost answer, one answer that comes twice: each is counted under its own name."""
    problem, outcome = inject(tmp_path, fault)
    assert problem is not None
    assert outcome.failure is not None
    assert found in outcome.failure.message
