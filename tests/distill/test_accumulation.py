"""An update of several batches is that of one batch of all their rows, whatever each selects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from tfdistil.distill.accumulation import UpdateBatches, weight_key
from tfdistil.distill.distiller import Distiller
from tfdistil.distill.optimizer import make_optimizer
from tfdistil.distill.streams import Batch, RowStream, StreamBatches
from tfdistil.distill.terms import bind_terms
from tfdistil.encoders import scratch_encoder
from tfdistil.recipe.schema.stages import OptimizerSpec, TermSpec
from tfdistil.tasks import IGNORE

ROWS, BATCH, UPDATES = 16, 4, 3
VOCABULARY, LAYERS = 20, [[1, 1, 2], [2, 3, 4]]
SETS: dict[str, list[dict[str, Any]]] = {
    "pieces": [
        {"loss": "softened_cross_entropy", "head": "pieces", "weight": 5, "target": "mlm"},
        {"loss": "hidden_cosine"},
        {"loss": "masked_lm", "head": "pieces", "weight": 2},
    ],
    "layers": [
        {"loss": "attention_mse", "layers": LAYERS},
        {"loss": "states_mse", "layers": LAYERS, "weight": 3},
    ],
    "words": [
        {"loss": "cross_entropy", "head": "labels"},
        {"loss": "logit_mse", "head": "labels", "weight": 0.5},
    ],
    "paths": [
        {"loss": "crf_nll", "head": "paths"},
        {"loss": "cross_entropy", "head": "labels"},
    ],
}

LONG = ("pieces", "paths")
"""Pieces are there with weights that are learnt, too."""


@dataclass(frozen=True)
class Text:
    """Rows whose masks, unknown labels and teacher logits are their own, not their batch's."""

    stream: RowStream
    labels: int

    @property
    def lengths(self) -> np.ndarray:
        return self.stream.lengths

    def epoch_rows(self, generator: np.random.Generator) -> np.ndarray:
        return self.stream.epoch_rows(generator)

    def inputs(self, chosen: Any) -> Batch:
        return self.stream.inputs(chosen)

    def batch(self, chosen: Any, generator: np.random.Generator) -> Batch:
        batch = self.stream.batch(chosen, generator)
        mlm, tags = (np.full(batch[at].shape, IGNORE, np.int32) for at in ("input_ids", "tokens"))
        teacher = np.zeros((*tags.shape, self.labels), np.float32)
        for i, row in enumerate(chosen):
            draw = np.random.default_rng(int(row))
            masked = draw.random(64)[: mlm.shape[1]] < draw.choice([0.05, 0.6])
            masked &= batch["attention_mask"][i] == 1
            mlm[i] = np.where(masked, batch["input_ids"][i], IGNORE)
            if row % 3:
                tags[i] = batch["target/tags"][i]
            teacher[i] = draw.normal(size=(64, self.labels))[: tags.shape[1]]
        ids = np.where(mlm >= 0, 4, batch["input_ids"])
        return {
            **batch,
            "input_ids": ids,
            "target/mlm": mlm,
            "target/tags": tags,
            "teacher/logits/tags": teacher,
        }


@pytest.fixture(scope="module")
def text(make_examples, make_rows, task, labels) -> Text:
    return Text(RowStream(make_rows(make_examples(ROWS, seed=5)), task.outputs), labels)


def encoder(task, layers: int, seed: int):
    """Random weights, far from 0, no dropout."""
    (output,) = task.outputs
    crf = {"kind": "crf", "labels": list(output.labels)}
    made = scratch_encoder(
        VOCABULARY,
        hidden_dim=8,
        layers=layers,
        attention_heads=2,
        max_positions=48,
        outputs={"tags": ("word", len(output.labels))},
        heads={"labels": "linear", "paths": crf, "pieces": "mlm"},
        seed=seed,
        dropout=0.0,
        embedding_dropout=0.0,
        head_dropout=0.0,
        attention=True,
    )
    draw = np.random.default_rng(seed)
    for weight in made.weights:
        if len(weight.shape) == 2:
            weight.assign(draw.normal(0, 0.4, weight.shape))
    return made


def terms_of(name: str, task):
    specs = [TermSpec(stream="train", **spec) for spec in SETS[name]]
    return bind_terms(specs, task.outputs, "labels" if name in ("pieces", "layers") else "logits")


