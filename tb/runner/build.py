"""Builds that a run needs: the libraries of software/ and the Verilated bench.

A Verilated build is cached under a hash of all that it is made from, so processes that want the same one share it; the
first holds a file lock while it builds. Delays and rates are no part of a build: the bench reads them at time 0.
"""

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cocotb_tools.config

from prismem.errors import PrismemError
from prismem.paths import BENCH_HDL, BUILD_SW, BUILD_VERILATOR, ROOT, RTL, SOFTWARE, relative
from prismem.tb.runner.files import check_build_folder, locked
from prismem.tb.runner.result import tail
from prismem.tb.runner.toolchain import clean_environment, find_verilator, fst_possible, tool_versions
from prismem.tb.runner.verilator import BUILD_JOBS_MAX, VerilatorRunner, cocotb_environment

TOP = "tb_rack"
BENCH_PORTS = Path(__file__).resolve().with_name("bench_ports.vlt")
COMPLAINTS_MAX = 15
# Loops over ports and links stay loops: unrolled, they blow the generated code up and run slower.
BASE_ARGS = ["--assert", "-O3", "-Wno-fatal", "--unroll-count", "2", "--x-initial", "fast", "--x-assign", "fast"]


@dataclass(frozen=True)
class Build:
    """A finished Verilated build."""

    top: str
    directory: Path
    wave_file: str | None  # name that a run gives its wave file; None: built without


def progress(text: str) -> None:
    """One line for a person who waits; nothing when no terminal looks."""
    if sys.stderr.isatty():
        print(f"prismem: {text}", file=sys.stderr)


def build_software(folder: Path = SOFTWARE, goal: str = "all") -> None:
    """Bring the libraries in build/sw up to date. Raises PrismemError with what the compiler said."""
    check_build_folder()
    command = ["make", "-s", "-C", str(folder), f"-j{BUILD_JOBS_MAX}", goal]
    done = subprocess.run(
        command, env=clean_environment(), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()
        said = "\n".join(lines[-30:])
        raise PrismemError(f"software: 'make -C {relative(folder)} {goal}' failed:\n{said}")


def hdl_sources() -> list[Path]:
    """SystemVerilog of the hardware and the bench, packages first and each after those that it uses, then waivers."""
    files = [path for folder in (RTL, BENCH_HDL) for path in sorted(folder.rglob("*.sv"))]
    packages = {path.stem: path for path in files if path.stem.endswith("_pkg")}
    ordered: dict[str, Path] = {}

    def visit(name: str, chain: tuple[str, ...] = ()) -> None:
        if name in chain:
            raise PrismemError(f"packages use each other in a circle: {' -> '.join((*chain, name))}")
        if name in ordered:
            return
        for used in re.findall(r"\b(\w+_pkg)::", packages[name].read_text(encoding="utf-8")):
            if used in packages and used != name:
                visit(used, (*chain, name))
        ordered[name] = packages[name]

    for name in packages:
        visit(name)
    rest = [path for path in files if path.stem not in packages]
    waivers = sorted(path for folder in (RTL, BENCH_HDL) for path in folder.rglob("*.vlt"))
    return [*waivers, *ordered.values(), *rest]


def build_key(sources: Sequence[Path], parameters: Mapping[str, int], arguments: Sequence[str]) -> str:
    """Hash of everything that a Verilated build is made from."""
    digest = hashlib.sha256()
    facts = [str(ROOT), dict(parameters), list(arguments), tool_versions(), sys.version]
    digest.update(json.dumps(facts, sort_keys=True).encode())
    for path in sources:
        digest.update(f"\0{relative(path)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def build_bench(
    parameters: Mapping[str, int],
    *,
    waves: bool = False,
    top: str = TOP,
    ports: Path = BENCH_PORTS,
    coverage: bool = False,
) -> Build:
    """A bench with these structural parameters, linked to the host emulator. Raises PrismemError.

    `ports` lists what Python reads and drives. `coverage` counts lines of the hardware, which costs speed.
    """
    arguments = ["-LDFLAGS", f"-L{BUILD_SW} -Wl,-rpath,{BUILD_SW} -lprismem_emu"]
    if coverage:
        arguments.append("--coverage-line")
    return build_hdl(top, [ports, *hdl_sources()], parameters, waves=waves, arguments=arguments)


def complaints(log: Path) -> list[str]:
    """The lines of a build log in which a tool complains; its end when none does."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    lines = [line for line in text.splitlines() if re.search(r"%Error|\berror\b|undefined reference", line)]
    return lines[:COMPLAINTS_MAX] or tail(log)


def build_hdl(
    top: str,
    sources: Sequence[Path],
    parameters: Mapping[str, int],
    *,
    waves: bool = False,
    arguments: Sequence[str] = (),
) -> Build:
    """A Verilated build of `top`, from the cache if it is there. Raises PrismemError with the end of the log."""
    fst = waves and fst_possible()
    flags = [*BASE_ARGS, *(["--trace-fst"] if fst else []), *(["--trace-structs"] if waves else []), *arguments]
    driver = Path(cocotb_tools.config.share_dir) / "lib" / "verilator" / "verilator.cpp"
    directory = BUILD_VERILATOR / build_key([*sources, driver], parameters, [top, *flags, f"waves={waves}"])
    stamp = directory / "built"
    build = Build(top, directory, ("dump.fst" if fst else "dump.vcd") if waves else None)
    with locked(directory.with_suffix(".lock")):
        if stamp.exists():
            return build
        size = ", ".join(f"{name} {parameters[name]}" for name in ("Hosts", "Modules") if name in parameters)
        progress(f"building the RTL ({top}{f', {size}' if size else ''}); a minute or two the first time")
        start_s = time.monotonic()
        log = directory.with_suffix(".log")
        try:
            with cocotb_environment():
                runner = VerilatorRunner(find_verilator())
                runner.log.setLevel("WARNING")
                runner.build(
                    sources=sources,
                    includes=sorted({path.parent for path in RTL.rglob("*.svh")}),
                    parameters=parameters,
                    build_args=flags,
                    hdl_toplevel=top,
                    build_dir=directory,
                    timescale=("1ns", "1ps"),
                    clean=True,
                    waves=waves,
                    log_file=log,
                )
        except (RuntimeError, SystemExit) as error:
            said = "\n".join(f"  {line}" for line in complaints(log))
            raise PrismemError(f"the RTL does not build: {error}\n{said}\n  log: {relative(log)}") from None
        stamp.write_text(f"{time.monotonic() - start_s:.1f} s\n", encoding="utf-8")
    return build
