"""Chained 128-bit block digest in Python: the same function as software/src/digest.c, defined in prismem/digest.h.

The digest of a block covers its tokens and, through its parent's digest, everything before them. The root follows from
the hash seed and the name space in the superblock, so pools of different models never match by accident.
"""

from collections.abc import Sequence

from prismem.models.payload import GOLDEN

_MASK = (1 << 64) - 1
_K1 = GOLDEN
_K2 = 0xC2B2AE3D27D4EB4F
_K3 = 0x165667B19E3779F9
_K4 = 0xD6E8FEB86659FD93

Digest = tuple[int, int]
"""(lo, hi), 64 bits each."""


def _rotl(x: int, n: int) -> int:
    return ((x << n) | (x >> (64 - n))) & _MASK


def _fmix(x: int) -> int:
    x ^= x >> 32
    x = x * _K4 & _MASK
    x ^= x >> 32
    x = x * _K4 & _MASK
    return x ^ (x >> 32)


def chain(parent: Digest, tokens: Sequence[int]) -> Digest:
    """Digest of a block of 32-bit token ids whose prefix has the digest `parent`."""
    count = len(tokens)
    lo = parent[0] ^ (count * _K1 & _MASK)
    hi = parent[1] ^ (count * _K2 & _MASK)
    for i in range(0, count, 2):
        word = tokens[i] | (tokens[i + 1] << 32 if i + 1 < count else 0)
        lo = (_rotl(lo ^ (word * _K1 & _MASK), 29) * _K2 + hi) & _MASK
        hi = (_rotl(hi ^ _rotl(word * _K3 & _MASK, 32), 37) * _K4 + lo) & _MASK
    lo = (lo + hi) & _MASK
    hi = (hi + lo) & _MASK
    lo, hi = _fmix(lo), _fmix(hi)
    lo = (lo + hi) & _MASK
    hi = (hi + lo) & _MASK
    return lo, hi


def seed(hash_seed: int, name_space: bytes) -> Digest:
    """Digest of the empty prefix. `name_space` has 16 bytes, else ValueError."""
    if len(name_space) != 16:
        raise ValueError(f"name_space: {len(name_space)} bytes instead of 16")
    words = [int.from_bytes(name_space[i : i + 4], "little") for i in range(0, 16, 4)]
    return chain((hash_seed, _fmix(hash_seed ^ _K1)), words)
