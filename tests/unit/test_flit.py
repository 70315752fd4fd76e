"""The packing bound of the CXL link, against flits packed by hand."""

import pytest

from prismem.models import flit, profile


def fill(headers: int, first: int, each: int, data_slots: int) -> int:
    """Messages that `headers` flits take when each is packed slot by slot as full as it goes."""
    messages = waiting = 0
    for _ in range(headers):
        messages += first
        waiting += first * data_slots
        for _ in range(flit.DATA_SLOTS):
            if waiting:
                waiting -= 1
            else:
                messages += each
                waiting += each * data_slots
    return messages


@pytest.mark.parametrize(("first", "each", "data_slots"), [(2, 3, 4), (2, 3, 0), (1, 1, 0), (1, 1, 4), (1, 1, 5)])
def test_bound_is_what_packing_slot_by_slot_reaches(first: int, each: int, data_slots: int) -> None:
    """The formula against 1,000 flits filled greedily: equal but for the messages that the last flit leaves open."""
    flits = 1_000
    bound = float(flit.messages_per_flit(first, each, flit.Fraction(data_slots)))
    assert fill(flits, first, each, data_slots) / flits == pytest.approx(bound, abs=(first + each) / flits)


def test_shares_of_the_raw_rate() -> None:
    """Reads: 44/13 lines of 64 B in 256 B; writes: 3; half and half, the requests are the limit: 15/3 = 5."""
    assert flit.packing_share(1.0) == pytest.approx(44 / 13 / 4)
    assert flit.packing_share(0.0) == pytest.approx(3 / 4)
    assert flit.packing_share(0.0, 1.0) == pytest.approx(2.5 / 4)
    assert flit.packing_share(0.5) == pytest.approx(5 / 4)


def test_bound_of_a_host() -> None:
    """128 GB/s one direction: 108.3 GB/s of reads, 96 GB/s of writes."""
    pfma = profile.load("pfma")
    assert flit.packing_bound_gb_per_s(pfma, 1.0) == pytest.approx(128 * 44 / 52)
    assert flit.packing_bound_gb_per_s(pfma, 0.0) == pytest.approx(96)
