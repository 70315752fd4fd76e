"""Modules of this folder may import each other's support code, and each test leaves the process without a machine."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_machine_left() -> Iterator[None]:
    """There is one machine a process: whatever the test created ends with it."""
    yield
    support = sys.modules.get("emu_support")
    if support is not None:
        support.destroy_machine()
