"""`pm_fsck`: finds what was put wrong in a pool file, mends it, and leaves a clean pool alone."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from lib_support import build

from prismem.cli.main import cli
from prismem.lib.fsck import fsck
from prismem.lib.pool import Pool, PoolError, format_pool, load
from prismem.lib.structs import FormatOptions

POOL_BYTES = 4 << 20
BLOCK = 128
BLOCKS = 6


def options() -> FormatOptions:
    return FormatOptions(
        pool_bytes=POOL_BYTES, nodes=4, index_slots=64, index_capacity=32, block_bytes=BLOCK, lease_ns=50_000_000
    )


def fill(path: Path) -> None:
    """A pool with blocks, closed in order."""
    stop = ctypes.c_int()
    with Pool(path, node=0) as pool:
        manager = threading.Thread(target=pool.manager_run, args=(stop,))
        manager.start()
        chain = [(1 + b * 0x9E3779B9, b) for b in range(BLOCKS)]
        refs = pool.commit(pool.reserve(1, (0, 0), chain, []))
        pool.release(1, refs)
        stop.value = 1
        manager.join()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    build()
    file = tmp_path / "pool"
    format_pool(file, options())
    fill(file)
    return file


def find(path: Path, word: bytes) -> int:
    """Where a word stands in the file, the only place."""
    data = path.read_bytes()
    assert data.count(word) == 1
    return data.index(word)


def poke(path: Path, at: int, value: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(struct.pack("<Q", value))


def bucket_of(path: Path, block: int) -> int:
    """The line of a block's bucket, by its digest."""
    return find(path, struct.pack("<QQ", 1 + block * 0x9E3779B9, block) + struct.pack("<QQ", *parent(block))) - 8


def parent(block: int) -> tuple[int, int]:
    return (0, 0) if block == 0 else (1 + (block - 1) * 0x9E3779B9, block - 1)


def control_of(path: Path, bucket: int) -> int:
    return int(struct.unpack_from("<Q", path.read_bytes(), bucket)[0])


def test_clean_pool_is_clean(path: Path) -> None:
    before = path.read_bytes()
    result = fsck(path)
    assert result.clean
    assert result.findings == []
    assert result.resident == BLOCKS
    assert fsck(path, repair=True).repaired == 0
    assert path.read_bytes() == before


def test_read_only_file_can_be_checked(path: Path) -> None:
    path.chmod(0o400)
    assert fsck(path).clean


@pytest.mark.parametrize(
    ("state", "kind", "said"), [(1, "index", "never filled"), (3, "index", "half-way"), (0, "leak", "no bucket")]
)
def test_bucket_in_a_wrong_state(path: Path, state: int, kind: str, said: str) -> None:
    """Goal: RESERVED, EVICTING and vanished buckets are found and mended. Method: the state in the file changed."""
    bucket = bucket_of(path, 3)
    poke(path, bucket, (control_of(path, bucket) & ~0xFF) | state)
    result = fsck(path)
    assert not result.clean
    assert any(f.kind == kind and said in f.text for f in result.findings), result.findings
    mended = fsck(path, repair=True)
    assert mended.clean, mended.findings
    assert mended.repaired > 0
    assert mended.resident == (BLOCKS if state == 3 else BLOCKS - 1)
    fill(path)


def test_payload_in_two_buckets_and_outside(path: Path) -> None:
    """Goal: double use, and a READY entry outside of the heap. Method: the offset of one bucket overwritten."""
    first, second = bucket_of(path, 2), bucket_of(path, 4)
    offset = int(struct.unpack_from("<Q", path.read_bytes(), first + 40)[0])
    poke(path, second + 40, offset)
    assert any(f.kind == "block" and "two buckets" in f.text for f in fsck(path).findings)
    poke(path, second + 40, 64)
    assert any(f.kind == "index" and "outside of the heap" in f.text for f in fsck(path).findings)
    assert fsck(path, repair=True).clean


def test_killed_owner(path: Path) -> None:
    """Goal: the id and the pins of a killed process are found, refused while it lives, and mended afterwards."""
    child = os.fork()
    if child == 0:
        stop = ctypes.c_int()
        pool = Pool(path, node=2)
        threading.Thread(target=pool.manager_run, args=(stop,), daemon=True).start()
        pool.lookup(7, [(1, 0)])
        time.sleep(60)
        os._exit(0)
    time.sleep(0.5)
    with pytest.raises(PoolError, match="in use"):
        fsck(path, repair=True)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    kinds = {f.kind for f in fsck(path).findings}
    assert {"node", "pin"} <= kinds
    assert fsck(path, repair=True).clean
    with Pool(path, node=2):
        pass


def test_recovery_by_hand(path: Path) -> None:
    """Goal: the id of a killed process is refused until another node recovers it. Method: Pool.recover."""
    child = os.fork()
    if child == 0:
        pool = Pool(path, node=2)
        pool.lookup(7, [(1, 0)])
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    stop = ctypes.c_int()
    with Pool(path, node=0) as pool:
        manager = threading.Thread(target=pool.manager_run, args=(stop,))
        manager.start()
        with pytest.raises(PoolError, match="id 2 is taken"):
            Pool(path, node=2)
        pool.recover(2)
        with Pool(path, node=2):
            pass
        stop.value = 1
        manager.join()
    assert fsck(path).clean


def test_exit_codes(path: Path, tmp_path: Path) -> None:
    """Goal: 0 clean, 1 findings, 2 no pool; JSON holds errors and leaks."""
    assert CliRunner().invoke(cli, ["fsck", str(path), "--json"]).exit_code == 0
    bucket = bucket_of(path, 2)
    poke(path, bucket, control_of(path, bucket) & ~0xFF)
    found = CliRunner().invoke(cli, ["fsck", str(path), "--json"])
    assert found.exit_code == 1
    assert '"leaks": 1' in found.output
    garbage = tmp_path / "garbage"
    garbage.write_bytes(os.urandom(POOL_BYTES))
    assert CliRunner().invoke(cli, ["fsck", str(garbage)], standalone_mode=False).exception is not None
    assert load().pm_fsck(b"/nonexistent", None, None) < 0
