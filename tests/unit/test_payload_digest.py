"""Payload and digest oracles: known values, and equality with the C library where it is built."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prismem.models import digest, payload
from prismem.paths import software_library
from prismem.tb.runner.build import build_software

WORD = st.integers(0, (1 << 64) - 1)


def test_splitmix64_known_values() -> None:
    """First outputs of SplitMix64 from state 1234567, the test vector that implementations publish."""
    states = np.uint64(1234567) + np.arange(3, dtype=np.uint64) * np.uint64(payload.GOLDEN)
    assert payload.splitmix64(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(WORD, WORD)
def test_payload_words_follow_the_definition(lo: int, hi: int) -> None:
    words = np.frombuffer(payload.block_payload(lo, hi, 64), dtype="<u8")
    for i in (0, 7):
        state = np.array([(lo + i * payload.GOLDEN) & ((1 << 64) - 1)], dtype=np.uint64)
        assert int(words[i]) == int(payload.splitmix64(state)[0]) ^ hi


def test_payload_refuses_half_words() -> None:
    with pytest.raises(ValueError, match="size_bytes: 12"):
        payload.block_payload(1, 2, 12)


@given(st.lists(st.integers(0, (1 << 32) - 1), min_size=1, max_size=9), st.data())
def test_digest_depends_on_every_token_and_on_the_parent(tokens: list[int], data: st.DataObject) -> None:
    root = digest.seed(7, bytes(16))
    value = digest.chain(root, tokens)
    index = data.draw(st.integers(0, len(tokens) - 1))
    other = [*tokens]
    other[index] ^= 1
    assert digest.chain(root, other) != value
    assert digest.chain(root, [*tokens, 0]) != value
    assert digest.chain(value, tokens) != value


class _Digest(ctypes.Structure):
    _fields_ = [("lo", ctypes.c_uint64), ("hi", ctypes.c_uint64)]


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    build_software()
    loaded = ctypes.CDLL(str(software_library("prismem")))
    loaded.pm_digest_chain.restype = loaded.pm_digest_seed.restype = _Digest
    loaded.pm_digest_chain.argtypes = [_Digest, ctypes.c_void_p, ctypes.c_size_t]
    loaded.pm_digest_seed.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
    return loaded


@given(
    seed=WORD,
    name_space=st.binary(min_size=16, max_size=16),
    tokens=st.lists(st.integers(0, (1 << 32) - 1), min_size=1, max_size=33),
)
def test_digest_equals_the_c_library(library: ctypes.CDLL, seed: int, name_space: bytes, tokens: list[int]) -> None:
    raw = (ctypes.c_uint32 * len(tokens))(*tokens)
    root = library.pm_digest_seed(seed, name_space)
    assert (root.lo, root.hi) == digest.seed(seed, name_space)
    value = library.pm_digest_chain(root, raw, len(tokens))
    assert (value.lo, value.hi) == digest.chain((root.lo, root.hi), tokens)