def trained(name: str, text: Text, task, accumulate: int, weighting="fixed", alike=False):
    """What learns after some updates of all rows, in so many batches; ``alike``: not weighed."""
    student = encoder(task, 2, seed=1)
    terms = terms_of(name, task)
    if name == "pieces":
        terms[0] = replace(terms[0], teacher=("pieces/mlm",))
    teacher = encoder(task, 4, seed=2) if any(term.on_subwords for term in terms) else None
    distiller = Distiller(student, terms, weighting, teacher)
    learned = [*distiller.term_parameters.values()]
    # Adam divides by gradients, and would make rounding errors of small ones as large as the rate.
    spec = OptimizerSpec(learning_rate=0.1, schedule="linear", warmup=0.3, clip=1.0, epsilon=0.1)
    optimizer = make_optimizer(spec, UPDATES, student.layer_groups(), learned, accumulate)
    distiller.compile(optimizer=optimizer, jit_compile=False)
    optimizer.build(distiller.trainable_variables)
    batches: Any = StreamBatches({"train": text}, ROWS // accumulate, seed=3)
    if accumulate > 1 and not alike:
        of_model = distiller.signals_of_model(next(iter(batches)))
        batches = UpdateBatches(batches, accumulate, lambda b: distiller.counts(b, of_model))
    steps = UPDATES * accumulate
    distiller.fit(batches.dataset(), steps_per_epoch=steps, shuffle=False, verbose=0)
    assert int(optimizer.iterations) == UPDATES
    return [np.array(weight) for weight in distiller.trainable_variables]


@pytest.mark.parametrize(
    ("name", "weighting"),
    [
        *(pytest.param(n, "fixed", marks=pytest.mark.long if n in LONG else ()) for n in SETS),
        ("pieces", "uncertainty"),
    ],
)
def test_an_update_of_four_batches_is_that_of_all_rows_at_once(text, task, name, weighting):
    whole = trained(name, text, task, 1, weighting)
    parts = trained(name, text, task, ROWS // BATCH, weighting)
    for one, other in zip(whole, parts, strict=True):
        # Rounding alone: 2e-6 on one processor, 2e-5 on another; a wrong update is 1e-3 off, below.
        np.testing.assert_allclose(other, one, atol=1e-4)


def test_batches_that_weigh_alike_make_another_update(text, task):
    whole, alike = (trained("pieces", text, task, n, alike=True) for n in (1, ROWS // BATCH))
    apart = max(np.abs(one - other).max() for one, other in zip(whole, alike, strict=True))
    assert apart > 1e-3


def counts_of(batch):
    selected = batch["train"]["target/mlm"] >= 0
    return {"train": {"lm": float(selected.sum()), "texts": float(len(selected))}}


@pytest.mark.parametrize("accumulate", [1, 3, 4])
def test_weighted_means_are_the_mean_over_an_update(text, accumulate):
    batches = UpdateBatches(StreamBatches({"train": text}, 5, seed=1), accumulate, counts_of)
    drawn = [batch["train"] for batch in islice(batches, 3 * accumulate)]
    sizes = set()
    for start in range(0, len(drawn), accumulate):
        update = drawn[start : start + accumulate]
        values = [batch["input_ids"][batch["target/mlm"] >= 0] for batch in update]
        weights = [batch[weight_key("lm")] for batch in update]
        means = [one.mean() if len(one) else 0.0 for one in values]
        assert np.mean(np.multiply(weights, means)) == pytest.approx(
            np.concatenate(values).mean(), rel=1e-6
        )
        sizes |= {float(weight) for weight in weights}
    assert accumulate == 1 or len(sizes) > 2  # they do not select alike


def test_an_update_that_selects_nothing_weighs_nothing(text):
    none = UpdateBatches(
        StreamBatches({"train": text}, 5, seed=1), 2, lambda batch: {"train": {"lm": 0.0}}
    )
    assert [batch["train"][weight_key("lm")] for batch in islice(none, 4)] == [0, 0, 0, 0]


@pytest.mark.parametrize("first", [1, 3, 5, 8])
def test_an_interrupted_update_goes_on_with_the_weights_it_began_with(text, first):
    batches = UpdateBatches(StreamBatches({"train": text}, 5, seed=1), 3, counts_of)
    later = replace(batches, batches=replace(batches.batches, first=first))
    whole = list(islice(batches, first + 4))[first:]
    for one, other in zip(whole, islice(later, 4), strict=True):
        for name, array in one["train"].items():
            np.testing.assert_array_equal(other["train"][name], array, err_msg=name)
