"""Tests of fault-free traffic."""

import random
from typing import ClassVar

from prismem.models.memory import ALL_ENABLES
from prismem.tb.uvm.cxl.item import CxlItem
from prismem.tb.uvm.messages import TAGS, Opcode
from prismem.tb.uvm.sequences import SHAPES, ItemSequence, Mix, RandomSequence, enables_of
from prismem.tb.uvm.tests.base import BaseTest

HOT_LINES = 48
RANDOM_ITEMS = 1200


class RandomTest(BaseTest):
    """Every kind of request at random, some lines shared, some of them far apart, mild back-pressure."""

    mix: ClassVar[Mix] = Mix(unmapped=30)
    items: ClassVar[int] = RANDOM_ITEMS

    def footprint(self) -> list[int]:
        """Hot lines of each module, and some anywhere."""
        rng = random.Random(f"{self.run.seed}/footprint")
        found: list[int] = []
        for module in range(self.run.modules):
            rows = [*range(HOT_LINES), *(rng.randrange(self.module_lines) for _ in range(HOT_LINES))]
            found += self.lines(module, rows)
        return found

    def unmapped(self) -> list[int]:
        """Lines that no decoder claims, below and above the pool."""
        first, last = self.hdm.base // 64, (self.hdm.base + self.hdm.size_bytes) // 64 - 1
        return [0, first - 1, last + 1, last + 1000, (1 << 46) - 1]

    def sequences(self, count: int, mix: Mix, lines: list[int] | None = None) -> dict[int, RandomSequence]:
        """One for each host."""
        chosen = self.footprint() if lines is None else lines
        return {
            host: RandomSequence(
                f"random{host}", seed=self.run.seed, lines=chosen, count=count, mix=mix, unmapped=self.unmapped()
            )
            for host in range(self.run.hosts)
        }

    async def scenario(self) -> None:
        """Random traffic of all hosts."""
        for config in self.env.configs.values():
            config.back_pressure.one_lane_permille = 200
        await self.play(dict(self.sequences(self.items, self.mix)))


class BackPressureTest(RandomTest):
    """Hosts refuse responses of one channel, of both, all for a while: nothing is lost, the other channel goes on."""

    plusargs: ClassVar[dict[str, int]] = {
        f"path_{name}_credits": 4 for name in ("request", "write", "read", "completion")
    }

    async def scenario(self) -> None:
        """Each kind of pressure on each host; few credits, so that requests are held back too."""
        for ndr, drs in ((900, 0), (0, 900), (700, 700)):
            for config in self.env.configs.values():
                config.back_pressure.ndr_permille = ndr
                config.back_pressure.drs_permille = drs
            await self.play(dict(self.sequences(250, Mix(gap=0, unmapped=40))))
        await self._one_channel_shut()

    async def _one_channel_shut(self) -> None:
        pressure = self.env.configs[0].back_pressure
        lines = self.lines(0, range(8))
        for shut, opcode in (("drs_permille", Opcode.MEM_WR), ("ndr_permille", Opcode.MEM_RD)):
            pressure.ndr_permille = pressure.drs_permille = 0
            setattr(pressure, shut, 1000)
            blocked = [CxlItem(Opcode.MEM_RD if opcode is Opcode.MEM_WR else Opcode.MEM_WR, line) for line in lines]
            sequence = ItemSequence("blocked", blocked)
            await sequence.start(self.env.ports[0].sequencer)
            await self.send(0, [CxlItem(opcode, line) for line in lines])
            answered = sum(item.answered.is_set() for item in blocked)
            if answered:
                text = f"{answered} responses were taken from a channel that is shut"
                self.env.findings.add(self.bus.cycle, "back_pressure", text)
            setattr(pressure, shut, 0)
            await sequence.wait()


