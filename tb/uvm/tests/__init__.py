"""Tests of the environment, by name; `prismem uvm NAME` runs one."""

from prismem.tb.uvm.tests.base import BaseTest
from prismem.tb.uvm.tests.directed import DevLoadTest, OnePoisonTest
from prismem.tb.uvm.tests.faults import (
    CxlDropTest,
    CxlFlipTest,
    DeadLinkTest,
    DeadPathTest,
    NotReadyTest,
    PathDropTest,
    PathFlipTest,
    PoisonTest,
    ResetTest,
)
from prismem.tb.uvm.tests.traffic import (
    BackPressureTest,
    CornersTest,
    LoadTest,
    PartialTest,
    RacesTest,
    RandomTest,
    UnmappedTest,
)

TESTS: dict[str, type[BaseTest]] = {
    "random": RandomTest,
    "corners": CornersTest,
    "partial": PartialTest,
    "unmapped": UnmappedTest,
    "back_pressure": BackPressureTest,
    "races": RacesTest,
    "load": LoadTest,
    "reset": ResetTest,
    "not_ready": NotReadyTest,
    "cxl_flip": CxlFlipTest,
    "cxl_drop": CxlDropTest,
    "path_flip": PathFlipTest,
    "path_drop": PathDropTest,
    "dead_path": DeadPathTest,
    "dead_link": DeadLinkTest,
    "poison": PoisonTest,
    "one_poison": OnePoisonTest,
    "dev_load": DevLoadTest,
}
