"""The C tests of the library in front of the RTL: the same sources that run native in several processes."""

import re

import pytest

from prismem.paths import SOFTWARE
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec

NAMES = re.findall(r"&pm_test_(\w+)", (SOFTWARE / "tests" / "tests.c").read_text(encoding="utf-8"))


def test_there_are_tests() -> None:
    assert len(NAMES) >= 16


@pytest.mark.parametrize("name", NAMES)
def test_library_test_passes_on_the_rtl(name: str) -> None:
    """Four hosts, four modules, one node a host."""
    result = execute(make_spec("lib_tests", port="rtl", options={"name": name}))
    assert result.passed, result.text()
