"""The commands of the documents do what they say: each `make sim` line of README.md is run as it stands there."""

import os
import re
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
