"""libprismem on real instructions: the C tests with one process a node, the build itself, region and processes."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import pytest
from lib_support import NATIVE_TESTS, build, names_in_source

from prismem.lib.pool import Pool, PoolError, format_pool, load
from prismem.lib.structs import FormatOptions
from prismem.models import digest, lru
from prismem.paths import BUILD_SW, SOFTWARE

POOL_BYTES = 4 << 20


def run_native(*arguments: str, program: Path = NATIVE_TESTS, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )


@pytest.fixture
def pool_path(tmp_path: Path) -> Path:
    build()
    return tmp_path / "pool"


@pytest.mark.parametrize("name", names_in_source())
def test_four_to_eight_processes(name: str) -> None:
    """Goal: each C test passes with 4, 6 and 8 processes on one file. Method: the native harness, a seed each."""
    build()
    for seed, nodes in enumerate(("4", "6", "8"), 1):
        result = run_native("--nodes", nodes, "--seed", str(seed), "--scale", "4", name)
        assert result.returncode == 0, f"{nodes} nodes, seed {seed}: {result.stdout}{result.stderr}"


CPU_FLAGS = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("path", [path for path in ("clflush", "clflushopt", "clwb") if path in CPU_FLAGS])
def test_each_flush_path(path: str) -> None:
    """Goal: every instruction path that this CPU has works. Method: PM_FLUSH forces it for the whole suite."""
    build()
    result = run_native(PM_FLUSH=path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_wrong_flush_path_is_refused(pool_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: a misspelt PM_FLUSH does not pass for the default. Method: it is set, and a pool opened."""
    format_pool(pool_path, FormatOptions(pool_bytes=POOL_BYTES))
    monkeypatch.setenv("PM_FLUSH", "clfush")
    with pytest.raises(PoolError, match=r"EINVAL: flush path \(PM_FLUSH\): 'clfush' is none of clflush"):
        Pool(pool_path)


SANITIZERS = ("asan", "tsan")  # addresses and undefined behaviour; races between the threads of a node
SUPPRESSIONS = f"suppressions={SOFTWARE / 'tests' / 'tsan.supp'}"


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_sanitizers(sanitizer: str) -> None:
    """Goal: the native suite is clean under each sanitizer. Method: library and tests compiled with it, three nodes."""
    build(sanitizer)
    result = run_native("--nodes", "3", program=BUILD_SW / f"pm_tests_{sanitizer}", TSAN_OPTIONS=SUPPRESSIONS)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.regress
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_sanitizers_at_length(sanitizer: str) -> None:
    """Goal: the same with other numbers of nodes and more rounds. Method: four to eight nodes, three seeds each."""
    build(sanitizer)
    for nodes in ("4", "6", "8"):
        for seed in ("1", "2", "3"):
            result = run_native(
                *("--nodes", nodes, "--seed", seed, "--scale", "2"),
                program=BUILD_SW / f"pm_tests_{sanitizer}",
                TSAN_OPTIONS=SUPPRESSIONS,
            )
            assert result.returncode == 0, f"{nodes} nodes, seed {seed}: {result.stdout}{result.stderr}"


def test_the_race_sanitizer_can_fail() -> None:
    """Goal: the suite notices a race. Method: the one that is meant, and excused by name, without its excuse."""
    build("tsan")
    for seed in range(1, 41):
        result = run_native("--seed", str(seed), "index_share", program=BUILD_SW / "pm_tests_tsan")
        if result.returncode != 0:
            break
    assert "data race" in result.stderr
    assert "read_dropped" in result.stderr


INTERNAL = ("pm_internal", "pm_internal_asan", "pm_internal_tsan")


@pytest.mark.parametrize("program", INTERNAL)
def test_index_repair(program: str, tmp_path: Path) -> None:
    """Goal: an index that a dead node left broken is repaired, every block with its own bytes, both policies.

    Method: pools broken by hand, twenty seeds; with the sanitizers too (leaks apart: a dead node never closes).
    """
    build("tests" if program == "pm_internal" else program.removeprefix("pm_internal_"))
    result = run_native(
        *(str(tmp_path / "pool"), "1", "20"),
        program=BUILD_SW / program,
        ASAN_OPTIONS="detect_leaks=0",
        TSAN_OPTIONS=f"{SUPPRESSIONS}:report_thread_leaks=0",
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_unknown_test_is_misuse() -> None:
    """Goal: a wrong name ends with exit code 2 and says where the names are."""
    build()
    result = run_native("no_such_test")
    assert result.returncode == 2
    assert "no_such_test" in result.stderr
    assert "--list" in result.stderr


def test_failing_test_fails() -> None:
    """Goal: the harness can fail. Method: a pool path in a folder that does not exist."""
    build()
    result = run_native("--path", "/nonexistent/pool", "publish_consume")
    assert result.returncode == 1
    assert "FAIL publish_consume" in result.stdout


@pytest.mark.parametrize("library", ["libprismem.so", "libprismem_inst.so"])
def test_exports_only_pm(library: str) -> None:
    """Goal: only the public prefix leaves the library. Method: its dynamic symbol table."""
    build()
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(BUILD_SW / library)], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    assert "pm_open" in names
    assert {n for n in names if not n.startswith("pm_")} <= {"pmi_mutant_selected"}


