"""Builds and drives the host emulator for its tests, by ctypes alone: the C interface itself is under test here."""

from __future__ import annotations

import ctypes
import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
POOL_BYTES = 2 << 20

RANDOM, LAZY, EAGER, WARM = range(4)
RUNNING, DONE, FAULT, STUCK, DEADLOCK, FAILED = range(6)

THREAD_FN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


class Config(ctypes.Structure):
    """`emu_config` of prismem_emu.h."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint32),
        ("hosts", ctypes.c_uint32),
        ("pool_bytes", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("port", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("coherent", ctypes.c_uint32),
        ("clwb", ctypes.c_uint32),
        ("dma_snoop", ctypes.c_uint32),
        ("completion_posted", ctypes.c_uint32),
        ("switch_every", ctypes.c_uint32),
        ("event_every", ctypes.c_uint32),
        ("detect", ctypes.c_uint32),
        ("faults_max", ctypes.c_uint32),
        ("step_limit", ctypes.c_uint64),
        ("access_ps", ctypes.c_uint32),
        ("pause_ns", ctypes.c_uint32),
        ("jitter_ns", ctypes.c_uint32),
        ("outstanding_max", ctypes.c_uint32),
        ("hpa_base", ctypes.c_uint64),
    ]


def config(**changes: int) -> Config:
    """A small machine; keyword arguments replace single fields."""
    fields: dict[str, int] = {
        "struct_bytes": ctypes.sizeof(Config),
        "hosts": 2,
        "pool_bytes": POOL_BYTES,
        "seed": 1,
        "switch_every": 4,
        "event_every": 5,
        "detect": 1,
        "faults_max": 1,
        "step_limit": 20_000,
        "access_ps": 500,
        "pause_ns": 20,
        "outstanding_max": 64,
    }
    fields.update(changes)
    return Config(**fields)


def make(*targets: str) -> None:
    """Run the emulator's own makefile; its output is shown when it fails."""
    command = ["make", "-s", "-C", str(ROOT / "software/emu"), *targets]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


EMULATOR = ROOT / "build/sw/libprismem_emu.so"


def destroy_machine() -> None:
    """End the machine of this process, if there is one."""
    if EMULATOR.exists():
        ctypes.CDLL(str(EMULATOR), mode=ctypes.RTLD_GLOBAL).emu_destroy()


def emulator() -> ctypes.CDLL:
    """The emulator, built if needed."""
    make()
    lib = ctypes.CDLL(str(EMULATOR), mode=ctypes.RTLD_GLOBAL)
    lib.emu_error.restype = ctypes.c_char_p
    lib.emu_report.restype = ctypes.c_char_p
    lib.emu_latency_report.restype = ctypes.c_char_p
    lib.emu_now_ns.restype = ctypes.c_uint64
    lib.emu_spawn.argtypes = [
        ctypes.c_uint32,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_uint32,
    ]
    lib.emu_device_read.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
    lib.emu_device_write.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
    return lib


def program(name: str) -> ctypes.CDLL:
    """programs/<name>.c compiled with the hooks."""
    make(f"PROGRAM={name}", "program")
    return ctypes.CDLL(str(ROOT / f"build/sw/programs/lib{name}.so"))


class Run:
    """One machine with its threads; `report` is read after the run."""

    def __init__(self, lib: ctypes.CDLL, **changes: int) -> None:
        self.lib = lib
        lib.emu_destroy()
        cfg = config(**changes)
        code = lib.emu_create(ctypes.byref(cfg))
        assert code == 0, lib.emu_error().decode()

    def spawn(self, host: int, fn: Any, arg: int = 0, flags: int = 0) -> int:
        """Add a thread that runs the C function `fn(arg)`; returns its id."""
        address = ctypes.cast(fn, ctypes.c_void_p)
        name = getattr(fn, "__name__", "thread").encode()
        tid: int = self.lib.emu_spawn(host, name, address, arg, flags)
        assert tid >= 0, self.lib.emu_error().decode()
        return tid

    def run(self) -> dict[str, Any]:
        """Run on the functional port to the end; returns the report."""
        state = self.lib.emu_run()
        report = self.report()
        assert report["state"] == state
        return report

    def report(self) -> dict[str, Any]:
        """The report of the run so far."""
        report: dict[str, Any] = json.loads(self.lib.emu_report())
        return report

    def device(self, offset: int, size: int) -> bytes:
        """Bytes of the device behind the caches."""
        buffer = ctypes.create_string_buffer(size)
        assert self.lib.emu_device_read(offset, buffer, size) == 0
        return buffer.raw
