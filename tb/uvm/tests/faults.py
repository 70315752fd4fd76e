"""Tests in which something goes wrong: resets, link errors, dark lightpaths, poison."""

from typing import ClassVar

import cocotb

from prismem.tb.uvm.cxl.item import CxlItem
from prismem.tb.uvm.messages import Opcode
from prismem.tb.uvm.sequences import ItemSequence, Mix
from prismem.tb.uvm.tests.traffic import RandomTest

DARK_NS = 3000
FAULTS_MIN = 20


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


class LinkErrorTest(RandomTest):
    """Traffic over links with errors: replays mend them, so nothing is wrong, lost or doubled."""

    kind: ClassVar[str] = "none"
    """Bin of the coverpoint `fault`."""

    async def scenario(self) -> None:
        """Random traffic of all hosts, and errors that did happen."""
        self.env.coverage.fault = self.kind
        await self.play(dict(self.sequences(600, Mix(gap=400))))
        count = int(self.bus.dut.faults_o.value)
        if count < FAULTS_MIN:
            self.env.findings.add(
                self.bus.cycle, self.kind, f"only {count} faults happened, at least {FAULTS_MIN} should"
            )


class CxlFlipTest(LinkErrorTest):
    """Bits of flits are inverted, both directions: the CRC finds each, and the flit is sent again."""

    kind: ClassVar[str] = "cxl_flip"
    plusargs: ClassVar[dict[str, int]] = {"fault_cxl_every": 9, "fault_cxl_span": 2048}


class CxlDropTest(LinkErrorTest):
    """Flits are lost, both directions."""

    kind: ClassVar[str] = "cxl_drop"
    plusargs: ClassVar[dict[str, int]] = {"fault_cxl_drop_e6": 60_000}


class PathFlipTest(LinkErrorTest):
    """Bits of frames on the lightpaths are inverted, both directions."""

    kind: ClassVar[str] = "path_flip"
    plusargs: ClassVar[dict[str, int]] = {
        "fault_req_every": 7, "fault_req_span": 96, "fault_rsp_every": 7, "fault_rsp_span": 600,
    }  # fmt: skip


class PathDropTest(LinkErrorTest):
    """Frames on the lightpaths are lost, both directions."""

    kind: ClassVar[str] = "path_drop"
    plusargs: ClassVar[dict[str, int]] = {"fault_req_drop_e6": 60_000, "fault_rsp_drop_e6": 60_000}
