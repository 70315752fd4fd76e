"""The environment: agents of every port and lightpath, scoreboards and coverage over their monitors."""

from pyuvm import ConfigDB, uvm_env

from prismem.models.memory import LINE_BYTES
from prismem.tb.coverage.functional import FunctionalCoverage
from prismem.tb.coverage.plan import load
from prismem.tb.uvm.config import PATH, PORT, RUN, PathConfig, PortConfig, RunConfig
from prismem.tb.uvm.coverage import Coverage
from prismem.tb.uvm.cxl.agent import CxlAgent
from prismem.tb.uvm.findings import Findings
from prismem.tb.uvm.lightpath.agent import PathAgent
from prismem.tb.uvm.lightpath.scoreboard import PathScoreboard
from prismem.tb.uvm.scoreboard import MemoryScoreboard
from prismem.tb.uvm.sequences import lines_of


class Env(uvm_env):
    """`ports[h]` and `paths[h, m]` are agents; `memory`, `lightpaths` and `coverage` listen to them."""

    def build_phase(self) -> None:
        """Everything, by the run's configuration."""
        self.run: RunConfig = ConfigDB().get(self, "", RUN)
        self.findings = Findings()
        hdm = self.run.hdm
        self.configs = {h: PortConfig(h, seed=self.run.seed) for h in range(self.run.hosts)}
        self.ports = {}
        for host, config in self.configs.items():
            ConfigDB().set(self, f"port{host}*", PORT, config)
            self.ports[host] = CxlAgent(f"port{host}", self)
        self.paths = {}
        for host in range(self.run.hosts):
            for module in range(self.run.modules):
                name = f"path{host}_{module}"
                ConfigDB().set(self, f"{name}*", PATH, PathConfig(host, module))
                self.paths[host, module] = PathAgent(name, self)
        self.memory = MemoryScoreboard("memory", self)
        self.memory.setup(self.findings, hdm)
        self.lightpaths = PathScoreboard("lightpaths", self)
        self.lightpaths.setup(self.findings, hdm)
        self.coverage = Coverage("coverage", self)
        pressure = {host: config.back_pressure for host, config in self.configs.items()}
        self.coverage.setup(FunctionalCoverage(load()), self.memory, pressure, self.edge_lines())

    def edge_lines(self) -> set[int]:
        """First and last line of every module."""
        hdm = self.run.hdm
        last = hdm.size_bytes // hdm.modules // LINE_BYTES - 1
        return {line for module in range(hdm.modules) for line in lines_of(hdm, module, (0, last))}

    def connect_phase(self) -> None:
        """Monitors to scoreboards and coverage."""
        for agent in self.ports.values():
            for subscriber in (self.memory, self.lightpaths, self.coverage):
                agent.monitor.ap.connect(subscriber.analysis_export)
        for agent in self.paths.values():
            for subscriber in (self.lightpaths, self.coverage):
                agent.monitor.ap.connect(subscriber.analysis_export)
