"""The cocotb test of cxl_link_top, run by test_cxl_link.py: clock, reset, wait until the bench is done."""

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout

CYCLES_MAX = 20_000_000


@cocotb.test()
async def runs(dut: Any) -> None:
    """The bench checks itself; a wrong byte ends the simulation."""
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 1, unit="ns").start()
    await ClockCycles(dut.clk_i, 4)
    dut.rst_ni.value = 1
    await with_timeout(RisingEdge(dut.done_o), CYCLES_MAX, "ns")
