"""Must-fail runs: each fault that can be switched on in the library is caught, and only by what it breaks."""

import re

import pytest

from prismem.paths import SOFTWARE
from prismem.tb.runner.execute import execute
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import make_spec, mutants

SEEDS = range(1, 21)
REQUIRED = [
    "publish_no_data_flush",
    "publish_no_flag_flush",
    "flag_before_data",
    "reader_no_invalidate",
    "invalidate_no_mfence",
    "lock_no_invalidate",
    "padding_halved",
    "valid_before_dma",
]
NONCOHERENCE = re.findall(r"^PM_MUTANT\((\w+),.*, 1\)$", (SOFTWARE / "src" / "mutants.def").read_text(), re.MULTILINE)
# Small pool and many requests, so that locks, eviction and reuse happen often.
OPTIONS = {"requests": "60", "capacity": "200"}


def run(seed: int, mutant: str | None = None, *, port: str = "functional", coherent: bool = False) -> Result:
    spec = make_spec("kv_share", port=port, hosts=3, seed=seed, mutant=mutant, coherent=coherent, options=OPTIONS)
    return execute(spec)


def first_caught(mutant: str, port: str = "functional") -> Result | None:
    return next((result for seed in SEEDS if not (result := run(seed, mutant, port=port)).passed), None)


def test_the_required_faults_exist() -> None:
    assert set(REQUIRED) <= set(mutants())


@pytest.mark.parametrize("mutant", REQUIRED)
def test_mutant_is_caught_and_replays(mutant: str) -> None:
    """Within 20 seeds on the functional port; the report says where, and the same run fails in the same place."""
    caught = first_caught(mutant)
    assert caught is not None, f"{mutant}: not caught with seeds {SEEDS.start}..{SEEDS.stop - 1}"
    assert caught.failure is not None
    for what in (r"\bline \d+\b", r"pool\+0x[0-9a-f]+", r"host \d", r"\w+\.c:\d+ \(\w+\)"):
        assert re.search(what, caught.failure.message), caught.failure.message
    assert f"--mutant {mutant}" in caught.replay
    assert execute(caught.spec).failure == caught.failure


@pytest.mark.parametrize("seed", SEEDS)
def test_library_without_fault_is_clean(seed: int) -> None:
    """The same seeds, nothing switched on."""
    result = run(seed)
    assert result.passed, result.text()


@pytest.mark.parametrize("mutant", NONCOHERENCE)
def test_coherent_machine_hides_faults_of_noncoherence(mutant: str) -> None:
    """All threads on one host: none of the faults that need non-coherent caches fires."""
    for seed in (1, 2, 3):
        result = run(seed, mutant, coherent=True)
        assert result.passed, result.text()


@pytest.mark.regress
def test_five_mutants_are_caught_on_the_rtl() -> None:
    """At least five of the required eight within 20 seeds."""
    caught = [mutant for mutant in REQUIRED if first_caught(mutant, port="rtl") is not None]
    assert len(caught) >= 5, caught


@pytest.mark.regress
@pytest.mark.parametrize("policy", ["random", "lazy", "eager", "warm"])
def test_library_without_fault_is_clean_for_many_seeds(policy: str) -> None:
    """200 seeds on the functional port, 50 for each policy."""
    for seed in range(1, 51):
        spec = make_spec("kv_share", port="functional", hosts=3, seed=seed, policy=policy, options=OPTIONS)
        result = execute(spec)
        assert result.passed, result.text()
