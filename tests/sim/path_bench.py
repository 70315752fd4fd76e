"""cocotb test of path_bench_top, run by test_lightpath.py: clock and reset, then wait for the end."""

import os
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer


@cocotb.test()
async def runs(dut: Any) -> None:
    """All items have arrived, or the path is dead, within the time that the caller allows."""
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 1, unit="ns").start()
    await ClockCycles(dut.clk_i, 4)
    dut.rst_ni.value = 1
    limit_ns = int(os.environ["PRISMEM_PATH_BENCH_NS_MAX"])
    await First(RisingEdge(dut.done_o), Timer(limit_ns, unit="ns"))
    await ClockCycles(dut.clk_i, 2)
    assert int(dut.done_o.value) == 1, f"items are still under way after {limit_ns} ns"
