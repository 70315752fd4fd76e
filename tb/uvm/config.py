"""Configuration of the environment: typed objects, set in the ConfigDB under the names below."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from prismem.models.hdm import HdmMap

RUN = "run"
BUS = "bus"
PORT = "port"
PATH = "path"

SPEC_VARIABLE = "PRISMEM_UVM_SPEC"
OUTCOME_FILE = "outcome.json"


@dataclass(frozen=True)
class RunConfig:
    """One run, as the launcher wrote it down."""

    test: str
    seed: int
    hosts: int
    modules: int
    straps: Mapping[str, int]
    run_dir: str
    twin: str = ""
    """Corruption of a monitor's stream, for the negative twins (`prismem.tb.uvm.twins`)."""
    time_ns_max: int | None = None
    """Simulated time that the test has; None: its own."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """From its file."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def write(self, path: Path) -> None:
        """To its file."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @property
    def hdm(self) -> HdmMap:
        """The decoders of the bench, as its straps program them."""
        return HdmMap(
            base=self.straps["hdm_base"],
            size_bytes=self.straps["hdm_size_mib"] << 20,
            modules=self.modules,
            ways=self.straps["hdm_ways"],
            granularity_b=self.straps["hdm_gran_b"],
        )


@dataclass
class BackPressure:
    """How often a host refuses responses, in 1/1000 of the cycles of each channel; changed by tests as they go."""

    ndr_permille: int = 0
    drs_permille: int = 0
    one_lane_permille: int = 0


@dataclass
class PortConfig:
    """One CXL.mem port."""

    host: int
    active: bool = True
    outstanding_max: int = 32
    seed: int = 1
    back_pressure: BackPressure = field(default_factory=BackPressure)


@dataclass(frozen=True)
class PathConfig:
    """One lightpath."""

    host: int
    module: int