def test_digest_is_the_model() -> None:
    """Goal: C and Python name a block alike. Method: seeds and chains of even and odd length through ctypes."""
    build()
    library = load()

    class Raw(ctypes.Structure):
        _fields_ = [("lo", ctypes.c_uint64), ("hi", ctypes.c_uint64)]

    library.pm_digest_seed.restype = library.pm_digest_chain.restype = Raw
    library.pm_digest_seed.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
    library.pm_digest_chain.argtypes = [Raw, ctypes.c_void_p, ctypes.c_size_t]
    space = bytes(range(16))
    parent = library.pm_digest_seed(77, space)
    expected = digest.seed(77, space)
    assert (parent.lo, parent.hi) == expected
    for count in (1, 2, 3, 64, 65):
        tokens = (ctypes.c_uint32 * count)(*[0xFFFFFFFF - i * 7919 for i in range(count)])
        parent = library.pm_digest_chain(parent, tokens, count)
        expected = digest.chain(expected, list(tokens))
        assert (parent.lo, parent.hi) == expected


def test_residency_is_lru(pool_path: Path) -> None:
    """Goal: the index holds what the LRU model holds, block by block. Method: random chains, small capacity."""
    generator_state = 12345
    capacity = 40
    format_pool(
        pool_path,
        FormatOptions(pool_bytes=POOL_BYTES, nodes=1, index_slots=128, index_capacity=capacity, block_bytes=64),
    )
    model = lru.PrefixCache(capacity)
    stop = ctypes.c_int()
    with Pool(pool_path, node=0) as pool, manager(pool, stop):
        for request in range(300):
            generator_state = generator_state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            family, leaf = generator_state >> 33 & 7, generator_state >> 40 & 15
            ids = [(family << 8) + i if i < 4 else (family << 8) + (leaf << 4) + i for i in range(4 + leaf % 5)]
            chain = [(1 + b * 0x9E3779B9, b) for b in ids]
            hits = pool.lookup(request, chain)
            refs = pool.commit(pool.reserve(request, (0, 0), chain, hits))
            pool.release(request, refs)
            assert len(hits) == model.request(ids).hits, f"request {request}"
        assert pool.index_info()["evictions"] == model.totals.evictions > 0
        pool.audit()


class manager:
    """The lock manager of a pool, on a thread of its own."""

    def __init__(self, pool: Pool, stop: ctypes.c_int) -> None:
        import threading

        self._stop = stop
        self._thread = threading.Thread(target=pool.manager_run, args=(stop,))

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.value = 1
        self._thread.join()


def test_forked_child_is_refused(pool_path: Path) -> None:
    """Goal: a forked child cannot use the parent's handle. Method: the child tries, and reports by exit code."""
    format_pool(pool_path, FormatOptions(pool_bytes=POOL_BYTES))
    with Pool(pool_path, node=1) as pool:
        child = os.fork()
        if child == 0:
            try:
                pool.lookup(1, [(1, 1)])
            except PoolError as error:
                os._exit(7 if "parent process" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert pool.lookup(1, [(1, 1)]) == []


def test_dax_size_from_sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: size and alignment of a DAX device come from sysfs. Method: a tree of our own with a file as device."""
    build()
    sysfs = tmp_path / "sysfs" / "dax0.0"
    sysfs.mkdir(parents=True)
    device = tmp_path / "dax0.0"
    device.write_bytes(b"")
    os.truncate(device, POOL_BYTES)
    (sysfs / "size").write_text(f"{POOL_BYTES}\n")
    (sysfs / "align").write_text(f"{2 << 20}\n")
    monkeypatch.setenv("PM_DAX_PREFIX", str(tmp_path / "dax"))
    monkeypatch.setenv("PM_DAX_SYSFS", str(tmp_path / "sysfs"))
    format_pool(device, FormatOptions())
    with Pool(device, node=0):
        pass
    (sysfs / "size").write_text(f"{POOL_BYTES + 4096}\n")
    with pytest.raises(PoolError, match="size.*multiple of its alignment"):
        format_pool(device, FormatOptions())
    (sysfs / "align").unlink()
    with pytest.raises(PoolError, match="align of the DAX device"):
        format_pool(device, FormatOptions())


def test_other_version_is_refused(pool_path: Path) -> None:
    """Goal: a pool file of another layout version is refused by name. Method: one byte of the superblock changed."""
    format_pool(pool_path, FormatOptions(pool_bytes=POOL_BYTES))
    with pool_path.open("r+b") as file:
        file.seek(8)
        file.write(b"\x09")
    with pytest.raises(PoolError, match="layout version: the pool has 0x9"):
        Pool(pool_path)
