"""libprismem on emulated non-coherent hosts: the C tests are clean, and each seeded fault is caught."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib_support import Mutant, build, first_fault, mutants, names_in_source, run_functional

from prismem.lib.emu import State
from prismem.lib.mutants import select_mutant
from prismem.lib.pool import load
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec

SEEDS_CLEAN = 120
SEEDS_PATH = 8
SEEDS_FAULT = 20
STEPS_FAULT = 1_000_000

# Tests tried for a fault, the likeliest first.
HUNTERS = (
    *("index_share", "rendezvous_ring", "publish_consume", "lock_counter", "index_evict_race", "index_collide"),
    *("lock_counter_slots", "lock_quota"),
)
# Show in test_lock_tiers.py, by what it counts or in its many runs.
COUNTED = ("manager_unfair", "bakery_numbers_fall", "queue_old_news")


@pytest.fixture
def mutant() -> Iterator[None]:
    """Whatever a test switches on is off afterwards."""
    yield
    select_mutant("none")


@pytest.mark.parametrize("name", names_in_source())
def test_clean(name: str) -> None:
    """Goal: no fault, no stuck run, no failed check. Method: three hosts, all four policies, several seeds."""
    for seed in range(SEEDS_CLEAN):
        state, report = run_functional(name, seed)
        assert state is State.DONE, f"seed {seed}: {first_fault(report)}"


@pytest.mark.regress
@pytest.mark.parametrize("name", names_in_source())
def test_clean_many_seeds(name: str) -> None:
    """Goal: the same over 1000 seeds."""
    for seed in range(1000):
        state, report = run_functional(name, seed)
        assert state is State.DONE, f"seed {seed}: {first_fault(report)}"


@pytest.fixture
def force() -> Iterator[Callable[[str], None]]:
    """Forces a flush path, or payload by streaming stores; the defaults of the emulated host are back afterwards."""
    build()
    library = load(instrumented=True)

    def choose(path: str) -> None:
        name = path.encode()
        code = library.pm_dma_force(name) if path in ("stream", "auto") else library.pm_verbs_force(name)
        assert code == 0, path

    yield choose
    choose("clflushopt")
    choose("auto")


@pytest.mark.parametrize("path", ["clflush", "clwb", "stream"])
@pytest.mark.parametrize("name", names_in_source())
def test_clean_on_each_path(name: str, path: str, force: Callable[[str], None]) -> None:
    """Goal: the paths that the emulated host does not take by itself are right. Method: force each; some seeds."""
    force(path)
    for seed in range(SEEDS_PATH):
        state, report = run_functional(name, seed)
        assert state is State.DONE, f"seed {seed}: {first_fault(report)}"


def test_more_blocks_than_the_engine_takes(tmp_path: Path) -> None:
    """Goal: a request of more blocks than transfers fit in flight (4096). Method: job kv_share, one request of 5000."""
    blocks = 5000
    trace = tmp_path / "trace.jsonl"
    request = {"timestamp": 0, "input_length": blocks, "output_length": 1, "hash_ids": list(range(blocks))}
    trace.write_text(json.dumps(request) + "\n", encoding="utf-8")
    options = {"trace": str(trace), "tokens_per_block": "1", "bytes_per_token": "64"}
    result = execute(make_spec("kv_share", port="functional", hosts=2, options=options))
    assert result.passed, result.failure
    assert result.metrics["kv"]["inserts"] == blocks


def hunt(coherent: bool = False) -> str | None:
    """The first fault that any of the hunting tests meets, or None."""
    for name in HUNTERS:
        for seed in range(SEEDS_FAULT):
            state, report = run_functional(name, seed, coherent=coherent, step_limit=STEPS_FAULT)
            if state is not State.DONE:
                return f"{name} seed {seed}: {first_fault(report)}"
    return None


@pytest.mark.parametrize("fault", [m for m in mutants() if m.name not in COUNTED], ids=lambda m: m.name)
@pytest.mark.usefixtures("mutant")
def test_each_mutant_is_caught(fault: Mutant) -> None:
    """Goal: every fault of mutants.def shows within 20 seeds. Method: switch it on, run the hunting tests."""
    build()
    select_mutant(fault.name)
    assert hunt() is not None, f"{fault.name} ({fault.description}) was not caught"


@pytest.mark.parametrize("fault", [m for m in mutants() if m.noncoherence], ids=lambda m: m.name)
@pytest.mark.usefixtures("mutant")
def test_coherent_hosts_hide_it(fault: Mutant) -> None:
    """Goal: a fault of non-coherence does not show when all threads share one cache, so nothing else is wrong."""
    build()
    select_mutant(fault.name)
    assert hunt(coherent=True) is None


def test_same_seed_same_run() -> None:
    """Goal: a run follows from its seed. Method: digests of two runs, and of another seed."""
    first, again, other = (run_functional("index_share", seed)[1]["digest"] for seed in (8, 8, 12))
    assert first == again
    assert first != other
