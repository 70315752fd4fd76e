"""Seeded faults of the hardware: does some test notice?

A mutant is one small wrong edit of a file of rtl/, written down in tests/rtl_mutants/*.yaml with the tests that have
to fail for it. The edit is applied to a copy of rtl/ (never to the tree), and the tests run on that copy. They are
ordinary tests of this repository, so without the edit they pass; that is verified first.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from prismem.errors import PrismemError
from prismem.paths import BUILD_RTL_MUTANTS, ROOT, RTL_MUTANTS, RTL_VARIABLE, relative
from prismem.tb.runner.files import write_atomic
from prismem.tb.runner.toolchain import clean_environment, commit, tool_versions

RESULT = BUILD_RTL_MUTANTS / "result.json"
AT_ONCE = 2
WALL_S_MAX = 900  # of one test; one that hangs has not noticed anything
MESSAGE_MAX = 400
PYTEST_FAILED = 1  # exit code: tests ran, and some failed
NO_BUILD = "the RTL does not build"


class Mutant(BaseModel):
    """One fault: in `file`, `old` stands exactly once and becomes `new`; one of the tests `killed_by` then fails."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str
    file: str
    old: str
    new: str
    killed_by: tuple[str, ...]

    def problem(self, root: Path = ROOT) -> str | None:
        """Why the edit cannot be made, or None."""
        path = root / self.file
        if not self.file.startswith("rtl/") or not path.is_file():
            return f"{self.name}: {self.file} is no file of rtl/"
        count = path.read_text(encoding="utf-8").count(self.old)
        if count != 1:
            return f"{self.name}: the old text stands {count} times in {self.file}, not once; update the mutant"
        if self.old == self.new or not self.killed_by:
            return f"{self.name}: {'changes nothing' if self.killed_by else 'names no test that fails'}"
        return None

    def apply(self, folder: Path) -> Path:
        """Make a copy of rtl/ with the fault in it below `folder`; returns its path. Raises PrismemError."""
        if problem := self.problem():
            raise PrismemError(problem)
        shutil.rmtree(folder, ignore_errors=True)
        copy = folder / "rtl"
        shutil.copytree(ROOT / "rtl", copy)
        target = folder / self.file
        target.write_text(target.read_text(encoding="utf-8").replace(self.old, self.new), encoding="utf-8")
        return copy


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant."""

    name: str
    file: str
    description: str
    killed: bool
    killed_by: str | None  # the test that failed
    message: str
    seconds: float


def load(folder: Path = RTL_MUTANTS) -> list[Mutant]:
    """All mutants. Raises PrismemError for a file that is not well formed, and for a name that stands twice."""
    found: list[Mutant] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            entries = yaml.safe_load(path.read_text(encoding="utf-8"))["mutants"]
            found += [Mutant.model_validate(entry) for entry in entries]
        except (yaml.YAMLError, KeyError, TypeError, ValidationError) as error:
            raise PrismemError(f"{relative(path)}: {error}") from None
    names = [mutant.name for mutant in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PrismemError(f"{relative(folder)}: names that stand twice: {', '.join(twice)}")
    return found


def problems(mutants: Iterable[Mutant], root: Path = ROOT) -> list[str]:
    """Why which mutants cannot be applied."""
    return [problem for mutant in mutants if (problem := mutant.problem(root))]


def run_tests(tests: Sequence[str], folder: Path, rtl: Path | None) -> tuple[int | None, str | None, str]:
    """Run tests on the hardware at `rtl` (None: the tree's).

    Returns pytest's exit code (None: it ran too long), the first test that failed, and what it said.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "tests.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += ["-n", str(AT_ONCE)] if rtl is None else []
    limit_s = WALL_S_MAX * len(tests)
    environment = clean_environment() | ({RTL_VARIABLE: str(rtl)} if rtl else {})
    with (folder / "tests.log").open("w", encoding="utf-8") as log:
        child = subprocess.Popen(
            [*command, *tests],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = child.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    failed, message = _first_failure(report) if code is not None else (None, f"ran past {limit_s} s")
    return code, failed, message or f"no test failed; see {relative(folder / 'tests.log')}"


def _first_failure(report: Path) -> tuple[str | None, str]:
    if not report.is_file():
        return None, ""
    for case in ET.parse(report).getroot().iter("testcase"):
        for kind in ("failure", "error"):
            if (found := case.find(kind)) is not None:
                name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
                return name, _gist(found.get("message", "") + "\n" + (found.text or ""))
    return None, ""


def _gist(text: str) -> str:
    """The complaint of the hardware's checkers or of the job in what a failed test said; else its first words."""
    for pattern in (r"error: {5}([^\n]+)", r"%(?:Fatal|Error): ([^\n\\]+)", r"Failure\(message='([^'\n]+)"):
        if found := re.search(pattern, text):
            return found[1][:MESSAGE_MAX]
    return " ".join(text.split())[:MESSAGE_MAX]


def judge(mutant: Mutant) -> Verdict:
    """Apply, build, run. Raises PrismemError when the mutant says nothing: it does not build, or its tests hang."""
    start_s = time.monotonic()
    folder = BUILD_RTL_MUTANTS / mutant.name
    try:
        code, failed, message = run_tests(mutant.killed_by, folder, mutant.apply(folder))
    finally:
        shutil.rmtree(folder / "verilator", ignore_errors=True)  # a fifth of a gigabyte each
    if code not in (0, PYTEST_FAILED) or NO_BUILD in (folder / "tests.log").read_text(encoding="utf-8"):
        raise PrismemError(f"{mutant.name}: {message}; log: {relative(folder / 'tests.log')}")
    seconds = round(time.monotonic() - start_s, 1)
    return Verdict(mutant.name, mutant.file, mutant.description, code != 0, failed, message, seconds)


def check_without(mutants: Iterable[Mutant]) -> None:
    """The tests of these mutants pass on the hardware as it is. Raises PrismemError that names the first that fails."""
    tests = sorted({test for mutant in mutants for test in mutant.killed_by})
    code, failed, message = run_tests(tests, BUILD_RTL_MUTANTS / "without", None)
    if code != 0:
        raise PrismemError(f"without any mutant {failed or 'a test'} does not pass: {message}")


def judge_all(mutants: list[Mutant], tell: Callable[[Verdict], None]) -> list[Verdict]:
    """Verdicts on all mutants, in their order; `tell` hears each as it comes."""
    if found := problems(mutants):
        raise PrismemError("\n".join(found))
    check_without(mutants)

    def one(mutant: Mutant) -> Verdict:
        verdict = judge(mutant)
        tell(verdict)
        return verdict

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, mutants))


def write_result(verdicts: list[Verdict], path: Path = RESULT) -> None:
    """Leave result.json: killed, total, survivors, and what became of each."""
    result = {
        "killed": sum(verdict.killed for verdict in verdicts),
        "total": len(verdicts),
        "survivors": [verdict.name for verdict in verdicts if not verdict.killed],
        "mutants": [asdict(verdict) for verdict in verdicts],
        "commit": commit(),
        "tools": tool_versions(),
    }
    write_atomic(path, json.dumps(result, indent=2) + "\n")
