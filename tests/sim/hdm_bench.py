"""cocotb test of hdm_bench_top, run by test_hdm_decode.py: clock and reset, then wait for the end."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer

LIMIT_NS = 200_000


@cocotb.test()
async def runs(dut: Any) -> None:
    """All addresses have been decoded."""
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 1, unit="ns").start()
    await ClockCycles(dut.clk_i, 4)
    dut.rst_ni.value = 1
    await First(RisingEdge(dut.done_o), Timer(LIMIT_NS, unit="ns"))
    await ClockCycles(dut.clk_i, 2)
    assert int(dut.done_o.value) == 1
