"""The DMA engine bypasses the cache of its own host too: rows DMA-* of the catalogue, on the functional port."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from emu_support import DONE, EAGER, LAZY, RANDOM, WARM, Run, emulator, program


@pytest.fixture(scope="module")
def emu() -> ctypes.CDLL:
    return emulator()


@pytest.fixture(scope="module")
def dma(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("dma")


def schedules(seeds: int) -> list[dict[str, int]]:
    extreme = [{"policy": policy, "seed": 1} for policy in (LAZY, EAGER, WARM)]
    return extreme + [{"policy": RANDOM, "seed": seed} for seed in range(1, seeds + 1)]


def run_pair(emu: Any, threads: list[tuple[int, Any, int]], **changes: int) -> dict[str, Any]:
    run = Run(emu, **changes)
    for host, fn, arg in threads:
        run.spawn(host, fn, arg)
    return run.run()


def assert_clean(emu: Any, threads: list[tuple[int, Any, int]], **changes: int) -> None:
    for schedule in schedules(100):
        report = run_pair(emu, threads, **schedule, **changes)
        assert report["state"] == DONE, (schedule, report["faults"])


def caught_kinds(emu: Any, threads: list[tuple[int, Any, int]], **changes: int) -> set[str]:
    reports = [run_pair(emu, threads, **schedule, **changes) for schedule in schedules(50)]
    return {fault["kind"] for report in reports for fault in report["faults"]}


def test_payload_by_dma_then_valid(emu: Any, dma: Any) -> None:
    """DMA-meta-valid: transfer, completion, valid + flush; the reader's DMA sees every byte."""
    assert_clean(emu, [(0, dma.dma_produce, 0), (1, dma.dma_consume, 0)])


def test_valid_before_completion_is_caught(emu: Any, dma: Any) -> None:
    assert caught_kinds(emu, [(0, dma.dma_produce_early, 0), (1, dma.dma_consume, 0)]) >= {"check"}


def test_read_of_unflushed_data_is_caught(emu: Any, dma: Any) -> None:
    """DMA-rd-noflush and DMA-rd-flush; an engine that snoops its own host needs no flush."""
    assert caught_kinds(emu, [(0, dma.dma_read_own, 0)]) == {"stale_read"}
    assert_clean(emu, [(0, dma.dma_read_own, 1)])
    assert_clean(emu, [(0, dma.dma_read_own, 0)], dma_snoop=1)


def test_target_left_dirty_is_caught(emu: Any, dma: Any) -> None:
    """Zeros left in the cache come back over the payload."""
    kinds = caught_kinds(emu, [(0, dma.dma_produce_zeroed, 0), (1, dma.dma_consume, 0)])
    assert "lost_update" in kinds
    assert_clean(emu, [(0, dma.dma_produce_zeroed, 1), (1, dma.dma_consume, 0)])


def test_stale_clean_copy_after_transfer_is_caught(emu: Any, dma: Any) -> None:
    """A host's own loads do not see its own engine's writes while it has old copies."""
    assert caught_kinds(emu, [(0, dma.dma_then_load, 0)]) == {"stale_read"}
    assert_clean(emu, [(0, dma.dma_then_load, 1)])


def test_misuse_is_refused(emu: Any, dma: Any) -> None:
    report = run_pair(emu, [(0, dma.dma_misuse, 0)])
    assert report["state"] == DONE, report["faults"]


def test_lines_are_counted(emu: Any, dma: Any) -> None:
    report = run_pair(emu, [(0, dma.dma_produce, 0), (1, dma.dma_consume, 0)])
    assert [host["dma_lines_in"] for host in report["hosts"]] == [4, 0]
    assert [host["dma_lines_out"] for host in report["hosts"]] == [0, 4]
