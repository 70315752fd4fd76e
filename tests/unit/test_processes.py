"""Children of a command end with it: by Ctrl-C, by SIGTERM, and when it is killed without a chance to clean up."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prismem.paths import ROOT
from prismem.tb.runner.execute import execute
from prismem.tb.runner.processes import descendants
from prismem.tb.runner.spec import make_spec

SEED = 987_653
DEADLINE_S = 30


def alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def running_child(process: subprocess.Popen[str], log: Path) -> list[int]:
    """The processes below the command, once the run itself has started."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if (log.parent / "spec.json").exists() and log.exists() and (children := descendants(process.pid)):
            return children
        time.sleep(0.05)
    raise AssertionError("the run does not start")


@pytest.mark.parametrize("port", ["functional", "rtl"])
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, 130, "prismem: interrupted"),
        (signal.SIGTERM, 143, "prismem: terminated"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_no_child_outlives_the_command(port: str, number: signal.Signals, code: int, word: str) -> None:
    options = {"count": "100000000"}
    short = make_spec("accesses", port=port, seed=SEED, options={"count": "10"})
    assert execute(short).passed  # everything is built
    spec = make_spec("accesses", port=port, seed=SEED, options=options)
    log = spec.run_dir / "run.log"
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "prismem.cli.main", "sim", "accesses", "--port", port, "--seed", str(SEED)]
    process = subprocess.Popen(
        [*command, "--opt", "count=100000000"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    children = running_child(process, log)
    os.kill(process.pid, number)
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == code
    assert word in said
    assert "Traceback" not in said
    deadline = time.monotonic() + DEADLINE_S
    while any(map(alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, children))
    assert not (spec.run_dir / "result.json").exists()
