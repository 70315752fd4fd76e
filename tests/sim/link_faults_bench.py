"""cocotb test of link_faults_top, run by test_link_faults.py: clock it and leave its counters as JSON."""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly

COUNTERS = ("frames_o", "hits_o", "drops_o", "downs_o", "position_sum_o", "hash_o", "positions_o")


@cocotb.test()
async def count(dut: Any) -> None:
    """Run for PRISMEM_FAULTS_CYCLES."""
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 1, unit="ns").start()
    await ClockCycles(dut.clk_i, 4)
    dut.rst_ni.value = 1
    await ClockCycles(dut.clk_i, int(os.environ["PRISMEM_FAULTS_CYCLES"]))
    await ReadOnly()
    counters = {name: [int(getattr(dut, name)[link].value) for link in range(2)] for name in COUNTERS}
    Path(os.environ["PRISMEM_FAULTS_OUT"]).write_text(json.dumps(counters), encoding="utf-8")
