"""HDM decode: forward and reverse agree everywhere, and nothing outside the decoders is claimed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prismem.models import profile
from prismem.models.hdm import NXM, HdmMap
from prismem.models.profile_tables import GRANULARITIES_B, WAYS

MIB = 1 << 20


@st.composite
def maps(draw: st.DrawFn) -> HdmMap:
    """Any map that four decoders can hold."""
    ways = draw(st.sampled_from(WAYS))
    decoders = draw(st.integers(1, 4))
    per_module = 16_384 * draw(st.integers(1, 1 << 20))
    granularity = draw(st.sampled_from(GRANULARITIES_B))
    base = 256 * MIB * draw(st.integers(0, 1 << 20))
    return HdmMap(base, per_module * ways * decoders, ways * decoders, ways, granularity)


@given(maps(), st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=50))
def test_encode_undoes_decode(hdm: HdmMap, places: list[float]) -> None:
    """Every address of the pool has one module and one device address, and goes back to itself."""
    offsets = [min(int(place * hdm.size_bytes), hdm.size_bytes - 1) for place in places]
    hpa = np.array([0, hdm.size_bytes - 1, *offsets], dtype=np.uint64) + np.uint64(hdm.base)
    module, dpa = hdm.decode(hpa)
    assert np.all((module >= 0) & (module < hdm.modules))
    assert np.all(dpa < hdm.size_bytes // hdm.modules)
    assert np.array_equal(hdm.encode(module, dpa), hpa)


@given(maps())
def test_outside_is_nobody(hdm: HdmMap) -> None:
    """The byte before the pool, the byte behind it and address extremes have no module."""
    outside = [hdm.base + hdm.size_bytes, (1 << 52) + hdm.base, *([hdm.base - 1, 0] if hdm.base else [])]
    module, _ = hdm.decode(np.array(outside, dtype=np.uint64))
    assert np.all(module == NXM)


def test_small_map_is_a_bijection() -> None:
    """All lines of a small pool land on different (module, dpa) pairs that fill every module."""
    hdm = HdmMap(0, 4 * 1024, 4, 2, 256)
    module, dpa = hdm.decode(np.arange(0, 4 * 1024, 64, dtype=np.uint64))
    assert len(set(zip(module.tolist(), dpa.tolist(), strict=True))) == 64
    assert np.bincount(module).tolist() == [16, 16, 16, 16]


def test_four_way_interleave_by_hand() -> None:
    """256 B granules: byte 0 on module 0, byte 256 on module 1, byte 1024 on module 0 at 256."""
    hdm = HdmMap.of(profile.load("pfma"), 4)
    module, dpa = hdm.decode(np.array([0, 256, 1024, 1024 + 257], dtype=np.uint64) + np.uint64(hdm.base))
    assert module.tolist() == [0, 1, 0, 1]
    assert dpa.tolist() == [0, 0, 256, 257]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [((0, 1024, 3, 2, 256), "ways"), ((0, 1024, 2, 2, 100), "granularity_b"), ((0, 700, 2, 2, 256), "size_bytes")],
)
def test_impossible_maps(arguments: tuple[int, int, int, int, int], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        HdmMap(*arguments)


def test_encode_refuses_what_is_not_there() -> None:
    hdm = HdmMap(0, 1024, 2, 2, 256)
    with pytest.raises(ValueError, match="outside"):
        hdm.encode(np.array([2]), np.array([0], dtype=np.uint64))
