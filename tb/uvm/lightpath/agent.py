"""Passive agent of a lightpath: publishes what enters and what leaves it, both directions."""

from typing import Literal

from pyuvm import ConfigDB, uvm_agent, uvm_analysis_port, uvm_monitor

from prismem.tb.uvm.bus import Bus
from prismem.tb.uvm.config import BUS, PATH, RUN, PathConfig, RunConfig
from prismem.tb.uvm.lightpath.crossing import Crossing
from prismem.tb.uvm.messages import ALL_ONES, DATA_BITS, REQ_HDR, RSP_HDR, Reset, unpack, width
from prismem.tb.uvm.twins import corrupter

READ = 0
RSP_POISON = 1


class PathMonitor(uvm_monitor):
    """Publishes `Crossing` and `Reset` on `ap`."""

    def build_phase(self) -> None:
        """Find the tap."""
        self.ap = uvm_analysis_port("ap", self)
        self.config: PathConfig = ConfigDB().get(self, "", PATH)
        self.bus: Bus = ConfigDB().get(self, "", BUS)
        run: RunConfig = ConfigDB().get(self, "", RUN)
        self._corrupt = corrupter(run.twin)
        self._tap = self.bus.taps[self.config.host, self.config.module]

    def start_of_simulation_phase(self) -> None:
        """Hang into the bus."""
        self.bus.on_path.append(self._sample)
        self.bus.on_reset.append(lambda: self._publish(Reset(self.bus.cycle)))

    def _sample(self, host: int, module: int, fire: int) -> None:
        if (host, module) != (self.config.host, self.config.module):
            return
        tap = self._tap
        seen = []
        if fire & 1:
            seen.append(self._request("in", int(tap.req_in.value)))
        if fire & 2:
            seen.append(self._request("out", int(tap.req_out.value)))
        if fire & 4:
            seen.append(self._response("in", int(tap.rsp_in.value)))
        if fire & 8:
            seen.append(self._response("out", int(tap.rsp_out.value)))
        for crossing in seen:
            self._publish(crossing)

    def _publish(self, message: object) -> None:
        for published in self._corrupt(message):
            self.ap.write(published)

    def _request(self, end: Literal["in", "out"], word: int) -> Crossing:
        fields = unpack(REQ_HDR, word)
        line = word >> width(REQ_HDR) if fields["op"] != READ else 0
        return Crossing(
            self.bus.cycle, self.config.host, self.config.module, "req", end, fields["tag"], op=fields["op"],
            line=fields["line"], poison=bool(fields["poison"]), with_data=fields["op"] != READ, data=line & ALL_ONES,
            enables=line >> DATA_BITS,
        )  # fmt: skip

    def _response(self, end: Literal["in", "out"], word: int) -> Crossing:
        fields = unpack(RSP_HDR, word)
        rest = word >> width(RSP_HDR)
        return Crossing(
            self.bus.cycle, self.config.host, self.config.module, "rsp", end, fields["tag"], status=fields["status"],
            poison=fields["status"] == RSP_POISON, with_data=bool(rest & 1), data=rest >> 1 if rest & 1 else 0,
        )  # fmt: skip


class PathAgent(uvm_agent):
    """A monitor and nothing else."""

    def build_phase(self) -> None:
        """The monitor."""
        self.monitor = PathMonitor("monitor", self)
