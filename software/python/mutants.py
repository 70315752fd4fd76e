"""Fault injection: switch one seeded fault of the instrumented library on."""

from __future__ import annotations

import ctypes

from prismem.errors import MisuseError
from prismem.paths import software_library


def select_mutant(name: str) -> None:
    """Switch the named fault on, "none" for none, in this process. Raises MisuseError for a name that is unknown."""
    library = ctypes.CDLL(str(software_library("prismem_inst")), mode=ctypes.RTLD_GLOBAL)
    if library.pm_mutant_select(name.encode()) != 0:
        raise MisuseError(f"MUTANT: '{name}' is unknown to the library; MUTANT=help lists the names")
