"""Compiles a user's sources with the hooks and makes a copy for each host, since each host has globals of its own."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from prismem.errors import MisuseError
from prismem.lib.check import assembly
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
    ("pthread_cancel", "pthread_kill", "kill", "raise", "alarm", "setitimer", "timer_create"):
        "threads are not interrupted from outside; let them look at a flag",
    ("makecontext", "swapcontext", "setcontext"):
        "stacks of the program's own are not followed; use threads",
    ("_ZNSt13random_device9_M_getvalEv",):
        "an execution has to give the same numbers again; seed the generator with a number, or use getrandom()",
}  # fmt: skip
# Calls that do less than elsewhere, without harm.
WARNED = {
    ("msync", "madvise", "mlock", "mprotect"):
        "on pool memory it does nothing, as on a DAX device: only flushes write lines back",
    ("signal", "sigaction"): "nobody sends signals; the handler is never called",
    ("pthread_mutexattr_setpshared", "pthread_condattr_setpshared", "pthread_rwlockattr_setpshared",
     "pthread_barrierattr_setpshared"):
        "hosts do not share the object, whatever is set here",
}  # fmt: skip
# What --cflags may not say, since it would take the hooks away or is the check's own business.
REFUSED_FLAGS = (
    "-fsanitize",
    "-fno-sanitize",
    "-flto",
    "-fbuiltin",
    "-fgnu-tm",
    "-c",
    "-S",
    "-E",
    "-o",
    "-shared",
    "-static",
)
# Constructors of globals run in the machine, before main() of each execution, and not while the copy is loaded: the
# loader skips these entries of the dynamic section under tags that it does not know (program.cpp reads them).
INIT_ARRAY, INIT_ARRAY_BYTES = 25, 27
OWN_INIT_ARRAY, OWN_INIT_ARRAY_BYTES = 0x6000AB01, 0x6000AB02
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


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def hook_flags() -> tuple[list[str], list[str]]:
    """Compile and link flags of an instrumented program; builds the emulator on the way."""
    command = ["make", "-s", "-C", str(SOFTWARE / "emu"), "flags"]
    done = _run(*command)
    if done.returncode != 0:
        raise MisuseError(f"the host emulator does not build:\n{done.stderr.strip()}")
    compile_line, link_line = done.stdout.splitlines()[-2:]
    return shlex.split(compile_line), shlex.split(link_line)


def check_flags(flags: list[str]) -> list[str]:
    """Flags of the user for the compiler.

    Raises:
        MisuseError: one would take the hooks away, or is no flag.
    """
    for flag in flags:
        if not flag.startswith("-"):
            raise MisuseError(f"--cflags {flag}: no flag of the compiler; name sources as PROGRAM")
        if flag.startswith(REFUSED_FLAGS):
            raise MisuseError(f"--cflags {flag}: the check compiles and links with hooks of its own; leave it out")
    return flags


def _compile(source: Path, flags: list[str], folder: Path) -> tuple[Path, str, list[str]]:
    """Object, warnings, and what inline assembly does in it: the compiler's text is kept for that."""
    target = folder / f"{source.stem}.{hashlib.sha256(str(source).encode()).hexdigest()[:8]}.o"
    text = target.with_suffix(".s")
    compiler = ["g++", "-std=gnu++20"] if source.suffix in CXX_ENDINGS else ["gcc", *C_CFLAGS]
    own = [flag for flag in compiler if not (flag.startswith("-D") and any(f.startswith(flag[:-1]) for f in flags))]
    done = _run(*own, *flags, "-S", str(source), "-o", str(text))
    if done.returncode != 0:
        raise MisuseError(f"{relative(source)} does not compile:\n{done.stderr.rstrip()}")
    found = list(assembly.scan(text, _scanner()))
    translated = _run("gcc", "-c", str(text), "-o", str(target))
    if translated.returncode != 0:
        raise MisuseError(f"{relative(source)} is not translated by the assembler:\n{translated.stderr.rstrip()}")
    text.unlink()
    return target, done.stderr.rstrip(), found


def _demangled(lines: list[str]) -> str:
    done = subprocess.run(["c++filt"], input="\n".join(lines), capture_output=True, text=True, check=False)
    return done.stdout.rstrip() if done.returncode == 0 else "\n".join(lines)


def _keep_constructors(library: Path) -> None:
    """Rename the entries by which the loader would run constructors."""
    image = bytearray(library.read_bytes())
    (headers,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for header in range(headers, headers + size * count, size):
        kind, _, offset, _, _, bytes_ = struct.unpack_from("<IIQQQQ", image, header)
        if kind != 2:  # PT_DYNAMIC
            continue
        for entry in range(offset, offset + bytes_, 16):
            (tag,) = struct.unpack_from("<Q", image, entry)
            own = {INIT_ARRAY: OWN_INIT_ARRAY, INIT_ARRAY_BYTES: OWN_INIT_ARRAY_BYTES}.get(tag, tag)
            struct.pack_into("<Q", image, entry, own)
    library.write_bytes(image)


def _called(target: Path, table: dict[tuple[str, ...], str]) -> Iterator[str]:
    """Calls in an object that are in a table, each with the table's text."""
    done = _run("nm", "-u", "--format=posix", str(target))
    called = {line.split()[0].split("@")[0] for line in done.stdout.splitlines() if line.strip()}
    for names, text in table.items():
        for name in sorted(called.intersection(names)):
            yield f"{target.name.split('.')[0]}: calls {SHOWN.get(name, name + '()')}: {text}"


def _defines(target: str, name: str) -> bool:
    done = _run("nm", "--defined-only", "--format=posix", target)
    return any(line.split()[:2] == [name, "T"] for line in done.stdout.splitlines())


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
    findings: list[str] = []
    for target, _, assembled in built:
        if not assembled:  # else the instructions of the object are those, without their places
            findings += map(str, scanner.scan(target))
        findings += assembled
        findings += _called(target, REFUSED)
    if findings:
        raise MisuseError("what the hooks cannot see would go past the check:\n" + _demangled(findings))
    library = folder / "program.so"
    objects = [str(target) for target, _, _ in built]
    if not any(_defines(target, "main") for target in objects):
        names = ", ".join(source.name for source in sources)
        raise MisuseError(f"PROGRAM: no main() in {names}; name all sources of the program, and a main() for each host")
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
    done = _run(*command)
    if done.returncode != 0:
        raise MisuseError(f"the program does not link:\n{done.stderr.rstrip()}")
    _keep_constructors(library)
    copies = []
    for host in range(hosts):
        copy = folder / f"host{host}.so"
        copy.unlink(missing_ok=True)
        shutil.copyfile(library, copy)
        copies.append(copy)
    warnings = [text for _, text, _ in built if text]
    warnings += [text for target, _, _ in built for text in _called(target, WARNED)]
    return Binary(tuple(copies), tuple(warnings))
