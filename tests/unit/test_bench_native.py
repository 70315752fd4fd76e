"""The comparison of the library with its peers: rows, the peers' own measurements, a server that is missing."""

import socket
import threading

import pytest

from prismem.cli import bench_native
from prismem.errors import PrismemError

OURS = {
    "lookup_64_ns": 20_000,
    "publish_ns": 50_000,
    "payload": {"65536": {"in": 8.0, "in_memcpy": 4.0, "out": 3.0, "out_memcpy": 4.0, "flush": 12.0}},
}


def test_ratio_above_one_is_faster() -> None:
    """Times and speeds count in opposite ways: 100 us against 20 us, 8 GB/s against 4 GB/s."""
    rows = bench_native.rows(OURS, {"redis": {"lookup_64_ns": 100_000, "publish_ns": 25_000}})
    ratios = {(row["operation"], row["peer"]): row["ratio"] for row in rows}
    assert ratios == {
        ("lookup_64", "redis"): 5.0,
        ("publish", "redis"): 0.5,
        ("payload_in_64KiB", "memcpy"): 2.0,
        ("payload_out_64KiB", "memcpy"): 0.75,
    }


def test_a_copy_out_is_bound_by_its_flushes() -> None:
    """4 GB/s behind 12 GB/s of flushes: a quarter and a twelfth of a nanosecond a byte make 3 GB/s."""
    bounds = {row["operation"]: row["bound"] for row in bench_native.rows(OURS, {})}
    assert bounds == {"payload_in_64KiB": 4.0, "payload_out_64KiB": 3.0}


def test_missing_server_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert bench_native.measure_redis() is None


@pytest.mark.parametrize("answer", [b"+OK\r\n", b"-ERR wrong\r\n", b""])
def test_protocol(answer: bytes) -> None:
    """A command as the protocol wants it; an error reply or none is an error. Method: a server of one answer."""
    received = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                received.extend(connection.recv(100))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        client = bench_native.Redis(server.getsockname()[1])
        request = client.encode(b"SET", b"k", b"va")
        if answer.startswith(b"+"):
            assert client.ask(request) == [answer]
        else:
            with pytest.raises(PrismemError, match="redis answers"):
                client.ask(request)
        client.close()
        thread.join()
    assert received == b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nva\r\n"
