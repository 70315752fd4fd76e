"""The visibility verbs and lock steps of libprismem, as the mutation operators see them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a call is for. A coherent machine hides every fault of the first four."""

    PUBLISH = "publish"
    ACQUIRE = "acquire"
    FENCE = "fence"
    FLUSH = "flush"
    HOLD = "hold"
    STORE = "store"
    STEP = "step"

    @property
    def noncoherence(self) -> bool:
        """Only caches and write-backs depend on it."""
        return self in (Kind.PUBLISH, Kind.ACQUIRE, Kind.FENCE, Kind.FLUSH)


@dataclass(frozen=True)
class Verb:
    """A function whose calls are mutated."""

    name: str
    kind: Kind
    weaker: tuple[tuple[str, str], ...] = ()
    """Name of the operator, and the call instead; `{args}` are all arguments, `{0}`, `{1}` single ones."""
    range_at: int | None = None
    """Argument that is the start of a range of bytes; the next one is its size."""
    value: str = "(void)0"
    """What stands for the call where it is dropped."""


_NO_FENCE, _SFENCE, _CLWB = "WEAKEN_NO_FENCE", "WEAKEN_SFENCE", "WEAKEN_CLWB"
_WRITE_BACK = "for (size_t i_ = 0; i_ < pmi_lines({at}, {size}); ++i_) _mm_clwb((const char *)({at}) + i_ * PM_LINE)"


def _acquire(name: str, pool: str, half: str) -> Verb:
    at = 1 if pool else 0
    write_back = _WRITE_BACK.replace("{at}", f"{{{at}}}").replace("{size}", f"{{{at + 1}}}")
    weaker = (
        (_SFENCE, f"do {{ {half}({{args}}); _mm_sfence(); }} while (0)"),
        (_CLWB, f"do {{ {write_back}; _mm_mfence(); }} while (0)"),
    )
    return Verb(name, Kind.ACQUIRE, weaker, at)


_FENCES = ((_SFENCE, "_mm_sfence()"),)

VERBS = {
    verb.name: verb
    for verb in (
        Verb("pm_publish", Kind.PUBLISH, ((_NO_FENCE, "pmi_invalidate({args})"),), 0),
        Verb("pmi_publish", Kind.PUBLISH, ((_NO_FENCE, "pmi_push({args})"),), 1),
        Verb("pmi_push", Kind.PUBLISH, (), 1),
        _acquire("pm_acquire", "", "pmi_invalidate"),
        _acquire("pmi_acquire", "pool", "pmi_drop"),
        _acquire("acquire", "pool", "pmi_drop"),
        Verb("pmi_drop", Kind.ACQUIRE, (), 1),
        Verb("pmi_invalidate", Kind.ACQUIRE, (), 0),
        Verb("drop_bucket", Kind.ACQUIRE),
        Verb("acquire_bucket", Kind.ACQUIRE, ((_NO_FENCE, "drop_bucket({args})"),)),
        Verb("pmi_invalidate_fence", Kind.FENCE, _FENCES),
        Verb("pm_sync", Kind.FENCE, _FENCES),
        Verb("pmi_sync", Kind.FENCE, _FENCES),
        Verb("_mm_mfence", Kind.FENCE, _FENCES),
        Verb("_mm_sfence", Kind.FENCE),
        Verb("flush_opt", Kind.FLUSH, ((_CLWB, "write_back({args})"),)),
        Verb("flush_ordered", Kind.FLUSH, (("WEAKEN_CLFLUSHOPT", "flush_opt({args})"), (_CLWB, "write_back({args})"))),
        Verb("write_back", Kind.FLUSH),
        Verb("_mm_clflush", Kind.FLUSH, (("WEAKEN_CLFLUSHOPT", "_mm_clflushopt({args})"),)),
        Verb("_mm_clflushopt", Kind.FLUSH, ((_CLWB, "_mm_clwb({args})"),)),
        Verb("_mm_clwb", Kind.FLUSH),
        Verb("pm_store_line", Kind.STORE, (("WEAKEN_STORES", "memcpy({0}, {1}, PM_LINE)"),)),
        Verb("pmi_hold_read", Kind.HOLD),
        Verb("pmi_hold_read_range", Kind.HOLD, (), 2),
        Verb("pmi_hold_reread", Kind.HOLD, (("WEAKEN_ONCE", "pmi_hold_read({args})"),)),
        Verb("pmi_hold_changed", Kind.HOLD),
        Verb("pmi_hold_publish", Kind.STEP),
        Verb("pmi_hold_begin", Kind.STEP, value="0"),
        Verb("pmi_hold_end", Kind.STEP, value="0"),
        Verb("pm_lock_acquire", Kind.STEP, value="0"),
        Verb("pm_lock_release", Kind.STEP, value="0"),
        Verb("pm_lock_consistent", Kind.STEP, value="0"),
        Verb("pmi_fence", Kind.STEP, value="0"),
        Verb("pmi_ring", Kind.STEP),
        Verb("pmi_store", Kind.STORE),
        Verb("pmi_poke", Kind.STORE),
        Verb("pmi_bucket_store", Kind.STORE),
        Verb("store_claim", Kind.STORE),
    )
}
