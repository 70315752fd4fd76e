"""Programs as people write them, under `prismem check`: what the C library and the compiler do to the pool behind a
program's back is seen, or refused by name; a program's start and end run inside of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_support import check, lines_with, prismem

HEAD = """
#include <fcntl.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *map(void) { return mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/dax0.0", O_RDWR), 0); }
static int host(void) { return atoi(getenv("PRISMEM_HOST_ID")); }
static void flush(const void *p) { _mm_clflush(p); _mm_mfence(); }
"""
PUBLISH = (
    HEAD
    + """
int main(void) {
  char *p = map();
  atomic_int *full = (atomic_int *)(p + 64);
  if (host() == 0) {
    %(write)s
    flush(p);
    atomic_store(full, 1);
    flush(full);
    return 0;
  }
  while (!atomic_load(full)) flush(full);
#ifdef MENDED
  flush(p);
#endif
  %(read)s // READ
}
"""
)
BUDGET = ("--executions", "3000")


def write(folder: Path, text: str, name: str = "program.c") -> Path:
    """A program of one test."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


STORE_TEXT = 'strcpy(p, "text");'
STORE_INT = "*(int *)p = 7;"


@pytest.mark.parametrize(
    ("store", "load"),
    [
        (STORE_TEXT, 'char b[9]; snprintf(b, 9, "%s", p); return b[0] != 116;'),
        (STORE_TEXT, 'return printf("%d %5.1f %s", 1, 2.5, p) != 12;'),
        ('snprintf(p, 9, "%d", 42);', "return strcmp(p, \"42\");"),
        (STORE_TEXT, "char *q = strdup(p); return q[1] != 101;"),
        ("*(double *)p = 2;", "__m128d v = _mm_loadh_pd(_mm_set1_pd(1), (double *)p); return v[1] != 2;"),
        (STORE_INT, "return _mm_cvtsi128_si32(_mm_lddqu_si128((__m128i *)p)) != 7;"),
    ],
    ids=["snprintf-from", "printf", "snprintf-to", "strdup", "loadh", "lddqu"],
)  # fmt: skip
def test_accesses_of_the_library_and_of_intrinsics_are_seen(tmp_path: Path, store: str, load: str) -> None:
    """A reader without its invalidate is found at that line; with it every order of the threads is clean."""
    program = write(tmp_path, PUBLISH % {"write": store, "read": load})
    flags = ("--cflags", "-msse3")
    status, result = check(program, *BUDGET, *flags)
    assert (status, result["kind"]) == (1, "stale_read"), result
    assert result["source"] in lines_with(program, "// READ")
    status, result = check(program, *BUDGET, *flags, "-D", "MENDED")
    assert (status, result["found"]) == (0, False), result["story"]


@pytest.mark.parametrize(
    "store",
    ["_mm256_stream_si256((__m256i *)p, _mm256_set1_epi32(7))", "_mm_stream_si32((int *)p, 7)"],
)  # fmt: skip
def test_streaming_stores_wait_for_a_fence(tmp_path: Path, store: str) -> None:
    """Of any width, in a function that has its instruction set by an attribute; their cure is a fence."""
    text = f"""{HEAD}
__attribute__((target("avx"))) static void put(char *p) {{ {store}; }}
int main(void) {{
  char *p = map();
  atomic_int *full = (atomic_int *)(p + 64);
  if (host() == 0) {{
    put(p);
    FENCE;
    atomic_store_explicit(full, 1, memory_order_release);
    flush(full);
    return 0;
  }}
  while (!atomic_load(full)) flush(full);
  flush(p);
  return *(int *)p != 7;
}}
"""
    program = write(tmp_path, text)
    status, result = check(program, *BUDGET, "-D", "FENCE=(void)0")
    assert (status, result["kind"]) == (1, "stale_read"), result
    assert any("write-combining" in line for line in result["story"])
    assert check(program, *BUDGET, "-D", "FENCE=_mm_sfence()")[0] == 0


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("__sync_fetch_and_add((long *)p, 1); flush(p);", "lost_update", "atomic within one host"),
        ("flush(p); (*(long *)p)++; flush(p);", "lost_update", "data race"),
        ("while (atomic_exchange((atomic_int *)p, 1)) flush(p); atomic_store((atomic_int *)p, 0); flush(p);",
         "lost_update", "atomic within one host"),
    ],
    ids=["locked-add", "plain-add", "spin-lock"],
)  # fmt: skip
def test_changes_of_one_word_by_two_hosts_are_lost(tmp_path: Path, body: str, kind: str, words: str) -> None:
    """No flush mends a read-modify-write of two hosts: one of them is gone, and with one coherent cache none is."""
    program = write(tmp_path, f"{HEAD}int main(void) {{ char *p = map(); {body} return 0; }}\n")
    status, result = check(program, *BUDGET)
    assert (status, result["kind"]) == (1, kind), result
    assert words in result["message"]
    assert any(line.startswith("mend ") and "lock" in line for line in result["story"])
    assert check(program, "--executions", "100", "--coherent")[0] == 0


