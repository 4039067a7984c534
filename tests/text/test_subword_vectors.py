"""The conformance vectors of word pieces and the tables of the Kotlin module are up to date."""

from __future__ import annotations

import pytest

from tests.vectors import make_subwords, make_tables


@pytest.mark.parametrize("maker", [make_subwords, make_tables])
def test_files_are_what_the_generator_writes(maker):
    for name, content in maker.files().items():
        assert (maker.FOLDER / name).read_text("utf-8") == content, name


def test_vectors_have_what_they_are_for():
    base = make_subwords.tokenizer()
    unknown, longest = base.token_to_id("[UNK]"), make_subwords.LONGEST
    ids = {item["word"]: item["ids"] for item in make_subwords.pieces(base)}
    assert len(ids) > 3000
    assert all([unknown] == one for one in ids["x" * (longest + 1)])
    assert all(unknown not in one for one in ids["x" * longest])
    # What each variant alone does differently.
    assert len({*map(tuple, ids["İstanbul"])}) >= 3
    assert any(len(one) > 4 for found in ids.values() for one in found)
