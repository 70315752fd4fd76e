"""Functional coverage of a run: turns what the monitors publish into bins of the plan."""

from pyuvm import ConfigDB, uvm_subscriber

from prismem.models.hdm import NXM
from prismem.tb.coverage.functional import FunctionalCoverage
from prismem.tb.uvm.bus import Bus
from prismem.tb.uvm.config import BUS, BackPressure
from prismem.tb.uvm.lightpath.crossing import Crossing
from prismem.tb.uvm.messages import TAGS, Opcode, Request, Reset, Response
from prismem.tb.uvm.scoreboard import MemoryScoreboard
from prismem.tb.uvm.sequences import shape_of

LOADS = ("light", "optimal", "moderate", "severe")
ACCESSES = ("read", "write", "partial")  # req_op_e


class Coverage(uvm_subscriber):
    """Samples when a transaction ends, when a module starts an access, and at resets."""

    def setup(
        self,
        model: FunctionalCoverage,
        scoreboard: MemoryScoreboard,
        pressure: dict[int, BackPressure],
        edges: set[int],
    ) -> None:
        """`pressure`: what each host does now. `edges`: first and last lines of the modules."""
        self.model = model
        self.fault = "none"
        self._decode = scoreboard.module
        self._pressure = pressure
        self._edges = edges
        self._open: dict[tuple[int, int], Request] = {}
        self._lines: dict[int, list[int]] = {}
        self._race: dict[tuple[int, int], str] = {}
        self._leaving: dict[tuple[int, int], Crossing] = {}

    def start_of_simulation_phase(self) -> None:
        """Hang into the bus."""
        bus: Bus = ConfigDB().get(self, "", BUS)
        bus.on_media.append(self._access)

    def write(self, message: object) -> None:
        """One published message."""
        match message:
            case Request():
                self._request(message)
            case Response():
                self._response(message)
            case Crossing(direction="req", end="out"):
                self._leaving[message.host, message.module] = message
            case Reset():
                self.model.sample(reset="in_flight" if self._open else "idle")
                self._open.clear()
                self._lines.clear()

    def _request(self, request: Request) -> None:
        key = (request.host, request.tag)
        self._open[key] = request
        sharers = self._lines.setdefault(request.line, [])
        others = any(host != request.host for host in sharers)
        self._race[key] = "other_host" if others else "same_host" if sharers else "none"
        sharers.append(request.host)
        tag = {0: "zero", TAGS - 1: "max"}.get(request.tag, "other")
        self.model.sample(opcode=request.opcode.name, req_lane=str(request.lane), tag=tag)

    def _response(self, response: Response) -> None:
        request = self._open.pop((response.host, response.tag), None)
        if request is None:
            return
        sharers = self._lines[request.line]
        sharers.remove(request.host)
        if not sharers:
            del self._lines[request.line]
        module = self._decode(request.line)
        failed = "nxm" if module == NXM else "error"
        result = failed if response.nxm or response.error else "poison" if response.poison else "ok"
        bins = {
            "opcode": request.opcode.name,
            "module": "none" if module == NXM else str(module),
            "result": result,
            "load": LOADS[response.load],
            "pressure": self._pressure_of(response.host),
            "race": self._race.pop((response.host, response.tag)),
            "rsp_lane": f"{'drs' if response.with_data else 'ndr'}{response.lane}",
            "line": "edge" if request.line in self._edges else "inside",
            "fault": self.fault,
        }
        if request.opcode.with_data:
            bins["write_poison"] = "poison" if request.poison else "clean"
        if request.opcode is Opcode.MEM_WR_PTL:
            bins["enables"] = shape_of(request.enables)
        self.model.sample(**bins)

    def _pressure_of(self, host: int) -> str:
        pressure = self._pressure[host]
        if pressure.ndr_permille and pressure.drs_permille:
            return "both"
        return "ndr" if pressure.ndr_permille else "drs" if pressure.drs_permille else "none"

    def _access(self, host: int, module: int, hit: bool) -> None:
        crossing = self._leaving.pop((host, module), None)
        if crossing is None:
            return
        bins = {"access": ACCESSES[crossing.op], "cache": "hit" if hit else "miss", "media_module": str(module)}
        bins |= {"media_fault": self.fault, "media_pressure": self._pressure_of(host)}
        if ACCESSES[crossing.op] == "partial":
            bins["media_enables"] = shape_of(crossing.enables)
        self.model.sample(**bins)
