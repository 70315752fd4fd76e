"""Threads of a host under `prismem check`: what POSIX and C++ offer them, how crashes are told, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from check_support import PROGRAMS, check, lines_with, prismem

from prismem.lib.check.compiler import REFUSED, WARNED

POSIX = PROGRAMS / "posix_sync.c"
CXX = PROGRAMS / "cxx_sync.cpp"
CRASHES = PROGRAMS / "crashes.cpp"
EXECUTIONS = 2000


def cases(program: Path, kind: str) -> list[str]:
    """The cases that a program of the tests has."""
    found = re.search(rf"^enum {kind}{{ (.*) }};", program.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return [name.split()[0] for name in found[1].split(", ")]


QUICK = (
    "MUTEX",
    "CONDITION",
    "FUTURE",
    "EXCEPTION",
)  # of C++, which compiles slowly; the others are for `make regress`
SYNCHRONIZED = [(POSIX, name) for name in cases(POSIX, "")] + [
    pytest.param(CXX, name, marks=[] if name in QUICK else pytest.mark.regress) for name in cases(CXX, "Case ")
]


@pytest.mark.parametrize(("program", "case"), SYNCHRONIZED)
def test_synchronization_orders_the_threads_of_a_host(program: Path, case: str) -> None:
    """With the call nothing is found in any order of the threads that is tried; without it the search finds an order
    in which an addition is lost, so the call is what orders them."""
    options = ("-D", f"CASE={case}", "--hosts", "2", "--executions", str(EXECUTIONS))
    status, result = check(program, *options)
    assert (status, result["found"]) == (0, False), result["story"]
    assert result["executions"] > 100
    status, result = check(program, *options, "-D", "BROKEN")
    assert (status, result["kind"]) == (1, "thread"), result


@pytest.mark.parametrize("case", cases(CRASHES, "Case "))
def test_a_crash_is_told_with_its_calls(case: str) -> None:
    """A crash of the program, in C++ and in a thread too, is a fault with the lines that led to it, and replays."""
    status, result = check(CRASHES, "-D", f"CASE={case}", "--executions", "50")
    assert (status, result["found"]) == (1, True)
    assert result["kind"] == ("thread" if case in ("ABORT", "ASSERT", "JOINABLE") else "crash")
    number = next(
        n for n, line in enumerate(CRASHES.read_text().splitlines(), 1) if re.search(rf"// HERE.* {case}", line)
    )
    here, caller = f"{CRASHES.name}:{number}", lines_with(CRASHES, "// CALLER")[0]
    assert here in result["message"].replace(str(CRASHES), CRASHES.name), result["message"]
    assert f"called from stumble at {caller}" in result["message"]
    assert "atomic" not in result["message"]
    assert prismem("replay", result["log"]).returncode == 1


def write(folder: Path, name: str, text: str) -> Path:
    """A program of one test."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


POOL = """
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
int main(void) {
  char *pool = mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/dax0.0", O_RDWR), 0);
"""


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("return read(0, pool, 8) < 0;", ["read() on pool memory at here.c:13 (main)", "local buffer"]),
        ("struct iovec v = {pool, 8}; return writev(1, &v, 1) < 0;", ["writev() on pool memory at here.c:13"]),
        ("return puts(pool);", ["puts() on pool memory at here.c:13"]),
        ("return pthread_mutex_lock((pthread_mutex_t *)pool);", ["pthread_mutex_lock() on pool", "of one host"]),
        ("return sem_post((sem_t *)pool);", ["sem_post() on pool memory", "loads, stores and flushes"]),
        ("return syscall(39) < 0;", ["syscall(39) at here.c:13"]),
        ("return sem_open(\"/x\", O_CREAT) == 0;", ["here: calls sem_open()", "words in it"]),
        ("return kill(1, 0);", ["here: calls kill()"]),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused_by_name(tmp_path: Path, code: str, texts: list[str]) -> None:
    """Each call that would go past the caches or leave the machine: function, place and what to do instead."""
    done = prismem(
        "check", str(write(tmp_path, "here.c", f"#include <signal.h>{POOL}{code}\n}}\n")), "--executions", "9"
    )
    assert done.returncode == 2, done.stdout
    for text in texts:
        assert text in done.stderr


def test_what_is_harmless_is_a_warning(tmp_path: Path) -> None:
    program = write(tmp_path, "calm.c", f"{POOL} return msync(pool, 4096, MS_SYNC);\n}}\n")
    done = prismem("check", str(program), "--executions", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "calm: calls msync(): on pool memory it does nothing" in done.stdout + done.stderr


def test_random_numbers_are_those_of_the_log(tmp_path: Path) -> None:
    """A program that draws numbers gets the same ones again, so its fault replays."""
    body = "unsigned char n; if (getentropy == 0) return 9; return rand() % 7 == rand() % 7 ? 3 : 0;\n}\n"
    status, result = check(write(tmp_path, "draws.c", POOL + body), "--executions", "500", "--hosts", "3")
    again = prismem("replay", result["log"]) if status == 1 else None
    assert again is None or "REPLAYED: step by step the same execution" in again.stdout
    assert (status, json.dumps(result["kind"])) in ((0, "null"), (1, '"thread"'))


def test_the_tables_of_calls_are_disjoint() -> None:
    names = [name for table in (REFUSED, WARNED) for group in table for name in group]
    assert len(names) == len(set(names))
