"""The command line: what is refused, with exit code 2, before anything is built or written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from prismem.errors import MisuseError
from prismem.lib.pool import format_pool
from prismem.lib.structs import FormatOptions
from prismem.models import trace
from prismem.paths import BUILD_RUN, ROOT
from prismem.tb.job import jobs
from prismem.tb.runner.build import build_software
from prismem.tb.runner.spec import make_spec, mutants

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
        (["sim", "kv_share", "--hosts", "-3"], ["HOSTS: -3", "choose 1..16"]),
        (["sim", "kv_share", "--modules", "7"], ["MODULES: 7", "1, 2, 3, 4, 6, 8, 12, 16"]),
        (["sim", "kv_python", "--hosts", "3"], ["HOSTS: 3", "choose 1..2"]),
        (["sim", "kv_share", "--port", "functional", "--waves"], ["WAVES", "PORT=rtl"]),
        (["sim", "kv_share", "--port", ""], ["PORT: ''", "use rtl or functional"]),
        (["sim", "kv_share", "--profile", ""], ["PROFILE: '' is unknown", "pfma, switch, tiny"]),
        (["sim", "kv_share", "--profile", "nope.toml"], ["PROFILE: 'nope.toml'", "no such file"]),
        (["sim", "kv_share", "--set", "path.fibre_length=15"], ["--set path.fibre_length=15:", "unit missing"]),
        (["sim", "kv_share", "--opt", "capacity=99999999999999999999"], ["option capacity", "0..4294967296"]),
        (["sim", "kv_share", "--opt", "requests=1000001"], ["option requests", "outside", "0..1000000"]),
        (["sim", "kv_share", "--opt", "requests=" + "9" * 5000], ["option requests", "outside", "0..1000000"]),
        (["sim", "kv_share", "--opt", "compute_ns=1000000000"], ["option compute_ns", "0..999999999"]),
        (["sim", "kv_share", "--opt", "trace="], ["option trace: ''", "is empty"]),
        (["sim", "traffic", "--opt", "lines=16777217"], ["option lines", "64..16777216"]),
        (["sim", "traffic", "--opt", "random=maybe"], ["option random: 'maybe'", "true nor false"]),
        (["sim", "idle_latency", "--opt", "stride=65"], ["option stride: '65'", "a multiple of 64"]),
        (["sim", "traffic", "--set", "hdm.window=2 MiB", "--opt", "lines=65536"], ["MODULES: the run", "map 4 MiB"]),
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
    cases = [
        (line % "0" + "{\n", ":2: broken JSON"),
        (line % '"x"', ":1: hash_ids[0]"),
        (line % "0, 1" + line % "1", ":2: hash_ids[0]: 1 follows the start here and 0 in line 1"),
        (line % ("7" * 5000), ":1: a number"),
        ("[" * 100_000, ":1: nested too deeply"),
        ("", "empty"),
    ]
    for text, word in cases:
        path = tmp_path / "t.jsonl"
        path.write_text(text)
        done = prismem("sim", "kv_share", "--seed", str(SEED), "--opt", f"trace={path}")
        assert done.returncode == 2, done.stderr
        assert word in done.stderr
        assert "Traceback" not in done.stderr
    assert not list(BUILD_RUN.glob(f"*-{SEED}*"))


def make_sim(*variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "sim", *variables, f"SEED={SEED}"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("text", ["x'; touch {0}; '", "$(shell touch {0})", "`touch {0}`", '"; touch {0}; "', "$$(x)"])
@pytest.mark.parametrize("variable", ["TEST", "PORT", "TRACE", "SET", "OPTS"])
def test_make_hands_text_on_and_runs_none_of_it(tmp_path: Path, variable: str, text: str) -> None:
    done = make_sim(*([] if variable == "TEST" else ["TEST=kv_share"]), f"{variable}={text.format(tmp_path / 'ran')}")
    assert done.returncode == 2
    assert "prismem: " in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("variable", ["WAVES=yes", "COHERENT=true", "LOG=on", "EVERY_CYCLE=2"])
def test_make_takes_0_or_1_for_a_switch(variable: str) -> None:
    done = make_sim("TEST=kv_share", variable)
    assert done.returncode == 2
    name, _, value = variable.partition("=")
    assert f"{name}: '{value}' is neither 0 nor 1; write {name}=1" in done.stderr


def test_trace_is_kept_so_that_a_run_replays_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path relative to some folder becomes absolute, or relative to the checkout when it lies inside."""
    text = '{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": [0]}\n'
    (tmp_path / "t.jsonl").write_text(text)
    monkeypatch.chdir(tmp_path)
    spec = make_spec("kv_share", options={"trace": "t.jsonl"})
    assert spec.options == {"trace": str(tmp_path / "t.jsonl")}
    inside = ROOT / "profiles" / "tiny.toml"
    monkeypatch.chdir(inside.parent)
    spec = make_spec("kv_share", profile="tiny.toml")
    assert spec.profile == "profiles/tiny.toml"
    monkeypatch.chdir(tmp_path)
    assert spec.request().profile.name == "tiny"


def test_trace_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": [0]}\n')
    read = trace.read
    calls: list[object] = []
    monkeypatch.setattr(trace, "read", lambda *arguments: calls.append(arguments) or read(*arguments))
    spec = make_spec("kv_share", options={"trace": str(path)})
    spec.request()
    assert len(calls) == 1


def test_file_that_cannot_be_written_is_one_line() -> None:
    """Whatever file it is: its name and the reason, exit code 1."""
    code = """import prismem.cli.main as main
def refuse(**_):
    raise PermissionError(13, "Permission denied", "build/run/x")
main.cli = refuse
main.main()"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("prismem: build/run/x: Permission denied; ")
    assert len(done.stderr.splitlines()) == 1


def test_replay_cannot_ask_for_what_the_run_cannot_have() -> None:
    """Options that `replay` adds are held to the same rules."""
    functional = make_spec("kv_share", port="functional")
    with pytest.raises(MisuseError, match="WAVES: the functional port"):
        functional.model_copy(update={"waves": True}).request()
    with pytest.raises(MisuseError, match="PORT: 'functional' is not possible"):
        make_spec("idle_latency").model_copy(update={"port": "functional"}).request()


def test_inspect_shows_a_pool_and_refuses_another_version(tmp_path: Path) -> None:
    """The text names field and both values; the pool stays as it is."""
    build_software()
    pool = tmp_path / "pool"
    format_pool(pool, FormatOptions(pool_bytes=4 << 20, index_slots=256))
    before = pool.read_bytes()
    shown = prismem("inspect", str(pool), "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["index"]["slots"] == 256
    assert pool.read_bytes() == before
    other = bytearray(before)
    other[8] = 9  # layout version
    pool.write_bytes(other)
    refused = prismem("inspect", str(pool))
    assert refused.returncode == 2
    assert "layout version: the pool has 0x9, 0x3 is expected" in refused.stderr
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
