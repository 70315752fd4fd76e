"""Sequences of requests for a CXL.mem port. Each takes its randomness from one seeded generator."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from pyuvm import uvm_sequence

from prismem.models.hdm import HdmMap
from prismem.models.memory import ALL_ENABLES, LINE_BYTES
from prismem.tb.uvm.cxl.item import CxlItem
from prismem.tb.uvm.messages import Opcode

PERMILLE = 1000


def lines_of(hdm: HdmMap, module: int, rows: Iterable[int]) -> list[int]:
    """Lines of the host's address space that lie on a module, by line of the module."""
    dpa = np.array(list(rows), np.uint64) * np.uint64(LINE_BYTES)
    hpa = hdm.encode(np.full(len(dpa), module, np.int64), dpa)
    return [int(address) // LINE_BYTES for address in hpa]


def enables_of(shape: str, rng: random.Random) -> int:
    """Byte enables of a shape."""
    match shape:
        case "none":
            return 0
        case "one":
            return 1 << rng.randrange(LINE_BYTES)
        case "prefix":
            return (1 << rng.randrange(2, LINE_BYTES)) - 1
        case "suffix":
            return ALL_ENABLES & ~((1 << rng.randrange(1, LINE_BYTES - 1)) - 1)
        case "half":
            return 0xFFFF_FFFF << (32 * rng.randrange(2))
        case "hole":
            return ALL_ENABLES & ~(1 << rng.randrange(1, LINE_BYTES - 1))
        case "all":
            return ALL_ENABLES
    return rng.getrandbits(LINE_BYTES)


SHAPES = ("none", "one", "prefix", "suffix", "half", "hole", "all", "scattered")


def shape_of(enables: int) -> str:
    """The shape that coverage counts byte enables as."""
    if enables in (0, ALL_ENABLES):
        return "all" if enables else "none"
    if enables.bit_count() == 1:
        return "one"
    if enables in (0xFFFF_FFFF, 0xFFFF_FFFF << 32):
        return "half"
    if enables & (enables + 1) == 0:
        return "prefix"
    rest = ALL_ENABLES & ~enables
    if rest & (rest + 1) == 0:
        return "suffix"
    return "hole" if rest.bit_count() == 1 else "scattered"


class ItemSequence(uvm_sequence):
    """Sends items one after the other and keeps them; `wait` returns when all are answered."""

    def __init__(self, name: str, items: Iterable[CxlItem] = ()) -> None:
        super().__init__(name)
        self.items = list(items)

    async def body(self) -> None:
        """Send."""
        for item in self.items:
            await self.send(item)

    async def send(self, item: CxlItem) -> None:
        """One item to the driver."""
        await self.start_item(item)
        await self.finish_item(item)

    async def wait(self) -> None:
        """Until every item is answered."""
        for item in self.items:
            await item.answered.wait()


@dataclass(frozen=True)
class Mix:
    """Shares of random traffic, in 1/1000."""

    write: int = 350
    partial: int = 150
    invalidate: int = 20
    poison: int = 0
    unmapped: int = 0
    gap: int = 200
    gap_max: int = 20
    dwell: int = 300
    """How often a request goes to the line of the request before."""


class RandomSequence(ItemSequence):
    """Random requests to some lines: `count` of them, by the shares of `mix`, in bursts with gaps between."""

    def __init__(
        self, name: str, *, seed: int, lines: Sequence[int], count: int, mix: Mix, unmapped: Sequence[int] = ()
    ):
        super().__init__(name)
        self._random = random.Random(f"{seed}/{name}")
        self._lines = lines
        self._unmapped = unmapped
        self._count = count
        self._mix = mix
        self._line = lines[0]

    async def body(self) -> None:
        """Make and send."""
        for _ in range(self._count):
            item = self._item()
            self.items.append(item)
            await self.send(item)

    def _chance(self, permille: int) -> bool:
        return self._random.randrange(PERMILLE) < permille

    def _item(self) -> CxlItem:
        rng, mix = self._random, self._mix
        if not self._chance(mix.dwell):
            pool = self._unmapped if self._unmapped and self._chance(mix.unmapped) else self._lines
            self._line = rng.choice(pool)
        gap = rng.randint(1, mix.gap_max) if self._chance(mix.gap) else 0
        kind, ld_id = rng.randrange(PERMILLE), rng.randrange(16)
        if kind < mix.write:
            poison = self._chance(mix.poison)
            data = rng.getrandbits(512)
            return CxlItem(Opcode.MEM_WR, self._line, data=data, poison=poison, gap=gap, ld_id=ld_id)
        kind -= mix.write
        if kind < mix.partial:
            enables = enables_of(rng.choice(SHAPES), rng)
            data = rng.getrandbits(512)
            return CxlItem(Opcode.MEM_WR_PTL, self._line, data=data, enables=enables, gap=gap, ld_id=ld_id)
        kind -= mix.partial
        opcode = Opcode.MEM_INV if kind < mix.invalidate else Opcode.MEM_RD
        return CxlItem(opcode, self._line, gap=gap, ld_id=ld_id)