@pytest.mark.parametrize("store", ["atomic_store((atomic_int *)p, 1)", "memset(p, 1 + host(), 64)"])
def test_stores_that_may_race_are_no_fault(tmp_path: Path, store: str) -> None:
    """Atomic stores of one word and stores of a whole line by two hosts: the last one wins."""
    text = f"{HEAD}int main(void) {{ char *p = map(); {store}; flush(p); return 0; }}\n"
    status, result = check(write(tmp_path, text), *BUDGET)
    assert (status, result["found"]) == (0, False), result["story"]


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("return atoi(p);", ["strtol() on pool memory at program.c:15 (main)", "local buffer"]),
        ("return strchr(p, 'x') != 0;", ["strchr() on pool memory at program.c:15"]),
        ("int v; return sscanf(\"1 2\", \"%*d %d\", (int *)p) + sscanf(p, \"%d\", &v);", ["sscanf() on pool memory"]),
        ("struct { long w[4]; } v = {{1}}; __atomic_store((__typeof__(v) *)p, &v, 5); return 0;",
         ["__atomic_store() on pool memory"]),
        ("return write(open(\"/dev/dax0.0\", O_RDWR), \"x\", 1);", ["write() at program.c:15", "map it with mmap()"]),
        ("return mmap(0, 8 << 20, 3, MAP_SHARED, open(\"/dev/dax0.0\", O_RDWR), 0) == 0;",
         ["mmap() at program.c:15", "--pool-mib 8"]),
        ("return mmap(0, 4096, 3, MAP_PRIVATE, open(\"/dev/dax0.0\", O_RDWR), 0) == 0;", ["MAP_PRIVATE", "MAP_SHARED"]),
        ("return ftruncate(shm_open(\"/x\", O_CREAT | O_RDWR, 0600), 3 << 20);", ["ftruncate()", "--pool-mib 3"]),
        ("return raise(10);", ["program: calls raise()"]),
        ("long v; __asm__ volatile(\"movq (%1), %0\" : \"=r\"(v) : \"r\"(p)); return v;",
         ["program.c:15: main: movq", "where no hook sees it"]),
        ("__asm__ volatile(\"clflush (%0)\" : : \"r\"(p)); return 0;",
         ["program.c:15: main: clflush", "use the intrinsic"]),
        ("long v = 39; __asm__ volatile(\"syscall\" : \"+a\"(v) : : \"rcx\", \"r11\"); return v == 0;",
         ["program.c:15: main: syscall", "kernel"]),
        ("return _mm256_extract_epi32(_mm256_maskload_epi32((int *)p, _mm256_set1_epi32(-1)), 0);",
         ["program.c:15: main: vpmaskmovd", "whole vectors"]),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused(tmp_path: Path, body: str, texts: list[str]) -> None:
    """Function, place and what to do instead, for calls, files, system calls, inline assembly and masked moves."""
    program = write(tmp_path, f"{HEAD}int main(void) {{ char *p = map(); (void)p;\n{body} }}\n")
    done = prismem("check", str(program), "--executions", "9", "--cflags", "-mavx2")
    assert done.returncode == 2, done.stdout + done.stderr
    for text in texts:
        assert text in done.stderr


def test_harmless_assembly_and_calls_pass(tmp_path: Path) -> None:
    """Registers, the stack and the program's own globals are nobody else's; a pointer may be printed."""
    body = """
__attribute__((used)) static long own = 3;
int main(void) {
  char *p = map();
  long v = 1, w;
  __asm__ volatile("" : : : "memory");
  __asm__ volatile("pause; lea 8(%1), %0" : "=r"(w) : "r"(v));
  __asm__ volatile("movq own(%%rip), %0" : "=r"(w));
  if (lseek(open("/dev/dax0.0", O_RDWR), 0, SEEK_END) != 2 << 20 || access("/dev/dax0.0", R_OK) != 0) return 1;
  printf("%p %s\\n", p, "not of the pool");
  return w != 3;
}
"""
    status, result = check(write(tmp_path, HEAD + body), "--executions", "50")
    assert (status, result["found"]) == (0, False), result["story"]
    assert result["warnings"] == []


