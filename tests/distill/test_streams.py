"""What a stage draws its batches from: every row once per pass, in an order the seed decides."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from tfdistil.distill import streams
from tfdistil.distill.signals import load_signals, store_signals
from tfdistil.distill.streams import RowStream, StreamBatches, concatenate_rows
from tfdistil.tasks import IGNORE


@pytest.fixture
def make_stream(make_examples, make_rows):
    """``(number, seed, **options)`` to a stream; its ids tell its rows apart."""

    def make(number: int, seed: int, **options) -> RowStream:
        return RowStream(make_rows(make_examples(number, seed)), **options)

    return make


def drawn(batches: StreamBatches, count: int) -> dict[str, list[list[tuple[int, ...]]]]:
    """The sentences of so many batches of each stream, as their ids without padding."""
    found: dict[str, list[list[tuple[int, ...]]]] = {key: [] for key in batches.streams}
    for batch in itertools.islice(batches, count):
        for key, part in batch.items():
            rows = zip(part["input_ids"], part["attention_mask"], strict=True)
            found[key].append([tuple(ids[mask == 1].tolist()) for ids, mask in rows])
    return found


def sentences(stream: RowStream) -> list[tuple[int, ...]]:
    return sorted(tuple(w.inputs["input_ids"].tolist()) for w in stream.rows.windows)


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_pass_has_every_row_once(make_stream, shuffle):
    stream = make_stream(23, seed=1)
    batches = StreamBatches({"a": stream}, 5, seed=3, shuffle=shuffle)
    assert batches.steps == 5
    found = drawn(batches, 10)["a"]
    for part in (found[:5], found[5:]):
        assert sorted(itertools.chain(*part)) == sentences(stream)
    assert (found[:5] == found[5:]) != shuffle


def test_where_each_shape_is_compiled_the_end_of_a_pass_begins_the_next(make_stream, monkeypatch):
    monkeypatch.setattr(streams, "_WHOLE", True)
    stream = make_stream(23, seed=1)
    batches = StreamBatches({"a": stream, "tiny": make_stream(3, seed=2)}, 5, seed=3)
    found = drawn(batches, 46)
    assert {len(batch) for batch in found["a"]} == {5}
    assert {len(batch) for batch in found["tiny"]} == {3}  # there are no more
    rows = list(itertools.chain(*found["a"]))
    assert sorted(rows) == sorted(10 * sentences(stream))
    later = dataclasses.replace(batches, first=20)
    assert drawn(later, 26)["a"] == found["a"][20:]


def test_the_shorter_stream_cycles_shuffled_afresh(make_stream):
    streams = {"long": make_stream(40, seed=1), "short": make_stream(12, seed=2)}
    batches = StreamBatches(streams, 4, seed=3)
    assert batches.steps == 10
    found = drawn(batches, 12)
    assert sorted(itertools.chain(*found["long"][:10])) == sentences(streams["long"])
    passes = [found["short"][i : i + 3] for i in range(0, 12, 3)]
    for part in passes:
        assert sorted(itertools.chain(*part)) == sentences(streams["short"])
    assert len({str(part) for part in passes}) == 4


def test_the_order_is_the_seeds(make_stream):
    streams = {"a": make_stream(30, seed=1), "b": make_stream(30, seed=1)}
    first = drawn(StreamBatches(streams, 4, seed=3), 20)
    assert drawn(StreamBatches(streams, 4, seed=3), 20) == first
    assert drawn(StreamBatches(streams, 4, seed=4), 20) != first
    assert first["a"] != first["b"]  # the same rows, but not in step


def noise(batch, words, generator):
    """Ids that none of the others have, drawn afresh."""
    drawn = generator.integers(100, 2**31 - 1, batch["input_ids"].shape)
    ids = np.where(batch["attention_mask"] == 1, drawn, 0)
    return {**batch, "input_ids": ids.astype(np.int32)}


@pytest.mark.parametrize("first", [0, 1, 5, 6, 17, 40])
@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_from_any_number_on_are_those_that_would_have_come(make_stream, first, shuffle):
    """In the midst of a pass of each stream or at its end, with the same noise."""
    streams = {
        "noisy": make_stream(40, seed=1, noise=(noise,)),
        "plain": make_stream(22, seed=2),
        "short": make_stream(3, seed=3, noise=(noise,)),
    }
    whole = drawn(StreamBatches(streams, 4, seed=3, shuffle=shuffle), 60)
    later = drawn(StreamBatches(streams, 4, seed=3, shuffle=shuffle, first=first), 60 - first)
    assert later == {key: batches[first:] for key, batches in whole.items()}


def test_noise_is_another_in_every_batch_and_stream(make_stream):
    """Nor is it the generator of the order."""
    streams = {key: make_stream(8, seed=1, noise=(noise,)) for key in "ab"}
    found = drawn(StreamBatches(streams, 4, seed=3), 50)
    first = [batch[0][0] for batches in found.values() for batch in batches if batch[0]]
    assert len(set(first)) == len(first) == 100


def test_what_is_passed_over_is_not_made(make_stream, monkeypatch):
    made = []
    batch = RowStream.batch
    monkeypatch.setattr(RowStream, "batch", lambda *args: made.append(1) or batch(*args))
    next(iter(StreamBatches({"a": make_stream(40, seed=1)}, 4, seed=3, first=1000)))
    assert len(made) == 1


def test_without_shuffling_rows_come_in_order_of_length(make_stream):
    batches = StreamBatches({"a": make_stream(30, seed=1)}, 4, seed=3, shuffle=False)
    lengths = [len(ids) for part in drawn(batches, batches.steps)["a"] for ids in part]
    assert lengths == sorted(lengths)


def test_a_pool_is_its_parts_in_order(make_examples, make_rows, task):
    parts = [make_examples(n, seed=n, longest=25) for n in (5, 1, 8)]
    pooled = concatenate_rows([make_rows(part, max_length=10) for part in parts])
    whole = make_rows([e for part in parts for e in part], max_length=10)
    assert len(pooled) == len(whole)
    for name in ("example", "first_token", "token_counts", "lengths"):
        np.testing.assert_array_equal(getattr(pooled, name), getattr(whole, name))
    chosen = np.arange(len(whole))
    for rows in (pooled, whole):
        target = rows.target("tags", "word", chosen, 16)
        for index, mine in enumerate(rows.rows_of()):
            gold = task.targets([e for part in parts for e in part][index])["tags"]
            np.testing.assert_array_equal(target[mine][target[mine] != IGNORE], gold)
    assert concatenate_rows([whole]) is whole


def test_a_batch_has_targets_signals_and_noise(make_examples, make_rows, task, teacher, tmp_path):
    examples = make_examples(9, seed=1)
    folders = {tmp_path / "c": ["logits/tags"]}
    store_signals(teacher.model, make_rows(examples, "words"), folders)
    rows = make_rows(examples)
    seen = []

    def noise(batch, words, generator):
        assert words == [examples[2].words, examples[5].words]
        seen.append(sorted(batch))
        ids = np.where(batch["attention_mask"] == 1, generator.integers(5, 9), 0)
        return {**batch, "input_ids": ids.astype(np.int32)}

    stream = RowStream(rows, task.outputs, load_signals(tmp_path / "c", rows), (noise,))
    generator = np.random.default_rng(0)
    first, second = (stream.batch([2, 5], generator) for _ in range(2))
    inputs = rows.inputs([2, 5])
    assert set(first) == {*inputs, "target/tags", "teacher/logits/tags"}
    assert "target/tags" in seen[0]
    np.testing.assert_array_equal(
        first["target/tags"], rows.target("tags", "word", [2, 5], inputs["tokens"].shape[1])
    )
    # The signals are those of the text as it was, whatever the noise did to it.
    np.testing.assert_array_equal(first["teacher/logits/tags"], second["teacher/logits/tags"])
    draws = [stream.batch([2, 5], generator)["input_ids"].tolist() for _ in range(8)]
    assert len({str(ids) for ids in draws}) > 1  # drawn afresh


def test_the_dataset_is_the_iterator_with_open_shapes(make_stream, task):
    streams = {"a": make_stream(20, seed=1, outputs=task.outputs), "b": make_stream(7, seed=2)}
    batches = StreamBatches(streams, 4, seed=3)
    dataset = batches.dataset()
    assert not dataset.options().autotune.enabled  # see the comment there
    for spec in dataset.element_spec["a"].values():
        assert spec.shape.as_list() == [None, None]
    for found, expected in zip(dataset.take(12), batches, strict=False):
        for key, part in expected.items():
            assert set(found[key]) == set(part)
            for name, array in part.items():
                np.testing.assert_array_equal(found[key][name], array)
                assert found[key][name].dtype == array.dtype
