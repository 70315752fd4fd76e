"""The RTL port against a driver that plays the hardware: values, order of calls, latency sums, answers with errors."""

from __future__ import annotations

import ctypes
import json
import threading
from typing import Any

import pytest
from emu_support import (
    DEADLOCK,
    DONE,
    EAGER,
    FAULT,
    LAZY,
    POOL_BYTES,
    RANDOM,
    RUNNING,
    STUCK,
    WARM,
    Run,
    emulator,
    program,
)

HPA_BASE = 1 << 32
STAGES, STAGE_NIC_TAG = 12, 2  # enum emu_dpi_stage
NOWHERE = 2**64 - 1


class Options(ctypes.Structure):
    """`fake_rtl_options` of programs/fake_rtl.cpp."""

    _wide = ("seed", "shuffle_seed", "cycles_max", "hpa_base", "hpa_bytes", "poison_hpa")
    _narrow = ("hosts", "modules", "delay_max", "flip_bit", "lose_probe", "swap_lines", "late_issue", "lose_write")
    _fields_ = [
        *[(name, ctypes.c_uint64) for name in _wide],
        *[(name, ctypes.c_uint32) for name in _narrow],
    ]


class Traffic(ctypes.Structure):
    """`emu_traffic` of prismem_emu.h."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint32),
        ("host", ctypes.c_uint32),
        ("outstanding", ctypes.c_uint32),
        ("read_permille", ctypes.c_uint32),
        ("random", ctypes.c_uint32),
        ("gap_ns", ctypes.c_uint32),
        ("first_line", ctypes.c_uint64),
        ("lines", ctypes.c_uint64),
        ("requests", ctypes.c_uint64),
        ("tolerate", ctypes.c_uint32),
    ]


@pytest.fixture(scope="module")
def emu() -> ctypes.CDLL:
    return emulator()


@pytest.fixture(scope="module")
def litmus(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("litmus")


@pytest.fixture(scope="module")
def moves(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("moves")


@pytest.fixture(scope="module")
def dma(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("dma")


@pytest.fixture(scope="module")
def hardware(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("fake_rtl")


def machine(emu: Any, **changes: int) -> Run:
    return Run(emu, **{"port": 1, "hpa_base": HPA_BASE, "jitter_ns": 40, **changes})


def drive(hardware: Any, **changes: int) -> tuple[int, int, int]:
    """Play the hardware to the end: state, cycles, cycles skipped while idle."""
    fields = {
        "seed": 1,
        "shuffle_seed": 1,
        "cycles_max": 5_000_000,
        "hpa_base": HPA_BASE,
        "hpa_bytes": POOL_BYTES,
        "poison_hpa": NOWHERE,
        "hosts": 2,
        "modules": 2,
        "delay_max": 30,
        **changes,
    }
    cycles, skipped = ctypes.c_uint64(), ctypes.c_uint64()
    state = hardware.fake_rtl_run(ctypes.byref(Options(**fields)), ctypes.byref(cycles), ctypes.byref(skipped))
    return state, cycles.value, skipped.value


def latency(emu: Any) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(emu.emu_latency_report())
    return report


def pair(
    emu: Any, hardware: Any, threads: list[tuple[int, Any, int]], drive_with: dict[str, int], **changes: int
) -> dict[str, Any]:
    run = machine(emu, **changes)
    for host, fn, arg in threads:
        run.spawn(host, fn, arg)
    state, _, _ = drive(hardware, **drive_with)
    report = run.report()
    assert report["state"] == state != RUNNING
    return report


SCHEDULES = [{"policy": policy, "seed": seed} for policy in (LAZY, EAGER, WARM) for seed in (1, 2)] + [
    {"policy": RANDOM, "seed": seed} for seed in range(1, 21)
]


@pytest.mark.parametrize("producer", ["pub_fl_fl", "pub_fo_sf_fo", "pub_wb_sf_wb", "pub_stream"])
def test_right_programs_are_clean(emu: Any, litmus: Any, hardware: Any, producer: str) -> None:
    for schedule in SCHEDULES:
        threads = [(0, getattr(litmus, producer), 0), (1, litmus.con_ok, 0)]
        report = pair(emu, hardware, threads, {"seed": schedule["seed"]}, **schedule)
        assert report["state"] == DONE, (schedule, report["faults"])
        table = latency(emu)
        assert table["sums_checked"] > 0
        assert table["sum_errors"] == 0, table["first_sum_error"]


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        ("pub_none", "con_ok"),
        ("pub_no_data_flush", "con_ok"),
        ("pub_fo_fo", "con_ok"),
        ("pub_sf_only", "con_ok"),
        ("pub_flag_first", "con_ok"),
        ("pub_stream_nofence", "con_ok"),
        ("pub_fl_fl", "con_noinv"),
        ("pub_fl_fl", "con_early_inv"),
        ("pub_fl_fl", "con_fl_nofence"),
        ("pub_fl_fl", "con_wb_mf"),
    ],
)
def test_wrong_programs_are_caught(emu: Any, litmus: Any, hardware: Any, producer: str, consumer: str) -> None:
    for seed in range(1, 51):
        for policy in (LAZY, WARM, RANDOM):
            threads = [(0, getattr(litmus, producer), 0), (1, getattr(litmus, consumer), 0)]
            report = pair(emu, hardware, threads, {"seed": seed}, policy=policy, seed=seed)
            if report["state"] in (FAULT, STUCK):
                return
    pytest.fail("no schedule found the fault")


@pytest.mark.parametrize("name", ["copies", "structures", "atomics", "streams", "simulated_time", "posix_threads"])
def test_program_behaves_as_on_plain_memory(emu: Any, moves: Any, hardware: Any, name: str) -> None:
    report = pair(
        emu, hardware, [(1, getattr(moves, name), 0)], {"cycles_max": 50_000_000}, step_limit=10_000_000, event_every=20
    )
    assert report["state"] == DONE, report["faults"] + report["threads"]


def test_dma_over_the_port(emu: Any, dma: Any, hardware: Any) -> None:
    """Payload by DMA, published, read by DMA; each line is one transaction of its own class."""
    for seed in range(1, 11):
        report = pair(emu, hardware, [(0, dma.dma_produce, 0), (1, dma.dma_consume, 0)], {"seed": seed}, seed=seed)
        assert report["state"] == DONE, report["faults"]
        assert latency(emu)["dma_read"]["count"] == latency(emu)["dma_write"]["count"] == 4
    early = [
        pair(emu, hardware, [(0, dma.dma_produce_early, 0), (1, dma.dma_consume, 0)], {"seed": s}, seed=s)
        for s in range(1, 31)
    ]
    assert any(report["state"] == FAULT for report in early)


def test_order_of_bench_processes_has_no_influence(emu: Any, litmus: Any, hardware: Any) -> None:
    """The order of pops, completions and ticks within a clock does not change the run; the seed does."""
    threads = [(0, litmus.pub_fl_fl, 0), (1, litmus.con_ok, 0)]
    digests = {pair(emu, hardware, threads, {"shuffle_seed": shuffle}, seed=5)["digest"] for shuffle in range(8)}
    assert len(digests) == 1
    assert pair(emu, hardware, threads, {}, seed=6)["digest"] not in digests


def test_idle_time_is_skipped(emu: Any, moves: Any, hardware: Any) -> None:
    run = machine(emu)
    run.spawn(0, moves.sleeps, 1_000_000)
    state, cycles, skipped = drive(hardware)
    assert state == DONE
    assert cycles >= 1_000_000
    assert skipped > 999_000


def test_unmapped_address_is_a_fault(emu: Any, litmus: Any, hardware: Any) -> None:
    report = pair(emu, hardware, [(1, litmus.con_ok, 0)], {"hpa_bytes": 4096})
    fault = report["faults"][0]
    assert fault["kind"] == "nxm"
    assert "0x100001000 (pool+0x1000)" in fault["message"]
    assert fault["function"] == "con_ok"
    assert fault["host"] == 1


def test_poison_is_a_fault(emu: Any, litmus: Any, hardware: Any) -> None:
    report = pair(emu, hardware, [(1, litmus.con_ok, 0)], {"poison_hpa": HPA_BASE + 0x1000})
    assert report["faults"][0]["kind"] == "poison"


def test_corrupted_write_is_a_fault(emu: Any, litmus: Any, hardware: Any) -> None:
    """The module receives other bytes than the host sent."""
    report = pair(emu, hardware, [(0, litmus.pub_fl_fl, 0)], {"flip_bit": 1})
    assert report["state"] == FAULT
    assert "byte 13" in report["faults"][0]["message"]


def test_two_lines_in_one_place_are_a_fault(emu: Any, litmus: Any, hardware: Any) -> None:
    """A decoder that folds addresses."""
    report = pair(emu, hardware, [(0, litmus.pub_fl_fl, 0)], {"swap_lines": 1})
    assert report["state"] == FAULT
    assert "line 64" in report["faults"][0]["message"]


@pytest.mark.parametrize("stage", [stage for stage in range(STAGES) if stage != STAGE_NIC_TAG])
def test_missing_probe_is_a_sum_error(emu: Any, litmus: Any, hardware: Any, stage: int) -> None:
    """Whichever boundary is not seen, the first and last included; without NIC_TAG nothing is bound to a host tag."""
    report = pair(emu, hardware, [(0, litmus.pub_fl_fl, 0)], {"lose_probe": stage + 1})
    assert report["state"] == DONE
    assert latency(emu)["sum_errors"] > 0
    assert "no time stamp" in latency(emu)["first_sum_error"]


def test_stages_that_do_not_add_up_are_a_sum_error(emu: Any, litmus: Any, hardware: Any) -> None:
    """The total runs from request to completion at the host port, whatever the probes say."""
    report = pair(emu, hardware, [(0, litmus.pub_fl_fl, 0)], {"late_issue": 1})
    assert report["state"] == DONE
    assert latency(emu)["sum_errors"] > 0
    assert "add up" in latency(emu)["first_sum_error"]


def test_missing_hardware_never_ends_the_run(emu: Any, litmus: Any) -> None:
    """A request that nobody fetches keeps the machine waiting, not ended and not dead."""
    run = machine(emu)
    run.spawn(0, litmus.pub_fl_fl)
    assert [emu.emu_tick(ctypes.c_uint64(now)) for now in range(1, 200)][-1] == RUNNING
    assert run.report()["threads"][0]["state"] == "memory"


def test_deadlock_is_found(emu: Any, moves: Any, hardware: Any) -> None:
    moves.lock_reset(None)
    report = pair(emu, hardware, [(0, moves.lock_opposite, 0), (0, moves.lock_opposite, 1)], {})
    assert report["state"] == DEADLOCK


@pytest.mark.parametrize("delay_max", [30, 12_000, 60_000])
def test_traffic_is_checked_and_counted(emu: Any, hardware: Any, delay_max: int) -> None:
    """Readers and writers of the same lines: every read is checked, every request counted by port, however late: totals
    beyond 65 us are not counted by the nanosecond."""
    run = machine(emu)
    for host in (0, 1):
        t = Traffic(ctypes.sizeof(Traffic), host, 8, 500, 1, 0, 64, 256, 500)
        assert emu.emu_traffic_add(ctypes.byref(t)) >= 0, emu.emu_error()
    state, _, _ = drive(hardware, delay_max=delay_max, cycles_max=50_000_000)
    assert state == DONE, run.report()["faults"]
    table = latency(emu)
    assert table["read"]["count"] + table["write"]["count"] == 1000
    assert sum(port["read_lines"] + port["write_lines"] for port in table["ports"]) == 1000
    assert {(port["host"], port["module"]) for port in table["ports"]} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    total = table["read"]["total_ns"]
    assert 11 <= total["min"] <= total["p50"] <= total["p99"] <= total["max"] <= 11 * delay_max
    assert total["min"] < total["mean"] < total["max"]
    parts = table["read"]["parts_ns"]
    assert sum(parts[name]["mean"] for name in parts) == pytest.approx(total["mean"], abs=0.01)
    stages = table["read"]["stages_ns"]
    assert sum(stages[name]["mean"] for name in stages) == pytest.approx(total["mean"], abs=0.01)


def test_traffic_with_wrong_data_is_a_fault(emu: Any, hardware: Any) -> None:
    machine(emu)
    t = Traffic(ctypes.sizeof(Traffic), 0, 4, 500, 0, 5, 0, 64, 500)
    assert emu.emu_traffic_add(ctypes.byref(t)) == 0
    state, _, _ = drive(hardware, flip_bit=1)
    assert state == FAULT


@pytest.mark.parametrize("posted", [0, 1])
def test_a_write_that_is_completed_and_never_done_is_a_fault(emu: Any, hardware: Any, posted: int) -> None:
    """Unless the hardware completes writes early: then only reads show it."""
    run = machine(emu, completion_posted=posted)
    t = Traffic(ctypes.sizeof(Traffic), 0, 4, 500, 0, 5, 0, 64, 500)
    assert emu.emu_traffic_add(ctypes.byref(t)) == 0
    state, _, _ = drive(hardware, lose_write=1)
    assert state == FAULT
    early = "write of host 0 was completed and never reached the media"
    assert (early in run.report()["faults"][0]["message"]) == (not posted)


@pytest.mark.parametrize("tolerate", [0, 1])
def test_refused_requests_are_counted_or_are_faults(emu: Any, hardware: Any, tolerate: int) -> None:
    """One line is poisoned and half of the lines have no decoder; only a tolerant generator goes on, and counts."""
    run = machine(emu)
    t = Traffic(ctypes.sizeof(Traffic), 0, 4, 500, 0, 5, 0, 64, 640, tolerate)
    assert emu.emu_traffic_add(ctypes.byref(t)) == 0
    state, _, _ = drive(hardware, poison_hpa=HPA_BASE, hpa_bytes=32 * 64)
    assert state == (DONE if tolerate else FAULT)
    (count,) = run.report()["traffic"]
    if tolerate:
        assert count["issued"] == count["completed"] == 640
        assert count["failed"] == 320
        assert 0 < count["poisoned"] <= 10
        assert 3 <= count["refused_ns_max"] <= 11 * 30


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("host", 2, "host: 2"),
        ("outstanding", 0, "outstanding: 0"),
        ("read_permille", 1001, "read_permille: 1001"),
        ("lines", 1 << 40, "first_line, lines"),
        ("struct_bytes", 4, "struct_bytes: 4"),
    ],
)
def test_traffic_errors_are_named(emu: Any, field: str, value: int, message: str) -> None:
    machine(emu)
    t = Traffic(ctypes.sizeof(Traffic), 0, 8, 500, 0, 0, 0, 64, 10)
    setattr(t, field, value)
    assert emu.emu_traffic_add(ctypes.byref(t)) == -22
    assert message in emu.emu_error().decode()


def test_python_threads_are_hosts(emu: Any, moves: Any, hardware: Any) -> None:
    """Calls of Python threads block in simulated time while the hardware is clocked."""
    run = machine(emu)
    tids = [emu.emu_spawn_external(host, b"python") for host in (0, 1)]
    plans = [[(moves.poke, 0x2000, 11)], [(moves.await_value, 0x2000, 11)]]
    results: list[int] = []

    def body(tid: int, plan: list[tuple[Any, int, int]]) -> None:
        for fn, first, second in plan:
            ret = ctypes.c_int64()
            args = (ctypes.c_int64 * 8)(first, second)
            results.append(emu.emu_external_call(tid, ctypes.cast(fn, ctypes.c_void_p), args, ctypes.byref(ret)))
        emu.emu_external_exit(tid, 0)

    workers = [threading.Thread(target=body, args=(tid, plan)) for tid, plan in zip(tids, plans, strict=True)]
    for worker in workers:
        worker.start()
    state, _, _ = drive(hardware)
    for worker in workers:
        worker.join()
    assert state == DONE, run.report()["faults"]
    assert results == [0, 0]


def test_lock_of_python_is_given_up_while_waiting(emu: Any, moves: Any, hardware: Any) -> None:
    """A simulator may hold Python's lock while it ticks, as PyDLL calls do: a Python host must still get to run."""
    holding = ctypes.PyDLL(hardware._name)
    run = machine(emu)
    tid = emu.emu_spawn_external(0, b"python")

    def body() -> None:
        args = (ctypes.c_int64 * 8)(0x2000, 1)
        emu.emu_external_call(tid, ctypes.cast(moves.poke, ctypes.c_void_p), args, None)
        emu.emu_external_exit(tid, 0)

    worker = threading.Thread(target=body)
    worker.start()
    state, _, _ = drive(holding)
    worker.join()
    assert state == DONE, run.report()["faults"]


def test_counters_of_the_hardware_are_in_the_report(emu: ctypes.CDLL) -> None:
    """Values come out under their names as they went in; a new reading leaves the former ones as they were."""
    run = Run(emu)
    assert run.report()["counters"] == {}
    counter = emu.emu_counter
    counter.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
    readings = [{"lines": [[0, 1, 5], [2, 0, -(2**62)]], "stalls": [[1, 1, 7]]}, {"lines": [[0, 1, 6]]}]
    for reading in readings:
        emu.emu_counters_begin()
        for name, rows in reading.items():
            for a, b, value in rows:
                counter(name.encode(), a, b, value)
    assert run.report()["readings"] == readings
    assert run.report()["counters"] == readings[-1]
