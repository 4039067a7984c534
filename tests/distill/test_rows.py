"""Examples to rows: windows, targets, padding, and batches of like length."""

from __future__ import annotations

import numpy as np
import pytest

from tfdistil.data.example import Example
from tfdistil.distill.rows import bucketed_batches, encode_rows
from tfdistil.tasks import IGNORE, IntentSlots, Tags


@pytest.fixture(scope="module")
def examples(make_examples):
    """Some fit into a window of 10 pieces, most do not, one is empty."""
    return [*make_examples(20, seed=3, longest=25), Example((), (), source="toy:21")]


@pytest.mark.parametrize("max_length", [6, 10, 96])
def test_every_gold_word_is_scored_once(examples, make_rows, task, max_length):
    rows = make_rows(examples, max_length=max_length)
    assert len(rows) > len(examples) or max_length == 96
    assert rows.lengths.max() <= max_length
    for index, parts in enumerate(rows.rows_of()):
        words = [w for row in parts for w in range(*rows.windows[row].words)]
        assert words == list(range(len(examples[index].words)))
        gold = task.targets(examples[index])["tags"]
        starts = rows.word_starts(parts)
        np.testing.assert_array_equal(rows.targets[index]["tags"][starts], gold)


def test_windows_cut_the_targets_where_they_cut_the_words(examples, make_rows, task):
    rows = make_rows(examples, max_length=10)
    chosen = np.arange(len(rows))
    target = rows.target("tags", "word", chosen, rows.inputs(chosen)["tokens"].shape[1])
    for index, parts in enumerate(rows.rows_of()):
        found = np.concatenate([target[row][target[row] != IGNORE] for row in parts])
        np.testing.assert_array_equal(found, task.targets(examples[index])["tags"])


def test_a_batch_is_the_windows_and_padding(examples, make_rows):
    rows = make_rows(examples, max_length=10)
    chosen = [5, 0, len(rows) - 1]
    batch = rows.inputs(chosen)
    lengths = {name: a.shape[1] for name, a in batch.items()}
    # Rounded up, but not to positions that an encoder of 10 does not have.
    tokens = {name: lengths.pop(name) for name in ("tokens", "token_mask")}
    assert set(tokens.values()) == {8}  # rounded up
    assert set(lengths.values()) == {10}  # but not to positions that an encoder of 10 has not
    for i, row in enumerate(chosen):
        window = rows.windows[row]
        for name, value in rows.padding.items():
            np.testing.assert_array_equal(batch[name][i, : window.length], window.inputs[name])
            assert np.all(batch[name][i, window.length :] == value)
        assert batch["attention_mask"][i].tolist() == [
            int(t < window.length) for t in range(batch["attention_mask"].shape[1])
        ]
        assert batch["token_mask"][i].sum() == len(window.tokens)
        np.testing.assert_array_equal(batch["tokens"][i, : len(window.tokens)], window.tokens)


def test_what_has_no_label_is_ignored(make_rows):
    labelled = Example(("anna", "sees"), ("B-PER", "O"))
    rows = make_rows([Example(("otto", "sees")), labelled])
    target = rows.target("tags", "word", [1, 0], 4)
    assert (target[0, 2:] == IGNORE).all()
    assert (target[0, :2] != IGNORE).all()
    assert (target[1] == IGNORE).all()


def test_a_label_of_a_text_goes_to_each_of_its_windows(make_examples, make_featurizer):
    examples = [
        Example(e.words, e.tags, label=f"length {len(e.words) // 9}")
        for e in make_examples(6, seed=1, longest=30)
    ]
    task = IntentSlots.from_examples(examples)
    unlabelled = Example(("sun",), ("O",))
    rows = encode_rows([*examples, unlabelled], make_featurizer("pieces", 12), task)
    target = rows.target("intent", "sequence", np.arange(len(rows)), 8)
    labels = task.outputs[1].labels
    for row, example in enumerate(rows.example[:-1]):
        assert labels[target[row]] == examples[example].label
    assert target[-1] == IGNORE


def test_labels_unseen_in_train_are_no_targets(make_featurizer):
    train = [Example(("berlin", "in", "the"), ("B-LOC", "O", "O"), "see")]
    dev = [Example(("the", "berlin", "in"), ("O", "B-DAY", "I-DAY"), "joke"), *train]
    for continuation in (False, True):
        task = IntentSlots.from_examples(train, continuation)
        kind = {"alignment": "x"} if continuation else {}
        rows = encode_rows(dev, make_featurizer("pieces", **kind), task)
        labels = task.outputs[0].labels
        tags = [[labels[i] if i != IGNORE else None for i in of["slots"]] for of in rows.targets]
        pieces = ["X"] if continuation else []  # ##lin, whatever the label of berlin
        assert tags == [["O", None, *pieces, None], ["B-LOC", *pieces, "O", "O"]]
        assert rows.target("intent", "sequence", [0, 1], 8).tolist() == [IGNORE, 0]


def test_pieces_after_the_first_are_a_class_of_their_own(make_featurizer):
    example = Example(("berlin", "in", "the"), ("B-LOC", "O", "O"))
    task = Tags.from_examples([example], True)
    rows = encode_rows([example], make_featurizer("pieces", alignment="x"), task)
    labels = task.outputs[0].labels
    found = [labels[i] for i in rows.targets[0]["tags"]]
    assert found == ["B-LOC", "X", "O", "O"]  # ber ##lin in the
    np.testing.assert_array_equal(rows.word_starts([0]), [0, 2, 3])


@pytest.mark.parametrize("size", [1, 7, 64, 500])
@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_hold_every_row_once(size, shuffle):
    lengths = np.random.default_rng(0).integers(1, 60, 333)
    batches = bucketed_batches(lengths, size, np.random.default_rng(1) if shuffle else None)
    assert sorted(np.concatenate(batches)) == list(range(333))
    assert [len(b) for b in batches if len(b) != size] == ([333 % size] if 333 % size else [])


def test_batches_hold_rows_of_like_length_in_random_order():
    lengths = np.random.default_rng(0).integers(1, 60, 600)
    batches = bucketed_batches(lengths, 8, np.random.default_rng(1))
    padded = sum(lengths[b].max() * len(b) for b in batches)
    assert padded < 1.15 * lengths.sum()  # about twice in random batches
    means = [lengths[b].mean() for b in batches]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.5
    other = bucketed_batches(lengths, 8, np.random.default_rng(2))
    assert [b.tolist() for b in batches] != [b.tolist() for b in other]
    again = bucketed_batches(lengths, 8, np.random.default_rng(1))
    assert [b.tolist() for b in batches] == [b.tolist() for b in again]


def test_without_a_generator_the_batches_are_in_order_of_length():
    lengths = np.array([5, 1, 4, 1, 9])
    assert [b.tolist() for b in bucketed_batches(lengths, 2, None)] == [[1, 3], [2, 0], [4]]
