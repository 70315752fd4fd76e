"""The result of a run: one typed object, three renderers (text for people, JSON and JUnit XML for tools)."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from pydantic import BaseModel, ConfigDict

from prismem.tb.job import Failure
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.spec import RunSpec

RESULT_FILE = "result.json"
JUNIT_FILE = "junit.xml"
LOG_FILE = "run.log"
LOG_TAIL_LINES = 12


class Result(BaseModel):
    """What a run was and what it gave. Paths are relative to the checkout."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    test: str
    passed: bool
    seed: int
    profile: str
    port: str
    hosts: int
    modules: int
    commit: str
    tools: dict[str, str]
    metrics: dict[str, Any]
    replay: str
    spec: RunSpec
    failure: Failure | None = None
    log_tail: list[str] = []
    log: str
    wave: str | None = None
    wall_s: float

    def write(self, run_dir: Path) -> None:
        """Leave result.json and junit.xml in `run_dir`, each whole or not at all."""
        write_atomic(run_dir / JUNIT_FILE, self.junit())
        write_atomic(run_dir / RESULT_FILE, self.model_dump_json(indent=2) + "\n")

    def junit(self) -> str:
        """JUnit XML with one test case."""
        suite = ET.Element("testsuite", name="prismem", tests="1", failures=str(int(not self.passed)), errors="0")
        case = ET.SubElement(suite, "testcase", classname=f"prismem.{self.test}", name=f"{self.test}-{self.seed}")
        case.set("time", f"{self.wall_s:.3f}")
        if self.failure is not None:
            failure = ET.SubElement(case, "failure", message=_xml_safe(self.failure.message))
            failure.text = _xml_safe(self.text())
        root = ET.Element("testsuites")
        root.append(suite)
        return ET.tostring(root, encoding="unicode") + "\n"

    def text(self) -> str:
        """What a person reads: a line when all is well; else test, replay, first error, last log lines and paths."""
        head = f"{'PASS' if self.passed else 'FAIL'} {self.test} seed {self.seed}"
        head += (
            f" ({self.port}, {_count(self.hosts, 'host')}, {_count(self.modules, 'module')}, profile {self.profile})"
        )
        if self.failure is None:
            return f"{head} in {self.wall_s:.1f} s: {self.log.rpartition('/')[0]}/{RESULT_FILE}"
        lines = [head, f"  replay:    {self.replay}"]
        where = [f"{self.failure.time_ns} ns" if self.failure.time_ns is not None else "", self.failure.component or ""]
        at = ", ".join(part for part in where if part)
        lines.append(f"  error:     {f'[{at}] ' if at else ''}{self.failure.message}")
        if self.failure.expected is not None or self.failure.actual is not None:
            lines += [f"  expected:  {self.failure.expected}", f"  actual:    {self.failure.actual}"]
        if self.log_tail:
            lines += ["  last log lines:", *(f"    {line}" for line in self.log_tail)]
        lines.append(f"  log:       {self.log}")
        if self.wave:
            lines.append(f"  wave:      {self.wave}")
        return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def load_result(path: Path) -> Result:
    """Read result.json."""
    return Result.model_validate_json(path.read_text(encoding="utf-8"))


def tail(path: Path, lines: int = LOG_TAIL_LINES) -> list[str]:
    """The last lines of a log, without cocotb's summary box; empty when there is none."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    kept = [line.strip() for line in text.splitlines() if line.strip() and not re.search(r"\*\*( |\*)", line)]
    return kept[-lines:]


def _xml_safe(text: str) -> str:
    """XML 1.0 has no control characters; logs do."""
    return "".join(c if c in "\n\t" or ord(c) >= 0x20 else "?" for c in text)
