"""`prismem bench --library`: the library on real instructions beside alternatives; build/bench_native/result.json.

Times are wall-clock numbers of this machine, best of several rounds of one run, so their ratios say more than they do.
Each row: what the library takes, what the peer takes for the same, and the ratio; above 1 the library is faster.

- lookup_64: longest resident prefix of 64 blocks, pinned and released; peers: 64 keys of a Python dict behind a lock,
  64 EXISTS of Redis in one pipelined request over loopback.
- publish: one new block of 64 KiB made findable; peers: a copy into the dict, SET of Redis.
- payload: copies in and out of the pool beside memcpy over the same region, none of whose lines is cached at the start.
  A copy out has to drop every line from the cache first; `bound` is what that and a memcpy behind it allow.
- lines: lines flushed an operation, beside the fewest that the layout allows.
"""

import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from prismem.errors import PrismemError
from prismem.paths import BUILD, BUILD_SW, SOFTWARE, relative
from prismem.tb.runner.build import build_software, progress
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.toolchain import commit, tool_versions

RESULT = BUILD / "bench_native" / "result.json"
PREFIX = 64
BLOCK_BYTES = 64 << 10
ROUNDS, CALLS = 7, 200
SERVERS = ("redis-server", "valkey-server")
SERVER_WAIT_S = 5.0
# Lines that an operation cannot do without: a lock round trip is choosing, number and release; a bucket is
# published when it is reserved and when it is READY; a pin when it is taken and when it is dropped; a block enters the
# list by its own link, a neighbour's and the head line, and leaves it by a neighbour's and the head line.
LOCK_LINES = 3
MINIMUM = {
    "insert": {"lru": LOCK_LINES + 2 + 2 + 3, "clock": LOCK_LINES + 2 + 2 + 3},
    "hit": {"lru": LOCK_LINES + 2 + 3, "clock": 2},
    "evict": {"lru": LOCK_LINES + 2 + 2, "clock": LOCK_LINES + 2 + 2},
    "lock_hand_over": {"lru": LOCK_LINES, "clock": LOCK_LINES},
}


def best_ns(call: Callable[[], object]) -> int:
    """Time of one call: mean over CALLS, best of ROUNDS."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter_ns() - start) / CALLS)
    return round(best)


def measure_dict() -> dict[str, int]:
    """A Python dict behind a lock."""
    lock, table = threading.Lock(), {}
    keys = [(i, i * 7) for i in range(PREFIX)]
    payload = bytes(BLOCK_BYTES)
    table.update(dict.fromkeys(keys, payload))
    number = iter(range(10**9))

    def lookup() -> int:
        with lock:
            return next((i for i, key in enumerate(keys) if key not in table), PREFIX)

    def publish() -> None:
        data = bytearray(payload)
        with lock:
            table[(next(number) % 1024, -1)] = bytes(data)

    return {"lookup_64_ns": best_ns(lookup), "publish_ns": best_ns(publish)}


class Redis:
    """The few commands of the protocol (RESP) that the comparison takes, over one connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SERVER_WAIT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    @staticmethod
    def encode(*words: bytes) -> bytes:
        """One command."""
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)

    def ask(self, request: bytes, replies: int = 1) -> list[bytes]:
        """Send, and read one line for each reply. PrismemError for an error reply."""
        self._socket.sendall(request)
        lines = [self._file.readline() for _ in range(replies)]
        if any(not line or line.startswith(b"-") for line in lines):
            raise PrismemError(f"bench: redis answers {lines[0]!r}")
        return lines

    def close(self) -> None:
        """End the connection."""
        self._file.close()
        self._socket.close()


