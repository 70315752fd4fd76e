"""The port-level environment: each test passes on the hardware, and fails for the right reason with a fault."""

import re
from typing import Any

import pytest

from prismem.tb.uvm import launch
from prismem.tb.uvm.speed import run_bfm
from prismem.tb.uvm.tests import TESTS
from prismem.tb.uvm.twins import TWINS

NO_ORDER = r"memory scoreboard: host \d: read of line 0x\w+, issued at \d+ ns, returned a value that no order"
NOT_IN_FLIGHT = r"memory scoreboard: host \d: response for tag \d+, which is not in flight"
NEVER_ANSWERED = r"memory scoreboard: host \d \w+ tag \d+ line 0x\w+: was never answered"
NO_DECODER = "no decoder claims the line, and the answer does not say so"
LOST_ON_PATH = r"lightpath scoreboard: host \d module \d \w+ tag \d+: .*lost, doubled, swapped or changed"

# test, what is wrong, what must be said. `twin` corrupts what the monitors publish, the others are faults in the bench.
FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("random", {"twin": "wrong_bit"}, NO_ORDER),
    ("random", {"twin": "wrong_tag"}, NOT_IN_FLIGHT),
    ("random", {"twin": "wrong_ld"}, r"answered with LD-ID \d+, not \d+"),
    ("random", {"twin": "wrong_channel"}, "answered on the wrong channel"),
    ("random", {"twin": "error_at_random"}, "answered with an error"),
    ("random", {"twin": "poison_at_random"}, NO_ORDER),
    ("random", {"twin": "path_doubled"}, r"lost, doubled, swapped or changed|came out that did not go in"),
    ("random", {"plusargs": {"inject": "write_lost"}}, NO_ORDER),
    ("random", {"time_ns_max": 500}, r"RandomTest: not done after 500 ns, \d+ requests in flight"),
    ("corners", {"plusargs": {"inject": "misplaced"}}, NO_ORDER),
    ("corners", {"twin": "path_wrong_line"}, "a request that its host did not ask for"),
    ("partial", {"plusargs": {"inject": "byte_enable"}}, NO_ORDER),
    ("unmapped", {"twin": "nxm_as_data"}, NO_DECODER),
    ("unmapped", {"twin": "nxm_without_error"}, NO_DECODER),
    ("back_pressure", {"twin": "lost_cmp"}, NEVER_ANSWERED),
    ("back_pressure", {"plusargs": {"inject": "unstable"}}, "a message that was not taken went away or changed"),
    ("back_pressure", {"plusargs": {"inject": "lane"}}, "lane 1 is valid without lane 0"),
    ("races", {"plusargs": {"inject": "torn"}}, NO_ORDER),
    ("load", {"twin": "doubled_cmp"}, NOT_IN_FLIGHT),
    ("load", {"twin": "ghost_request"}, NEVER_ANSWERED),
    ("load", {"twin": "path_changed"}, LOST_ON_PATH),
    ("reset", {"twin": "reset_unseen"}, "its tag is in flight already|was never answered|went in and never came out"),
    ("not_ready", {"plusargs": {"inject": "bright"}}, "an answer came over a lightpath without light"),
    ("not_ready", {"plusargs": {"inject": "dark", "live_ns_max": 5000}}, "no progress for more than 5000 ns"),
    ("not_ready", {"twin": "path_lost"}, LOST_ON_PATH),
    ("cxl_flip", {"twin": "wrong_bit"}, NO_ORDER),
    ("cxl_drop", {"plusargs": {"fault_cxl_drop_e6": 0}}, "cxl_drop: only 0 faults happened"),
    ("path_flip", {"twin": "path_changed"}, LOST_ON_PATH),
    ("dead_path", {"twin": "lost_cmp"}, NEVER_ANSWERED),
    ("dead_path", {"plusargs": {"inject": "bright"}}, "0 requests to a dead path were answered as failed"),
    ("dead_link", {"plusargs": {"fault_cxl_down_ns": 1 << 40}}, "no request was answered as failed"),
    ("dead_link", {"twin": "lost_cmp"}, NEVER_ANSWERED),
    ("poison", {"twin": "poison_lost"}, NO_ORDER),
    ("poison", {"twin": "poison_at_random"}, NO_ORDER),
    ("one_poison", {"twin": "poison_at_random"}, NO_ORDER + r"|reads poison from lines \['0x\w+'\], bad is None"),
    ("dev_load", {"twin": "load_at_random"}, "an idle device does not tell a light load; host 0 module 0 level 0: "),
    ("path_drop", {"twin": "path_doubled"}, r"lost, doubled, swapped or changed|came out that did not go in"),
]


def name_of(fault: dict[str, Any]) -> str:
    """What is wrong, in a word."""
    return str(fault.get("twin") or fault.get("plusargs", {}).get("inject") or "time")


def faults() -> list[Any]:
    """One fault of each test always, the others in the regression."""
    seen: set[str] = set()
    found = []
    for test, fault, words in FAULTS:
        marks = [pytest.mark.regress] if test in seen else []
        found.append(pytest.param(test, fault, words, id=f"{test}-{name_of(fault)}", marks=marks))
        seen.add(test)
    return found


@pytest.mark.parametrize("test", TESTS)
def test_hardware_passes(test: str) -> None:
    """Nothing is found, and there was something to find it in."""
    done = launch.run(test)
    assert done.passed, done.problem or done.outcome["findings"][0]
    assert sum(done.outcome["answered"].values()) > 50
    assert done.outcome["crossed"] > 50


@pytest.mark.regress
@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_hardware_passes_with_other_seeds(test: str, seed: int) -> None:
    done = launch.run(test, seed=seed)
    assert done.passed, done.problem or done.outcome["findings"][0]


@pytest.mark.parametrize(("test", "fault", "words"), faults())
def test_a_fault_is_found(test: str, fault: dict[str, Any], words: str) -> None:
    """The same test with a fault planted fails, with words that say what is wrong."""
    done = launch.run(test, **fault)
    assert not done.passed
    assert re.search(words, done.log), done.log[-2000:]


def test_every_test_and_every_corruption_has_a_negative_twin() -> None:
    assert {test for test, _, _ in FAULTS} == set(TESTS)
    assert {fault["twin"] for _, fault, _ in FAULTS if "twin" in fault} == set(TWINS)


def test_bus_models_move_checked_lines() -> None:
    """The plain host models of the speed comparison end, and look at the data that comes back."""
    done = run_bfm(requests=300, read_permille=1000)
    assert (done["problem"], done["lines"], done["wrong"]) == (None, 600, 0)
    assert run_bfm(requests=300, read_permille=1000, flip_answer=100)["wrong"] == 2
