"""cocotb test of plain bus functional models: host loops in Python that keep lines in flight, for the speed that has.

No sequencer, monitor or scoreboard: what is left is a queue a port, a table of tags, and a check of the data that comes
back. A line holds either nothing yet or what follows from its address.
"""

import json
import os
import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import cocotb
from cocotb.triggers import Event

from prismem.models.memory import ALL_ENABLES, LINE_BYTES
from prismem.tb.runner.processes import die_with_parent
from prismem.tb.uvm.bus import LANES, Bus, PortPins
from prismem.tb.uvm.config import OUTCOME_FILE, SPEC_VARIABLE
from prismem.tb.uvm.messages import Opcode, Request

PERMILLE = 1000
SLICE_CYCLES = 1000
_SALT = 0x9E3779B97F4A7C15F39CC0605CEDC835_9E3779B97F4A7C15F39CC0605CEDC835


@dataclass(frozen=True)
class BfmSpec:
    """Traffic of every host: `requests` lines of its own `lines`, one after the other."""

    hosts: int
    modules: int
    base: int
    lines: int
    requests: int
    outstanding: int
    read_permille: int
    run_dir: str
    flip_answer: int = -1
    """Read data with this number gets a wrong bit, to show that it is looked at."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """From its file."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """To its file."""
        path.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")


def data_of(line: int) -> int:
    """What a line that was written holds."""
    return (line * _SALT) & ((1 << 8 * LINE_BYTES) - 1)


class HostModel:
    """One host."""

    def __init__(self, spec: BfmSpec, pins: PortPins) -> None:
        self._spec = spec
        self._pins = pins
        self._first = spec.base // LINE_BYTES + pins.host * spec.lines
        self._random = random.Random(pins.host)
        self._tags = list(range(spec.outstanding))
        self._line_of: dict[int, int] = {}
        self._sent = 0
        self.answered = 0
        self.wrong = 0

    def step(self, fire: int) -> None:
        """One clock: take what came, show what comes next."""
        bits = fire >> (8 * self._pins.host) & 0xFF
        if bits & 0xF0:
            for response in self._pins.responses(0, bits):
                line = self._line_of.pop(response.tag)
                self._tags.append(response.tag)
                data = response.data ^ int(self.answered == self._spec.flip_answer)
                self.answered += 1
                if response.with_data and data not in (0, data_of(line)):
                    self.wrong += 1
        if self._tags and self._sent < self._spec.requests:
            self._send()
        self._pins.drive(bits & 0x0F)

    def _send(self) -> None:
        for _ in range(min(LANES, len(self._tags), self._spec.requests - self._sent)):
            tag, line = self._tags.pop(), self._first + self._sent % self._spec.lines
            self._line_of[tag] = line
            self._sent += 1
            if self._random.randrange(PERMILLE) < self._spec.read_permille:
                self._pins.send(Request(0, self._pins.host, 0, Opcode.MEM_RD, tag, line))
            else:
                data = data_of(line)
                request = Request(0, self._pins.host, 0, Opcode.MEM_WR, tag, line, data=data, enables=ALL_ENABLES)
                self._pins.send(request)


@cocotb.test()
async def run_bfm(dut: Any) -> None:
    """All hosts until every line is answered; leaves lines, clocks and seconds."""
    die_with_parent()
    spec = BfmSpec.read(Path(os.environ[SPEC_VARIABLE]))
    bus = Bus(dut, spec.hosts, spec.modules)
    await bus.start()
    hosts = [HostModel(spec, pins) for pins in bus.ports]
    done = Event()

    def step(fire: int) -> None:
        for host in hosts:
            host.step(fire)
        if bus.cycle % SLICE_CYCLES == 0 and all(host.answered == spec.requests for host in hosts):
            done.set()

    for pins in bus.ports:
        pins.ready(3, 3)
    start_s, start_cycle = time.monotonic(), bus.cycle
    bus.on_edge.append(step)
    await done.wait()
    outcome = {
        "lines": sum(host.answered for host in hosts),
        "wrong": sum(host.wrong for host in hosts),
        "cycles": bus.cycle - start_cycle,
        "run_s": time.monotonic() - start_s,
    }
    (Path(spec.run_dir) / OUTCOME_FILE).write_text(json.dumps(outcome) + "\n", encoding="utf-8")
    assert not outcome["wrong"], outcome
