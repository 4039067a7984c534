"""BERT's masking as a transform of batches."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.distill.masking import mask_pieces
from tfdistil.tasks import IGNORE

MASK, VOCABULARY, SPECIAL = 4, 50, frozenset({0, 2, 3})


@pytest.fixture
def batch():
    """Rows of ordinary pieces between [CLS] = 2 and [SEP] = 3, then padding = 0."""
    rng = np.random.default_rng(0)
    ids = rng.integers(5, VOCABULARY, (200, 40)).astype(np.int32)
    ids[:, 0], ids[:, 30], ids[:, 31:] = 2, 3, 0
    mask = (np.arange(40) < 31).astype(np.int32) * np.ones((200, 1), np.int32)
    return {"input_ids": ids, "attention_mask": mask, "tokens": np.zeros((200, 8), np.int32)}


def draw(batch, probability=0.15, seed=1):
    transform = mask_pieces(MASK, VOCABULARY, SPECIAL, probability)
    return transform(batch, range(len(batch["input_ids"])), np.random.default_rng(seed))


@pytest.mark.parametrize("probability", [0.15, 0.4])
def test_the_shares_are_those_of_the_paper(batch, probability):
    found = draw(batch, probability)
    chosen = found["target/mlm"] != IGNORE
    open_to_choice = 200 * 29
    assert chosen.sum() / open_to_choice == pytest.approx(probability, abs=0.02)
    before, after = batch["input_ids"][chosen], found["input_ids"][chosen]
    assert (after == MASK).mean() == pytest.approx(0.8, abs=0.04)
    assert (after == before).mean() == pytest.approx(0.1, abs=0.03)
    random = (after != MASK) & (after != before)
    assert random.mean() == pytest.approx(0.1, abs=0.03)
    assert 0 <= after.min() <= after.max() < VOCABULARY


def test_targets_are_what_was_there_and_the_rest_is_untouched(batch):
    found = draw(batch)
    chosen = found["target/mlm"] != IGNORE
    np.testing.assert_array_equal(found["target/mlm"][chosen], batch["input_ids"][chosen])
    np.testing.assert_array_equal(found["input_ids"][~chosen], batch["input_ids"][~chosen])
    assert found["input_ids"].dtype == found["target/mlm"].dtype == np.int32
    assert found["tokens"] is batch["tokens"]


def test_special_pieces_and_padding_are_never_chosen(batch):
    found = draw(batch, 0.99)
    chosen = found["target/mlm"] != IGNORE
    assert not chosen[np.isin(batch["input_ids"], list(SPECIAL))].any()
    assert not chosen[batch["attention_mask"] == 0].any()
    assert chosen[:, 1:30].mean() > 0.95


def test_each_draw_is_another_and_a_seed_repeats_it(batch):
    first = draw(batch)["input_ids"]
    np.testing.assert_array_equal(draw(batch)["input_ids"], first)
    assert (draw(batch, seed=2)["input_ids"] != first).any()
    generator = np.random.default_rng(1)
    transform = mask_pieces(MASK, VOCABULARY, SPECIAL)
    np.testing.assert_array_equal(transform(batch, [], generator)["input_ids"], first)
    assert (transform(batch, [], generator)["input_ids"] != first).any()
