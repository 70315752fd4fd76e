"""Request traces in the Mooncake JSONL format, one request a line:

    {"timestamp": 27, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}

`timestamp` in ms, lengths in tokens, `hash_ids` names the blocks of the prompt from its start (512 tokens each in
Mooncake's traces): equal ids mean equal content and equal prefix. `read` takes such a file and holds it to that;
`generate` makes one of our own.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from prismem.errors import TraceError
from prismem.paths import relative

BLOCK_TOKENS = 512
_HASH_ID_MAX = (1 << 64) - 1


@dataclass(frozen=True)
class Request:
    """One request: arrival in ms, prompt and answer in tokens, ids of the prompt's blocks."""

    timestamp: int
    input_length: int
    output_length: int
    hash_ids: tuple[int, ...]


def read(path: str | Path, limit: int | None = None) -> list[Request]:
    """The first `limit` requests of a trace, all without a limit. Raises TraceError that names file, line and field."""
    name = relative(Path(path))
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise TraceError(f"TRACE: {name}: {error.strerror}; give the path of a JSONL file") from None
    except UnicodeDecodeError as error:
        raise TraceError(f"{name}: not UTF-8 text: {error.reason}; give a JSONL file") from None
    requests: list[Request] = []
    parents: dict[int, tuple[int | None, int]] = {}
    for number, line in enumerate(lines, start=1):
        if limit is not None and len(requests) >= limit:
            break
        if line.strip():
            request = _parse(line, f"{name}:{number}")
            _check_prefixes(request.hash_ids, parents, name, number)
            requests.append(request)
    if not requests:
        raise TraceError(f"{name}: empty: a trace has at least one request a line; give another file")
    return requests


def _check_prefixes(ids: tuple[int, ...], parents: dict[int, tuple[int | None, int]], name: str, number: int) -> None:
    """An id has one parent in the whole trace and stands once in a request; `parents` remembers, with the line."""
    parent: int | None = None
    for index, block in enumerate(ids):
        first, line = parents.setdefault(block, (parent, number))
        if first != parent:  # so it is too when an id comes again in its request
            here, there = ("the start" if p is None else f"{p}" for p in (parent, first))
            raise TraceError(
                f"{name}:{number}: hash_ids[{index}]: {block} follows {here} here and {there} in line {line}; equal "
                "ids mean equal content behind an equal prefix: give blocks that differ in either other ids"
            )
        parent = block


def write(path: Path, requests: list[Request]) -> None:
    """Write a trace."""
    path.write_text("".join(json.dumps(asdict(request)) + "\n" for request in requests), encoding="utf-8")


def _parse(line: str, where: str) -> Request:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise TraceError(f"{where}: broken JSON at column {error.colno}: {error.msg}; mend or drop the line") from None
    except ValueError:  # Python's own limit on the digits of a number
        raise TraceError(f"{where}: a number has thousands of digits; block ids are 64-bit numbers: mend it") from None
    except RecursionError:
        raise TraceError(f"{where}: nested too deeply; a request is a flat object: mend or drop the line") from None
    if not isinstance(record, dict):
        raise TraceError(f"{where}: not an object but {_kind(record)}; write {{...}} with the four fields")
    timestamp, input_length, output_length = (
        _whole(record, key, where) for key in ("timestamp", "input_length", "output_length")
    )
    ids = _field(record, "hash_ids", where)
    if not isinstance(ids, list) or not ids:
        raise TraceError(f"{where}: hash_ids: {ids!r:.60} is not a list of at least one block id; write e.g. [0, 1]")
    for index, value in enumerate(ids):
        if type(value) is not int or not 0 <= value <= _HASH_ID_MAX:
            kind = f"outside 0..{_HASH_ID_MAX}" if type(value) is int else _kind(value)
            raise TraceError(
                f"{where}: hash_ids[{index}]: {value!r:.60} is {kind}, not a 64-bit block number; "
                "other types of hash are unknown here: number the blocks"
            )
    return Request(timestamp, input_length, output_length, tuple(ids))


def _field(record: dict[str, Any], key: str, where: str) -> Any:
    if key not in record:
        raise TraceError(f"{where}: {key}: missing; a request has timestamp, input_length, output_length, hash_ids")
    return record[key]


def _whole(record: dict[str, Any], key: str, where: str) -> int:
    value = _field(record, key, where)
    if type(value) is int and value < 0:
        raise TraceError(f"{where}: {key}: {value!r:.60} is negative; write a whole number of 0 or more")
    if type(value) is not int:
        raise TraceError(f"{where}: {key}: {value!r:.60} is {_kind(value)}, not a whole number of 0 or more; mend it")
    return value


def _kind(value: Any) -> str:
    names = {
        str: "a text",
        float: "a fraction",
        bool: "a truth value",
        int: "a number",
        dict: "an object",
        list: "a list",
    }
    return names.get(type(value), "null")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Shape of a generated trace. Defaults: chat with a shared system prompt, several turns, popular documents."""

    requests: int = 200
    seed: int = 1
    system_blocks: int = 2  # shared by all conversations
    documents: int = 40  # long contexts that conversations are about, chosen by popularity
    document_blocks_mean: float = 4.0
    zipf_exponent: float = 1.1
    turn_probability: float = 0.6  # a request goes on with an open conversation
    turn_blocks_mean: float = 1.5  # question and answer that each turn adds
    conversations_open: int = 16
    blocks_max: int = 32  # of one prompt; a longer conversation ends
    interval_ms_mean: float = 100.0


def generate(workload: Workload) -> Iterator[Request]:
    """Requests of a workload, the same for the same seed."""
    rng = np.random.default_rng(workload.seed)
    ranks = np.arange(1, workload.documents + 1, dtype=np.float64)
    popularity = ranks**-workload.zipf_exponent
    popularity /= popularity.sum()
    next_id = workload.system_blocks
    documents: dict[int, list[int]] = {}
    conversations: list[list[int]] = []
    clock_ms = 0.0

    def fresh(mean: float) -> list[int]:
        nonlocal next_id
        count = 1 + int(rng.poisson(max(mean - 1.0, 0.0)))
        next_id += count
        return list(range(next_id - count, next_id))

    for _ in range(workload.requests):
        clock_ms += rng.exponential(workload.interval_ms_mean)
        if conversations and rng.random() < workload.turn_probability:
            chain = conversations.pop(int(rng.integers(len(conversations))))
        else:
            document = int(rng.choice(workload.documents, p=popularity))
            if document not in documents:
                documents[document] = fresh(workload.document_blocks_mean)
            chain = [*range(workload.system_blocks), *documents[document]]
        chain = [*chain, *fresh(workload.turn_blocks_mean)][: workload.blocks_max]
        if len(chain) < workload.blocks_max:
            conversations.append(chain)
            conversations = conversations[-workload.conversations_open :]
        tokens = len(chain) * BLOCK_TOKENS - int(rng.integers(BLOCK_TOKENS))
        yield Request(int(clock_ms), tokens, int(rng.integers(1, 2 * BLOCK_TOKENS)), tuple(chain))
