"""Running machines: configuration errors, determinism, ends of a run, copies, POSIX calls, external threads."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import pytest
from emu_support import (
    DEADLOCK,
    DONE,
    FAILED,
    FAULT,
    RANDOM,
    STUCK,
    Config,
    Run,
    config,
    emulator,
    program,
)


@pytest.fixture(scope="module")
def emu() -> ctypes.CDLL:
    return emulator()


@pytest.fixture(scope="module")
def moves(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("moves")


@pytest.fixture(scope="module")
def litmus(emu: ctypes.CDLL) -> ctypes.CDLL:
    return program("litmus")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"struct_bytes": 8}, "struct_bytes: 8"),
        ({"hosts": 0}, "hosts: 0 is outside 1..64"),
        ({"hosts": 65}, "hosts: 65 is outside 1..64"),
        ({"pool_bytes": 4096}, "pool_bytes: 4096"),
        ({"pool_bytes": (2 << 20) + 64}, "multiple of 2 MiB"),
        ({"port": 3}, "port: 3"),
        ({"policy": 4}, "policy: 4"),
        ({"clwb": 3}, "clwb: 3"),
        ({"faults_max": 0}, "faults_max: 0"),
        ({"step_limit": 0}, "step_limit: 0"),
        ({"port": 1, "outstanding_max": 5000}, "outstanding_max: 5000"),
        ({"port": 1, "hpa_base": 4096}, "hpa_base: 0x1000"),
        ({"completion_posted": 2}, "completion_posted: 2"),
    ],
)
def test_bad_configuration_is_named(emu: Any, changes: dict[str, int], message: str) -> None:
    """Every bad field is refused with its name and value; nothing is created."""
    emu.emu_destroy()
    assert emu.emu_create(ctypes.byref(config(**changes))) == -22
    assert message in emu.emu_error().decode()
    assert emu.emu_state() == -22


def test_one_machine_a_process(emu: Any) -> None:
    """A second machine is refused; destroying twice is harmless."""
    Run(emu)
    assert emu.emu_create(ctypes.byref(config())) == -17
    emu.emu_destroy()
    emu.emu_destroy()
    assert emu.emu_create(ctypes.byref(config())) == 0


def test_spawn_errors(emu: Any, moves: Any) -> None:
    """Unknown host, missing function, unknown flag."""
    Run(emu)
    fn = ctypes.cast(moves.copies, ctypes.c_void_p)
    assert emu.emu_spawn(2, b"x", fn, None, 0) == -22
    assert "host: 2" in emu.emu_error().decode()
    assert emu.emu_spawn(0, b"x", None, None, 0) == -22
    assert emu.emu_spawn(0, b"x", fn, None, 8) == -22


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(
    "name",
    ["copies", "structures", "strings", "atomics", "streams", "pool_file", "simulated_time", "posix_threads"],
)
def test_program_behaves_as_on_plain_memory(emu: Any, moves: Any, name: str, seed: int) -> None:
    """Copies, strings, atomics, files, time and threads give what plain memory gives, also with busy caches."""
    run = Run(emu, seed=seed, event_every=3, switch_every=3, step_limit=10_000_000)
    run.spawn(1, getattr(moves, name))
    report = run.run()
    assert report["state"] == DONE, report["faults"] + report["threads"]


def test_same_seed_same_run(emu: Any, litmus: Any, tmp_path: Path) -> None:
    """One seed: one digest and one log, byte for byte. Another seed: another schedule."""
    logs: list[bytes] = []
    digests: list[str] = []
    for seed in (7, 7, 8):
        run = Run(emu, seed=seed, policy=RANDOM)
        path = tmp_path / f"log{len(logs)}"
        assert emu.emu_log_open(str(path).encode()) == 0
        run.spawn(0, litmus.pub_fl_fl)
        run.spawn(1, litmus.con_ok)
        digests.append(run.run()["digest"])
        emu.emu_destroy()
        logs.append(path.read_bytes())
    assert digests[0] == digests[1] != digests[2]
    assert logs[0] == logs[1] != logs[2]
    assert b"switch" in logs[0]
    assert b"write-back" in logs[0]


def test_deadlock_says_who_waits(emu: Any, moves: Any) -> None:
    """Two mutexes taken in opposite order end the run with the threads and what each waits for."""
    moves.lock_reset(None)
    run = Run(emu)
    run.spawn(0, moves.lock_opposite, 0)
    run.spawn(0, moves.lock_opposite, 1)
    report = run.run()
    assert report["state"] == DEADLOCK
    assert report["faults"][0]["kind"] == "deadlock"
    assert report["faults"][0]["message"].count("waits for a mutex") == 2


def test_step_limit_ends_a_stuck_run(emu: Any, litmus: Any) -> None:
    """A consumer without a producer polls up to the limit, and the report shows the line it polls."""
    run = Run(emu, step_limit=5000)
    run.spawn(1, litmus.con_ok)
    report = run.run()
    assert report["state"] == STUCK
    assert report["steps"] == 5000
    assert "line 64" in report["faults"][0]["message"]


def test_thread_that_returns_nonzero_fails_the_run(emu: Any, moves: Any) -> None:
    """Its status is in the report."""
    run = Run(emu)
    run.spawn(0, moves.returns_five)
    report = run.run()
    assert report["state"] == FAILED
    assert "returned 5" in report["faults"][0]["message"]


def test_daemon_need_not_end(emu: Any, moves: Any, litmus: Any) -> None:
    """The run ends with the last thread that is no daemon."""
    run = Run(emu)
    run.spawn(1, litmus.con_ok, flags=1)
    run.spawn(0, moves.sleeps, 1000)
    assert run.run()["state"] == DONE


def test_idle_time_is_skipped(emu: Any, moves: Any) -> None:
    """A day of sleep takes no steps."""
    run = Run(emu)
    run.spawn(0, moves.sleeps, 86_400_000_000_000)
    report = run.run()
    assert report["state"] == DONE
    assert report["now_ns"] >= 86_400_000_000_000
    assert report["steps"] < 100


def test_foreign_pointer_is_a_fault(emu: Any, moves: Any) -> None:
    """Shared structures hold offsets: host 1 follows a pointer that host 0 stored."""
    run = Run(emu, event_every=0, switch_every=0)
    run.spawn(0, moves.leak_pointer, 0)
    run.spawn(1, moves.leak_pointer, 1)
    report = run.run()
    assert report["state"] == FAULT
    assert "host 1 uses a pointer of host 0" in report["faults"][0]["message"]


def test_access_past_the_end_is_a_fault(emu: Any, moves: Any) -> None:
    """With one host there is nothing behind its pool; with two, the other host's view."""
    for hosts in (1, 2):
        run = Run(emu, hosts=hosts)
        run.spawn(0, moves.past_the_end)
        report = run.run()
        assert report["state"] == FAULT
        assert "past the end of the pool" in report["faults"][0]["message"]


