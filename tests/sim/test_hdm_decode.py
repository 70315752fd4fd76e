"""The NIC's address decoder against models/hdm.py: every interleave, first and last line, and addresses outside."""

import re
from pathlib import Path

import numpy as np
import pytest

from prismem.models import profile
from prismem.models.hdm import NXM, Addresses, HdmMap
from prismem.models.profile_tables import WAYS
from prismem.paths import RTL
from prismem.tb.runner.build import Build, build_hdl, hdl_sources
from prismem.tb.runner.execute import simulate
from prismem.tb.runner.result import LOG_FILE

HERE = Path(__file__).parent
BENCH = HERE / "hdl"
LINE_BYTES = 64
ADDRESSES = 10_000
SIZES_B = tuple(256 << i for i in range(7))


def build(modules: int) -> Build:
    packages = ("pf_crc_pkg", "pf_link_pkg", "pf_hdm_pkg")
    files = (RTL / "pf_nic" / "nic_hdm_decode.sv",)
    bench = ("tb_straps", "check_pkg")
    keep = [
        path
        for path in hdl_sources()
        if path in files or path.parent == RTL / "common" or path.suffix == ".vlt" or path.stem in (*packages, *bench)
    ]
    sources = [BENCH / "hdm_bench_top.vlt", *keep, BENCH / "hdm_bench_top.sv"]
    return build_hdl("hdm_bench_top", sources, {"Modules": modules})


def addresses(hdm: HdmMap, random: np.random.Generator) -> Addresses:
    """First and last line, their neighbours outside, the lines at the edges of decoders, and many at random."""
    end = hdm.base + hdm.size_bytes
    corners = [hdm.base, end - LINE_BYTES, hdm.base - LINE_BYTES, end]
    edges = [hdm.base + k * hdm.size_bytes * hdm.ways // hdm.modules for k in range(1, hdm.modules // hdm.ways)]
    corners += [edge + step for edge in edges for step in (-LINE_BYTES, 0)]
    inside = hdm.base + random.integers(0, hdm.size_bytes // LINE_BYTES, ADDRESSES) * LINE_BYTES
    return np.concatenate([np.array(corners, dtype=np.uint64), inside.astype(np.uint64)])


@pytest.mark.parametrize("ways", WAYS)
def test_every_interleave(ways: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 addresses at random for each granularity, corners and their neighbours: both ways as the model says."""
    monkeypatch.syspath_prepend(str(HERE))
    modules = max(4, ways)  # four decoders of one way, two of two, one of more
    machine = profile.load("pfma", [f"hdm.ways={ways}"])
    maps = [HdmMap(machine.hdm.base.canonical, machine.hdm_bytes(modules), modules, ways, size) for size in SIZES_B]
    hpa = addresses(maps[0], np.random.default_rng(ways))
    (tmp_path / "addresses").write_text("\n".join(f"{line:x}" for line in (hpa // LINE_BYTES).tolist()))
    arguments = machine.straps(modules) | {"addresses": str(tmp_path / "addresses"), "count": len(hpa)}
    problem = simulate(build(modules), "hdm_bench", tmp_path, seed=1, plusargs=arguments, environment={})
    log = (tmp_path / LOG_FILE).read_text(errors="replace")
    assert problem is None, log[-2000:]
    seen = [tuple(int(x, 16) for x in row) for row in re.findall(r"^DECODE (\w+) (\w+) (\w+)$", log, re.MULTILINE)]
    assert len(seen) == len(maps) * len(hpa)
    for number, hdm in enumerate(maps):
        rows = seen[number * len(hpa) : (number + 1) * len(hpa)]
        hit, target, line = (np.array(column) for column in zip(*rows, strict=True))
        module, dpa = hdm.decode(hpa)
        assert np.array_equal(np.where(hit == 1, target, NXM), module), hdm
        assert np.array_equal(np.where(hit == 1, line, 0), dpa // LINE_BYTES), hdm
        back = hdm.encode(target[hit == 1], line[hit == 1].astype(np.uint64) * np.uint64(LINE_BYTES))
        assert np.array_equal(back, hpa[hit == 1]), hdm
        # The first and the last line of the pool are the first and the last of their modules; beside it is nothing.
        assert (target[0], line[0]) == (0, 0)
        assert (target[1], line[1]) == (modules - 1, hdm.size_bytes // modules // LINE_BYTES - 1)
        assert (hit[2], hit[3]) == (0, 0)
