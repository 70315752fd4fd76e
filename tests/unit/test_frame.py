"""Frame sizes and the payload bounds of a lightpath, against numbers worked out by hand."""

import pytest

from prismem.models import frame, profile
from prismem.models.frame import Kind

PFMA = profile.load("pfma")
RATE_GB_S = 28.125


@pytest.mark.parametrize(("kind", "request_b", "response_b"), [("read", 14, 74), ("write", 78, 10)])
def test_frames_of_a_single_line(kind: Kind, request_b: int, response_b: int) -> None:
    """Header 4, CRC 4; address and tag 6 or tag 2; a line 64."""
    assert frame.single_bytes(PFMA, kind) == (request_b, response_b)


def test_partial_and_following_writes() -> None:
    """Byte enables are 8 B more; a write that follows its predecessor saves the 4 B of its address."""
    assert frame.request_item_bytes(PFMA, "write", partial=True) == 6 + 8 + 64
    assert frame.request_item_bytes(PFMA, "write", follows=True) == 2 + 64


def test_a_frame_has_four_items_at_most() -> None:
    with pytest.raises(ValueError, match="5 do not fit"):
        frame.frame_bytes(PFMA, [2] * 5)


@pytest.mark.parametrize(
    ("read_share", "burst_lines", "bytes_of_four"),
    [
        (1.0, 1, 4 + 4 * 66 + 4),  # read data
        (0.0, 1, 4 + 4 * 70 + 4),  # writes at random
        (0.0, 16, 4 + 70 + 3 * 66 + 4),  # writes of 1 KB
        (0.0, 2, 4 + 2 * (70 + 66) + 4),  # writes of 128 B
        (0.5, 1, 4 + 2 * 6 + 2 * 70 + 4),  # half and half: the way out is the limit
        (0.75, 1, 4 + 3 * 66 + 2 + 4),  # three to one: the way back
    ],
)
def test_payload_bounds(read_share: float, burst_lines: int, bytes_of_four: int) -> None:
    """Four lines cost what the fuller of their two frames takes."""
    bound = frame.path_bound_gb_per_s(PFMA, read_share, burst_lines)
    assert bound == pytest.approx(RATE_GB_S * 4 * 64 / bytes_of_four)


def test_the_printed_goodput_is_possible() -> None:
    """arXiv 2607.27187 prints 25.6 GB/s a port."""
    assert frame.path_bound_gb_per_s(PFMA, 1.0) > 25.6
