"""Frame sizes and the payload bounds of a lightpath, against numbers worked out by hand."""

import pytest

from prismem.errors import ProfileError
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


@pytest.mark.parametrize(("length_m", "credits"), [(1, 82), (5, 114), (10, 153), (50, 465), (100, 856)])
def test_credits_cover_the_round_trip(length_m: int, credits: int) -> None:
    """2 x (28 ns + 5 ns/m) and four frames of 272 B at 28.125 GB/s, 9.67 ns each, in items of 36 B, 1.28 ns each."""
    assert frame.credits_needed(profile.load("pfma", [f"path.fibre_length={length_m} m"])) == credits


def test_more_credits_take_a_longer_header_and_deeper_buffers() -> None:
    """127 are what 7 bits count; every doubling is a build of its own."""
    with pytest.raises(ProfileError, match=r"path.read_credits: .* set frame.header='6 B'"):
        profile.load("pfma", ["path.read_credits=128"])
    for credits, reach in ((127, 0), (128, 1), (255, 1), (256, 2), (511, 2), (2047, 4)):
        long = profile.load("pfma", [f"path.read_credits={credits}", "frame.header=6 B"])
        assert long.parameters(1, 1)["PathReach"] == reach
