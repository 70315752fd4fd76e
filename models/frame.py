"""Frames of the lightpaths: sizes on the wire, and the payload that a path can carry at most. Derived from a profile.

A frame is a header, up to four items, and a CRC. An item is a read request (address and tag), a write (address and
tag, line; byte enables if it is partial; the tag alone instead of address and tag if it writes the line after its
predecessor's in the same frame), read data (tag, line), or a completion (tag).

A busy transmitter fills its frames, so header and CRC are shared by four items at best. With h = header + CRC,
a = address and tag, t = tag, and lines of which the share r are reads, a line costs

    out    h/4 + r a + (1 - r) (w + 64)        w = a at random; (a + 3 t) / 4 in bursts of four lines or more
    back   h/4 + r (t + 64) + (1 - r) t

bytes, and the busier direction is the limit: payload <= rate x 64 / max(out, back). Acknowledgements and credits ride
in the headers and cost nothing while frames go both ways. With the sizes of `pfma`: reads 64 of 68 B, 26.47 GB/s;
random writes 64 of 72 B, 25.00 GB/s; writes of 1 KB 64 of 69 B, 26.09 GB/s.

A transmitter needs credits for all that is sent until the first credit is back: rate x round trip. The round trip is
the way there and back, and four full frames: the one that carries the line, one that is in the way at the far end,
the one that carries the credit, and one for the receive buffer.
"""

from fractions import Fraction
from math import ceil
from typing import Literal

from prismem.models.profile import Profile

Kind = Literal["read", "write"]

LINE_BYTES = 64
ITEMS_MAX = 4
"""Items of a frame, at most."""


def frame_bytes(profile: Profile, items: list[int]) -> int:
    """Bytes of a frame of `items`, each given by its own bytes."""
    if len(items) > ITEMS_MAX:
        raise ValueError(f"items: {len(items)} do not fit into a frame of {ITEMS_MAX}")
    return profile.frame.header.canonical + profile.frame.crc.canonical + sum(items)


def request_item_bytes(profile: Profile, kind: Kind, *, follows: bool = False, partial: bool = False) -> int:
    """Bytes of a read or write request; `follows`: a write of the line after its predecessor's."""
    frame = profile.frame
    if kind == "read":
        return frame.address_and_tag.canonical
    head = (frame.tag if follows else frame.address_and_tag).canonical
    return head + (frame.byte_enables.canonical if partial else 0) + LINE_BYTES


def response_item_bytes(profile: Profile, kind: Kind) -> int:
    """Bytes of read data or of a completion."""
    return profile.frame.tag.canonical + (LINE_BYTES if kind == "read" else 0)


def single_bytes(profile: Profile, kind: Kind) -> tuple[int, int]:
    """Bytes of the two frames of one line on an idle path: request and response."""
    return (
        frame_bytes(profile, [request_item_bytes(profile, kind)]),
        frame_bytes(profile, [response_item_bytes(profile, kind)]),
    )


def line_bytes(profile: Profile, read_share: float, burst_lines: int = 1) -> tuple[float, float]:
    """Bytes that a line costs at least on the way out and on the way back, in full frames of such bursts."""
    reads, writes = Fraction(read_share), 1 - Fraction(read_share)
    overhead = Fraction(frame_bytes(profile, []), ITEMS_MAX)
    run = min(burst_lines, ITEMS_MAX)
    first, next_ = (request_item_bytes(profile, "write", follows=follows) for follows in (False, True))
    write = Fraction(first + (run - 1) * next_, run)
    out = overhead + reads * request_item_bytes(profile, "read") + writes * write
    back = overhead + reads * response_item_bytes(profile, "read") + writes * response_item_bytes(profile, "write")
    return float(out), float(back)


def path_bound_gb_per_s(profile: Profile, read_share: float, burst_lines: int = 1) -> float:
    """Payload that one lightpath carries at most, both ways together; `read_share` (0..1) of the lines are reads."""
    return profile.path.rate.canonical / 16 * LINE_BYTES / max(line_bytes(profile, read_share, burst_lines))


def credit_round_trip_ns(profile: Profile) -> float:
    """Time until the credit of a line is back, at full load."""
    frame_ns = Fraction(frame_bytes(profile, [response_item_bytes(profile, "read")] * ITEMS_MAX) * 16)
    way_ns = profile.path.phy_time.canonical + profile.path.fibre_length.canonical
    return float(2 * way_ns + 4 * frame_ns / profile.path.rate.canonical)


def credits_needed(profile: Profile) -> int:
    """Credits of a class, and places of the replay buffer, with which a path is full whatever its mix.

    Reads and writes in equal parts have the smallest items: a line and a completion share the wire of two items. What
    is under way is bounded by the replay buffer, which holds as many items as there are credits of a class.
    """
    item_ns = line_bytes(profile, 0.5)[1] * 16 / profile.path.rate.canonical
    return ceil(credit_round_trip_ns(profile) / item_ns)
