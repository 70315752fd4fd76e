"""Driver of a CXL.mem port: requests out of the sequencer onto the pins, tags, and back-pressure."""

import random
from collections.abc import Callable
from typing import Any

from cocotb.triggers import Event
from pyuvm import ConfigDB, uvm_driver

from prismem.models.memory import ALL_ENABLES
from prismem.tb.uvm.bus import LANES, Bus
from prismem.tb.uvm.config import BUS, PORT, PortConfig
from prismem.tb.uvm.cxl.item import CxlItem
from prismem.tb.uvm.messages import TAGS, Opcode, Request

PERMILLE = 1000
BOTH_LANES = (1 << LANES) - 1


class CxlDriver(uvm_driver):
    """Keeps at most `outstanding_max` transactions in flight; tags go round, each used again as late as can be."""

    def build_phase(self) -> None:
        """Find the pins."""
        self.config: PortConfig = ConfigDB().get(self, "", PORT)
        self.bus: Bus = ConfigDB().get(self, "", BUS)
        self.pins = self.bus.ports[self.config.host]
        self.in_flight: dict[int, CxlItem] = {}
        self._random = random.Random(f"{self.config.seed}/{self.config.host}")
        self._next_tag = self._random.randrange(TAGS)
        self._freed = Event()

    def start_of_simulation_phase(self) -> None:
        """Hang into the bus."""
        self.bus.on_edge.append(self._step)
        self.bus.on_reset.append(self._reset)

    async def run_phase(self) -> None:
        """Items in order."""
        while True:
            item: CxlItem = await self.seq_item_port.get_next_item()
            await self.bus.cycles(item.gap)
            await self._until(lambda: len(self.in_flight) < self.config.outstanding_max)
            if item.tag is None:
                item.tag = self._free_tag()
            else:
                await self._until(lambda tag=item.tag: tag not in self.in_flight)
            self.in_flight[item.tag] = item
            self.pins.send(self._request(item))
            self.seq_item_port.item_done()

    async def idle(self) -> None:
        """Wait until nothing is in flight."""
        await self._until(lambda: not self.in_flight)

    def _request(self, item: CxlItem) -> Request:
        enables = {Opcode.MEM_WR: ALL_ENABLES, Opcode.MEM_WR_PTL: item.enables}.get(item.opcode, 0)
        host, tag = self.config.host, item.tag or 0
        return Request(0, host, 0, item.opcode, tag, item.line, item.ld_id, item.data, enables, item.poison)

    def _free_tag(self) -> int:
        while self._next_tag in self.in_flight:
            self._next_tag = (self._next_tag + 1) % TAGS
        tag = self._next_tag
        self._next_tag = (tag + 1) % TAGS
        return tag

    async def _until(self, holds: Callable[..., Any]) -> None:
        while not holds():
            self._freed.clear()
            await self._freed.wait()

    def _step(self, fire: int) -> None:
        bits = fire >> (8 * self.config.host) & 0xFF
        if bits & 0xF0:
            for response in self.pins.responses(self.bus.cycle, bits):
                if item := self.in_flight.pop(response.tag, None):
                    item.answer(response)
            self._freed.set()
        self.pins.drive(bits & 0x0F)
        pressure = self.config.back_pressure
        self.pins.ready(self._lanes(pressure.ndr_permille), self._lanes(pressure.drs_permille))

    def _lanes(self, permille: int) -> int:
        if permille and self._random.randrange(PERMILLE) < permille:
            return 0
        one = self.config.back_pressure.one_lane_permille
        return 1 if one and self._random.randrange(PERMILLE) < one else BOTH_LANES

    def _reset(self) -> None:
        self.pins.clear()
        self.pins.drive(0)
        items, self.in_flight = list(self.in_flight.values()), {}
        for item in items:
            item.answer(None)
        self._freed.set()
