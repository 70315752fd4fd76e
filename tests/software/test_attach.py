"""Attach refuses what does not fit, names the field, and writes nothing: the bytes of the file are compared."""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lib_support import build

from prismem.lib.pool import Pool, PoolError, format_pool
from prismem.lib.structs import FormatOptions

POOL_BYTES = 4 << 20
SPACE = b"model, dtype, la"
SUPERBLOCK_BYTES = 256
# Byte offsets in the superblock (software/src/layout.h).
VERSION, LAYOUT, SPARE, NAME_SPACE, CHECK, PARAMS, LAST_SPARE = 8, 16, 24, 80, 96, 128, 248
FLIPS = 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    build()
    space = (ctypes.c_uint8 * 16)(*SPACE)
    options = FormatOptions(pool_bytes=POOL_BYTES, nodes=2, index_slots=64, block_bytes=256, hash_seed=5)
    options.name_space = space
    format_pool(tmp_path / "pool", options)
    return tmp_path / "pool"


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    before = path.read_bytes()
    yield
    assert path.read_bytes() == before


def refused(path: Path, text: str, **options: Any) -> None:
    with unchanged(path), pytest.raises(PoolError, match=text):
        Pool(path, **options)


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"hash_seed": 6}, "EPROTO: hash_seed: the pool has 0x5, 0x6 is expected"),
        ({"block_bytes": 512}, "EPROTO: block_bytes: the pool has 0x100, 0x200 is expected"),
        ({"name_space": b"another model ab"}, "EPROTO: name space: the pool has .*, the caller asks for"),
        ({"node": 2}, r"EINVAL: node: 2 is outside 0\.\.1"),
    ],
)
def test_what_the_caller_asks_for(path: Path, options: dict[str, Any], text: str) -> None:
    """Goal: a caller with other tokens, blocks or model cannot attach. Method: one field wrong at a time."""
    refused(path, text, **options)
    with Pool(path, hash_seed=5, block_bytes=256, name_space=SPACE) as pool:
        assert pool.block_bytes == 256


@pytest.mark.parametrize(
    ("at", "data", "text"),
    [
        (0, bytes(8), "EAGAIN: magic: .* is not formatted yet"),
        (0, b"garbage!", "EPROTO: magic: the pool has"),
        (VERSION, b"\x63", "EPROTO: layout version: the pool has 0x63"),
        (LAYOUT, b"\x01\x02", "EPROTO: superblock check word"),
        (SPARE, b"\x01", "EPROTO: superblock check word"),
        (NAME_SPACE, b"\x01", "EPROTO: superblock check word"),
        (PARAMS, struct.pack("<Q", 1 << 40), "EPROTO: superblock check word"),
        (LAST_SPARE, b"\x01", "EPROTO: superblock check word"),
    ],
)
def test_another_superblock(path: Path, at: int, data: bytes, text: str) -> None:
    """Goal: a pool of another library, version or layout, or a damaged one, is named. Method: bytes overwritten."""
    overwrite(path, at, data)
    refused(path, text)


def check_word(superblock: bytes) -> int:
    """As pmi_superblock_check defines it: all words but the magic and itself."""
    words = list(struct.unpack("<32Q", superblock))
    words[0] = words[CHECK // 8] = 0
    check = int.from_bytes(b"prsmpool", "little")
    for word in words:
        check = (check ^ word) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        check ^= check >> 29
    return check


def test_another_layout(path: Path) -> None:
    """Goal: a pool of a library with other structures is refused. Method: digest and check word changed."""
    superblock = bytearray(path.read_bytes()[:SUPERBLOCK_BYTES])
    assert struct.unpack_from("<Q", superblock, CHECK)[0] == check_word(superblock)
    struct.pack_into("<Q", superblock, LAYOUT, 0x1234)
    struct.pack_into("<Q", superblock, CHECK, check_word(superblock))
    overwrite(path, 0, superblock)
    refused(path, "EPROTO: layout digest: the pool has 0x1234, 0x")


def test_a_thousand_flipped_bits(path: Path) -> None:
    """Goal: no damaged superblock is taken for a good one. Method: one random bit of its 2048 at a time."""
    good = path.read_bytes()[:SUPERBLOCK_BYTES]
    seeded = random.Random(1)
    for bit in (seeded.randrange(8 * SUPERBLOCK_BYTES) for _ in range(FLIPS)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        overwrite(path, 0, bytes(bad))
        with pytest.raises(PoolError, match=r"(magic|layout version|superblock check word): the pool has"):
            Pool(path)
        with path.open("rb") as file:
            assert file.read(SUPERBLOCK_BYTES) == bad
    overwrite(path, 0, good)
    with Pool(path):
        pass


def test_truncated_file(path: Path) -> None:
    """Goal: a file that is shorter than its pool is refused, not read past its end. Method: cut twice."""
    os.truncate(path, POOL_BYTES // 2)
    refused(path, f"EPROTO: pool_bytes: the pool was formatted with {POOL_BYTES}, .* has {POOL_BYTES // 2}")
    os.truncate(path, 4096)
    refused(path, "EINVAL: pool_bytes: .* has 4096 bytes, a pool takes a multiple of 2 MiB")


def test_read_only_pool(path: Path) -> None:
    """Goal: a pool that cannot be written is refused with its path. Method: a memory file sealed against writes."""
    descriptor = os.memfd_create("pool", os.MFD_ALLOW_SEALING)
    try:
        os.write(descriptor, path.read_bytes())
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        sealed = Path(f"/proc/self/fd/{descriptor}")
        refused(sealed, f"EPERM: {sealed}: cannot map")
    finally:
        os.close(descriptor)


def test_full_pool(path: Path) -> None:
    """Goal: more nodes than the pool has ids are refused. Method: both ids taken, then one asked for again."""
    with Pool(path), Pool(path):
        refused(path, "EBUSY: node: all 2 ids are taken")
        refused(path, "EBUSY: node: id 1 is taken", node=1)
    with Pool(path) as pool:
        assert pool.node == 0


def test_page_size_of_a_device(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: a device whose pages do not divide it is refused. Method: a sysfs tree of our own, 1 GiB."""
    sysfs = tmp_path / "sysfs" / path.name
    sysfs.mkdir(parents=True)
    (sysfs / "size").write_text(f"{POOL_BYTES}\n")
    monkeypatch.setenv("PM_DAX_PREFIX", str(path))
    monkeypatch.setenv("PM_DAX_SYSFS", str(tmp_path / "sysfs"))
    (sysfs / "align").write_text(f"{1 << 30}\n")
    refused(path, f"EINVAL: size: {POOL_BYTES} of .* is not a multiple of its alignment {1 << 30}")
    (sysfs / "align").write_text("2 MiB\n")
    refused(path, "EINVAL: .*/align: holds no number")
    (sysfs / "align").write_text(f"{2 << 20}\n")
    with Pool(path):
        pass