@contextmanager
def redis_server(program: str) -> Iterator[Redis]:
    """A server of our own on a free port of loopback, without a file."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + SERVER_WAIT_S
        while True:
            try:
                client = Redis(port)
                break
            except OSError:
                if time.monotonic() > deadline or server.poll() is not None:
                    raise PrismemError(f"bench: {program} does not answer on port {port}") from None
                time.sleep(0.05)
        yield client
        client.close()
    finally:
        server.terminate()
        server.wait()


def measure_redis() -> dict[str, int] | None:
    """Redis or Valkey over loopback; None when neither is installed."""
    program = next(filter(None, map(shutil.which, SERVERS)), None)
    if program is None:
        return None
    with redis_server(program) as client:
        payload = bytes(BLOCK_BYTES)
        client.ask(b"".join(client.encode(b"SET", b"k%d" % i, b"x") for i in range(PREFIX)), PREFIX)
        lookup = b"".join(client.encode(b"EXISTS", b"k%d" % i) for i in range(PREFIX))
        number = iter(range(10**9))

        def publish() -> None:
            client.ask(client.encode(b"SET", b"b%d" % (next(number) % 1024), payload))

        return {"lookup_64_ns": best_ns(lambda: client.ask(lookup, PREFIX)), "publish_ns": best_ns(publish)}


def measure_library() -> dict[str, Any]:
    """What software/bench/native_speed.c prints."""
    build_software(SOFTWARE, "bench")
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        program = str(BUILD_SW / "native_speed")
        done = subprocess.run([program, str(Path(folder) / "pool")], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PrismemError(f"bench: native_speed failed: {(done.stdout + done.stderr).strip()}")
    return dict(json.loads(done.stdout))


def rows(ours: dict[str, Any], peers: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    """One row a comparison: operation, unit, ours, peer, ratio (above 1: the library is faster)."""
    made: list[dict[str, Any]] = []
    for peer, times in peers.items():
        for key, value in times.items():
            operation = key.removesuffix("_ns")
            ratio = round(value / ours[key], 2)
            made.append(
                {"operation": operation, "unit": "ns", "ours": ours[key], "peer": peer, "value": value}
                | {"ratio": ratio}
            )
    for size, speeds in ours["payload"].items():
        for way in ("in", "out"):
            value = speeds[f"{way}_memcpy"]
            bound = value if way == "in" else 1 / (1 / value + 1 / speeds["flush"])
            made.append(
                {
                    "operation": f"payload_{way}_{int(size) >> 10}KiB",
                    "unit": "GB/s",
                    "ours": speeds[way],
                    "peer": "memcpy",
                    "value": value,
                    "ratio": round(speeds[way] / value, 2),
                    "bound": round(bound, 3),
                }
            )
    return made


def run(console: Console) -> bool:
    """Measure, print and store."""
    progress("measuring the library")
    ours = measure_library()
    peers = {"python dict": measure_dict()}
    redis = measure_redis()
    if redis is None:
        console.print(f"no {' or '.join(SERVERS)} on the path: not compared; 'apt-get install redis-server' brings one")
    else:
        peers["redis"] = redis
    table_rows = rows(ours, peers)
    lines = {
        name: {policy: {"lines": ours["lines"][policy][name], "minimum": least[policy]} for policy in least}
        for name, least in MINIMUM.items()
    }
    result = {"rows": table_rows, "lines": lines, "churn": ours["churn"], "commit": commit(), "tools": tool_versions()}
    write_atomic(RESULT, json.dumps(result, indent=2) + "\n")
    table = Table("operation", "ours", "peer", "peer's", "unit", "ratio", "bound")
    for row in table_rows:
        table.add_row(
            row["operation"],
            f"{row['ours']:,}",
            row["peer"],
            f"{row['value']:,}",
            row["unit"],
            str(row["ratio"]),
            str(row.get("bound", "")),
        )
    console.print(table)
    table = Table("lines flushed", "lru", "fewest", "clock", "fewest")
    for name, each in lines.items():
        cells = [str(each[policy][key]) for policy in ("lru", "clock") for key in ("lines", "minimum")]
        table.add_row(name, *cells)
    console.print(table)
    churn = ours["churn"]
    console.print(
        f"{churn['inserted']:,} blocks through {churn['capacity']:,} places of {churn['slots']:,} buckets: "
        f"{churn['probes_a_hit']} probes a hit, {churn['probe_max']} the most",
        highlight=False,
    )
    console.print(relative(RESULT))
    return True
