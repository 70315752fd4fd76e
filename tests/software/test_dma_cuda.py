"""Payload by the CUDA runtime: a fake one (programs/fake_cudart.c) refuses, fails, is slow and notes its calls."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from lib_support import build

PIECE = 2 << 20
POOL_BYTES = 8 << 20
PROGRAM = f"""
import sys
from prismem.lib.pool import Pool, PoolError, format_pool
from prismem.lib.structs import FormatOptions
path = sys.argv[1]
format_pool(path, FormatOptions(pool_bytes={POOL_BYTES}))
data = bytes(range(256)) * 1024
with Pool(path, node=0) as pool:
    try:
        for offset in ({PIECE} - 65536, 2 * {PIECE}):
            pool.dma_write(offset, data)
            assert pool.dma_read(offset, len(data)) == data
            with open(path, "rb") as file:
                file.seek(offset)
                assert file.read(len(data)) == data
        print("copied")
    except PoolError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake runtime as a shared object."""
    build()
    library = tmp_path_factory.mktemp("cuda") / "libcudart.so"
    source = Path(__file__).parent / "programs" / "fake_cudart.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, source], check=True)
    return library


def transfer(runtime: Path, folder: Path, behaviour: str = "", **more: str) -> tuple[str, Counter[str], list[str]]:
    """Output of the program, how often each call was made, and the calls with size and code."""
    log = folder / "calls"
    environment = {
        "PM_DMA": "cuda",
        "PM_CUDA_RUNTIME": str(runtime),
        "PM_CUDA_PIECE_BYTES": str(PIECE),
        "FAKE_CUDA": behaviour,
        "FAKE_CUDA_LOG": str(log),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder / "pool")],
        env=os.environ | environment | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    calls = log.read_text().splitlines() if log.exists() else []
    return done.stdout.strip(), Counter(call.split()[0] for call in calls), calls


def test_registered_in_pieces(fake: Path, tmp_path: Path) -> None:
    """Goal: the pool is registered piece by piece, a copy over a boundary is split, and nothing stays registered."""
    output, count, calls = transfer(fake, tmp_path, "polls=3")
    assert output == "copied"
    assert [call for call in calls if "Register " in call] == [f"cudaHostRegister {PIECE} 0"] * (POOL_BYTES // PIECE)
    assert count["cudaHostUnregister"] == POOL_BYTES // PIECE
    sizes = [call.split()[1] for call in calls if call.startswith("cudaMemcpyAsync")]
    assert sizes == ["65536", str(256 * 1024 - 65536)] * 2 + [str(256 * 1024)] * 2
    assert count["cudaEventQuery"] == 4 * 3  # nothing counts as complete before its event
    assert count["cudaEventCreateWithFlags"] == count["cudaEventDestroy"] == 4
    assert count["cudaMemcpy"] == 0


def test_refused_registration_bounces(fake: Path, tmp_path: Path) -> None:
    """Goal: when one piece is refused, the others are given back, the error is cleared, and copies go round about."""
    output, count, calls = transfer(fake, tmp_path, "refuse_register=3")
    assert output == "copied"
    assert count["cudaHostRegister"] == 3
    assert count["cudaHostUnregister"] == 2
    refused = calls.index(f"cudaHostRegister {PIECE} 801")
    assert calls[refused + 1] == "cudaGetLastError 0 801"
    assert count["cudaMemcpyAsync"] == 0
    assert count["cudaMemcpy"] == 4


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [
        ("fail_copy", "pm_dma_write: EIO: dma: cuda: cudaMemcpyAsync: illegal address (700)"),
        ("fail_copy refuse_register=1", "pm_dma_write: EIO: dma: cuda: cudaMemcpy: illegal address (700)"),
        ("fail_event", "pm_dma_wait: EIO: dma: cuda: transfer: illegal address (700)"),
    ],
)
def test_failures_come_back(fake: Path, tmp_path: Path, behaviour: str, text: str) -> None:
    """Goal: a failed call is an error with the runtime's text, and its sticky error does not stay."""
    output, _, calls = transfer(fake, tmp_path, behaviour)
    assert output == text
    failures = [i for i, call in enumerate(calls) if call.endswith(" 700") and "GetLastError" not in call]
    assert failures
    assert all(calls[i + 1] == "cudaGetLastError 0 700" for i in failures)


def test_what_is_missing_is_named(fake: Path, tmp_path: Path) -> None:
    """Goal: no device, no runtime, no such way: an error that says so, and no transfer."""
    assert transfer(fake, tmp_path, "no_device")[0].endswith("ENODEV: dma: cuda: the CUDA runtime sees no device")
    assert "PM_CUDA_RUNTIME names the CUDA runtime to use" in transfer(tmp_path / "none.so", tmp_path)[0]
    assert "'gpu' is none of auto, stream, cuda" in transfer(fake, tmp_path, PM_DMA="gpu")[0]
