"""Request traces: what the reader refuses and how, and what the generator promises."""

import json
from pathlib import Path
from typing import Any

import pytest

from prismem.errors import TraceError
from prismem.models import lru, trace

GOOD: dict[str, Any] = {"timestamp": 0, "input_length": 700, "output_length": 5, "hash_ids": [0, 1]}


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "trace.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_reads_requests_in_order(tmp_path: Path) -> None:
    """Blank lines are nothing; a limit stops early, even before a broken line."""
    path = written(tmp_path, GOOD, "", GOOD | {"timestamp": 3, "hash_ids": [0]}, "{")
    requests = trace.read(path, limit=2)
    assert [request.timestamp for request in requests] == [0, 3]
    assert requests[0].hash_ids == (0, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"timestamp": 0,', ["broken JSON"]),
        ("[1]", ["not an object", "a list"]),
        ({key: value for key, value in GOOD.items() if key != "hash_ids"}, ["hash_ids", "missing"]),
        (GOOD | {"hash_ids": ["a1b2"]}, ["hash_ids[0]", "'a1b2' is a text", "number the blocks"]),
        (GOOD | {"hash_ids": [0, 1.5]}, ["hash_ids[1]", "1.5"]),
        (GOOD | {"hash_ids": [True]}, ["hash_ids[0]", "truth value"]),
        (GOOD | {"hash_ids": [-1]}, ["hash_ids[0]", "-1"]),
        (GOOD | {"hash_ids": [1 << 64]}, ["hash_ids[0]", "64-bit"]),
        (GOOD | {"hash_ids": []}, ["hash_ids", "at least one"]),
        (GOOD | {"hash_ids": "0"}, ["hash_ids", "not a list"]),
        (GOOD | {"input_length": -5}, ["input_length", "-5 is negative"]),
        (GOOD | {"timestamp": -1}, ["timestamp", "-1 is negative"]),
        ('{"hash_ids": [' + "7" * 5000 + "]}", ["thousands of digits"]),
        ("[" * 100_000, ["nested too deeply"]),
        (GOOD | {"hash_ids": [0, 2, 1]}, ["hash_ids[2]: 1 follows 2 here and 0 in line 1", "equal prefix"]),
        (GOOD | {"hash_ids": [1]}, ["hash_ids[0]: 1 follows the start here and 0 in line 1"]),
        (GOOD | {"hash_ids": [0, 1, 0]}, ["hash_ids[2]: 0 follows 1 here and the start in line 1"]),
        (GOOD | {"hash_ids": [0, 1, 5, 5]}, ["hash_ids[3]: 5 follows 5 here and 1 in line 3"]),
        (GOOD | {"output_length": "5"}, ["output_length", "'5'"]),
        (GOOD | {"timestamp": None}, ["timestamp", "null"]),
    ],
)
def test_wrong_line_is_named(tmp_path: Path, line: object, words: list[str]) -> None:
    """The third line is wrong: file, line number, field and value stand in the message."""
    with pytest.raises(TraceError) as caught:
        trace.read(written(tmp_path, GOOD, GOOD, line))
    for word in ["trace.jsonl:3", *words]:
        assert word in str(caught.value)


def test_empty_missing_and_binary_traces(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="empty"):
        trace.read(written(tmp_path, "", ""))
    with pytest.raises(TraceError, match="No such file"):
        trace.read(tmp_path / "nowhere.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match="UTF-8"):
        trace.read(tmp_path / "binary")


def test_generator_is_seeded_and_in_the_format(tmp_path: Path) -> None:
    """The same seed gives the same file, another seed another one; the reader takes it."""
    first = list(trace.generate(trace.Workload(seed=5)))
    assert first == list(trace.generate(trace.Workload(seed=5)))
    assert first != list(trace.generate(trace.Workload(seed=6)))
    trace.write(tmp_path / "t.jsonl", first)
    assert trace.read(tmp_path / "t.jsonl") == first


@pytest.mark.parametrize("seed", range(5))
def test_generator_keeps_its_promises(seed: int) -> None:
    """Bounded prompts, a shared system prompt, time that never goes back, and reuse that a cache can see."""
    workload = trace.Workload(seed=seed, requests=300)
    requests = list(trace.generate(workload))
    assert all(request.hash_ids[:2] == (0, 1) for request in requests)
    assert all(len(set(request.hash_ids)) == len(request.hash_ids) <= workload.blocks_max for request in requests)
    assert all(0 < len(r.hash_ids) * trace.BLOCK_TOKENS - r.input_length + 1 <= trace.BLOCK_TOKENS for r in requests)
    times = [request.timestamp for request in requests]
    assert times == sorted(times)
    assert 50.0 < lru.replay(request.hash_ids for request in requests).hit_rate_percent < 95.0


def test_equal_ids_mean_equal_prefix() -> None:
    """A block id has one parent only: otherwise a chained digest could not name it."""
    parents: dict[int, int | None] = {}
    for request in trace.generate(trace.Workload(requests=500)):
        for parent, block in zip((None, *request.hash_ids), request.hash_ids, strict=False):
            assert parents.setdefault(block, parent) == parent
