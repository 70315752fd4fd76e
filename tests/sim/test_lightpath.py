"""One lightpath under faults: every item arrives once, unchanged and in turn; a path that is dead says so in time.

The bench (hdl/path_bench_top.sv) has a source and a sink at each end; what item k has to be follows from the seed and
k, so nothing that the links do with frames, Acks and replays can go unnoticed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from prismem.models import frame, profile
from prismem.models.profile import LONG_HEADER_B, SHORT_CREDITS_MAX
from prismem.models.profile_tables import CREDIT_CLASSES
from prismem.paths import RTL
from prismem.tb.runner.build import Build, build_hdl, hdl_sources
from prismem.tb.runner.execute import simulate
from prismem.tb.runner.result import LOG_FILE

HERE = Path(__file__).parent
BENCH = HERE / "hdl"
PFMA = profile.load("pfma")
TIME_NS_MAX = 3_000_000
REQUESTS, RESPONSES = 0, 1
BENCH_FILES = ("tb_straps", "check_pkg")
# Bits of the longest frame of each direction: header 4 B, four items, CRC 4 B. A poisoned partial write takes 2 B of
# tag, 6 B of address, 8 B of enables and its line.
POSITIONS = {REQUESTS: 8 * (4 + 4 * (2 + 6 + 8 + 64) + 4), RESPONSES: 8 * (4 + 4 * 66 + 4)}


@dataclass(frozen=True)
class Run:
    """What one run left: RESULT lines by name and direction, and the log."""

    problem: str | None
    log: str
    results: dict[str, dict[int, int]]

    def both(self, name: str) -> tuple[int, int]:
        """A result of both directions."""
        return self.results[name][REQUESTS], self.results[name][RESPONSES]


Drive = Callable[..., Run]


def build(reach: int) -> Build:
    rtl = (RTL / "common", RTL / "photonic", RTL / "cxl" / "cxl_pkg.sv", RTL / "pf_nic" / "pf_hdm_pkg.sv")
    keep = [p for p in hdl_sources() if p in rtl or p.parent in rtl or p.suffix == ".vlt" or p.stem in BENCH_FILES]
    return build_hdl(
        "path_bench_top", [BENCH / "path_bench_top.vlt", *keep, BENCH / "path_bench_top.sv"], {"Reach": reach}
    )


@pytest.fixture(scope="module")
def bench() -> Build:
    return build(0)


@pytest.fixture
def drive(bench: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    """Run the bench with plusargs over the straps of a profile."""
    monkeypatch.syspath_prepend(str(HERE))

    def run(*sets: str, **arguments: int) -> Run:
        loaded = profile.load("pfma", sets)
        made = build(loaded.path_reach) if loaded.path_reach else bench
        straps = loaded.straps(1) | arguments
        environment = {"PRISMEM_PATH_BENCH_NS_MAX": str(TIME_NS_MAX)}
        problem = simulate(made, "path_bench", tmp_path, seed=1, plusargs=straps, environment=environment)
        log = (tmp_path / LOG_FILE).read_text(errors="replace")
        results: dict[str, dict[int, int]] = {}
        for name, index, value in re.findall(r"^RESULT (\w+) (\d+) (\d+)$", log, re.MULTILINE):
            results.setdefault(name, {})[int(index)] = int(value)
        return Run(problem, log, results)

    return run


def arrived(run: Run, items: int) -> Run:
    """Every item of both directions came, each as it was sent."""
    assert run.problem is None, run.log[-2000:]
    assert run.both("taken") == (items, items)
    assert run.both("wrong") == (0, 0), run.log[-2000:]
    assert run.results["dead"][0] == 0
    return run


@pytest.mark.parametrize("stall_permille", [0, 500])
@pytest.mark.parametrize("gap_permille", [0, 900])
def test_items_arrive(drive: Drive, stall_permille: int, gap_permille: int) -> None:
    """Sources that never or mostly wait, sinks that never or often refuse."""
    arrived(drive(items=5_000, stall_permille=stall_permille, gap_permille=gap_permille), 5_000)


def test_few_credits_are_enough(drive: Drive) -> None:
    """One place of each class: slow, and nothing stands still."""
    one = [f"path.{name}_credits=1" for name in ("request", "write", "read", "completion")]
    arrived(drive(*one, items=200, stall_permille=200), 200)


def test_every_position_of_a_frame(drive: Drive) -> None:
    """One bit of every 20th frame is wrong, one position after the other, until each has been hit both ways."""
    items = 120_000
    run = arrived(drive(items=items, flip_every=20, longest=1), items)
    assert run.results["positions"] == POSITIONS


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("permille", [1, 50, 500])
def test_bits_flip_at_random(drive: Drive, seed: int, permille: int) -> None:
    """Up to every second frame has an error, anywhere; replays of replays, Naks and Acks among them."""
    run = arrived(drive(items=2_000, seed=seed, flip_permille=permille, stall_permille=100), 2_000)
    assert min(run.both("flips")) > 0 or permille == 1


@pytest.mark.parametrize("permille", [10, 300])
def test_frames_are_lost(drive: Drive, permille: int) -> None:
    """A frame that never comes is missed by the next one's number, or by the timer when there is no next one."""
    run = arrived(drive(items=2_000, drop_permille=permille, gap_permille=300), 2_000)
    assert min(run.both("drops")) > 0


