"""The examples of docs/library.md: each command of the page is run as it stands there and does what the page says."""

from __future__ import annotations

import re
import subprocess

import pytest

from prismem.paths import ROOT

DOCUMENT = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "software" / "examples" / "library"


def commands() -> list[str]:
    """Lines of the code blocks that run something of the examples."""
    return [
        line for line in re.findall(r"^\S.* software/examples/library.*$", DOCUMENT, re.MULTILINE) if "`" not in line
    ]


def run(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_page_has_the_commands() -> None:
    assert [command.split()[0] for command in commands()] == [
        "make",
        ".venv/bin/python",
        ".venv/bin/prismem",
        ".venv/bin/prismem",
    ]


def test_c_examples_with_two_processes() -> None:
    """Goal: hello, counter and stream run natively. Method: the command of the page; what they print."""
    done = run(commands()[0])
    assert done.returncode == 0, done.stdout + done.stderr
    for text in ("node 1 reads: hello from node 0", "the counter stands at 200", "20 blocks of 1024 bytes arrived"):
        assert text in done.stdout


def test_prefix_cache_with_two_processes() -> None:
    """Goal: the second process finds what the first one left. Method: the command of the page; hits and evictions."""
    done = run(commands()[1])
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (
        list(map(int, re.findall(r"(\d+) (?:blocks found|computed|evicted)", line)))
        for line in done.stdout.splitlines()
    )
    assert sum(first[:2]) == sum(second[:2]) == 15 * 7
    assert second[0] > first[0]
    assert 0 < first[2] < second[2]


def test_a_forgotten_publish_is_caught() -> None:
    """Goal: the library and a program on emulated hosts; the text that stays in a cache is named. Method: the page."""
    done = run(commands()[3])
    assert done.returncode == 1, done.stdout + done.stderr
    assert "stale read: host 1 reads" in done.stdout
    assert "hello.c:26 (main)" in done.stdout
    assert "mend  flush line" in done.stdout


@pytest.mark.regress
@pytest.mark.parametrize("name", ["hello", "counter", "stream"])
def test_c_examples_on_emulated_hosts(name: str) -> None:
    """Goal: nothing is found in the examples as they are. Method: the command of the page, for each of them."""
    assert (EXAMPLES / f"{name}.c").exists()
    done = run(commands()[2].replace("hello.c", f"{name}.c"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing found in" in done.stdout
