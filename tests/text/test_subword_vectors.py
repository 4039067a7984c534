"""The conformance vectors of pieces and the tables of the Kotlin module are up to date."""

from __future__ import annotations

import pytest

from tests.vectors import make_pieces, make_subwords, make_tables


@pytest.mark.parametrize("maker", [make_subwords, make_pieces, make_tables])
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


@pytest.mark.parametrize(
    ("kind", "make"), [("unigram", make_pieces.unigram), ("bytes", make_pieces.byte_pairs)]
)
def test_each_variant_cuts_some_words_otherwise(kind, make):
    items = make_pieces.pieces(make(), kind)
    assert len(items) > 1900
    ids = {item["word"]: item["ids"] for item in items}
    columns = zip(*ids.values(), strict=True)
    assert len({str(column) for column in columns}) == len(make_pieces.VARIANTS[kind])
    assert all(len(one) > 50 for one in ids["x" * 5000])


def test_merges_may_be_texts():
    """Older files have them so; the Kotlin module reads both forms, too."""
    tree = make_pieces.variant(make_pieces.byte_pairs(), "bytes", "roberta")
    newer = make_pieces.featurizer(tree).pieces(make_pieces.ODD)
    tree["model"]["merges"] = [" ".join(pair) for pair in tree["model"]["merges"]]
    assert make_pieces.featurizer(tree).pieces(make_pieces.ODD) == newer
