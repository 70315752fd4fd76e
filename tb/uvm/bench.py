"""cocotb entry: runs the test of this process's run folder and leaves its outcome there."""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from pyuvm import ConfigDB, uvm_root

from prismem.tb.runner.processes import die_with_parent
from prismem.tb.uvm.bus import Bus
from prismem.tb.uvm.config import BUS, OUTCOME_FILE, RUN, SPEC_VARIABLE, RunConfig
from prismem.tb.uvm.tests import TESTS


@cocotb.test()
async def run_uvm(dut: Any) -> None:
    """Run one test of the environment."""
    die_with_parent()
    run = RunConfig.read(Path(os.environ[SPEC_VARIABLE]))
    ConfigDB().clear()
    ConfigDB().set(None, "*", RUN, run)
    ConfigDB().set(None, "*", BUS, Bus(dut, run.hosts, run.modules))
    await uvm_root().run_test(TESTS[run.test], keep_set={ConfigDB})
    test = uvm_root().get_children()[0]
    findings = test.env.findings.texts
    outcome = {
        "findings": findings,
        "answered": dict(test.env.memory.answered),
        "crossed": test.env.lightpaths.crossed,
        "cycles": test.bus.cycle,
        "coverage": dict(test.env.coverage.model.hits),
    }
    (Path(run.run_dir) / OUTCOME_FILE).write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")
    assert not findings, findings[0]
