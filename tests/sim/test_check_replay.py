"""`prismem replay LOG --rtl`: what prismem check found is there again with the RTL as memory, with waves if wanted."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prismem.cli.check_rtl import transactions
from prismem.errors import MisuseError
from prismem.lib.check.log import LOG_FILE, CheckLog
from prismem.paths import ROOT
from prismem.tb.runner.spec import make_spec

EXAMPLES = ROOT / "software" / "examples" / "faulty"
TRANSACTION = re.compile(
    r" +(\d+) to +(\d+) ns  host (\d)  (fill|prefetch|write-back) +line (\d+) of the pool, module \d"
)


def prismem(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "prismem"), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def log_of(name: str, folder: Path) -> Path:
    """The log that a check of a faulty example leaves, kept from the next check of it."""
    done = prismem("check", EXAMPLES / f"{name}.c", "--json", "--time", "20")
    assert done.returncode == 1, done.stderr
    kept = folder / LOG_FILE
    kept.write_bytes((ROOT / json.loads(done.stdout)["log"]).read_bytes())
    return kept


LONG = (
    pytest.param("no_data_flush", marks=pytest.mark.regress),
    pytest.param("no_flag_flush", marks=pytest.mark.regress),
)


@pytest.mark.parametrize("name", ["shared_line", *LONG])
def test_the_fault_is_there_on_the_rtl(name: str, tmp_path: Path) -> None:
    """Goal: a stale read, a lost update and a flag that never comes: the same execution, each fill and write-back of it
    a transaction of the hardware, in order."""
    log = log_of(name, tmp_path)
    known = CheckLog.model_validate_json(log.read_text())
    done = prismem("replay", log, "--rtl")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("REPRODUCED on the RTL: step by step the same execution"), done.stdout
    assert known.fault.source in done.stdout
    spans = [tuple(map(int, match.group(1, 2))) for match in map(TRANSACTION.match, done.stdout.splitlines()) if match]
    assert len(spans) >= 2
    assert all(asked < answered for asked, answered in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


@pytest.mark.regress
def test_waves(tmp_path: Path) -> None:
    """--waves alone means the RTL, and leaves the file that it names."""
    done = prismem("replay", log_of("no_data_flush", tmp_path), "--waves")
    assert done.returncode == 1, done.stdout + done.stderr
    [wave] = re.findall(r"^wave +(\S+)$", done.stdout, re.MULTILINE)
    assert (ROOT / wave).stat().st_size > 10_000


def test_not_reproduced(tmp_path: Path) -> None:
    """A log whose choices are gone shows nothing, and the reason is said; so is a source that has changed since."""
    log = log_of("early_invalidate", tmp_path)
    known = CheckLog.model_validate_json(log.read_text())
    known.model_copy(update={"choices": []}).write(log)
    done = prismem("replay", log, "--rtl")
    assert done.returncode == 0
    assert "NOT REPRODUCED on the RTL, because the fault is not there on the functional port either" in done.stdout
    source = known.request.sources[0].model_copy(update={"sha256": "0" * 64})
    request = known.request.model_copy(update={"sources": [source]})
    known.model_copy(update={"choices": [], "request": request}).write(log)
    done = prismem("replay", log, "--rtl")
    assert "because software/examples/faulty/early_invalidate.c has changed since the log was written" in done.stdout


def test_what_is_refused(tmp_path: Path) -> None:
    """The job by itself needs a log, of as many hosts."""
    with pytest.raises(MisuseError, match="option log: name the log.json"):
        make_spec("check_replay")
    log = log_of("no_data_flush", tmp_path)
    with pytest.raises(MisuseError, match="HOSTS: the log has 2 hosts, not 3; use --hosts 2"):
        make_spec("check_replay", hosts=3, options={"log": str(log)})


def test_many_transactions_are_cut() -> None:
    """The last ones are shown, and how many there were."""
    one = {"host": 0, "kind": "fill", "line": 3, "module": 1, "asked_ns": 5, "answered_ns": 400}
    lines = transactions([one] * 30)
    assert lines[:2] == [
        "RTL     30 transactions, one at a time; the execution ends at 400 ns",
        "        the last 24:",
    ]
    assert len(lines) == 2 + 24
    assert transactions([]) == ["RTL     no transaction"]
