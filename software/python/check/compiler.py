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
# The hooks' header comes before a program's own choice of features, so C gets all of them, as C++ does.
C_CFLAGS = ("-std=gnu11", "-D_GNU_SOURCE=")
PROGRAM_LDFLAGS = ("-shared", "-Wl,-Bsymbolic")
# Calls that would leave the machine, or wait for something that is not part of it: what to use instead.
REFUSED = {
    ("fork", "vfork", "clone", "execve", "execv", "execvp", "execl", "execlp", "posix_spawn", "system", "popen"):
        "a host runs one process; --hosts gives each host its own",
    ("process_vm_readv", "process_vm_writev", "io_uring_enter", "mremap"):
        "the kernel would reach past the caches; use loads, stores and memcpy",
    ("shmget", "shmat", "semop", "semget", "msgsnd", "msgrcv", "mq_open", "sem_open"):
        "objects of the kernel do not reach from host to host; map the memory with shm_open or /dev/dax*, and tell the "
        "others by words in it",
    ("poll", "ppoll", "select", "epoll_wait", "accept", "connect", "wait", "waitpid", "pause", "sigwait"):
        "nothing outside of the hosts answers; leave sockets, children and signals out of what is checked",
    ("pthread_cancel", "pthread_kill", "kill", "alarm", "setitimer", "timer_create"):
        "threads are not interrupted from outside; let them look at a flag",
    ("makecontext", "swapcontext", "setcontext"):
        "stacks of the program's own are not followed; use threads",
    ("_ZNSt13random_device9_M_getvalEv",):
        "an execution has to give the same numbers again; seed the generator with a number, or use getrandom()",
}  # fmt: skip
# Calls that do less than elsewhere, without harm.
WARNED = {
    ("msync", "madvise", "mlock"):
        "on pool memory it does nothing, as on a DAX device: only flushes write lines back",
    ("signal", "sigaction"): "nobody sends signals; the handler is never called",
    ("pthread_mutexattr_setpshared", "pthread_condattr_setpshared", "pthread_rwlockattr_setpshared",
     "pthread_barrierattr_setpshared"):
        "hosts do not share the object, whatever is set here",
}  # fmt: skip
SHOWN = {"_ZNSt13random_device9_M_getvalEv": "std::random_device"}


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
    compiler = ["g++", "-std=gnu++20"] if source.suffix in CXX_ENDINGS else ["gcc", *C_CFLAGS]
    command = [*compiler, *flags, "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MisuseError(f"{relative(source)} does not compile:\n{done.stderr.rstrip()}")
    return target, done.stderr.rstrip()


def _called(target: Path, table: dict[tuple[str, ...], str]) -> Iterator[str]:
    """Calls in an object that are in a table, each with the table's text."""
    done = subprocess.run(["nm", "-u", "--format=posix", str(target)], capture_output=True, text=True, check=False)
    called = {line.split()[0].split("@")[0] for line in done.stdout.splitlines() if line.strip()}
    for names, text in table.items():
        for name in sorted(called.intersection(names)):
            yield f"{target.name.split('.')[0]}: calls {SHOWN.get(name, name + '()')}: {text}"


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
    findings += [text for target, _ in built for text in _called(target, REFUSED)]
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
    warnings = [text for _, text in built if text]
    warnings += [text for target, _ in built for text in _called(target, WARNED)]
    return Binary(tuple(copies), tuple(warnings))
