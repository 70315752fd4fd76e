"""The cocotb test of the RTL port: clock, reset, wait for the bench to be done, results.

Python wakes up a handful of times in a run; the hardware, the emulated hosts and the measuring probes go on without it.
"""

import logging
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout
from cocotb.utils import get_sim_time

from prismem.tb.job import CheckFailed
from prismem.tb.runner.processes import die_with_parent
from prismem.tb.runner.session import RUN_DIR_VARIABLE, Session

CLOCK_PERIOD_NS = 1
RESET_CYCLES = 8


class RunFailed(AssertionError):
    """Tells cocotb that the run failed; what failed stands in the outcome and in the log."""


@cocotb.test()
async def run_job(dut: Any) -> None:
    """Run the job of this process's run folder on the Verilated bench."""
    die_with_parent()
    logging.getLogger("cocotb.regression").addFilter(_without_traceback)
    session = Session(Path(os.environ[RUN_DIR_VARIABLE]))
    try:
        session.prepare()
        cycles = await _drive(dut, session)
        outcome = session.attempt(None, session.finish(cycles))
    except Exception as error:  # whatever it was, it is the outcome of the run
        session.say(error)
        outcome = session.attempt(error)
    session.leave(outcome)
    if outcome.failure is not None:
        raise RunFailed(outcome.failure.message)


def _without_traceback(record: logging.LogRecord) -> bool:
    """A finding is in the log already; where this module raises it helps nobody."""
    if record.exc_info and isinstance(record.exc_info[1], RunFailed):
        record.exc_info = None
    return True


async def _drive(dut: Any, session: Session) -> int:
    """Clock the bench until it is done; returns the cycles that were clocked. Raises CheckFailed when it never is."""
    dut.rst_ni.value = 0
    Clock(dut.clk_i, CLOCK_PERIOD_NS, unit="ns").start()
    await ClockCycles(dut.clk_i, RESET_CYCLES)
    dut.rst_ni.value = 1
    limit = session.job.cycles_max
    try:
        await with_timeout(RisingEdge(dut.done_o), limit * CLOCK_PERIOD_NS, "ns")
    except SimTimeoutError:
        raise CheckFailed(
            f"the bench is not done after {limit} clocked cycles",
            time_ns=int(dut.now_o.value),
            component="tb_rack",
            expected="done_o = 1",
            actual=f"done_o = 0, state_o = {int(dut.state_o.value)}",
        ) from None
    return round(get_sim_time("ns") / CLOCK_PERIOD_NS)
