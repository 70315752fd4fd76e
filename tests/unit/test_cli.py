"""The command line: what is refused, with exit code 2, before anything is built or written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from prismem.lib.pool import format_pool
from prismem.lib.structs import FormatOptions
from prismem.paths import BUILD_RUN, ROOT
from prismem.tb.job import jobs
from prismem.tb.runner.build import build_software
from prismem.tb.runner.spec import mutants

SEED = 987_654  # of no other test: a run that was started after all leaves a folder with it


def prismem(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "prismem.cli.main", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sim"], ["TEST: is missing", "kv_share"]),
        (["sim", "kv_shred"], ["TEST: 'kv_shred' is unknown", "kv_share", "idle_latency"]),
        (["sim", "kv_share", "--profile", "pfmo"], ["PROFILE: 'pfmo'", "pfma", "tiny"]),
        (["sim", "kv_share", "--mutant", "none"], ["MUTANT: 'none'", "publish_no_data_flush"]),
        (["sim", "kv_share", "--port", "fpga"], ["PORT: 'fpga'", "rtl or functional"]),
        (["sim", "idle_latency", "--port", "functional"], ["PORT: 'functional'", "use rtl"]),
        (["sim", "idle_latency", "--mutant", "publish_no_data_flush"], ["MUTANT", "does not run the library"]),
        (["sim", "kv_share", "--policy", "lucky"], ["POLICY: 'lucky'", "seeded, random, lazy"]),
        (["sim", "kv_share", "--hosts", "0"], ["HOSTS: 0", "1..16"]),
        (["sim", "kv_share", "--hosts", "17"], ["HOSTS: 17", "1..16"]),
        (["sim", "kv_share", "--hosts", "5", "--profile", "tiny"], ["HOSTS: 5", "1..4"]),
        (["sim", "kv_share", "--hosts", "many"], ["'many'"]),
        (["sim", "kv_share", "--modules", "7"], ["MODULES: 7", "1, 2, 4, 8, 16"]),
        (["sim", "kv_share", "--seed", "-1"], ["SEED: -1"]),
        (["sim", "kv_share", "--set", "path.fibre_length=15 s"], ["path.fibre_length", "use m or cm"]),
        (["sim", "kv_share", "--opt", "color=red"], ["option color", "trace"]),
        (["sim", "kv_share", "--opt", "requests=few"], ["option requests", "'few'"]),
        (["sim", "kv_share", "--opt", "requests"], ["--opt requests", "NAME=VALUE"]),
        (["sim", "kv_share", "--opt", "trace=nowhere.jsonl"], ["nowhere.jsonl", "No such file"]),
        (["sim", "kv_share", "--wave"], ["--wave"]),
        (["replay", "nowhere/result.json"], ["nowhere/result.json", "not a result"]),
        (["replay", "README.md"], ["README.md", "not a result"]),
        (["profiles", "pfmo"], ["PROFILE: 'pfmo'"]),
    ],
)
def test_misuse_is_named_and_nothing_is_written(arguments: list[str], words: list[str]) -> None:
    if arguments[0] == "sim" and "--seed" not in arguments:
        arguments = [*arguments, "--seed", str(SEED)]
    done = prismem(*arguments)
    assert done.returncode == 2, done.stderr
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(BUILD_RUN.glob(f"*-{SEED}*"))


def test_wrong_traces_are_refused_by_the_job(tmp_path: Path) -> None:
    """Broken line, other type of hash, nothing at all: exit code 2 and the line number."""
    line = '{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": [%s]}\n'
    for text, word in ((line % "0" + "{\n", ":2: broken JSON"), (line % '"x"', ":1: hash_ids[0]"), ("", "empty")):
        path = tmp_path / "t.jsonl"
        path.write_text(text)
        done = prismem("sim", "kv_share", "--seed", str(SEED), "--opt", f"trace={path}")
        assert done.returncode == 2, done.stderr
        assert word in done.stderr
    assert not list(BUILD_RUN.glob(f"*-{SEED}*"))


def test_inspect_shows_a_pool_and_refuses_another_version(tmp_path: Path) -> None:
    """The text names field and both values; the pool stays as it is."""
    build_software()
    pool = tmp_path / "pool"
    format_pool(pool, FormatOptions(pool_bytes=4 << 20, index_slots=256))
    before = pool.read_bytes()
    shown = prismem("inspect", str(pool), "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["index.slots"] == 256
    assert pool.read_bytes() == before
    other = bytearray(before)
    other[8] = 9  # layout version
    pool.write_bytes(other)
    refused = prismem("inspect", str(pool))
    assert refused.returncode == 2
    assert "layout version: the pool has 0x9, this library expects 0x1" in refused.stderr
    assert prismem("inspect", str(tmp_path / "none")).returncode == 2


def test_mutant_help_lists_name_and_description() -> None:
    done = prismem("sim", "--mutant", "help")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == len(mutants()) >= 8
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


def test_lists_and_shows() -> None:
    """Every test is listed; the appliance's idle latency is computed beside its profile."""
    listed = prismem("sim", "--list").stdout
    assert all(name in listed for name in jobs())
    shown = prismem("profiles", "pfma").stdout
    assert "idle read: 283 ns = 24 + 212 + 47 (computed)" in shown
    assert "tiny" in prismem("profiles").stdout


def test_doctor_is_content_where_the_tests_run() -> None:
    done = prismem("doctor")
    assert done.returncode == 0, done.stdout
    assert "CXL 3.1" in done.stdout
    assert "MISSING" not in done.stdout
