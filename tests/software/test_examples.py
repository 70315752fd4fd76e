"""The example of docs/bring_your_own.md: its commands do what the document says."""

import re
import shlex
import subprocess

import pytest

from prismem.paths import ROOT

DOCUMENT = (ROOT / "docs" / "bring_your_own.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """Lines of code blocks that run a Python program of the examples."""
    return re.findall(r"^\.venv/bin/python software/examples/.*$", DOCUMENT, re.MULTILINE)


def test_the_document_shows_both_builds() -> None:
    assert [shlex.split(command)[2:] for command in commands()] == [[], ["--forget-flush"]]


@pytest.mark.parametrize("command", commands())
def test_command_does_what_the_document_says(command: str) -> None:
    """The program is clean with all seeds; without one flush it is caught, with the places that the document prints."""
    done = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() in " ".join(DOCUMENT.replace("`", " ").split()), done.stdout + done.stderr
    assert done.returncode == ("--forget-flush" in command)
    assert done.stdout.startswith("FAIL" if done.returncode else "PASS")
