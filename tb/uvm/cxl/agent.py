"""Agent of a CXL.mem port: always a monitor, and with `active` a sequencer and a driver."""

from pyuvm import ConfigDB, uvm_agent, uvm_sequencer

from prismem.tb.uvm.config import PORT, PortConfig
from prismem.tb.uvm.cxl.driver import CxlDriver
from prismem.tb.uvm.cxl.monitor import CxlMonitor


class CxlAgent(uvm_agent):
    """`monitor.ap` publishes; `sequencer` takes sequences of CxlItem."""

    def build_phase(self) -> None:
        """Parts, by the configuration of the port."""
        self.config: PortConfig = ConfigDB().get(self, "", PORT)
        self.monitor = CxlMonitor("monitor", self)
        if self.config.active:
            self.sequencer = uvm_sequencer("sequencer", self)
            self.driver = CxlDriver("driver", self)

    def connect_phase(self) -> None:
        """Driver to sequencer."""
        if self.config.active:
            self.driver.seq_item_port.connect(self.sequencer.seq_item_export)
