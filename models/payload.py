"""Oracle of payload bytes: what a KV block must contain follows from its digest alone, so any reader can check it.

64-bit words, little endian: w[i] = splitmix64(digest_lo + i * 0x9E3779B97F4A7C15) ^ digest_hi. The C job computes the
same (software/jobs/kv_payload.c).
"""

import numpy as np
import numpy.typing as npt

WORD_BYTES = 8
GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def splitmix64(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Output function of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators)."""
    z = state + np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)


def block_payload(digest_lo: int, digest_hi: int, size_bytes: int) -> bytes:
    """The bytes of the block with this digest. `size_bytes` is a multiple of 8, else ValueError."""
    if size_bytes < 0 or size_bytes % WORD_BYTES:
        raise ValueError(f"size_bytes: {size_bytes} is not a multiple of {WORD_BYTES}")
    steps = np.arange(size_bytes // WORD_BYTES, dtype=np.uint64) * np.uint64(GOLDEN)
    words = splitmix64(np.uint64(digest_lo & _MASK) + steps) ^ np.uint64(digest_hi & _MASK)
    return words.astype("<u8").tobytes()
