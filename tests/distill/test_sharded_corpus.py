"""A corpus in memory-mapped shards: all that streams, stored signals and stages ask for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tfdistil.distill.rows import bucketed_batches
from tfdistil.distill.signals import LiveSignals, load_signals, store_signals
from tfdistil.distill.stage import run_stage
from tfdistil.distill.streams import RowStream
from tfdistil.recipe.schema.stages import OptimizerSpec, StageSpec, StopSpec, TermSpec

SHARD = 7
"""Texts in a file, of which there are several then."""
NAMES = ("input_ids", "tokens", "tags")


def write_shards(rows, folder: Path) -> Path:
    """Each shard: the numbers of its texts one after another, and where each text begins."""
    folder.mkdir()
    for shard, start in enumerate(range(0, len(rows), SHARD)):
        some = range(start, min(start + SHARD, len(rows)))
        parts = {
            "input_ids": [rows.windows[row].inputs["input_ids"] for row in some],
            "tokens": [rows.windows[row].tokens for row in some],
            "tags": [rows.targets[row]["tags"] for row in some],
        }
        for name, arrays in parts.items():
            np.save(folder / f"{shard}.{name}.npy", np.concatenate(arrays).astype(np.int32))
            ends = np.cumsum([0, *map(len, arrays)])
            np.save(folder / f"{shard}.{name}.ends.npy", ends)
    return folder


class Shards:
    """Texts on disk, one row each; only what a batch needs is read."""

    def __init__(self, folder: Path):
        count = len(list(folder.glob("*.tags.npy")))
        self.read = 0
        self.data = [
            {name: np.load(folder / f"{n}.{name}.npy", mmap_mode="r") for name in NAMES}
            for n in range(count)
        ]
        self.ends = [
            {name: np.load(folder / f"{n}.{name}.ends.npy") for name in NAMES} for n in range(count)
        ]
        self.lengths = self._sizes("input_ids")
        self.token_counts = self._sizes("tokens")
        self.example = np.arange(len(self.lengths))

    def _sizes(self, name: str) -> np.ndarray:
        return np.concatenate([np.diff(ends[name]) for ends in self.ends])

    def _of(self, name: str, row: int) -> np.ndarray:
        shard, place = divmod(int(row), SHARD)
        start, end = self.ends[shard][name][place : place + 2]
        self.read += 1
        return self.data[shard][name][start:end]

    def token_range(self, row: int) -> slice:
        return slice(0, int(self.token_counts[row]))

    def words(self, rows):
        raise AssertionError("no noise here needs them")

    def inputs(self, rows):
        longest = (sizes[rows].max() for sizes in (self.lengths, self.token_counts))
        time, tokens = (max(8, -(-length // 8) * 8) for length in longest)  # as in memory
        batch = {
            name: np.zeros((len(rows), size), np.int32)
            for name, size in (
                ("input_ids", time),
                ("attention_mask", time),
                ("tokens", tokens),
                ("token_mask", tokens),
            )
        }
        for i, row in enumerate(rows):
            ids, places = self._of("input_ids", row), self._of("tokens", row)
            batch["input_ids"][i, : len(ids)] = ids
            batch["attention_mask"][i, : len(ids)] = 1
            batch["tokens"][i, : len(places)] = places
            batch["token_mask"][i, : len(places)] = 1
        return batch

    def target(self, output, level, rows, tokens):
        found = np.full((len(rows), tokens), -1, np.int32)
        for i, row in enumerate(rows):
            ids = self._of("tags", row)
            found[i, : len(ids)] = ids
        return found


@pytest.fixture
def rows(make_examples, make_rows):
    return make_rows(make_examples(30, seed=1))


@pytest.fixture
def shards(rows, tmp_path):
    return Shards(write_shards(rows, tmp_path / "shards"))


@pytest.fixture
def teacher_rows(make_examples, make_rows):
    return make_rows(make_examples(30, seed=1), "words")


def test_a_batch_is_that_of_the_same_texts_in_memory(rows, shards, task):
    chosen = [20, 3, 8]
    batches = [
        RowStream(some, task.outputs).batch(chosen, np.random.default_rng(0))
        for some in (rows, shards)
    ]
    assert batches[0].keys() == batches[1].keys()
    for name, array in batches[0].items():
        np.testing.assert_array_equal(array, batches[1][name])
    assert shards.read == 9


def test_signals_are_stored_for_shards_and_of_them(
    teacher, make_tagger, rows, shards, teacher_rows, tmp_path
):
    """The student's rows are on disk; so may be the teacher's, here a tagger that reads them."""
    store_signals(teacher.model, teacher_rows, ["logits/tags"], tmp_path / "one")
    stored = load_signals(tmp_path / "one", shards)
    live = LiveSignals(teacher.model, teacher_rows, ["logits/tags"])
    chosen = np.array([4, 0, 29, 17])
    inputs = shards.inputs(chosen)
    found = [s.batch(shards, chosen, inputs)["logits/tags"] for s in (stored, live)]
    np.testing.assert_allclose(*found, atol=1e-5)

    tagger = make_tagger().model
    for name, some in (("memory", rows), ("disk", shards)):
        store_signals(tagger, some, ["labels/tags"], tmp_path / name)
    kept = [np.load(tmp_path / name / "labels.tags.npy") for name in ("memory", "disk")]
    np.testing.assert_allclose(*kept, atol=1e-6)


def test_a_stage_learns_from_shards_what_it_learns_from_memory(
    teacher, make_tagger, make_examples, rows, shards, teacher_rows, task, bind_with, tmp_path
):
    spec = StageSpec(
        name="s",
        terms=[TermSpec(loss="cross_entropy"), TermSpec(loss="logit_mse", weight=0.1)],
        optimizer=OptimizerSpec(learning_rate=0.03),
        batch_size=8,
        stop=StopSpec(epochs=2, monitor="loss"),
    )
    store_signals(teacher.model, teacher_rows, ["logits/tags"], tmp_path / "c")
    ended, losses = [], []
    for some in (rows, shards):
        student = make_tagger().model
        stream = RowStream(some, task.outputs, load_signals(tmp_path / "c", some))
        (result,) = run_stage(
            bind_with(spec, student, teacher), {"train": stream}, seed=3, held_out=stream
        )
        assert result.updates == 2 * len(bucketed_batches(rows.lengths, 8, None))
        ended.append(student.get_weights())
        losses.append(result.best)
    assert losses[0] == losses[1]
    for one, other in zip(*ended, strict=True):
        np.testing.assert_array_equal(one, other)