def test_every_note_is_lost(drive: Drive) -> None:
    """Acks and credits that travel alone never come: replays do instead, and no old frame is taken twice."""
    run = arrived(drive(items=300, drop_notes=1, gap_permille=990), 300)
    assert min(run.both("drops")) > 10


@pytest.mark.parametrize("side", [1, 2, 3])
def test_an_outage_heals(drive: Drive, side: int) -> None:
    """For 1 us nothing that starts arrives, in one direction or in both."""
    run = arrived(drive(items=3_000, dark_ns=2_000, dark_for_ns=1_000, dark_side=side), 3_000)
    quick = arrived(drive(items=3_000), 3_000)
    for direction, bit in ((REQUESTS, 1), (RESPONSES, 2)):
        later_ns = run.results["end_ns"][direction] - quick.results["end_ns"][direction]
        if side & bit:
            assert 990 <= later_ns <= 2_500, direction  # a frame under way when the light goes out still arrives


def test_the_replay_limit_ends_a_path(drive: Drive) -> None:
    """Light that never comes back: dead after the limit of replays, each a round trip and the replay time."""
    path = PFMA.path
    travel_ns = path.phy_time.canonical + path.fibre_length.canonical
    attempt_ns = 2 * travel_ns + path.replay_time.canonical
    run = drive(items=3_000, dark_ns=2_000, dark_for_ns=10_000_000)
    assert run.problem is None, run.log[-2000:]
    assert run.results["dead"][0] == 1
    assert run.both("wrong") == (0, 0)
    taken_ns = max(run.both("end_ns"))
    death_ns = run.results["done_ns"][0]
    # A replay that is not the first starts when the timer has run out behind the frame that it repeats.
    limit = path.replay_limit.canonical
    assert (limit - 1) * attempt_ns <= death_ns - taken_ns <= (limit + 2) * (attempt_ns + 10)


@pytest.mark.parametrize("rate", ["28.125 GB/s", "14 GB/s"])
def test_both_directions_at_once(drive: Drive, rate: str) -> None:
    """Full load both ways: the mix of items fills the wire to 97 % of what their frames take."""
    full_rate(drive, f"path.rate={rate}", items=8_000)


def full_rate(drive: Drive, *sets: str, items: int) -> None:
    """Raise unless a path is full in the direction of the responses; the first and the last flight are left out."""
    loaded = profile.load("pfma", sets)
    run = arrived(drive(*sets, items=items), items)
    # Half of the items to the NIC have a line, by chance: 66 B and 2 B in equal parts, within 1 %.
    sizes = [frame.response_item_bytes(loaded, kind) for kind in ("read", "write")]
    bytes_an_item = sum(sizes) / 2 + frame.frame_bytes(loaded, []) / frame.ITEMS_MAX
    best_ns = items * bytes_an_item / (loaded.path.rate.canonical / 16)
    flight_ns = loaded.path.fibre_length.canonical - PFMA.path.fibre_length.canonical
    assert 0.99 * best_ns <= run.results["end_ns"][RESPONSES] - flight_ns <= best_ns / 0.97


def fibre(length_m: int) -> list[str]:
    """Settings of a fibre: its length, and the credits that its round trip takes, in the header that counts so many."""
    base = [f"path.fibre_length={length_m} m"]
    needed = frame.credits_needed(profile.load("pfma", base))
    if needed <= SHORT_CREDITS_MAX:
        return base
    depth = 1 << needed.bit_length()
    return [
        *base,
        f"frame.header={LONG_HEADER_B} B",
        *(f"path.{name}_credits={depth - 1}" for name in CREDIT_CLASSES),
    ]


LONG = [pytest.param(length_m, marks=pytest.mark.regress) for length_m in (10, 50)]  # a build each


@pytest.mark.parametrize("length_m", [1, *LONG, 100])
def test_any_length_of_fibre_is_full(drive: Drive, length_m: int) -> None:
    """With credits for rate x round trip, 97 % of the wire; 100 m take 856 of a class."""
    full_rate(drive, *fibre(length_m), items=12_000)


def test_few_credits_limit_a_long_fibre(drive: Drive) -> None:
    """127 credits of a class and 100 m: no more than 127 items of a class a round trip; the same items come."""
    items = 3_000
    run = arrived(drive("path.fibre_length=100 m", items=items), items)
    round_trip_ns = 2 * (500 + PFMA.path.phy_time.canonical)
    assert run.results["end_ns"][RESPONSES] >= 0.95 * items / 2 / 127 * round_trip_ns


def test_bits_flip_on_a_long_fibre(drive: Drive) -> None:
    """Every hundredth frame has an error, with hundreds of frames under way and numbers that wrap."""
    run = arrived(drive(*fibre(100), items=20_000, flip_permille=10, stall_permille=100), 20_000)
    assert min(run.both("flips")) > 10


@pytest.mark.parametrize("every", [2, 3, 4, 6, 8, 16])
def test_errors_at_a_fixed_distance_do_not_stop_a_path(drive: Drive, every: int) -> None:
    """A replay that always has the same length does not meet the same error for ever: attempts differ in length."""
    arrived(drive(items=600, flip_every=every), 600)