def external_host(emu: Any, tid: int, calls: list[tuple[Any, int, int]], results: list[int]) -> None:
    """Body of a Python thread: a sequence of calls, then exit."""
    for fn, first, second in calls:
        args = (ctypes.c_int64 * 8)(first, second)
        ret = ctypes.c_int64()
        code = emu.emu_external_call(tid, ctypes.cast(fn, ctypes.c_void_p), args, ctypes.byref(ret))
        results.append(code if code != 0 else ret.value)
        if code != 0:
            return
    emu.emu_external_exit(tid, 0)


def run_external(emu: Any, moves: Any, seed: int) -> tuple[dict[str, Any], list[list[int]]]:
    run = Run(emu, seed=seed, policy=RANDOM)
    tids = [emu.emu_spawn_external(host, b"python") for host in (0, 1)]
    calls = [
        [(moves.poke, 0x2000, 11), (moves.await_value, 0x3000, 22)],
        [(moves.await_value, 0x2000, 11), (moves.poke, 0x3000, 22)],
    ]
    results: list[list[int]] = [[], []]
    workers = [
        threading.Thread(target=external_host, args=(emu, tid, calls[i], results[i])) for i, tid in enumerate(tids)
    ]
    for worker in workers:
        worker.start()
    report = run.run()
    for worker in workers:
        worker.join()
    return report, results


def test_python_threads_are_hosts(emu: Any, moves: Any) -> None:
    """Two Python threads talk through the pool; what happens in real time between their calls changes nothing."""
    report, results = run_external(emu, moves, seed=3)
    assert report["state"] == DONE, report["faults"]
    assert results[0][0] == 0
    assert results[1][1] == 0
    again, results_again = run_external(emu, moves, seed=3)
    assert again["digest"] == report["digest"]
    assert results_again == results


def test_external_call_ends_with_the_run(emu: Any, moves: Any) -> None:
    """A caller that waits when the run fails gets -ECANCELED, and so does any later call."""
    run = Run(emu, step_limit=3000)
    tid = emu.emu_spawn_external(0, b"python")
    results: list[int] = []
    worker = threading.Thread(target=external_host, args=(emu, tid, [(moves.await_value, 0x2000, 1)], results))
    worker.start()
    assert run.run()["state"] == STUCK
    worker.join()
    assert results == [-125]
    assert emu.emu_external_exit(tid, 0) == -125


def test_configuration_structure_matches_header() -> None:
    """The mirror of emu_config has the size that the emulator checks for."""
    assert ctypes.sizeof(Config) == 96
