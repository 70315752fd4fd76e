"""The log of a failing execution: what was run, what was chosen in it, and what it ended with. JSON on disk."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from prismem import __version__
from prismem.errors import MisuseError
from prismem.paths import found, kept, relative

POLICIES = ("lazy", "eager", "warm", "dfs", "random", "pct")
LOG_FILE = "log.json"


class Source(BaseModel):
    """A source file as it was when the log was written."""

    model_config = ConfigDict(extra="forbid")
    path: str
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Source:
        """The file as it is now."""
        return cls(path=kept(str(path)), sha256=hashlib.sha256(path.read_bytes()).hexdigest())

    def changed(self) -> bool:
        """The file is another one now, or gone."""
        path = found(self.path)
        return not path.is_file() or Source.of(path).sha256 != self.sha256


class Request(BaseModel):
    """What `prismem check` was asked for."""

    model_config = ConfigDict(extra="forbid")
    sources: list[Source]
    hosts: int
    args: list[str] = []
    flags: list[str] = []
    pool_paths: list[str] = []
    pool_bytes: int = 2 << 20
    policies: list[str] = list(POLICIES)
    executions: int = 10**9
    time_s: float = 10.0
    seed: int = 1
    steps: int = 200_000
    coherent: bool = False
    posted: bool = False

    def paths(self) -> tuple[Path, ...]:
        """The source files."""
        return tuple(found(source.path) for source in self.sources)


class Fault(BaseModel):
    """The fault, as the emulator reports it; places are `file:line`."""

    kind: str
    message: str
    time_ns: int
    pool_offset: int
    line: int
    host: int
    thread: int
    function: str
    source: str
    other_host: int
    other_thread: int
    other_function: str
    other_source: str


class CheckLog(BaseModel):
    """Everything that is needed to see the fault again."""

    format: Literal["prismem-check-log"] = "prismem-check-log"
    version: str = __version__
    compiler: str
    request: Request
    policy: str
    executions: int
    fault: Fault
    digest: int
    """Of everything that happened in the execution."""
    choices: list[tuple[int, int, int, int, int, int]]
    """Thread, its step, site, kind, target, value: what differs from the plain run (prismem_explore.h)."""
    story: list[str] = []

    def write(self, path: Path) -> None:
        """To a file."""
        path.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


def is_log(path: Path) -> bool:
    """The file looks like a log of this kind."""
    try:
        with path.open(encoding="utf-8") as file:
            return "prismem-check-log" in file.read(200)
    except (OSError, UnicodeDecodeError):
        return False


def load(path: Path) -> CheckLog:
    """Read a log.

    Raises:
        MisuseError: there is no such file, or it is no log; the text names the field.
    """
    try:
        return CheckLog.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MisuseError(f"LOG: {relative(path)}: {error.strerror}") from None
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise MisuseError(f"LOG: {relative(path)} is no log of prismem check: {where}: {first['msg']}") from None
