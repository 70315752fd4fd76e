"""Tests in which something goes wrong: reset in mid-traffic, a module that cannot be reached for a while."""

import cocotb

from prismem.tb.uvm.cxl.item import CxlItem
from prismem.tb.uvm.messages import Opcode
from prismem.tb.uvm.sequences import ItemSequence, Mix
from prismem.tb.uvm.tests.traffic import RandomTest

DARK_NS = 3000


class ResetTest(RandomTest):
    """Reset while requests are everywhere between host and media, several times; then all works as before."""

    async def scenario(self) -> None:
        """Traffic, reset at a different depth each time, traffic."""
        await self.bus.reset()
        for after in (30, 90, 160, 240, 333):
            for host, sequence in self.sequences(80, Mix(gap=0)).items():
                cocotb.start_soon(sequence.start(self.env.ports[host].sequencer))
            await self.bus.cycles(after)
            await self.bus.reset(3)
            await self.drain()
        await self.play(dict(self.sequences(200, Mix())))


class NotReadyTest(RandomTest):
    """The lightpath from host 0 to module 0 is dark for a while: its requests wait, others go on, nothing is lost."""

    async def scenario(self) -> None:
        """Dark, traffic to all, light."""
        self.env.coverage.fault = "dark"
        self.bus.dut.path_down.value = 1
        blocked = ItemSequence("blocked", [CxlItem(Opcode.MEM_RD, line) for line in self.lines(0, range(8))])
        await blocked.start(self.env.ports[0].sequencer)
        others = self.lines(1, range(16))
        await self.play(dict(self.sequences(150, Mix(), others)))
        await self.bus.cycles(DARK_NS)
        if any(item.answered.is_set() for item in blocked.items):
            self.env.findings.add(self.bus.cycle, "not_ready", "an answer came over a lightpath without light")
        self.bus.dut.path_down.value = 0
        await blocked.wait()
        await self.play(dict(self.sequences(200, Mix())))
