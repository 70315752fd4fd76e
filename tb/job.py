"""Jobs: what a simulation does, whichever port the machine sits on.

A job is a class with a name, typed options and three steps. `check` refuses a wrong request before anything is built or
written. `prepare` puts threads, data and traffic into the machine. Then the machine runs: by itself on the functional
port, driven by the Verilated bench on the RTL port. `finish` checks what came out and returns the metrics.

    @register
    class Smoke(Job):
        name = "smoke"
        description = "one store, published and read by the other host"

        def prepare(self, ctx: Context) -> None: ...
        def finish(self, ctx: Context) -> dict[str, Any]: ...
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from pydantic.fields import FieldInfo

from prismem.errors import MisuseError, PrismemError
from prismem.lib.emu import Machine, MachineConfig, Policy, Port, State
from prismem.models.profile import Profile

PortName = Literal["functional", "rtl", "timed"]
PolicyName = Literal["seeded", "random", "lazy", "eager", "warm"]

SEEDED_POLICIES = (Policy.LAZY, Policy.RANDOM, Policy.EAGER, Policy.WARM)
"""Policies behind "seeded": that of the seed modulo 4, so consecutive seeds visit the extreme ones too."""


@dataclass
class Failure:
    """First error of a run, as far as it is known."""

    message: str
    time_ns: int | None = None
    component: str | None = None
    expected: str | None = None
    actual: str | None = None


class CheckFailed(PrismemError):
    """A check of a job did not hold."""

    def __init__(
        self,
        message: str,
        *,
        time_ns: int | None = None,
        component: str | None = None,
        expected: object = None,
        actual: object = None,
    ) -> None:
        super().__init__(message)
        text = {k: None if v is None else str(v) for k, v in (("expected", expected), ("actual", actual))}
        self.failure = Failure(message, time_ns, component, **text)


FILE_OPTION: dict[str, JsonValue] = {"is_file": True}
"""`json_schema_extra` of an option that names a file: a run keeps it so that it means the same from any folder."""


class JobOptions(BaseModel):
    """Options of one job; subclass it with typed, documented fields that have defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def one_of(self, option: str, choices: Iterable[str]) -> None:
        """The value of this option is one of these. Raises MisuseError that names them."""
        value, known = getattr(self, option), tuple(choices)
        if value not in known:
            raise MisuseError(f"option {option}: '{value}' is unknown; choose one of {', '.join(known)}")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A run that is asked for, validated: everything that is known before the machine exists."""

    port: PortName
    hosts: int
    modules: int
    profile: Profile
    seed: int
    policy: PolicyName
    mutant: str | None
    coherent: bool
    options: Any  # of the job's own Options

    @property
    def machine_policy(self) -> Policy:
        """Who decides on cache events in this run."""
        if self.policy == "seeded":
            return SEEDED_POLICIES[self.seed % len(SEEDED_POLICIES)]
        return Policy[self.policy.upper()]

    def machine_config(self, **changes: Any) -> MachineConfig:
        """Configuration of the machine that follows from the request; `changes` are fields of MachineConfig."""
        fields: dict[str, Any] = {
            "hosts": self.hosts,
            "seed": self.seed,
            "port": Port.FUNCTIONAL if self.port == "functional" else Port.RTL,
            "policy": self.machine_policy,
            "coherent": self.coherent,
            "hpa_base": self.profile.hdm.base.canonical,
            "completion_posted": self.port == "rtl" and self.profile.module.completion.canonical == 1,
        }
        return MachineConfig(**(fields | changes))


@dataclass(frozen=True, kw_only=True)
class Context(Request):
    """A run in progress."""

    machine: Machine
    run_dir: Path


class Job:
    """One kind of run. Subclass, fill in, `register`."""

    name: ClassVar[str]
    description: ClassVar[str]
    ports: ClassVar[tuple[PortName, ...]] = ("rtl", "functional", "timed")  # the first is the default
    hosts: ClassVar[int] = 2
    modules: ClassVar[int] = 2
    profile: ClassVar[str] = "pfma"
    takes_mutant: ClassVar[bool] = False
    emulator_goal: ClassVar[str | None] = None  # goal of software/emu/Makefile that builds what the job loads
    probes: ClassVar[bool] = True  # stamp every transaction on the RTL; engines count for themselves
    records_transactions: ClassVar[bool] = False  # keep each one for `finish` (prismem.lib.transactions)
    cycles_max: ClassVar[int] = 500_000_000  # clocked cycles after which a run on the RTL is declared hung
    Options: ClassVar[type[JobOptions]] = JobOptions

    def check(self, request: Request) -> None:
        """Raise MisuseError if the request cannot be run."""

    def machine_config(self, request: Request) -> MachineConfig:
        """The machine that this job wants."""
        return request.machine_config()

    def plusargs(self, request: Request) -> dict[str, int]:
        """Plusargs of a run on the RTL beside the profile's straps."""
        return {}

    def prepare(self, ctx: Context) -> None:
        """Put threads, data and traffic into the machine."""
        raise CheckFailed(f"job {self.name} prepares nothing")

    def check_state(self, ctx: Context, state: State) -> None:
        """Raise CheckFailed unless the machine ended as the job expects."""
        if state is not State.DONE:
            raise machine_failure(ctx.machine.report())

    def finish(self, ctx: Context) -> dict[str, Any]:
        """Check the outcome and return the metrics, or raise CheckFailed."""
        return {}

    def report(self, metrics: Mapping[str, Any]) -> str:
        """Text of the metrics for a person who ran the job: whole lines, or nothing."""
        return ""


