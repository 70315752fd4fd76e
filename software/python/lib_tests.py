"""The library's C tests on emulated hosts: their names, and the threads of one test (software/tests/hosted.c)."""

from __future__ import annotations

import ctypes as c

from prismem.errors import MisuseError
from prismem.lib.emu import Machine, load_library
from prismem.paths import software_library

POOL_BYTES = 4 << 20
"""Pool size that every test fits in (PM_TEST_POOL_BYTES)."""


class LibTests:
    """The instrumented tests, loaded into this process."""

    def __init__(self) -> None:
        load_library()
        self._library = c.CDLL(str(software_library("pm_tests_inst")), mode=c.RTLD_GLOBAL)
        self._library.pm_test_name.restype = c.c_char_p
        self._library.pm_test_select.argtypes = [c.c_char_p, c.c_uint32, c.c_uint64, c.c_uint32]

    def names(self) -> list[str]:
        """All tests, in their order."""
        found: list[str] = []
        while (name := self._library.pm_test_name(len(found))) is not None:
            found.append(name.decode())
        return found

    def spawn(self, machine: Machine, name: str, *, seed: int, scale: int = 1) -> int:
        """Add the threads of one test: one node a host, at most as many as the machine has. Returns the nodes.

        Raises:
            MisuseError: the test is unknown.
        """
        nodes = int(self._library.pm_test_select(name.encode(), machine.config.hosts, seed, scale))
        if nodes < 0:
            raise MisuseError(f"test: '{name}' is unknown; there are {', '.join(self.names())}")
        for node in range(nodes):
            machine.spawn(node, f"node{node}", self._library.pm_test_thread, node)
        return nodes
