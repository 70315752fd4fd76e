"""The commands of the documents do what they say: runs of README.md as they stand there, and checks of programs."""

import os
import re
import shlex
import subprocess

import pytest

from prismem.paths import ROOT


def commands() -> list[str]:
    """Lines of code blocks that start a simulation."""
    blocks = re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("make sim ")]


def test_there_are_commands() -> None:
    assert len(commands()) >= 3


@pytest.mark.parametrize("command", commands())
def test_command_of_the_readme(command: str) -> None:
    """A run with a fault switched on has to fail and to say how to replay it; every other run has to pass."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "COCOTB"))}
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if "MUTANT=" in command:
        assert done.returncode != 0
        assert done.stdout.startswith("FAIL")
        assert "replay:" in done.stdout
    else:
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith("PASS")


CHECKS = ("README.md", "docs/bring_your_own.md")


def checks() -> list[tuple[str, str]]:
    """Lines that run `prismem check`, each with the story that the document shows behind it; empty: none."""
    found: dict[str, str] = {}
    for name in CHECKS:
        blocks = re.findall(r"```\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
        for block, after in zip(blocks, [*blocks[1:], ""], strict=True):
            if block.startswith(".venv/bin/prismem check "):
                found[block.strip()] = after if after.startswith("FOUND") else found.get(block.strip(), "")
    return sorted(found.items())


def plain(story: str) -> str:
    """Without line breaks, and without what differs from machine to machine: speed, and the time that it took."""
    return re.sub(r" in [\d.]+ s \(\d+/s\)", "", " ".join(story.split()))


def test_a_story_is_shown() -> None:
    assert len(checks()) >= 4
    assert any(story for _, story in checks())


@pytest.mark.parametrize(("command", "story"), checks())
def test_check_of_the_documents(command: str, story: str) -> None:
    """A fault is found and told as the document shows it; in the mended twin there is none."""
    done = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if "MENDED" in command else 1), done.stdout + done.stderr
    assert done.stdout.startswith("nothing found" if "MENDED" in command else "FOUND ")
    assert plain(done.stdout).startswith(plain(story))
