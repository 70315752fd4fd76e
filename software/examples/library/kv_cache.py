"""A prefix cache for KV blocks of a language model, shared by two processes: one fills it, the other finds it filled.

A block is named by all tokens up to its end, so equal prompts of two processes meet in the same blocks. The pool
is small: old blocks are evicted for new ones, and nobody ever reads another block's bytes.

    .venv/bin/python software/examples/library/kv_cache.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from prismem.lib.pool import Digest, Pool, RefState, format_pool
from prismem.lib.structs import FormatOptions
from prismem.models import digest

BLOCK_TOKENS, BLOCK_BYTES, CAPACITY = 16, 4096, 24
SPACE = b"my model, bf16, "  # a pool of another model is refused
SEED = 2026


def chain_of(tokens: list[int]) -> list[Digest]:
    """Digest of each whole block of the prompt."""
    chain, parent = [], digest.seed(SEED, SPACE)
    for at in range(0, len(tokens) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
        parent = digest.chain(parent, tokens[at : at + BLOCK_TOKENS])
        chain.append(parent)
    return chain


def compute(block: Digest) -> np.ndarray:
    """What the model would compute for a block: bytes that follow from its name, so that they can be checked."""
    return np.random.default_rng(block[0]).integers(0, 256, BLOCK_BYTES, dtype=np.uint8)


def serve(pool: Pool, request: int, tokens: list[int]) -> tuple[int, int]:
    """Find what is there of a prompt, compute the rest; (blocks found, blocks computed)."""
    chain = chain_of(tokens)
    with pool.lookup(request, chain) as hit:
        for block, data in zip(chain, hit.blocks(), strict=False):
            assert np.array_equal(np.asarray(data), compute(block)), "wrong bytes"
        refs = pool.reserve(request, digest.seed(SEED, SPACE), chain, hit)
        for block, ref in zip(chain, refs, strict=True):
            if ref.state == RefState.RESERVED:
                pool.dma_write(ref.offset, compute(block))
        pool.release(request, pool.commit(refs)[len(hit) :])
        return len(hit), len(chain) - len(hit)


def prompts(who: int) -> list[list[int]]:
    """A system prompt of five blocks in front of a question of two; each process asks its own questions too."""
    system = list(range(5 * BLOCK_TOKENS))
    shared = [system + [1000 + q] * (2 * BLOCK_TOKENS) for q in range(3)]
    own = [system + [2000 + 100 * who + q] * (2 * BLOCK_TOKENS) for q in range(12)]
    return shared + own


def run_node(path: str, node: int) -> None:
    """One process: all its prompts, and what it found."""
    with Pool(path, node=node, name_space=SPACE, hash_seed=SEED) as pool, pool.manager():
        served = [serve(pool, node << 32 | i, tokens) for i, tokens in enumerate(prompts(node))]
        found, computed = (sum(column) for column in zip(*served, strict=True))
        print(f"node {node}: {found} blocks found, {computed} computed, {pool.index_info()['evictions']} evicted")


def main() -> int:
    """Two processes after each other on one pool."""
    if len(sys.argv) == 3:
        run_node(sys.argv[1], int(sys.argv[2]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "pool")
        options = FormatOptions(pool_bytes=4 << 20, nodes=2, hash_seed=SEED, block_bytes=BLOCK_BYTES, index_slots=32)
        options.index_capacity = CAPACITY
        options.name_space[:] = SPACE
        format_pool(path, options)
        return max(subprocess.run([sys.executable, __file__, path, node], check=False).returncode for node in "01")


if __name__ == "__main__":
    sys.exit(main())