class CornersTest(BaseTest):
    """First and last line of every module, smallest and largest tag, written and read back, each opcode."""

    async def scenario(self) -> None:
        """Directed."""
        edges = [
            line
            for m in range(self.run.modules)
            for line in self.lines(m, (0, 1, self.module_lines - 2, self.module_lines - 1))
        ]
        for host in range(self.run.hosts):
            rng = random.Random(f"{self.run.seed}/corners{host}")
            await self.send(host, [CxlItem(Opcode.MEM_RD, line) for line in edges])
            await self.send(host, [CxlItem(Opcode.MEM_WR, line, data=rng.getrandbits(512)) for line in edges])
            await self.send(host, [CxlItem(Opcode.MEM_INV, line) for line in edges])
            await self.send(host, [CxlItem(Opcode.MEM_RD, line) for line in edges])
            partial = [CxlItem(Opcode.MEM_WR_PTL, line, data=ALL_ENABLES << 448, enables=1 | 1 << 63) for line in edges]
            await self.send(host, partial)
            await self.send(host, [CxlItem(Opcode.MEM_RD, line) for line in edges])
            for tag in (0, TAGS - 1):
                await self.send(host, [CxlItem(Opcode.MEM_WR, edges[0], data=tag + 1, tag=tag)])
                await self.send(host, [CxlItem(Opcode.MEM_RD, edges[0], tag=tag)])


class PartialTest(BaseTest):
    """Partial writes of every shape, on lines that hit and that miss, each read back; every single byte once."""

    async def scenario(self) -> None:
        """Directed, all hosts at once on lines of their own."""
        await self.play({host: ItemSequence(f"partial{host}", self._items(host)) for host in range(self.run.hosts)})
        lines = self.lines(0, range(4))
        singles = [
            CxlItem(Opcode.MEM_WR_PTL, lines[b % 4], data=-1 & (1 << 512) - 1, enables=1 << b) for b in range(64)
        ]
        await self.send(0, singles)
        await self.send(1, [CxlItem(Opcode.MEM_RD, line) for line in lines])

    def _items(self, host: int) -> list[CxlItem]:
        rng = random.Random(f"{self.run.seed}/partial{host}")
        items = []
        for module in range(self.run.modules):
            for turn, shape in enumerate(SHAPES * 3):
                row = 4096 * (1 + host) + 64 * turn
                (line,) = self.lines(module, (row,))
                warm = CxlItem(Opcode.MEM_WR, line, data=rng.getrandbits(512))
                first = CxlItem(Opcode.MEM_WR_PTL, line, data=rng.getrandbits(512), enables=enables_of(shape, rng))
                items += [warm, first] if turn % 2 else [first, warm, first_again(first, rng)]
                items.append(CxlItem(Opcode.MEM_RD, line, gap=rng.choice((0, 600))))
        return items


def first_again(item: CxlItem, rng: random.Random) -> CxlItem:
    """The same partial write with other data."""
    return CxlItem(item.opcode, item.line, data=rng.getrandbits(512), enables=item.enables)


class UnmappedTest(RandomTest):
    """Addresses that no decoder claims, alone and among others: each answered as such, the others undisturbed."""

    async def scenario(self) -> None:
        """Directed, then at random."""
        for host in range(self.run.hosts):
            for opcode in Opcode:
                await self.send(host, [CxlItem(opcode, line, data=5) for line in self.unmapped()])
        await self.play(dict(self.sequences(300, Mix(unmapped=500, invalidate=150))))


class RacesTest(RandomTest):
    """All hosts on the same four lines: an order explains every read, and no line is torn."""

    async def scenario(self) -> None:
        """Few in flight a host, so that many different overlaps happen."""
        lines = [line for module in range(self.run.modules) for line in self.lines(module, (7, 8))]
        for outstanding in (2, 6):
            for config in self.env.configs.values():
                config.outstanding_max = outstanding
            await self.play(dict(self.sequences(400, Mix(gap=500, gap_max=40), lines)))


class LoadTest(RandomTest):
    """Many in flight: the device reports each level of load, and still answers right."""

    async def scenario(self) -> None:
        """More and more in flight."""
        for outstanding in (8, 40, 72, 120):
            for config in self.env.configs.values():
                config.outstanding_max = outstanding
            await self.play(dict(self.sequences(500, Mix(gap=0, dwell=0))))
