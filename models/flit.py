"""How much payload a 256-byte CXL flit can carry: the bound that a saturated link is measured against.

A flit has 15 slots: slot 0 (14 bytes) takes message headers only, slots 1 to 14 (16 bytes each) take headers or
data. The other 18 bytes are the flit's header, credits, CRC and FEC. Let a header slot hold h headers (slot 0: h0),
and let a message need d further slots, on average, for its data:

    class                        d        M2S: h0 = h = 1
    Req, NDR                     0        S2M: h0 = 2, h = 3
    RwD (MemWr), DRS (MemData)   4
    RwD (MemWrPtl)               5, the fifth for the byte enables

Slot 0 of every flit is filled with h0 headers. When x of the 14 other slots hold headers, n = h0 + h x messages leave
with the flit, and their data fill the rest, if need be in the next flit: d n + x = 14. So

    x = (14 - d h0) / (1 + d h)        n = (h0 + 14 h) / (1 + d h)      messages a flit

    reads, S2M:   n = (2 + 42) / 13 = 3.385    n x 64 / 256 = 84.6 % of the raw rate
    writes, M2S:  n = (1 + 14) / 5  = 3        n x 64 / 256 = 75.0 %

With a mix, each direction has its own d, and the direction that carries fewer lines a flit is the limit.
"""

from fractions import Fraction

from prismem.models.profile import Profile

FLIT_BYTES = 256
LINE_BYTES = 64
DATA_SLOTS = 14  # slots that may hold data
LINE_SLOTS = 4  # slots of a line
ENABLE_SLOTS = 1  # slots of byte enables


def messages_per_flit(first: int, each: int, data_slots: Fraction) -> Fraction:
    """Messages that a full flit carries: `first` headers in slot 0, `each` in another, `data_slots` for a message."""
    return Fraction(first + DATA_SLOTS * each) / (1 + data_slots * each)


def lines_per_flit(read_share: float, partial_share: float = 0.0) -> Fraction:
    """Lines a flit time in both directions together; `read_share` of them are reads, `partial_share` of the writes have
    byte enables (both 0..1)."""
    reads, partial = Fraction(read_share), Fraction(partial_share)
    out = messages_per_flit(1, 1, (1 - reads) * (LINE_SLOTS + partial * ENABLE_SLOTS))
    back = messages_per_flit(2, 3, reads * LINE_SLOTS)
    return min(out, back)


def packing_share(read_share: float, partial_share: float = 0.0) -> float:
    """Payload over the raw rate of one direction; above 1 when reads and writes load both directions."""
    return float(lines_per_flit(read_share, partial_share) * LINE_BYTES / FLIT_BYTES)


def packing_bound_gb_per_s(profile: Profile, read_share: float, partial_share: float = 0.0) -> float:
    """Payload that one host's link can carry at most, reads and writes together."""
    return packing_share(read_share, partial_share) * profile.cxl.rate.canonical / 16
