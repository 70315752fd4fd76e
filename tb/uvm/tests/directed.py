"""Directed tests: one poisoned line among good ones, and what a device tells about its load."""

from prismem.models.memory import ALL_ENABLES
from prismem.tb.uvm.cxl.item import CxlItem
from prismem.tb.uvm.messages import Opcode
from prismem.tb.uvm.sequences import Mix
from prismem.tb.uvm.tests.base import BaseTest
from prismem.tb.uvm.tests.traffic import RandomTest

NEIGHBOURS = 24  # lines around the bad one, more than a row of HBM has
BAD_ROW = 9
LIGHT, SEVERE = 0, 3
QUIET_GAP = 500
FEW, MANY = 8, 120  # requests in flight; MANY are more than 7/8 of the NIC's tags here


class OnePoisonTest(BaseTest):
    """One line is poisoned: every host reads poison there and good data everywhere else, and a whole write heals it."""

    async def scenario(self) -> None:
        """Good, one bad, patched in part, healed."""
        lines = [line for module in range(self.run.modules) for line in self.lines(module, range(NEIGHBOURS))]
        (bad,) = self.lines(0, [BAD_ROW])
        await self.send(0, [CxlItem(Opcode.MEM_WR, line, data=line) for line in lines])
        await self._reads(lines, bad=None)
        await self.send(1, [CxlItem(Opcode.MEM_WR, bad, data=77, poison=True)])
        await self._reads(lines, bad)
        await self.send(0, [CxlItem(Opcode.MEM_WR_PTL, bad, data=5, enables=ALL_ENABLES >> 1)])
        await self._reads(lines, bad)
        await self.send(0, [CxlItem(Opcode.MEM_WR, bad, data=bad)])
        await self._reads(lines, bad=None)

    async def _reads(self, lines: list[int], bad: int | None) -> None:
        for host in range(self.run.hosts):
            before = dict(self.env.memory.poisoned)
            await self.send(host, [CxlItem(Opcode.MEM_RD, line) for line in lines])
            seen = {line: n - before.get(line, 0) for line, n in self.env.memory.poisoned.items()}
            found = {line: n for line, n in seen.items() if n}
            if found != ({bad: 1} if bad is not None else {}):
                text = f"host {host} reads poison from lines {[hex(line) for line in found]}, bad is {bad}"
                self.env.findings.add(self.bus.cycle, "one_poison", text)


class DevLoadTest(RandomTest):
    """An idle device tells a light load, a flooded one a severe load, and the flood of one host is its own."""

    async def scenario(self) -> None:
        """Alone, one request after the other; a flood of module 0 beside few requests to module 1; alone again."""
        await self._alone()
        self._outstanding(0, MANY)
        self._outstanding(1, FEW)
        flood, few = self.lines(0, range(256)), self.lines(1, range(64))
        sequences = self.sequences(600, Mix(gap=0, dwell=0), flood) | {
            1: self.sequences(150, Mix(gap=300, dwell=0), few)[1]
        }
        before = dict(self.env.memory.loads)
        await self.play(dict(sequences))
        told = {key: n - before.get(key, 0) for key, n in self.env.memory.loads.items()}
        if not told.get((0, 0, SEVERE)):
            self._wrong("a flooded path never tells a severe load", told)
        if any(n for (host, module, load), n in told.items() if (host, module) == (1, 1) and load == SEVERE):
            self._wrong("host 1 is told a severe load, which is host 0's", told)
        await self._alone()

    async def _alone(self) -> None:
        before = dict(self.env.memory.loads)
        for module in range(self.run.modules):
            items = [CxlItem(Opcode.MEM_RD, line, gap=QUIET_GAP) for line in self.lines(module, range(12))]
            await self.send(0, items)
        told = {key: n - before.get(key, 0) for key, n in self.env.memory.loads.items()}
        if any(n for (_, _, load), n in told.items() if load != LIGHT):
            self._wrong("an idle device does not tell a light load", told)

    def _outstanding(self, host: int, count: int) -> None:
        self.env.configs[host].outstanding_max = count

    def _wrong(self, what: str, told: dict[tuple[int, int, int], int]) -> None:
        levels = ", ".join(f"host {h} module {m} level {load}: {n}" for (h, m, load), n in sorted(told.items()) if n)
        self.env.findings.add(self.bus.cycle, "dev_load", f"{what}; {levels}")
