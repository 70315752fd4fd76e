"""Scoreboard of the memory: every request is answered exactly once, under its tag, with what the memory model allows.

Fed by the monitors of the ports alone. A line is looked at when no access to it is in flight: then there must be an
order of its accesses that explains what its reads returned (prismem.models.memory).
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from pyuvm import uvm_subscriber

from prismem.models.hdm import NXM, HdmMap
from prismem.models.memory import (
    LINE_BYTES,
    Access,
    LineMemory,
    LineState,
    first_wrong,
    possible_states,
)
from prismem.tb.uvm.bus import LANES
from prismem.tb.uvm.findings import Findings
from prismem.tb.uvm.messages import ALL_ONES, Opcode, Request, Reset, Response

NAME = "memory scoreboard"
SHOWN_MAX = 8


@dataclass
class LineHistory:
    """Accesses to a line since it was last quiet."""

    open: int = 0
    accesses: list[Access] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


class MemoryScoreboard(uvm_subscriber):
    """Subscribes to the monitors of all ports."""

    def setup(self, findings: Findings, hdm: HdmMap) -> None:
        """Where errors go, and the decoders."""
        self.findings = findings
        self.hdm = hdm
        self.answered: Counter[str] = Counter()
        self.dead: set[tuple[int, int]] = set()
        """(host, module) whose requests may end with poison or an error, because their path is dead."""
        self.dead_hosts: set[int] = set()
        """Hosts all of whose requests may end so, because their CXL link is down."""
        self.failed = 0
        """Requests that did."""
        self.refused = 0
        """Poisoned writes that the device refused."""
        self.memory = LineMemory()
        self.written: set[int] = set()
        """Lines of the host's address space that were written."""
        self._open: dict[tuple[int, int], Request] = {}
        self._lines: dict[int, LineHistory] = {}
        self._unsettled: dict[int, frozenset[LineState]] = {}
        self._modules: dict[int, int] = {}
        self.loads: Counter[tuple[int, int, int]] = Counter()
        """Answers of the memory by host, module and DevLoad."""
        self.poisoned: Counter[int] = Counter()
        """Reads that were answered with poison, by line."""

    @property
    def in_flight(self) -> int:
        """Requests without an answer."""
        return len(self._open)

    def module(self, line: int) -> int:
        """The module that holds a line of the host, or NXM."""
        if line not in self._modules:
            self._modules[line] = int(self.hdm.decode(np.array([line * LINE_BYTES], np.uint64))[0][0])
        return self._modules[line]

    def write(self, message: object) -> None:
        """One published message."""
        match message:
            case Request():
                self._request(message)
            case Response():
                self._response(message)
            case Reset():
                self._reset(message)

    def _request(self, request: Request) -> None:
        key = (request.host, request.tag)
        if key in self._open:
            self._report(request.time_ns, request, "its tag is in flight already")
            return
        self._open[key] = request
        if self._touches_memory(request):
            self._lines.setdefault(request.line, LineHistory()).open += 1

    def _touches_memory(self, request: Request) -> bool:
        return request.opcode is not Opcode.MEM_INV and self.module(request.line) != NXM

    def _response(self, response: Response) -> None:
        request = self._open.pop((response.host, response.tag), None)
        if request is None:
            text = f"host {response.host}: response for tag {response.tag}, which is not in flight"
            self.findings.add(response.time_ns, NAME, text)
            return
        self.answered[request.opcode.name] += 1
        if response.ld_id != request.ld_id:
            self._report(response.time_ns, request, f"answered with LD-ID {response.ld_id}, not {request.ld_id}")
        if response.with_data != (request.opcode is Opcode.MEM_RD):
            self._report(response.time_ns, request, "answered on the wrong channel")
        elif self.module(request.line) == NXM:
            self._check_unmapped(request, response)
        elif request.host in self.dead_hosts and (response.error or response.poison):
            self._fail(request, response.time_ns)
        elif request.opcode is Opcode.MEM_INV:
            if response.error:
                self._report(response.time_ns, request, "answered with an error")
        else:
            self._complete(request, response)

    def _check_unmapped(self, request: Request, response: Response) -> None:
        if request.host in self.dead_hosts and response.poison:
            return
        if request.opcode is Opcode.MEM_RD:
            right = response.nxm and response.data == ALL_ONES and not response.poison
        else:
            right = response.error
        if not right:
            self._report(response.time_ns, request, "no decoder claims the line, and the answer does not say so")

    def _complete(self, request: Request, response: Response) -> None:
        """A transaction with the memory has ended: into the history of its line."""
        self.loads[request.host, self.module(request.line), response.load] += 1
        self.poisoned[request.line] += response.poison
        failed = response.nxm or response.error
        if response.error and request.poison:
            self._refuse(request, response.time_ns)
            return
        if (failed or response.poison) and (request.host, self.module(request.line)) in self.dead:
            self._fail(request, response.time_ns)
            return
        if failed:
            self._report(response.time_ns, request, "answered with an error")
        self._close(request, response.time_ns, response, response.time_ns)

    def _fail(self, request: Request, now: int) -> None:
        """A part between host and memory is dead: a write may have reached the memory, a read says nothing."""
        self.failed += 1
        if self._touches_memory(request):
            self._close(request, now, None, None)

    def _refuse(self, request: Request, now: int) -> None:
        """The module has no place for another poison mark: the write has no effect."""
        self.refused += 1
        history = self._lines[request.line]
        history.open -= 1
        if history.open == 0:
            self._settle(request.line, history, now)

    def _close(self, request: Request, now: int, response: Response | None, done: int | None) -> None:
        history = self._lines[request.line]
        history.open -= 1
        stream = request.host << 1 | int(request.opcode.with_data)
        issued = request.time_ns * LANES + request.lane
        done = None if done is None else done * LANES + LANES - 1
        if request.opcode is Opcode.MEM_RD:
            if response is not None and done is not None:
                history.accesses.append(Access("read", stream, issued, done, response.data, poison=response.poison))
        else:
            whole = request.opcode is Opcode.MEM_WR
            access = Access("write", stream, issued, done, request.data, request.enables, request.poison, whole)
            history.accesses.append(access)
            self.written.add(request.line)
        history.places.append(f"{request.place} {request.time_ns}..{now} ns")
        if history.open == 0:
            self._settle(request.line, history, now)

    def _settle(self, line: int, history: LineHistory, now: int) -> None:
        del self._lines[line]
        before = self._unsettled.pop(line, None) or frozenset({LineState(*self.memory.read(line))})
        after = possible_states(before, history.accesses)
        if not after:
            self._wrong(line, before, history, now)
        elif len(after) == 1:
            (state,) = after
            self.memory.write(line, state.data, poison=state.poison)
        else:
            self._unsettled[line] = after

    def _wrong(self, line: int, before: frozenset[LineState], history: LineHistory, now: int) -> None:
        read = first_wrong(before, history.accesses)
        assert read is not None
        old = next(iter(before))
        writes = [access for access in history.accesses if access.kind == "write"]
        text = (
            f"host {read.stream >> 1}: read of line 0x{line:x}, issued at {read.issued // LANES} ns, returned a value "
            f"that no order of its {len(history.accesses)} accesses allows\n"
            f"  actual   {_shown(read.data, read.poison)}\n  before   {_shown(old.data, old.poison)}\n"
        )
        text += "".join(
            f"  written  {_shown(w.data, w.poison)} enables {w.enables:016x}\n" for w in writes[-SHOWN_MAX:]
        )
        self.findings.add(now, NAME, text + "".join(f"  access   {place}\n" for place in history.places[-SHOWN_MAX:]))

    def _reset(self, reset: Reset) -> None:
        """Nothing in flight gets an answer any more; its writes may have reached the memory."""
        requests, self._open = list(self._open.values()), {}
        for request in requests:
            if self._touches_memory(request):
                self._close(request, reset.time_ns, None, None)

    def _report(self, now: int, request: Request, text: str) -> None:
        self.findings.add(now, NAME, f"{request.place}: {text}")

    def check_phase(self) -> None:
        """Every request was answered, and there were some."""
        for request in self._open.values():
            self._report(request.time_ns, request, "was never answered")
        if not self.answered:
            self.findings.add(0, NAME, "no transaction was seen")


def _shown(data: int, poison: bool) -> str:
    return f"{data:0128x}{' poison' if poison else ''}"
