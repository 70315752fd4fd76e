"""C structures of the public headers (``software/include/prismem``), shared by the bindings and the jobs."""

from __future__ import annotations

import ctypes as c


class FormatOptions(c.Structure):
    """``pm_format_options`` of pool.h."""

    _fields_ = [
        ("pool_bytes", c.c_uint64),
        ("nodes", c.c_uint32),
        ("locks", c.c_uint32),
        ("index_slots", c.c_uint64),
        ("index_capacity", c.c_uint64),
        ("block_bytes", c.c_uint64),
        ("chunk_bytes", c.c_uint64),
        ("objects", c.c_uint32),
        ("channels", c.c_uint32),
        ("hash_seed", c.c_uint64),
        ("name_space", c.c_uint8 * 16),
        ("lease_ns", c.c_uint64),
        ("replacement", c.c_uint32),
        ("place_bits", c.c_uint32),
        ("lock_tier", c.c_uint32),
    ]


class Stats(c.Structure):
    """``pm_stats`` of pool.h."""

    _fields_ = [
        ("lines_published", c.c_uint64),
        ("lines_acquired", c.c_uint64),
        ("syncs", c.c_uint64),
        ("locks_global", c.c_uint64),
        ("locks_local", c.c_uint64),
        ("dma_lines_in", c.c_uint64),
        ("dma_lines_out", c.c_uint64),
        ("lookups", c.c_uint64),
        ("hits", c.c_uint64),
        ("inserts", c.c_uint64),
        ("evictions", c.c_uint64),
        ("probes", c.c_uint64),
    ]


class LockInfo(c.Structure):
    """``pm_lock_info`` of lock.h."""

    _fields_ = [
        ("queued", c.c_uint64),
        ("taken", c.c_uint64),
        ("taken_here", c.c_uint64),
        ("polls", c.c_uint64),
        ("wait_ns", c.c_uint64),
        ("wait_ns_max", c.c_uint64),
    ]


class IndexInfo(c.Structure):
    """``pm_index_info`` of index.h."""

    _fields_ = [
        ("slots", c.c_uint64),
        ("capacity", c.c_uint64),
        ("resident", c.c_uint64),
        ("tombstones", c.c_uint64),
        ("reserved", c.c_uint64),
        ("inserts", c.c_uint64),
        ("evictions", c.c_uint64),
        ("probe_max", c.c_uint64),
    ]


class AllocInfo(c.Structure):
    """``pm_alloc_info`` of alloc.h."""

    _fields_ = [
        ("chunks_total", c.c_uint64),
        ("chunks_used", c.c_uint64),
        ("chunks_own", c.c_uint64),
        ("bytes_live", c.c_uint64),
        ("bytes_free_in_own_chunks", c.c_uint64),
    ]


class OpenOptions(c.Structure):
    """``pm_open_options`` of pool.h."""

    _fields_ = [
        ("node", c.c_uint32),
        ("check_namespace", c.c_uint32),
        ("name_space", c.c_uint8 * 16),
        ("block_bytes", c.c_uint64),
        ("hash_seed", c.c_uint64),
        ("check_hash_seed", c.c_uint32),
    ]


class Ref(c.Structure):
    """``pm_ref`` of index.h."""

    _fields_ = [
        ("slot", c.c_uint64),
        ("offset", c.c_uint64),
        ("generation", c.c_uint32),
        ("state", c.c_uint32),
    ]


class Chain(c.Structure):
    """``pm_chain`` of index.h."""

    _fields_ = [
        ("request", c.c_uint64),
        ("digests", c.c_void_p),
        ("n", c.c_size_t),
        ("refs", c.c_void_p),
        ("hits", c.c_size_t),
        ("result", c.c_int),
    ]


class Signal(c.Structure):
    """``pm_signal`` of rendezvous.h."""

    _fields_ = [
        ("sequence", c.c_uint64),
        ("offset", c.c_uint64),
        ("length", c.c_uint64),
        ("tag", c.c_uint64),
        ("checksum", c.c_uint64),
    ]


def as_dict(structure: c.Structure) -> dict[str, int]:
    """Integer members by name."""
    return {str(field[0]): int(getattr(structure, field[0])) for field in structure._fields_}