CXX = """
#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <atomic>
#include <cstdlib>
static int host() { return std::atoi(std::getenv("PRISMEM_HOST_ID")); }
struct Pool {
  int *data;
  std::atomic<int> *full;
  Pool() {
    data = static_cast<int *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/dax0.0", O_RDWR), 0));
    full = reinterpret_cast<std::atomic<int> *>(data + 16);
    if (host() == 0) data[0] = 42; // CONSTRUCTOR
  }
  ~Pool() {
    if (host() != 0) return;
#ifdef MENDED
    _mm_clflush(data);
#endif
    full->store(1);
    _mm_clflush(full);
  }
};
static Pool pool;
int main() {
  if (host() == 0) EXIT;
  while (!pool.full->load()) {
    _mm_clflush(pool.full);
    _mm_mfence();
  }
  _mm_clflush(pool.data);
  _mm_mfence();
  return pool.data[0] != 42;
}
"""


@pytest.mark.parametrize("leave", ["return 0", "std::exit(0)"])
def test_constructors_and_destructors_of_globals_run_in_every_execution(tmp_path: Path, leave: str) -> None:
    """A global maps the pool and writes before main(), and publishes when the program ends: both are followed."""
    program = write(tmp_path, CXX.replace("EXIT", leave), "globals.cpp")
    status, result = check(program, *BUDGET)
    assert (status, result["kind"]) == (1, "stale_read"), result
    assert result["other_source"] in lines_with(program, "// CONSTRUCTOR")
    assert prismem("replay", result["log"]).returncode == 1
    status, result = check(program, *BUDGET, "-D", "MENDED")
    assert (status, result["found"]) == (0, False), result["story"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("exit(3);", "exit(3) called at program.c:16 (main)"),
        ("quick_exit(4);", "quick_exit(4) called at program.c:16"),
        ("_Exit(5);", "_Exit(5) called at program.c:16"),
    ],
)
def test_the_end_of_a_process_is_told_with_what_it_said(tmp_path: Path, body: str, words: str) -> None:
    text = f'{HEAD}int main(void) {{ (void)map();\nfprintf(stderr, "no luck\\n");\n{body} }}\n'
    status, result = check(write(tmp_path, text), "--executions", "9")
    assert (status, result["kind"]) == (1, "thread")
    assert words in result["message"]
    assert "says  no luck" in result["story"]


def test_a_pool_that_nobody_maps_is_a_warning(tmp_path: Path) -> None:
    """Nothing was checked then; with the path named the fault is there."""
    text = f"{HEAD}int main(void) {{ int *p = mmap(0, 4096, 3, MAP_SHARED, open(PATH, O_RDWR | O_CREAT, 0600), 0);\n"
    program = write(tmp_path, text + "if (p == MAP_FAILED) return 0; p[host() * 16] = 1; return 0; }\n")
    path = str(tmp_path / "a pool")
    (tmp_path / "a pool").write_bytes(bytes(4096))
    status, result = check(program, "--executions", "50", "-D", f'PATH="{path}"')
    assert status == 0
    assert any("--pool PATH" in warning for warning in result["warnings"])
    status, result = check(program, "--executions", "50", "-D", f'PATH="{path}"', "--pool", path)
    assert (status, result["warnings"]) == (0, [])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--cflags", "-fno-sanitize=thread"], "--cflags -fno-sanitize=thread: the check compiles"),
        (["--cflags", "other.c"], "--cflags other.c: no flag"),
        (["--cflags", "'"], "--cflags ': No closing quotation"),
        (["-I", "no/such/folder"], "-I no/such/folder: there is no such folder"),
        ([], "PROGRAM: no main() in part.c"),
    ],
)
def test_misuse(tmp_path: Path, arguments: list[str], text: str) -> None:
    done = prismem("check", str(write(tmp_path, "int f(void) { return 0; }\n", "part.c")), *arguments)
    assert done.returncode == 2
    assert text in done.stderr


def test_two_sources_with_flags_and_arguments(tmp_path: Path) -> None:
    """A program of two files, a header in a folder of its own, a language standard, and an argument with a space."""
    (tmp_path / "inc").mkdir()
    write(tmp_path / "inc", "int twice(const char *text);\n", "part.h")
    part = write(tmp_path, '#include <part.h>\n#include <string.h>\n'
                 'int twice(const char *text) { return strcmp(text, "two words") ? 1 : N; }\n', "part.c")  # fmt: skip
    main = write(tmp_path, f'#include <part.h>{HEAD}int main(int n, char **a) {{ map()[host() * 64] = 1; '
                 'return n != 3 || twice(a[1]) != 4 || __STDC_VERSION__ != 199901L; }\n')  # fmt: skip
    arguments = ("-I", str(tmp_path / "inc"), "-D", "N=4", "--cflags", "-std=gnu99", "--args", "'two words' x")
    status, result = check(main, str(part), *arguments, "--executions", "20")
    assert (status, result["found"]) == (0, False), result["story"]
