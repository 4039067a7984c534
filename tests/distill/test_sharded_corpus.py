"""A corpus in shards on disk: what streams, masking, stored signals and stages make of it."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace

import numpy as np
import pytest

from tfdistil.distill.bound_stage import bind_stage
from tfdistil.distill.masking import mask_piece, mask_pieces, piece_counts
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.schedule import Schedule
from tfdistil.distill.sets import Shelf, count_set, encode_set
from tfdistil.distill.signals import LiveSignals, load_signals, store_signals
from tfdistil.distill.streams import RowStream, StreamBatches
from tfdistil.encoders import scratch_encoder
from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import (
    NoiseSpec,
    OptimizerSpec,
    StageSpec,
    StopSpec,
    TermSpec,
)
from tfdistil.shards.parts import Parts
from tfdistil.shards.text import Balance, TextCorpus, TextFile, TextPart

LENGTHS = {"long": 300, "short": 20}


@pytest.fixture
def corpus(make_examples, tmp_path):
    """Two languages of the same words, of which one has little text; a line is a row."""
    files = []
    for language, number in LENGTHS.items():
        lines = [" ".join(e.words) for e in make_examples(number, seed=number) if e.words]
        path = tmp_path / f"{language}.txt"
        path.write_text("\n".join(lines), encoding="utf-8")
        files.append(TextFile(path, language=language))
    return TextCorpus(tuple(files), Parts(held_out=0.2, seed=1), joined=False)


@pytest.fixture
def make_encoder(make_featurizer, make_tagger):
    """A masked language model of width 8 that reads pieces."""

    def make(seed=1):
        featurizer = make_featurizer("pieces", alignment="x", token_types=True)
        model = scratch_encoder(
            featurizer.tokenizer.get_vocab_size(),
            hidden_dim=8,
            layers=1,
            max_positions=48,
            heads={"logits": "mlm"},
            seed=seed,
        )
        return replace(make_tagger(), model=model, featurizer=featurizer)

    return make


def rows_of(corpus, name, featurizer, tmp_path):
    return encode_set(TextPart(corpus, name), featurizer, None, Shelf(tmp_path / "cache"))


def drawn(stream, batch_size, seed, count):
    batches = StreamBatches({"a": stream}, batch_size, seed)
    return [batch["a"] for batch in itertools.islice(batches, count)]


def test_a_pass_has_the_shares_of_its_languages(corpus, make_encoder, tmp_path):
    balanced = replace(corpus, balance=Balance("long", "short", 1.5))
    featurizer = make_encoder().featurizer
    rows = rows_of(balanced, "corpus", featurizer, tmp_path)
    seen = []

    class Noting(RowStream):
        def batch(self, chosen, generator):
            seen.append(chosen)
            return super().batch(chosen, generator)

    passes = []
    steps = -(-len(rows) // 8)
    for seed in (3, 3, 4):
        drawn(Noting(rows), 8, seed, 2 * steps)
        passes.append(seen[:])
        seen.clear()
    counts = np.bincount(rows.language[np.concatenate(passes[0][:steps])])
    assert counts.sum() == len(rows)
    assert counts[0] == pytest.approx(0.6 * len(rows), abs=1)
    same = [[batch.tolist() for batch in one] for one in passes]
    assert same[0] == same[1]
    assert same[0] != same[2]
    assert same[0][:steps] != same[0][steps:]  # another part of the long one in the next pass
    spread = [np.ptp(rows.lengths[batch]) for batch in passes[0]]
    assert np.mean(spread) < 0.2 * np.ptp(rows.lengths)  # rows of like length come together


def test_masks_are_fresh_in_training_and_the_same_at_every_check(corpus, make_encoder, tmp_path):
    featurizer = make_encoder().featurizer
    special = frozenset((mask_piece(featurizer), *featurizer.special_ids()))
    vocabulary = featurizer.tokenizer.get_vocab_size()
    mask = mask_pieces(mask_piece(featurizer), vocabulary, special)
    rows = rows_of(corpus, "corpus_held_out", featurizer, tmp_path)
    stream = RowStream(rows, noise=(mask,))
    checks = [
        [b["a"]["input_ids"] for b in itertools.islice(batches, batches.steps)]
        for batches in [StreamBatches({"a": stream}, 8, seed=0, shuffle=False)] * 2
    ]
    for one, other in zip(*checks, strict=True):
        np.testing.assert_array_equal(one, other)
    steps = len(checks[0])
    (first, second) = (b["target/mlm"] for b in drawn(stream, len(rows), 0, 2))
    assert (first != second).any()
    assert steps == -(-len(rows) // 8)


def test_pieces_of_rows_are_counted_as_those_of_the_text(corpus, make_encoder, tmp_path):
    """What smoothing reads off the words of a stage is what its shards hold."""
    featurizer = make_encoder().featurizer
    rows = rows_of(corpus, "corpus", featurizer, tmp_path)
    of_text = piece_counts(featurizer, (e.words for e in TextPart(corpus, "corpus")))
    of_rows = rows.piece_counts()
    of_rows[[featurizer.cls, featurizer.sep]] = 0
    np.testing.assert_array_equal(of_rows, of_text)
    assert of_text.sum() > 1000


class Reads:
    """How often the text of a corpus is gone through from here on."""

    def __init__(self, monkeypatch):
        self.number, lines = 0, TextCorpus.lines

        def counted(corpus):
            self.number += 1
            return lines(corpus)

        monkeypatch.setattr(TextCorpus, "lines", counted)


@pytest.mark.parametrize("name", ["corpus", "corpus_held_out"])
def test_pieces_are_counted_in_the_shards_once(corpus, make_encoder, tmp_path, monkeypatch, name):
    featurizer, part, bars = make_encoder().featurizer, TextPart(corpus, name), []

    def counter(what, total):
        bars.append(what)
        return lambda done: bars.append(done / total)

    shelf = Shelf(tmp_path / "cache", counter)
    expected = piece_counts(featurizer, (e.words for e in part))
    encode_set(part, featurizer, None, shelf)
    reads = Reads(monkeypatch)
    bars.clear()
    for _ in range(2):
        counts = count_set(part, featurizer, shelf)
        counts[[featurizer.cls, featurizer.sep]] = 0
        np.testing.assert_array_equal(counts, expected)
        assert bars == [f"counts of the pieces of {name}", 1]
    (kept,) = (tmp_path / "cache").glob(f"corpus-*/{name}.counts.npy")
    for damaged in (kept.read_bytes()[:-8], b"", b"PK", _saved(expected), _saved(expected * 1.0)):
        kept.write_bytes(damaged)
        np.testing.assert_array_equal(count_set(part, featurizer, shelf)[5:], expected[5:])
    assert len(bars) == 12
    assert reads.number == 0


def _saved(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_smoothing_reads_no_text_again(corpus, make_encoder, task, tmp_path, monkeypatch):
    models = {"encoder": make_encoder()}
    sets = {name: TextPart(corpus, name) for name in ("corpus", "corpus_held_out")}
    schedule = Schedule(models, sets, task, tmp_path, seed=3)
    batch = schedule.rows("encoder", "corpus").inputs(np.arange(8))
    (mask,) = schedule.check(stage()).noise.training
    reads = Reads(monkeypatch)
    masked = mask(batch, [], np.random.default_rng(1))
    assert (masked["target/mlm"] >= 0).any()
    assert reads.number == 0


def test_signals_are_stored_for_shards(corpus, make_encoder, tmp_path):
    teacher = make_encoder()
    rows = rows_of(corpus, "corpus", teacher.featurizer, tmp_path)
    memory = encode_rows(list(TextPart(corpus, "corpus")), teacher.featurizer, None)
    for name, some in (("disk", rows), ("memory", memory)):
        store_signals(teacher.model, some, {tmp_path / name: ["hidden/1"]})
    kept = [np.load(tmp_path / name / "hidden.1.npy") for name in ("disk", "memory")]
    np.testing.assert_allclose(*kept, atol=1e-5)
    stored = load_signals(tmp_path / "disk", rows)
    live = LiveSignals(teacher.model, rows, ["hidden/1"])
    chosen = np.array([4, 0, 29, 17])
    found = [s.batch(rows, chosen, rows.inputs(chosen))["hidden/1"] for s in (stored, live)]
    np.testing.assert_allclose(*found, atol=1e-5)


def stage(**changes):
    given = {
        "name": "mlm",
        "terms": [TermSpec(loss="masked_lm", stream="corpus", head="logits")],
        "teacher": None,
        "student": "encoder",
        "noise": [NoiseSpec(kind="masking", probability=0.3, smoothing=0.7)],
        "optimizer": OptimizerSpec(learning_rate=0.02),
        "batch_size": 16,
        "stop": StopSpec(epochs=2, monitor="loss", on="corpus_held_out"),
    }
    return StageSpec(**given | changes)


def test_a_stage_learns_from_shards_what_it_learns_from_memory(
    corpus, make_encoder, task, tmp_path
):
    ended, losses = [], []
    on_disk = {name: TextPart(corpus, name) for name in ("corpus", "corpus_held_out")}
    in_memory = {name: list(text) for name, text in on_disk.items()}
    for name, sets in (("disk", on_disk), ("memory", in_memory)):
        models, told = {"encoder": make_encoder()}, []
        (tmp_path / name).mkdir()
        schedule = Schedule(models, sets, task, tmp_path / name, seed=3, say=told.append)
        schedule.run([stage()])
        ended.append(models["encoder"].model.get_weights())
        losses.append(schedule.done["encoder"][0].best)
        assert bool(told) == (name == "disk")
    assert losses[0] == losses[1]
    for one, other in zip(*ended, strict=True):
        np.testing.assert_array_equal(one, other)
    (shards,) = (tmp_path / "disk" / "cache").iterdir()  # made once, for both sets
    before = (shards / "shards.json").stat().st_mtime_ns
    again = Schedule({"encoder": make_encoder()}, on_disk, task, tmp_path / "disk", seed=3)
    again.rows("encoder", "corpus")
    assert (shards / "shards.json").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"terms": [TermSpec(loss="masked_lm", stream=["corpus", "train"], head="logits")]},
            "draws from 'corpus': it is drawn from alone, not pooled with train",
        ),
        (
            {"noise": [NoiseSpec(kind="masking"), NoiseSpec(kind="word_dropout")]},
            "it has pieces and no words, which noise word_dropout changes",
        ),
        (
            {
                "teacher": "other",
                "terms": [
                    TermSpec(loss="masked_lm", stream="corpus", head="logits"),
                    TermSpec(
                        loss="logit_mse",
                        stream="corpus",
                        student_signal="hidden/1",
                        teacher_signal="hidden/1",
                    ),
                ],
            },
            "teacher and student have different tokenizers",
        ),
    ],
)
def test_what_a_stage_cannot_draw(
    corpus, make_encoder, teacher, make_examples, task, changes, text
):
    models = {"encoder": make_encoder(), "other": teacher}
    sets = {name: TextPart(corpus, name) for name in ("corpus", "corpus_held_out")}
    sets["train"] = make_examples(5, seed=1)
    with pytest.raises(RecipeError) as caught:
        bind_stage(stage(**changes), models, sets, task)
    assert text in str(caught.value)
