"""Tests in which something goes wrong: resets, link errors, dark lightpaths, poison."""

from typing import ClassVar

import cocotb

from prismem.tb.uvm.cxl.item import CxlItem
from prismem.tb.uvm.messages import Opcode
from prismem.tb.uvm.sequences import ItemSequence, Mix
from prismem.tb.uvm.tests.traffic import RandomTest

DARK_NS = 3000
FAULTS_MIN = 20
DEAD_NS = 12_000
POISON_ENTRIES = 16  # of rtl/pf_mem/pf_mem.sv
POISON_LINES = 7


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
    plusargs: ClassVar[dict[str, int]] = {"fault_cxl_ber_e12": 50_000_000}


class CxlDropTest(LinkErrorTest):
    """Flits are lost, both directions."""

    kind: ClassVar[str] = "cxl_drop"
    plusargs: ClassVar[dict[str, int]] = {"fault_cxl_drop_e6": 60_000}


class PathFlipTest(LinkErrorTest):
    """Bits of frames on the lightpaths are inverted, both directions."""

    kind: ClassVar[str] = "path_flip"
    plusargs: ClassVar[dict[str, int]] = {"fault_req_ber_e12": 200_000_000, "fault_rsp_ber_e12": 200_000_000}


class PathDropTest(LinkErrorTest):
    """Frames on the lightpaths are lost, both directions."""

    kind: ClassVar[str] = "path_drop"
    plusargs: ClassVar[dict[str, int]] = {"fault_req_drop_e6": 60_000, "fault_rsp_drop_e6": 60_000}


class DeadPathTest(RandomTest):
    """A lightpath dies under traffic: what is out and what comes later is answered in time, the other paths go on."""

    plusargs: ClassVar[dict[str, int]] = {"nic_timeout_ns": 3000, "path_replay_limit": 4}
    reader: ClassVar[int] = 1

    async def scenario(self) -> None:
        """Traffic of all hosts, the light goes out, traffic again."""
        self.env.coverage.fault = "dead"
        self.env.memory.dead.add((0, 0))
        self.env.lightpaths.dead.add((0, 0))
        before = self.sequences(300, Mix(gap=100))
        for host, sequence in before.items():
            cocotb.start_soon(sequence.start(self.env.ports[host].sequencer))
        await self.bus.cycles(500)
        self.bus.dut.path_down.value = 1
        await self.bus.cycles(DEAD_NS)
        await self.drain()
        failed = self.env.memory.failed
        for opcode in (Opcode.MEM_RD, Opcode.MEM_WR, Opcode.MEM_WR_PTL):
            await self.send(0, [CxlItem(opcode, line, data=7, enables=15) for line in self.lines(0, range(4))])
        if not failed or self.env.memory.failed < failed + 12:
            text = f"{self.env.memory.failed} requests to a dead path were answered as failed, {failed} at first"
            self.env.findings.add(self.bus.cycle, "dead_path", text)
        await self.play(dict(self.sequences(100, Mix(), self.lines(1, range(16)))))


class DeadLinkTest(RandomTest):
    """The CXL link of host 0 goes down: its requests are answered with poison and errors, host 1 goes on."""

    plusargs: ClassVar[dict[str, int]] = {
        "fault_cxl_down_ns": 600, "fault_cxl_down_only": 0, "cxl_replay_limit": 3, "cxl_replay_ns": 100,
    }  # fmt: skip
    reader: ClassVar[int] = 1

    async def scenario(self) -> None:
        """Traffic of all hosts over the moment of failure."""
        self.env.coverage.fault = "link_down"
        self.env.memory.dead_hosts.add(0)
        self.env.lightpaths.dead_hosts.add(0)
        await self.play(dict(self.sequences(400, Mix(gap=300, unmapped=50, invalidate=100))))
        if not self.env.memory.failed:
            self.env.findings.add(self.bus.cycle, "dead_link", "no request was answered as failed")


class PoisonTest(RandomTest):
    """Poison goes in with a write and comes out with every read, until the whole line is written without it."""

    async def scenario(self) -> None:
        """Few lines with much poison, then more poisoned lines than a module can remember."""
        lines = [line for module in range(self.run.modules) for line in self.lines(module, range(POISON_LINES))]
        await self.play(dict(self.sequences(400, Mix(poison=300, gap=400), lines)))
        for host in range(self.run.hosts):
            await self.send(host, [CxlItem(Opcode.MEM_WR, line, data=1) for line in lines])
        many = self.lines(0, range(POISON_ENTRIES + 4))
        await self.send(0, [CxlItem(Opcode.MEM_WR, line, data=3, poison=True) for line in many])
        await self.send(1, [CxlItem(Opcode.MEM_RD, line) for line in many])
        if self.env.memory.refused != 4:
            text = f"{self.env.memory.refused} poisoned writes were refused, 4 have no place"
            self.env.findings.add(self.bus.cycle, "poison", text)
        await self.send(1, [CxlItem(Opcode.MEM_WR, line, data=4) for line in many])
