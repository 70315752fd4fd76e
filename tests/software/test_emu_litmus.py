"""Rows of the memory model's catalogue as compiled C on the functional port: right ones never fail, wrong ones do."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from emu_support import DONE, EAGER, LAZY, RANDOM, STUCK, WARM, Run, emulator, program

CLEAN_SEEDS = 200
FAULTY_SEEDS = 50

# (row of the catalogue, producer, consumer, argument of both)
RIGHT = [
    ("PUB-fl-fl", "pub_fl_fl", "con_ok", 0),
    ("PUB-fo-sf-fo", "pub_fo_sf_fo", "con_ok", 0),
    ("PUB-wb-sf-wb", "pub_wb_sf_wb", "con_ok", 0),
    ("PUB-stream", "pub_stream", "con_ok", 0),
    ("CON-fo-mf", "pub_fl_fl", "con_fo_mf", 0),
    ("FS-reader-clean", "pub_fl_fl", "new_owner", 0),
    ("ZOMBIE-fixed", "old_owner", "new_owner", 1),
    ("OOB-mf", "oob_sender", "oob_receiver", 1),
]
WRONG = [
    ("PUB-none", "pub_none", "con_ok", 0),
    ("PUB-no-data-flush", "pub_no_data_flush", "con_ok", 0),
    ("PUB-no-flag-flush", "pub_no_flag_flush", "con_ok", 0),
    ("PUB-fo-fo", "pub_fo_fo", "con_ok", 0),
    ("PUB-late-flush", "pub_late_flush", "con_ok", 0),
    ("PUB-sf-only", "pub_sf_only", "con_ok", 0),
    ("PUB-wrong-line", "pub_wrong_line", "con_ok", 0),
    ("PUB-flag-first", "pub_flag_first", "con_ok", 0),
    ("PUB-stream-nofence", "pub_stream_nofence", "con_ok", 0),
    ("CON-noinv", "pub_fl_fl", "con_noinv", 0),
    ("CON-early-inv", "pub_fl_fl", "con_early_inv", 0),
    ("CON-fl-nofence", "pub_fl_fl", "con_fl_nofence", 0),
    ("CON-fl-sf", "pub_fl_fl", "con_fl_sf", 0),
    ("CON-wb-mf", "pub_fl_fl", "con_wb_mf", 0),
    ("ZOMBIE-wb", "old_owner", "new_owner", 0),
    ("OOB-fl-nofence", "oob_sender", "oob_receiver", 0),
]
# Wrong for reasons that no coherent cache cures.
WRONG_ANYWHERE = {"PUB-flag-first", "PUB-stream-nofence"}


@pytest.fixture(scope="module")
def emu() -> ctypes.CDLL:
    return emulator()


@pytest.fixture(scope="module")
def litmus(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("litmus")


def run_row(emu: Any, litmus: Any, row: tuple[str, str, str, int], **changes: int) -> dict[str, Any]:
    _, producer, consumer, arg = row
    litmus.oob_reset(None)
    run = Run(emu, **changes)
    run.spawn(0, getattr(litmus, producer), arg)
    run.spawn(1, getattr(litmus, consumer), arg)
    return run.run()


def schedules(seeds: int) -> list[dict[str, int]]:
    """The three extreme policies first, each with a few seeds, then random ones."""
    extreme = [{"policy": policy, "seed": seed} for policy in (LAZY, EAGER, WARM) for seed in range(1, 6)]
    return extreme + [{"policy": RANDOM, "seed": seed} for seed in range(1, seeds + 1)]


@pytest.mark.parametrize("row", RIGHT, ids=[row[0] for row in RIGHT])
def test_right_programs_are_clean(emu: Any, litmus: Any, row: tuple[str, str, str, int]) -> None:
    """No policy and none of 200 seeds finds a fault in a program that follows the rules."""
    for schedule in schedules(CLEAN_SEEDS):
        report = run_row(emu, litmus, row, **schedule)
        assert report["state"] == DONE, (schedule, report["faults"])


@pytest.mark.parametrize("row", WRONG, ids=[row[0] for row in WRONG])
def test_wrong_programs_are_caught(emu: Any, litmus: Any, row: tuple[str, str, str, int]) -> None:
    """A dropped or weakened step is found, by the detector, a check or a trap state, and replays with its seed."""
    for schedule in schedules(FAULTY_SEEDS):
        report = run_row(emu, litmus, row, **schedule)
        if report["state"] == DONE:
            continue
        again = run_row(emu, litmus, row, **schedule)
        assert again["faults"] == report["faults"]
        assert again["digest"] == report["digest"]
        return
    pytest.fail(f"{row[0]}: no schedule found the fault")


CURED = [row for row in WRONG if row[0] not in WRONG_ANYWHERE]


@pytest.mark.parametrize("row", CURED, ids=[row[0] for row in CURED])
def test_coherent_hosts_hide_noncoherence(emu: Any, litmus: Any, row: tuple[str, str, str, int]) -> None:
    """With all threads in one coherent cache the same programs are right."""
    for schedule in schedules(20):
        report = run_row(emu, litmus, row, coherent=1, **schedule)
        assert report["state"] == DONE, (schedule, report["faults"])


def test_posted_completions_break_flushes(emu: Any, litmus: Any) -> None:
    """PUB-fl-posted: right code fails when a flush completes before the device has the line."""
    row = RIGHT[0]
    states = [run_row(emu, litmus, row, completion_posted=1, **schedule)["state"] for schedule in schedules(20)]
    assert any(state != DONE for state in states)


def test_plain_spin_is_a_trap_state(emu: Any, litmus: Any) -> None:
    """CON-plain-spin: harmless when caches evict, endless in one that keeps the flag; the report says who waits."""
    row = ("CON-plain-spin", "pub_fl_fl", "con_plain_spin", 0)
    report = run_row(emu, litmus, row, policy=WARM)
    assert report["state"] == STUCK
    fault = report["faults"][0]
    assert "con_plain_spin" in fault["message"]
    assert "stale" in fault["message"]
    assert (fault["host"], fault["line"], fault["function"]) == (1, 64, "con_plain_spin")
    assert (fault["other_host"], fault["other_function"]) == (0, "pub_fl_fl")
    assert run_row(emu, litmus, row, policy=RANDOM)["state"] == DONE


def test_stale_read_names_everything(emu: Any, litmus: Any) -> None:
    """The fault names line, hosts and both source locations."""
    report = run_row(emu, litmus, WRONG[1], policy=LAZY)
    fault = report["faults"][0]
    assert fault["kind"] == "stale_read"
    assert (fault["host"], fault["other_host"], fault["line"], fault["pool_offset"]) == (1, 0, 0x1040 // 64, 0x1040)
    assert fault["function"] == "con_ok"
    assert fault["other_function"] == "pub_no_data_flush"
    assert fault["source"].startswith("litmus.c:")
    assert fault["other_source"].startswith("litmus.c:")
    assert "happens before this read" in fault["message"]


def test_two_writers_of_a_line_lose_an_update(emu: Any, litmus: Any) -> None:
    """FS-2dirty: the later whole-line write-back destroys the other host's word; on different lines nothing is lost."""
    kinds = set()
    for schedule in schedules(FAULTY_SEEDS):
        run = Run(emu, **schedule)
        run.spawn(0, litmus.two_writers, 0)
        run.spawn(1, litmus.two_writers, 1)
        report = run.run()
        kinds |= {fault["kind"] for fault in report["faults"]}
    assert kinds == {"lost_update"}
    for schedule in schedules(FAULTY_SEEDS):
        run = Run(emu, **schedule)
        run.spawn(0, litmus.two_writers, 0)
        run.spawn(1, litmus.two_writers, 8)
        assert run.run()["state"] == DONE


def test_zombie_is_a_lost_update(emu: Any, litmus: Any) -> None:
    """ZOMBIE-wb: the old owner's dirty line comes back over the new owner's word."""
    row = next(row for row in WRONG if row[0] == "ZOMBIE-wb")
    reports = [run_row(emu, litmus, row, **schedule) for schedule in schedules(FAULTY_SEEDS)]
    faults = [fault for report in reports for fault in report["faults"]]
    assert any(fault["kind"] == "lost_update" for fault in faults)
