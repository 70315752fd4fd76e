"""What every test does: start the bench, raise one objection, run the scenario within its time, drain, judge."""

from collections.abc import Iterable
from typing import ClassVar

from cocotb.triggers import SimTimeoutError, gather, select, with_timeout
from pyuvm import ConfigDB, uvm_test

from prismem.models.memory import LINE_BYTES
from prismem.tb.uvm.bus import Bus
from prismem.tb.uvm.config import BUS, RUN, RunConfig
from prismem.tb.uvm.cxl.item import CxlItem
from prismem.tb.uvm.env import Env
from prismem.tb.uvm.messages import Opcode
from prismem.tb.uvm.sequences import ItemSequence, lines_of

DRAIN_NS_MAX = 50_000
SETTLE_CYCLES = 400  # longer than any message is under way, so that one too many is seen


class BaseTest(uvm_test):
    """Fill in `scenario`. The test ends at the first finding, or after the scenario when nothing is in flight."""

    time_ns_max: ClassVar[int] = 200_000
    plusargs: ClassVar[dict[str, int]] = {}
    """Straps and faults of the bench that the test needs."""
    reader: ClassVar[int] = 0
    """Host that reads everything back in the end."""

    def build_phase(self) -> None:
        """The environment."""
        self.run: RunConfig = ConfigDB().get(self, "", RUN)
        self.bus: Bus = ConfigDB().get(self, "", BUS)
        self.hdm = self.run.hdm
        self.module_lines = self.hdm.size_bytes // self.hdm.modules // LINE_BYTES
        self.env = Env("env", self)

    async def scenario(self) -> None:
        """What the test is about."""
        raise AssertionError(f"{self.get_type_name()} has no scenario")

    async def run_phase(self) -> None:
        """One objection around all."""
        self.raise_objection()
        await self.bus.start()
        time_ns_max = self.run.time_ns_max or self.time_ns_max
        try:
            await with_timeout(select(self._work(), self.env.findings.first.wait()), time_ns_max, "ns")
        except SimTimeoutError:
            text = f"not done after {time_ns_max} ns, {self.env.memory.in_flight} requests in flight"
            self.env.findings.add(self.bus.cycle, self.get_type_name(), text)
        self.drop_objection()

    async def _work(self) -> None:
        await self.scenario()
        await self.drain()
        await self.read_back()
        await self.bus.cycles(SETTLE_CYCLES)

    async def drain(self) -> None:
        """Until nothing is in flight at any port. A finding when that takes too long."""
        for agent in self.env.ports.values():
            try:
                await with_timeout(agent.driver.idle(), DRAIN_NS_MAX, "ns")
            except SimTimeoutError:
                text = f"{len(agent.driver.in_flight)} requests are not answered {DRAIN_NS_MAX} ns after the last"
                self.env.findings.add(self.bus.cycle, agent.get_name(), text)

    async def read_back(self) -> None:
        """Read every line that was written, so that a write that went wrong last is seen, too."""
        self.env.coverage.fault = "none"
        for config in self.env.configs.values():
            config.back_pressure.ndr_permille = config.back_pressure.drs_permille = 0
        lines = sorted(self.env.memory.written)
        await self.send(self.reader, [CxlItem(Opcode.MEM_RD, line) for line in lines])

    def lines(self, module: int, rows: Iterable[int]) -> list[int]:
        """Lines of the host's address space on a module, by the module's own line number."""
        return lines_of(self.hdm, module, rows)

    async def play(self, sequences: dict[int, ItemSequence]) -> None:
        """Run a sequence on each host at once, until every item is answered."""
        await gather(*(self._play(host, sequence) for host, sequence in sequences.items()))

    async def _play(self, host: int, sequence: ItemSequence) -> None:
        await sequence.start(self.env.ports[host].sequencer)
        await sequence.wait()

    async def send(self, host: int, items: Iterable[CxlItem]) -> ItemSequence:
        """Send items from a host and wait for their answers."""
        sequence = ItemSequence(f"host{host}", items)
        await self._play(host, sequence)
        return sequence
