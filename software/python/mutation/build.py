"""Builds one mutant: only what it changes is compiled, and linked with the objects of the library and of its tests."""

from __future__ import annotations

import functools
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from prismem.errors import PrismemError
from prismem.lib.mutation.operators import Mutant
from prismem.paths import SOFTWARE

PROGRAM = "program.so"
COMPILER_WALL_S_MAX = 120


class DoesNotCompile(PrismemError):
    """The mutant is no C; it counts for nothing."""


@dataclass(frozen=True)
class Parts:
    """What software/Makefile builds the instrumented tests from."""

    compile_flags: tuple[str, ...]
    library: tuple[Path, ...]
    tests: tuple[Path, ...]
    link_flags: tuple[str, ...]


@functools.cache
def parts() -> Parts:
    """Flags and objects; builds what is missing. Raises PrismemError with the compiler's words."""
    command = ["make", "-s", "-C", str(SOFTWARE), "flags"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PrismemError(f"the library does not build:\n{done.stderr.strip()}")
    compiled, library, tests, linked = (shlex.split(line) for line in done.stdout.splitlines()[-4:])
    return Parts(
        compile_flags=(*(flag for flag in compiled if flag != "-Werror"), "-w"),
        library=tuple(map(Path, library)),
        tests=tuple(map(Path, tests)),
        link_flags=tuple(linked),
    )


def _run(command: list[str]) -> str | None:
    """The complaint, or None."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMPILER_WALL_S_MAX)
    return None if done.returncode == 0 else done.stderr.strip()


def _compile(source: Path, target: Path, mutant: Mutant) -> None:
    # The mutant's own folder comes first, so that a changed header is found there.
    folders = (SOFTWARE / "src", SOFTWARE / "include" / "prismem", SOFTWARE / "tests")
    beside = [f"-iquote{folder}" for folder in folders]
    command = ["gcc", "-I", str(source.parent), *parts().compile_flags, *beside]
    if complaint := _run([*command, "-c", str(source), "-o", str(target)]):
        raise DoesNotCompile(f"{mutant.id}: {complaint.splitlines()[0]}")


def _includes(target: Path, header: Path) -> bool:
    """The object was made from a source that includes the header; the compiler has left a list beside it."""
    listed = target.with_suffix(".d")
    return not listed.is_file() or f"/{header.name}" in listed.read_text(encoding="utf-8")


def _objects(mutant: Mutant, folder: Path) -> list[Path]:
    """Objects of the library with the mutant's in the place of those that it changes."""
    if mutant.path.suffix == ".c":
        source, target = folder / mutant.path.name, folder / f"{mutant.path.stem}.o"
        source.write_bytes(mutant.source)
        _compile(source, target, mutant)
        return [target if one.name == target.name else one for one in parts().library]
    # A header: every source is compiled from a copy beside it, where includes with quotes look first.
    header = folder / (Path("prismem") / mutant.path.name if mutant.path.parent.name == "prismem" else mutant.path.name)
    for path in (SOFTWARE / "src").glob("*.[ch]"):
        shutil.copyfile(path, folder / path.name)
    header.parent.mkdir(exist_ok=True)
    header.write_bytes(mutant.source)
    objects = []
    for one in parts().library:
        source, target = folder / f"{one.stem}.c", folder / one.name
        if not source.is_file() or not _includes(one, mutant.path):
            objects.append(one)
            continue
        _compile(source, target, mutant)
        objects.append(target)
    return objects


def _tests(mutant: Mutant | None, folder: Path) -> list[Path]:
    """Objects of the tests; those that use a mutated public header are compiled again."""
    if mutant is None or mutant.path.parent.name != "prismem":
        return list(parts().tests)
    objects = []
    for one in parts().tests:
        source, target = SOFTWARE / "tests" / f"{one.stem}.c", folder / f"tests_{one.name}"
        if not _includes(one, mutant.path):
            objects.append(one)
            continue
        copy = folder / source.name
        shutil.copyfile(source, copy)
        _compile(copy, target, mutant)
        objects.append(target)
    return objects


def build(mutant: Mutant | None, folder: Path) -> Path:
    """Compile and link into `folder`, which is made anew; None is the library as it is. Returns the shared library.

    Raises:
        DoesNotCompile: the mutant is no valid C.
        PrismemError: the library itself does not build.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    library = list(parts().library) if mutant is None else _objects(mutant, folder)
    objects = [*library, *_tests(mutant, folder)]
    target = folder / PROGRAM
    command = ["g++", "-shared", "-Wl,-Bsymbolic", *map(str, objects), *parts().link_flags]
    emulator = SOFTWARE.parent / "build" / "sw"
    complaint = _run([*command, f"-Wl,-rpath,{emulator}", "-pthread", "-o", str(target)])
    if complaint:
        raise DoesNotCompile(f"{'the library' if mutant is None else mutant.id}: {complaint.splitlines()[0]}")
    for one in [*folder.glob("*.o"), *folder.glob("*.c"), *folder.glob("*.h")]:
        if mutant is None or one.name != mutant.path.name:
            one.unlink()
    return target
