"""Packed rows: nothing lost, nothing moved, and full."""

from __future__ import annotations

from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tfdistil.shards.packing import Marks, Packer

CLS, SEP = 101, 102
LINES = st.lists(st.lists(st.integers(0, 99), max_size=25), max_size=20)


def pack(lines, max_length, joined=True):
    packer = Packer(Marks(CLS, SEP), max_length, joined)
    return [row for line in lines for row in packer.add(line)] + [*packer.rest()]


def parts_of(row):
    """The lines, or parts of them, of a row."""
    assert row[0] == CLS
    assert row[-1] == SEP
    found, part = [], []
    for piece in row[1:]:
        if piece == SEP:
            found.append(part)
            part = []
        else:
            part.append(piece)
    return found


@given(LINES, st.integers(3, 12), st.booleans())
def test_every_piece_is_there_in_its_order(lines, max_length, joined):
    rows = pack(lines, max_length, joined)
    parts = [parts_of(row) for row, _ in rows]
    assert [count for _, count in rows] == [len(own) for own in parts]
    assert list(chain(*chain(*parts))) == list(chain(*lines))
    assert all(len(row) <= max_length for row, _ in rows)
    # A line is cut nowhere but where it fills a row.
    budget = max_length - 2
    cut = [line[at : at + budget] for line in lines for at in range(0, len(line), budget)]
    assert list(chain(*parts)) == cut
    if not joined:
        assert all(len(own) == 1 for own in parts)


@given(LINES, st.integers(3, 12))
def test_a_row_ends_only_where_the_next_line_does_not_fit(lines, max_length):
    rows = [row for row, _ in pack(lines, max_length)]
    for row, after in pairwise(rows):
        assert len(row) + len(parts_of(after)[0]) + 1 > max_length


def test_by_hand():
    assert pack([[1, 2], [3], [], [4, 5, 6, 7, 8], [9]], 7) == [
        ([CLS, 1, 2, SEP, 3, SEP], 2),
        ([CLS, 4, 5, 6, 7, 8, SEP], 1),
        ([CLS, 9, SEP], 1),
    ]
