"""What a run is asked to be: the text of options on the way in, a validated request on the way out."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict

from prismem.errors import MisuseError
from prismem.models import profile as profiles
from prismem.models.profile import Profile
from prismem.paths import BUILD_RUN, SOFTWARE, found, kept, relative
from prismem.tb.job import Job, PolicyName, PortName, Request, file_options, find, parse_options
from prismem.tb.runner import timed

SEED_MAX = (1 << 63) - 1


class RunSpec(BaseModel):
    """Options of one run, as they are typed; a result carries them so that it can be run again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    test: str
    port: PortName
    hosts: int
    modules: int
    profile: str
    sets: tuple[str, ...] = ()
    seed: int = 1
    policy: PolicyName = "seeded"
    mutant: str | None = None
    coherent: bool = False
    waves: bool = False
    log: bool = False
    every_cycle: bool = False
    trace_events: str | None = None
    options: dict[str, str] = {}

    @property
    def label(self) -> str:
        """`<test>-<seed>`, the short name of the run."""
        return f"{self.test}-{self.seed}"

    @property
    def run_dir(self) -> Path:
        """Where the run leaves its files: other options, other folder."""
        text = json.dumps(self.model_dump(exclude={"test", "seed"}), sort_keys=True)
        return BUILD_RUN / f"{self.label}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def replay(self) -> str:
        """The command that runs this again, typed in the checkout."""
        words = [".venv/bin/prismem", "sim", self.test, "--port", self.port]
        words += ["--hosts", str(self.hosts), "--modules", str(self.modules), "--profile", self.profile]
        words += ["--seed", str(self.seed), "--policy", self.policy]
        for text in self.sets:
            words += ["--set", text]
        for key, value in self.options.items():
            words += ["--opt", f"{key}={value}"]
        words += ["--mutant", self.mutant] if self.mutant else []
        words += ["--trace-events", self.trace_events] if self.trace_events else []
        flags = ("coherent", "waves", "log", "every_cycle")
        words += [f"--{flag.replace('_', '-')}" for flag in flags if getattr(self, flag)]
        return shlex.join(words)

    def job(self) -> Job:
        """The job of this run."""
        return find(self.test)

    def request(self) -> Request:
        """Validate everything that can be validated before the machine exists. Raises MisuseError."""
        job = self.job()
        _check_port(job, self.port)
        if self.waves and self.port != "rtl":
            raise MisuseError("WAVES: the functional port has no signals to record; use PORT=rtl, or LOG=1 for events")
        self._check_trace_events(job)
        profile = load_profile(self.profile, self.sets)
        profile.check_size(self.hosts, self.modules)
        request = Request(
            port=self.port,
            hosts=self.hosts,
            modules=self.modules,
            profile=profile,
            seed=self.seed,
            policy=self.policy,
            mutant=self.mutant,
            coherent=self.coherent,
            options=parse_options(job, self.options),
        )
        job.check(request)
        if self.port == "timed":
            timed.check(request)
        pool, room = job.machine_config(request).pool_bytes, profile.hdm_bytes(self.modules)
        if self.port != "functional" and pool > room:
            raise MisuseError(
                f"MODULES: the run needs a pool of {pool >> 20} MiB, and {self.modules} modules of profile "
                f"'{profile.name}' map {room >> 20} MiB; use more modules or a larger hdm.window"
            )
        return request

    def _check_trace_events(self, job: Job) -> None:
        """Raise MisuseError unless there are transactions to trace, and a place for the file."""
        if self.trace_events is None:
            return
        if self.port == "functional" or not job.probes:
            why = "the functional port has no time" if job.probes else f"test '{job.name}' counts and stamps nothing"
            raise MisuseError(f"TRACE_EVENTS: {why}; trace a test like kv_share on PORT=rtl or PORT=timed")
        folder = found(self.trace_events).parent
        if not folder.is_dir():
            raise MisuseError(f"TRACE_EVENTS: there is no folder '{relative(folder)}'; make it, or name another file")


def _is_file(profile: str) -> bool:
    return profile.endswith(".toml")


def load_profile(profile: str, sets: Iterable[str] = ()) -> Profile:
    """The profile that a spec names. Raises ProfileError."""
    return profiles.load(str(found(profile)) if _is_file(profile) else profile, sets)


def _check_port(job: Job, port: str) -> None:
    if port not in job.ports:
        raise MisuseError(f"PORT: '{port}' is not possible for test '{job.name}'; use {' or '.join(job.ports)}")


def make_spec(
    test: str | None,
    *,
    port: str | None = None,
    hosts: int | None = None,
    modules: int | None = None,
    profile: str | None = None,
    seed: int = 1,
    policy: str = "seeded",
    mutant: str | None = None,
    trace_events: str | None = None,
    options: dict[str, str] | None = None,
    **flags: Any,
) -> RunSpec:
    """A spec with the job's defaults filled in. Raises MisuseError for what is not possible."""
    job = find(test)
    port = job.ports[0] if port is None else port
    _check_port(job, port)
    if policy not in get_args(PolicyName):
        raise MisuseError(f"POLICY: '{policy}' is unknown; the policies are {', '.join(get_args(PolicyName))}")
    if not 0 <= seed <= SEED_MAX:
        raise MisuseError(f"SEED: {seed} is outside 0..{SEED_MAX}; choose one inside")
    if mutant is not None:
        known = mutants()
        if mutant not in known:
            raise MisuseError(f"MUTANT: '{mutant}' is unknown; the mutants are {', '.join(known)}")
        if not job.takes_mutant:
            raise MisuseError(f"MUTANT: test '{job.name}' does not run the library; use TEST=kv_share")
    profile = job.profile if profile is None else profile
    profile = kept(profile) if _is_file(profile) else profile
    rack = load_profile(profile, flags.get("sets", ())).rack
    # What the job likes to have, as far as the machine has it.
    hosts = min(job.hosts, rack.hosts.canonical) if hosts is None else hosts
    modules = min(job.modules, rack.modules.canonical) if modules is None else modules
    files = file_options(job)
    spec = RunSpec.model_validate(
        {
            "test": job.name,
            "port": port,
            "hosts": hosts,
            "modules": modules,
            "profile": profile,
            "seed": seed,
            "policy": policy,
            "mutant": mutant,
            "trace_events": kept(trace_events) if trace_events else None,
            "options": {k: kept(v) if v and k in files else v for k, v in (options or {}).items()},
            **flags,
        }
    )
    spec.request()
    return spec


def mutants() -> dict[str, str]:
    """Faults that can be switched on in the library: name -> description, from the C source that defines them."""
    path = SOFTWARE / "src" / "mutants.def"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return dict(re.findall(r'^PM_MUTANT\(\s*(\w+)\s*,\s*"([^"]*)"', text, flags=re.MULTILINE))
