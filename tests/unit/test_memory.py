"""The memory model: bytes, poison, and which orders of overlapping accesses explain what reads returned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prismem.models.memory import (
    ALL_ENABLES,
    Access,
    LineMemory,
    LineState,
    byte_mask,
    first_wrong,
    possible_states,
)

ZERO = frozenset({LineState(0)})


def write(issued: int, done: int | None, data: int, stream: int = 0, enables: int = ALL_ENABLES) -> Access:
    return Access("write", stream, issued, done, data, enables)


def read(issued: int, done: int | None, data: int, stream: int = 1) -> Access:
    return Access("read", stream, issued, done, data)


@given(st.lists(st.tuples(st.integers(0, 130), st.integers(0, 2**512 - 1), st.integers(0, ALL_ENABLES)), max_size=20))
def test_lines_hold_the_bytes_that_were_enabled(writes: list[tuple[int, int, int]]) -> None:
    """Against a dictionary of bytes."""
    memory, expected = LineMemory(), {}
    for line, data, enables in writes:
        memory.write(line, data, enables)
        raw = data.to_bytes(64, "little")
        expected |= {(line, byte): raw[byte] for byte in range(64) if enables >> byte & 1}
    for line in {line for line, _, _ in writes}:
        assert memory.read(line)[0].to_bytes(64, "little") == bytes(expected.get((line, byte), 0) for byte in range(64))


def test_poison_stays_until_the_whole_line_is_written() -> None:
    memory = LineMemory()
    memory.write(5, 1, poison=True)
    memory.write(5, 2, 0xFF)
    assert memory.read(5) == (2, True)
    memory.write(5, 3)
    assert memory.read(5) == (3, False)


def test_byte_mask_has_eight_bits_a_byte() -> None:
    assert byte_mask(0b101) == 0xFF00FF


def test_a_read_after_a_write_returns_it() -> None:
    assert possible_states(ZERO, [write(0, 10, 7), read(11, 20, 7)]) == {LineState(7)}
    assert not possible_states(ZERO, [write(0, 10, 7), read(11, 20, 0)])


def test_a_read_beside_a_write_returns_old_or_new_but_no_mixture() -> None:
    for seen in (0, 0xFFFF):
        assert possible_states(ZERO, [write(0, 10, 0xFFFF), read(5, 20, seen)]) == {LineState(0xFFFF)}
    assert not possible_states(ZERO, [write(0, 10, 0xFFFF), read(5, 20, 0xFF)])


def test_two_reads_do_not_see_time_go_back() -> None:
    forth = [write(0, 100, 1), read(1, 10, 0), read(11, 20, 1)]
    back = [write(0, 100, 1), read(1, 10, 1), read(11, 20, 0)]
    assert possible_states(ZERO, forth)
    assert first_wrong(ZERO, back) == back[2]


def test_overlapping_writes_leave_either_value_and_a_stream_keeps_its_order() -> None:
    assert possible_states(ZERO, [write(0, 10, 1, stream=0), write(0, 10, 2, stream=1)]) == {LineState(1), LineState(2)}
    assert possible_states(ZERO, [write(0, 10, 1), write(1, 10, 2)]) == {LineState(2)}


def test_an_unanswered_write_may_or_may_not_have_happened() -> None:
    lost = write(0, None, 1)
    assert possible_states(ZERO, [lost]) == {LineState(0), LineState(1)}
    assert possible_states(ZERO, [lost, read(50, 60, 1)]) == {LineState(1)}
    assert possible_states(ZERO, [lost, read(50, 60, 0)]) == {LineState(0), LineState(1)}


def test_poison_is_part_of_what_a_read_returns() -> None:
    bad = Access("write", 0, 0, 10, 5, poison=True)
    assert possible_states(ZERO, [bad, Access("read", 1, 11, 20, 99, poison=True)]) == {LineState(5, True)}
    assert not possible_states(ZERO, [bad, read(11, 20, 5)])
    again = Access("write", 0, 11, 20, 6, whole=False)
    assert possible_states(ZERO, [bad, again]) == {LineState(6, True)}
    assert possible_states(ZERO, [bad, write(11, 20, 6)]) == {LineState(6, False)}


def test_a_history_that_is_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prismem.models.memory.STATES_MAX", 10)
    with pytest.raises(ValueError, match="more than 10 combinations"):
        possible_states(ZERO, [write(0, 10, i, stream=i) for i in range(8)])
