"""`prismem inspect`: a pool of known content is told as it is, in use or not, and a damaged one as far as it goes."""

from __future__ import annotations

import ctypes
import json
import os
import random
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lib_support import build

from prismem.cli.inspect import show
from prismem.errors import MisuseError
from prismem.lib.inspect import inspect
from prismem.lib.pool import Pool, format_pool
from prismem.lib.structs import FormatOptions

POOL_BYTES, BLOCK_BYTES, LINE = 4 << 20, 256, 64
SPACE = b"inspected  pool!"
CHAIN = [(number * 0x9E3779B97F4A7C15 & (1 << 64) - 1, number) for number in range(1, 6)]


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    """Five blocks of 256 bytes, two of them pinned; 300 bytes in use, and named; lock 9 held."""
    build()
    space = (ctypes.c_uint8 * 16)(*SPACE)
    format_pool(
        tmp_path / "pool",
        FormatOptions(
            pool_bytes=POOL_BYTES, nodes=3, index_slots=64, block_bytes=BLOCK_BYTES, hash_seed=77, name_space=space
        ),
    )
    with Pool(tmp_path / "pool", node=1) as opened, opened.manager():
        refs = opened.commit(opened.reserve(7, (0, 0), CHAIN, []))
        opened.release(7, refs[2:])
        opened.put(b"root", opened.alloc(300))
        with opened.lock(9):
            yield opened
        opened.release(7, refs[:2])


def by_id(things: list[dict[str, Any]], number: int) -> dict[str, Any]:
    return next(thing for thing in things if thing["id"] == number)


def led(path: Path) -> dict[str, Any]:
    """What stands there once the manager's thread has made its first step."""
    for _ in range(10_000):
        facts = inspect(path)
        if by_id(facts["nodes"], 1)["manager"]:
            return facts
    raise AssertionError("no lock manager leads")


def test_known_content_is_told(pool: Pool, tmp_path: Path) -> None:
    """Goal: every section is right of a pool in use. Method: counts known beforehand."""
    facts = led(tmp_path / "pool")
    superblock, index = facts["superblock"], facts["index"]
    assert (superblock["hash_seed"], superblock["nodes"], superblock["replacement"]) == (77, 3, "lru")
    assert bytes.fromhex(superblock["name_space"]) == SPACE
    assert [node["state"] for node in facts["nodes"]] == ["vacant", "claimed", "vacant"]
    assert by_id(facts["nodes"], 1)["pinned_slots"] == 2
    held = by_id(facts["locks"], 9)
    assert (held["state"], held["holder"], held["waiters"]) == ("held", 1, 0)
    assert by_id(facts["locks"], 10)["state"] == "free"
    assert by_id(facts["locks"], 2)["use"] == "index"
    assert (index["slots"], index["ready"], index["reserved"], index["tombstones"]) == (64, 5, 0, 0)
    assert (index["inserts"], index["load"]) == (5, round(5 / 64, 4))
    assert 1 <= index["probes_mean"] <= index["probes_max"]
    assert sorted((pin["node"], pin["pins"]) for pin in facts["pins"]) == [(1, 1), (1, 1)]
    used = {chunk["purpose"]: chunk for chunk in facts["chunks"]}
    assert (used["payload"]["block_bytes"], used["payload"]["live"], used["payload"]["owner"]) == (256, 5, 1)
    assert (used["user"]["block_bytes"], used["user"]["live"]) == (512, 1)
    assert facts["allocator"]["bytes_live"] == 5 * 256 + 512
    assert [(o["key"], o["generation"]) for o in facts["objects"]] == [("root", 1)]
    assert json.loads(show(tmp_path / "pool", as_json=True))["index"] == index
    assert "use allocated" not in show(tmp_path / "pool", as_json=False)


def test_a_waiting_node_is_told(pool: Pool, tmp_path: Path) -> None:
    """Goal: a lock shows who waits for it. Method: a second node asks for the one that is held, and gets it later."""
    told: list[dict[str, Any]] = []

    def lock_and_look() -> None:
        with Pool(tmp_path / "pool", node=2) as other, other.lock(9):
            told.append(by_id(inspect(tmp_path / "pool")["locks"], 9))

    waiter = threading.Thread(target=lock_and_look)
    waiter.start()
    while waiter.is_alive() and by_id(inspect(tmp_path / "pool")["locks"], 9)["waiters"] == 0:
        pass
    assert by_id(inspect(tmp_path / "pool")["locks"], 9)["holder"] == 1
    pool.unlock(9)
    waiter.join()
    pool.lock(9)
    assert (told[0]["state"], told[0]["holder"]) == ("held", 2)


def test_damaged_values_are_named(pool: Pool, tmp_path: Path) -> None:
    """Goal: what cannot be is called damaged, the rest is told. Method: lines of the metadata overwritten in a copy."""
    copy = tmp_path / "copy"
    data = bytearray((tmp_path / "pool").read_bytes())
    used = struct.pack("<Q", 1 | 1 << 8 | 2 << 16 | 1 << 24 | 1 << 32)  # small, node 1, blocks of 256 bytes, payload
    data[data.index(used, 4096)] = 0x77
    key = data.index(b"root")
    struct.pack_into("<I", data, key + 32 + 8 + 4, 1000)
    copy.write_bytes(data)
    facts = inspect(copy)
    assert [chunk["kind"] for chunk in facts["chunks"] if chunk["kind"].startswith("damaged")] == [
        "damaged: 0x101020177"
    ]
    assert facts["objects"][0]["key_bytes"] == "damaged: 0x3e8"
    assert facts["index"]["ready"] == 5


def test_what_is_no_pool_is_refused(tmp_path: Path) -> None:
    """Goal: a clear line for an empty file, random bytes, a folder and nothing. Method: each of them."""
    build()
    path = tmp_path / "pool"
    for content, text in ((b"", "pool_bytes"), (bytes(2 << 20), "magic"), (os.urandom(2 << 20), "magic")):
        path.write_bytes(content)
        with pytest.raises(MisuseError, match=text):
            show(path, as_json=False)
    with pytest.raises(MisuseError, match="pool_bytes"):
        show(tmp_path, as_json=False)
    with pytest.raises(MisuseError, match="ENOENT"):
        show(tmp_path / "none", as_json=False)


def test_any_metadata_may_be_garbage(pool: Pool, tmp_path: Path) -> None:
    """Goal: no crash whatever stands behind the superblock. Method: random bytes over the metadata, twenty seeds."""
    data = bytearray((tmp_path / "pool").read_bytes())
    end = inspect(tmp_path / "pool")["superblock"]["metadata_bytes"]
    for seed in range(20):
        data[4096:end] = random.Random(seed).randbytes(end - 4096)
        (tmp_path / "copy").write_bytes(data)
        assert inspect(tmp_path / "copy")["superblock"]["hash_seed"] == 77
