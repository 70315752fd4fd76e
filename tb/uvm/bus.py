"""The bench as Python sees it: one task that wakes once a clock, reads what crosses, and tells who wants to know.

Values are read right before the edge that takes them and written right after it. Everything else in the environment is
called from here or waits for cycles to pass, so an idle clock costs two wake-ups and nothing more.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, RisingEdge

from prismem.tb.uvm.messages import Request, Response, request_seen, request_words, response_seen

CLOCK_PERIOD_NS = 1
RESET_CYCLES = 8
LANES = 2


class PortPins:
    """Pins of one CXL.mem port (tb/hdl/port_pins.sv)."""

    def __init__(self, handle: Any, host: int) -> None:
        self.host = host
        self._pins = handle
        self._requests: dict[bool, deque[Request]] = {False: deque(), True: deque()}
        self._shown: dict[bool, tuple[int, ...]] = {False: (), True: ()}
        self._ready = [0, 0]
        self._req = (handle.req0, handle.req1)
        self._rwd = (handle.rwd0, handle.rwd1)
        self._line = (handle.line0, handle.line1)
        self._ndr = (handle.ndr0, handle.ndr1)
        self._drs = (handle.drs0, handle.drs1)
        self._data = (handle.data0, handle.data1)

    def send(self, request: Request) -> None:
        """Queue a request behind those of its channel."""
        self._requests[request.opcode.with_data].append(request)

    def waiting(self, with_data: bool) -> int:
        """Requests of a channel that have not crossed yet."""
        return len(self._requests[with_data])

    def clear(self) -> None:
        """Forget what has not crossed (reset)."""
        for queue in self._requests.values():
            queue.clear()

    def ready(self, ndr: int, drs: int) -> None:
        """Lanes that the host takes responses on from now on, a bit a lane."""
        if [ndr, drs] != self._ready:
            self._ready = [ndr, drs]
            self._pins.ndr_ready.value = ndr
            self._pins.drs_ready.value = drs

    def requests(self, time_ns: int, fire: int) -> list[Request]:
        """Requests that cross at this edge, as the pins show them."""
        seen = []
        for lane in range(LANES):
            if fire >> lane & 1:
                seen.append(request_seen(time_ns, self.host, lane, int(self._req[lane].value), None))
            if fire >> (2 + lane) & 1:
                header, line = int(self._rwd[lane].value), int(self._line[lane].value)
                seen.append(request_seen(time_ns, self.host, lane, header, line))
        return seen

    def responses(self, time_ns: int, fire: int) -> list[Response]:
        """Responses that cross at this edge."""
        seen = []
        for lane in range(LANES):
            if fire >> (4 + lane) & 1:
                seen.append(response_seen(time_ns, self.host, lane, int(self._ndr[lane].value), None))
            if fire >> (6 + lane) & 1:
                header, data = int(self._drs[lane].value), int(self._data[lane].value)
                seen.append(response_seen(time_ns, self.host, lane, header, data))
        return seen

    def drive(self, fire: int) -> None:
        """Take back what has crossed and show what comes next."""
        for with_data in (False, True):
            queue = self._requests[with_data]
            for _ in range((fire >> (2 if with_data else 0) & 3).bit_count()):
                if queue:
                    queue.popleft()
            shown = tuple(id(queue[lane]) for lane in range(min(LANES, len(queue))))
            if shown != self._shown[with_data]:
                self._show(with_data, shown)

    def _show(self, with_data: bool, shown: tuple[int, ...]) -> None:
        queue, before = self._requests[with_data], self._shown[with_data]
        for lane in range(len(shown)):
            if lane >= len(before) or before[lane] != shown[lane]:
                header, line = request_words(queue[lane])
                if with_data:
                    self._rwd[lane].value = header
                    self._line[lane].value = line
                else:
                    self._req[lane].value = header
        valid = self._pins.rwd_valid if with_data else self._pins.req_valid
        valid.value = (1 << len(shown)) - 1
        self._shown[with_data] = shown


class Bus:
    """Clock, reset, and every edge of the bench."""

    def __init__(self, dut: Any, hosts: int, modules: int) -> None:
        self.dut = dut
        self.hosts = hosts
        self.modules = modules
        self.cycle = 0
        self.ports = [PortPins(dut.gen_host[h].u_pins, h) for h in range(hosts)]
        self.taps = {(h, m): dut.gen_host[h].gen_path[m].u_tap for h in range(hosts) for m in range(modules)}
        self.on_port: list[Callable[[int, int], None]] = []  # (host, fire bits), for hosts where something crosses
        self.on_path: list[Callable[[int, int, int], None]] = []  # (host, module, fire bits)
        self.on_media: list[Callable[[int, int, bool], None]] = []  # (host, module, hit): an access starts
        self.on_edge: list[Callable[[int], None]] = []  # all fire bits, last of an edge: drivers
        self.on_reset: list[Callable[[], None]] = []
        self._sleepers: list[tuple[int, Event]] = []
        self._in_reset = True

    async def start(self) -> None:
        """Start the clock, reset, and watch from then on."""
        self.dut.rst_ni.value = 0
        Clock(self.dut.clk_i, CLOCK_PERIOD_NS, unit="ns").start()
        cocotb.start_soon(self._watch())
        await self.reset()

    async def reset(self, cycles: int = RESET_CYCLES) -> None:
        """Reset for some cycles; what was in flight is gone."""
        self._in_reset = True
        self.dut.rst_ni.value = 0
        for tell in self.on_reset:
            tell()
        await self.cycles(cycles)
        self.dut.rst_ni.value = 1
        self._in_reset = False

    async def cycles(self, count: int) -> None:
        """Wait for a number of clock cycles."""
        if count > 0:
            wake = Event()
            self._sleepers.append((self.cycle + count, wake))
            await wake.wait()

    async def _watch(self) -> None:
        edge, fire_o = RisingEdge(self.dut.clk_i), self.dut.fire_o
        path_fire_o, media_o = self.dut.path_fire_o, self.dut.media_o
        while True:
            await edge
            self.cycle += 1
            if not self._in_reset:
                fire = int(fire_o.value)
                if fire:
                    self._tell_ports(fire)
                if self.on_path and (path_fire := int(path_fire_o.value)):
                    self._tell_paths(path_fire)
                if self.on_media and (media := int(media_o.value)):
                    self._tell_media(media)
                for step in self.on_edge:
                    step(fire)
            if self._sleepers:
                self._wake()

    def _tell_ports(self, fire: int) -> None:
        for host in range(self.hosts):
            if bits := fire >> (8 * host) & 0xFF:
                for tell in self.on_port:
                    tell(host, bits)

    def _tell_paths(self, fire: int) -> None:
        for place in range(self.hosts * self.modules):
            if bits := fire >> (4 * place) & 0xF:
                for tell in self.on_path:
                    tell(*divmod(place, self.modules), bits)

    def _tell_media(self, media: int) -> None:
        for place in range(self.hosts * self.modules):
            bits = media >> (2 * place) & 3
            if bits & 1:
                module, host = divmod(place, self.hosts)
                for tell in self.on_media:
                    tell(host, module, bool(bits >> 1))

    def _wake(self) -> None:
        due = [wake for cycle, wake in self._sleepers if cycle <= self.cycle]
        if due:
            self._sleepers = [entry for entry in self._sleepers if entry[0] > self.cycle]
            for wake in due:
                wake.set()