def machine_failure(report: Mapping[str, Any]) -> CheckFailed:
    """The first fault of an emulator report as an error; without one, the state and the threads that had not ended."""
    if report["faults"]:
        fault = report["faults"][0]
        component = f"host {fault.get('host')}, thread {fault.get('thread')}"
        return CheckFailed(fault["message"].rstrip(), time_ns=fault.get("time_ns"), component=component)
    threads = ", ".join(f"{t['name']} on host {t['host']}: {t['state']}" for t in report.get("threads", []))
    return CheckFailed(
        f"the machine ended {report['state_name']}: {threads}",
        time_ns=report.get("now_ns"),
        component="machine",
        expected="done",
        actual=report["state_name"],
    )


_jobs: dict[str, Job] = {}


def register(job: type[Job]) -> type[Job]:
    """Class decorator that makes a job known by its name."""
    if job.name in _jobs:
        raise PrismemError(f"job {job.name} is registered twice")
    _jobs[job.name] = job()
    return job


@cache
def jobs() -> dict[str, Job]:
    """All jobs by name; imports every module of prismem.tb.tests."""
    package = importlib.import_module("prismem.tb.tests")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_jobs.items()))


def find(name: str | None) -> Job:
    """The job of that name, or MisuseError that lists the names."""
    known = jobs()
    if name not in known:
        said = f"'{name}' is unknown" if name else "is missing"
        raise MisuseError(f"TEST: {said}; the tests are {', '.join(known)}")
    return known[name]


def parse_options(job: Job, raw: Mapping[str, str]) -> JobOptions:
    """Typed options of a job from text, or MisuseError that names the option, the value and the cure."""
    try:
        return job.Options.model_validate(dict(raw))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = ", ".join(job.Options.model_fields) or "none"
            raise MisuseError(f"option {key}: test '{job.name}' has no such option; its options are {known}") from None
        problem = _option_problem(job.Options.model_fields[key], first["type"])
        raise MisuseError(f"option {key}: {first['input']!r:.60} {problem}") from None


def file_options(job: Job) -> set[str]:
    """Names of the options of a job that name files."""
    return {key for key, field in job.Options.model_fields.items() if field.json_schema_extra == FILE_OPTION}


def _option_problem(field: FieldInfo, kind: str) -> str:
    """What is wrong with an option, and what would be right."""
    if field.annotation is bool:
        return "is neither true nor false; write one of them"
    if get_origin(field.annotation) is Literal:
        return f"is none of them; choose one of {', '.join(get_args(field.annotation))}"
    if field.annotation is not int:
        return "is empty; give a value or leave the option out"
    low, high, step = None, None, None
    for limit in field.metadata:
        low = getattr(limit, "ge", low)
        high = getattr(limit, "le", getattr(limit, "lt", None) and limit.lt - 1) or high
        step = getattr(limit, "multiple_of", step)
    outside = kind.startswith(("greater", "less")) or kind == "int_parsing_size"
    said = "is outside the limits" if outside else f"is no multiple of {step}" if step and kind == "multiple_of" else ""
    span = f"{low}..{high}" if high is not None else f"of {low} or more"
    return f"{said or 'is not a whole number'}; choose one {span}{f', a multiple of {step}' if step else ''}"
