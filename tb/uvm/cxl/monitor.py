"""Passive monitor of a CXL.mem port: publishes every request and response that crosses, and resets."""

from pyuvm import ConfigDB, uvm_analysis_port, uvm_monitor

from prismem.tb.uvm.bus import Bus
from prismem.tb.uvm.config import BUS, PORT, RUN, PortConfig, RunConfig
from prismem.tb.uvm.messages import Reset
from prismem.tb.uvm.twins import corrupter


class CxlMonitor(uvm_monitor):
    """Publishes `Request`, `Response` and `Reset` on `ap`, requests of an edge first."""

    def build_phase(self) -> None:
        """Find the pins; a negative twin corrupts what is published."""
        self.ap = uvm_analysis_port("ap", self)
        self.config: PortConfig = ConfigDB().get(self, "", PORT)
        self.bus: Bus = ConfigDB().get(self, "", BUS)
        run: RunConfig = ConfigDB().get(self, "", RUN)
        self._corrupt = corrupter(run.twin)

    def start_of_simulation_phase(self) -> None:
        """Hang into the bus."""
        self.bus.on_port.append(self._sample)
        self.bus.on_reset.append(lambda: self._publish(Reset(self.bus.cycle)))

    def _sample(self, host: int, fire: int) -> None:
        if host != self.config.host:
            return
        pins = self.bus.ports[host]
        now = self.bus.cycle
        for message in (*pins.requests(now, fire), *pins.responses(now, fire)):
            self._publish(message)

    def _publish(self, message: object) -> None:
        for seen in self._corrupt(message):
            self.ap.write(seen)
