"""Crash injection on the functional port: every point is reached once, what is to be lost is lost, the rest is kept."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import pytest
from emu_support import DONE, EAGER, FAULT, LAZY, RANDOM, WARM, Run, emulator, program

AFTER_CRASH = 2
HOST_DROP, HOST_KEEP, PROCESS = range(3)
OFFSET = 0x1000
EVENTS = 5  # of crash_fl_fl and crash_late_flush: two stores, two flushes, a fence
SEEDS = 40


@pytest.fixture(scope="module")
def emu() -> ctypes.CDLL:
    lib = emulator()
    lib.emu_crash_at.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32]
    lib.emu_crash_events.restype = ctypes.c_int64
    return lib


@pytest.fixture(scope="module")
def crash(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("crash")


def schedules() -> list[dict[str, int]]:
    extreme = [{"policy": policy, "seed": 1} for policy in (LAZY, EAGER, WARM)]
    return extreme + [{"policy": RANDOM, "seed": seed} for seed in range(SEEDS)]


def run_crash(emu: Any, producer: Any, recovery: Any, event: int, kind: int = HOST_DROP, **changes: int) -> Any:
    run = Run(emu, **changes)
    run.spawn(0, producer)
    here = recovery.__name__ == "recover_here"
    run.spawn(0 if here else 1, recovery, flags=AFTER_CRASH if here else 0)
    assert emu.emu_crash_at(0, event, kind) == 0
    return run, run.run()


def test_points_are_counted(emu: Any, crash: Any) -> None:
    """Goal: an armed host that does not die counts its stores, flushes, fences and DMA lines."""
    for producer, events in (
        (crash.crash_fl_fl, EVENTS),
        (crash.crash_late_flush, EVENTS),
        (crash.crash_dma, 8 + EVENTS),
    ):
        run = Run(emu)
        run.spawn(0, producer)
        assert emu.emu_crash_at(0, 0, HOST_DROP) == 0
        assert run.run()["state"] == DONE
        assert emu.emu_crash_events(0) == events
        assert emu.emu_crashed(0) == 0


@pytest.mark.parametrize("recovery", ["recover_here", "recover_elsewhere"])
def test_flag_never_without_data(emu: Any, crash: Any, recovery: str) -> None:
    """CRASH-fl-fl: forbidden at every point, under every policy, whatever happens to write-backs under way."""
    for kind in (HOST_DROP, HOST_KEEP, PROCESS):
        for event in range(1, EVENTS + 1):
            for schedule in schedules():
                _run, report = run_crash(emu, crash.crash_fl_fl, getattr(crash, recovery), event, kind, **schedule)
                assert report["state"] == DONE, (kind, event, schedule, report["faults"])
                assert emu.emu_crashed(0) == 1


@pytest.mark.parametrize("recovery", ["recover_here", "recover_elsewhere"])
def test_late_flush_is_caught(emu: Any, crash: Any, recovery: str) -> None:
    """CRASH-late-flush: some crash leaves the flag without the data."""
    seen = set()
    for event in range(1, EVENTS + 1):
        for schedule in schedules():
            _, report = run_crash(emu, crash.crash_late_flush, getattr(crash, recovery), event, **schedule)
            if report["state"] == FAULT:
                assert report["faults"][0]["kind"] == "check", report["faults"]
                seen.add(event)
    assert seen


def device_words(run: Run) -> tuple[int, int]:
    return struct.unpack("<Q", run.device(OFFSET, 8))[0], struct.unpack("<Q", run.device(OFFSET + 64, 8))[0]


def test_what_is_lost_and_what_lives_on(emu: Any, crash: Any) -> None:
    """Goal: the kinds differ as described. Method: lazy caches, crash right before the first flush of late-flush."""
    run, _ = run_crash(emu, crash.crash_late_flush, crash.recover_elsewhere, 3, HOST_DROP, policy=LAZY)
    assert device_words(run) == (0, 0)
    run, _ = run_crash(emu, crash.crash_late_flush, crash.recover_elsewhere, 3, PROCESS, policy=LAZY)
    assert device_words(run) == (1, 1)  # the host's cache was written back at the end


def test_writes_under_way(emu: Any, crash: Any) -> None:
    """Goal: with posted completion a write-back under way is lost or arrives. Method: crash before the last fence."""
    words = set()
    for kind in (HOST_DROP, HOST_KEEP):
        for schedule in schedules():
            run, _ = run_crash(
                emu, crash.crash_fl_fl, crash.recover_elsewhere, 4, kind, completion_posted=1, **schedule
            )
            words.add((kind, device_words(run)[1]))
    assert (HOST_DROP, 0) in words
    assert (HOST_KEEP, 1) in words
    assert (HOST_KEEP, 0) not in words  # x's flush has committed when f was stored


def test_engine_dies_with_its_host(emu: Any, crash: Any) -> None:
    """Goal: lines not moved before the crash stay away. Method: crash before the n-th line, count what arrived."""
    for event in range(1, 9):
        run, report = run_crash(emu, crash.crash_dma, crash.recover_elsewhere, event)
        assert report["state"] == DONE
        lines = [run.device(OFFSET + 128 + 64 * i, 64) for i in range(8)]
        assert sum(line != bytes(64) for line in lines) == event - 1


def test_misuse_is_refused(emu: Any, crash: Any) -> None:
    Run(emu, hosts=2)
    assert emu.emu_crash_at(2, 1, HOST_DROP) == -22
    assert b"host" in emu.emu_error()
    assert emu.emu_crash_at(0, 1, 3) == -22
    assert b"kind" in emu.emu_error()
    Run(emu, hosts=2, coherent=1)
    assert emu.emu_crash_at(0, 1, HOST_DROP) == -22
