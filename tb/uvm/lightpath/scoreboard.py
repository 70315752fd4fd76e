"""Lightpaths lose, double, swap and change nothing, and the NIC asks each module for what its host asked.

What leaves a lightpath is compared with what entered it, in order. What enters it is compared with the requests at the
CXL port, decoded in Python; order across the request channels is the NIC's business, so those are a multiset.
"""

from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np
from pyuvm import uvm_subscriber

from prismem.models.hdm import NXM, HdmMap
from prismem.models.memory import LINE_BYTES
from prismem.tb.uvm.findings import Findings
from prismem.tb.uvm.lightpath.crossing import Crossing
from prismem.tb.uvm.messages import Opcode, Request, Reset

OPS = {Opcode.MEM_RD: 0, Opcode.MEM_WR: 1, Opcode.MEM_WR_PTL: 2}  # req_op_e
NAME = "lightpath scoreboard"


class PathScoreboard(uvm_subscriber):
    """Subscribes to the monitors of the ports and of the lightpaths."""

    def setup(self, findings: Findings, hdm: HdmMap) -> None:
        """Where errors go, and the decoders."""
        self.findings = findings
        self.hdm = hdm
        self.crossed = 0
        self.dead: set[tuple[int, int]] = set()
        """(host, module) whose path is dead: what is on it or waits for it is lost."""
        self.dead_hosts: set[int] = set()
        """Hosts whose CXL link is down."""
        self._inside: dict[tuple[int, int, str], deque[Crossing]] = defaultdict(deque)
        self._asked: Counter[tuple[Any, ...]] = Counter()

    def write(self, message: object) -> None:
        """One published message."""
        match message:
            case Crossing(end="in"):
                self._enter(message)
            case Crossing():
                self._leave(message)
            case Request():
                if wanted := self._wanted(message):
                    self._asked[wanted] += 1
            case Reset():
                self._inside.clear()
                self._asked.clear()

    def _enter(self, crossing: Crossing) -> None:
        self._inside[crossing.host, crossing.module, crossing.direction].append(crossing)
        if crossing.direction == "req":
            key = (
                crossing.host, crossing.module, crossing.op, crossing.line, crossing.data, crossing.enables,
                crossing.poison,
            )  # fmt: skip
            if not self._asked[key]:
                self._report(crossing, "a request that its host did not ask for")
            self._asked[key] -= 1
            if not self._asked[key]:
                del self._asked[key]

    def _leave(self, crossing: Crossing) -> None:
        self.crossed += 1
        inside = self._inside[crossing.host, crossing.module, crossing.direction]
        if not inside:
            self._report(crossing, "a message came out that did not go in")
        elif (entered := inside.popleft()).content != crossing.content:
            self._report(crossing, f"came out after tag {entered.tag} went in: lost, doubled, swapped or changed")

    def _report(self, crossing: Crossing, text: str) -> None:
        where = f"host {crossing.host} module {crossing.module} {crossing.direction} tag {crossing.tag}"
        self.findings.add(crossing.time_ns, NAME, f"{where}: {text}")

    def _wanted(self, request: Request) -> tuple[Any, ...] | None:
        if request.opcode not in OPS:
            return None
        module, dpa = self.hdm.decode(np.array([request.line * LINE_BYTES], np.uint64))
        if module[0] == NXM:
            return None
        line = int(dpa[0]) // LINE_BYTES
        op = OPS[request.opcode]
        return (request.host, int(module[0]), op, line, request.data, request.enables, request.poison)

    def check_phase(self) -> None:
        """Nothing is left inside, nothing was asked and never sent, and something was seen."""
        for (host, module, direction), inside in self._inside.items():
            if inside and (host, module) not in self.dead:
                text = f"host {host} module {module}: {len(inside)} {direction} messages went in and never came out"
                self.findings.add(inside[0].time_ns, NAME, text)
        lost = [key[:2] for key in self._asked if key[:2] not in self.dead and key[0] not in self.dead_hosts]
        if lost:
            host, module = lost[0]
            text = f"host {host}: {len(lost)} kinds of requests never reached the lightpath to module {module}"
            self.findings.add(0, NAME, text)
        if not self.crossed:
            self.findings.add(0, NAME, "no message crossed a lightpath")
