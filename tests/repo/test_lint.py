"""The linters see what they are there for: a blocking assignment to a register is an error, memories excepted.
So is C that is bug-prone or wrong between threads."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prismem.cli import lint
from prismem.paths import ROOT, RTL
from prismem.tb.runner import build
from prismem.tb.runner.toolchain import clean_environment, find_verilator

# File and queued assignment to its state; files that write memories in place and files that have none.
STATE = {
    "common/pf_due_ring.sv": "wr_q <= wr_q + 1'b1;",
    "cxl/cxl_flit_pack.sv": "slots_q <= slots;",
    "cxl/cxl_link_rx.sv": "expected_q <= expected_q + 1'b1;",
    "pf_mem/mem_dram.sv": "full_to_q[c] <= last_ns[p];",
    "pf_nic/nic_tag_table.sv": "busy_q[index_t'(tag_o[i])] <= 1'b1;",
    "photonic/lightpath_array.sv": "held_q[l] <= s;",
    "photonic/link_tx.sv": "state_q[l] <= s;",
}


def test_a_blocking_assignment_to_a_register_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers that other processes read are queued: a block whose order of processes matters is not let through."""
    copy = tmp_path / "rtl"
    shutil.copytree(RTL, copy)
    for name, queued in STATE.items():
        text = (copy / name).read_text(encoding="utf-8")
        assert queued in text, f"{name}: '{queued}' is gone; choose another register"
        (copy / name).write_text(text.replace(queued, queued.replace("<=", "="), 1), encoding="utf-8")
    monkeypatch.setattr(build, "RTL", copy)
    command = lint._verilator_lint(lint.TOPS["photonic"])
    done = subprocess.run(
        command, env=clean_environment() | find_verilator().environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    found = set(re.findall(r"(?:BLKSEQ|BLKANDNBLK): \S*?/rtl/(\S+?\.sv):", done.stderr))
    assert found == set(STATE), done.stderr[-3000:]


def test_bug_prone_c_is_an_error(tmp_path: Path) -> None:
    """A product that overflows before it is widened, and a function that is not safe between threads, by our rules."""
    source = tmp_path / "wrong.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "unsigned long area(unsigned width, unsigned height) { return width * height; }\n"
        "void end(void) { exit(1); }\n",
        encoding="utf-8",
    )
    tool, *options = lint._clang_tidy(Path(sys.executable).parent / "clang-tidy")
    flags = options[options.index("--") :]
    command = [tool, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", str(source), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "bugprone-implicit-widening-of-multiplication-result" in done.stdout
    assert "concurrency-mt-unsafe" in done.stdout
