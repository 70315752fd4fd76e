"""Compiles a user's sources with the hooks and makes a copy for each host, since each host has globals of its own."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from prismem.errors import MisuseError
from prismem.paths import BUILD, SOFTWARE, relative

BUILD_CHECK = BUILD / "check"
C_ENDINGS = (".c",)
CXX_ENDINGS = (".cc", ".cpp", ".cxx", ".C")
# A copy for each host must not share anything with the others: no unique symbols, own definitions first, and the C++
# library's templates are compiled here, where their accesses are seen.
PROGRAM_CFLAGS = ("-O2", "-fno-gnu-unique", "-D_GLIBCXX_EXTERN_TEMPLATE=0")
PROGRAM_LDFLAGS = ("-shared", "-Wl,-Bsymbolic")
# Calls that would leave the machine, or wait for something that is not part of it: what to use instead.
REFUSED = {
    ("fork", "vfork", "clone", "execve", "execv", "execvp", "execl", "execlp", "posix_spawn", "system", "popen"):
        "a host runs one process; --hosts gives each host its own",
    ("syscall", "process_vm_readv", "process_vm_writev", "io_uring_enter", "mremap"):
        "system calls without a wrapper are not followed; use loads, stores and memcpy",
    ("pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_spin_lock", "pthread_barrier_wait", "sem_wait",
     "sem_post"):
        "use pthread_mutex_t and pthread_cond_t, or C11 atomics",
    ("pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_mutex_timedlock", "sem_timedwait"):
        "waits with a time-out are not followed; use pthread_cond_wait",
    ("_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
     "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"):
        "std::thread and std::condition_variable are not followed; use POSIX threads",
}  # fmt: skip


@dataclass(frozen=True)
class Binary:
    """A compiled program: a shared library with a main(), and the copies of it."""

    copies: tuple[Path, ...]
    warnings: tuple[str, ...]


def _scanner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scan_object", SOFTWARE / "emu" / "scan_object.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("scan_object", module)
    spec.loader.exec_module(module)
    return module


def hook_flags() -> tuple[list[str], list[str]]:
    """Compile and link flags of an instrumented program; builds the emulator on the way."""
    command = ["make", "-s", "-C", str(SOFTWARE / "emu"), "flags"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MisuseError(f"the host emulator does not build:\n{done.stderr.strip()}")
    compile_line, link_line = done.stdout.splitlines()[-2:]
    return shlex.split(compile_line), shlex.split(link_line)


def _compile(source: Path, flags: list[str], folder: Path) -> tuple[Path, str]:
    target = folder / f"{source.stem}.{hashlib.sha256(str(source).encode()).hexdigest()[:8]}.o"
    compiler, standard = ("g++", "-std=gnu++20") if source.suffix in CXX_ENDINGS else ("gcc", "-std=gnu11")
    command = [compiler, standard, *flags, "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MisuseError(f"{relative(source)} does not compile:\n{done.stderr.rstrip()}")
    return target, done.stderr.rstrip()


def _refused(target: Path) -> Iterator[str]:
    """Calls in an object that cannot be followed, each with the cure."""
    done = subprocess.run(["nm", "-u", "--format=posix", str(target)], capture_output=True, text=True, check=False)
    called = {line.split()[0].split("@")[0] for line in done.stdout.splitlines() if line.strip()}
    for names, cure in REFUSED.items():
        for name in sorted(called.intersection(names)):
            shown = "std::thread or std::condition_variable" if name.startswith("_Z") else f"{name}()"
            yield f"{target.name.split('.')[0]}: calls {shown}: {cure}"


def build(sources: tuple[Path, ...], hosts: int, extra: tuple[str, ...] = ()) -> Binary:
    """Compile, scan and link; one copy a host.

    Raises:
        MisuseError: a source is missing, of an unknown kind or does not compile; the program does not link; it contains
            instructions that no hook sees (the text names object and function).
    """
    for source in sources:
        if not source.is_file():
            raise MisuseError(f"PROGRAM: there is no file {source}")
        if source.suffix not in C_ENDINGS + CXX_ENDINGS:
            raise MisuseError(f"PROGRAM: {source} is neither C nor C++ ({', '.join(C_ENDINGS + CXX_ENDINGS)})")
    compile_flags, link_flags = hook_flags()
    sources = tuple(source.resolve() for source in sources)
    name = hashlib.sha256(repr((sources, extra)).encode()).hexdigest()[:8]
    folder = BUILD_CHECK / f"{sources[0].stem}-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:  # two checks of one program may run at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _build_in(folder, sources, hosts, [*compile_flags, *PROGRAM_CFLAGS, *extra], link_flags)


def _build_in(folder: Path, sources: tuple[Path, ...], hosts: int, flags: list[str], link_flags: list[str]) -> Binary:
    built = [_compile(source, flags, folder) for source in sources]
    scanner = _scanner()
    findings = [str(finding) for target, _ in built for finding in scanner.scan(target)]
    findings += [text for target, _ in built for text in _refused(target)]
    if findings:
        raise MisuseError("what the hooks cannot see would go past the check:\n" + "\n".join(findings))
    library = folder / "program.so"
    objects = [str(target) for target, _ in built]
    command = [
        "g++",
        *PROGRAM_LDFLAGS,
        *objects,
        *link_flags,
        "-Wl,-rpath,$ORIGIN/../../sw",
        "-pthread",
        "-lrt",
        "-o",
        str(library),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MisuseError(f"the program does not link:\n{done.stderr.rstrip()}")
    copies = []
    for host in range(hosts):
        copy = folder / f"host{host}.so"
        copy.unlink(missing_ok=True)
        shutil.copyfile(library, copy)
        copies.append(copy)
    return Binary(tuple(copies), tuple(text for _, text in built if text))
