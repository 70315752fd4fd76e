"""cocotb tests of counter_top, run by test_runner.py; PRISMEM_COUNTER_DIE lets the process end without a word."""

import os
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles


@cocotb.test()
async def counts(dut: Any) -> None:
    """After reset the counter counts clocks."""
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 1, unit="ns").start()
    await ClockCycles(dut.clk_i, 4)
    dut.rst_ni.value = 1
    await ClockCycles(dut.clk_i, 21)
    if os.environ.get("PRISMEM_COUNTER_DIE"):
        os.kill(os.getpid(), 11)
    assert int(dut.count_o.value) == 20
