"""Terms computed at chosen pieces are those computed at all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tfdistil.distill.distiller import Distiller
from tfdistil.distill.places import places_key, places_of
from tfdistil.distill.terms import bind_terms
from tfdistil.encoders import scratch_encoder
from tfdistil.recipe.schema.stages import TermSpec
from tfdistil.tasks import IGNORE

VOCABULARY, ROWS, TIME = 30, 5, 12
SOFT = {"loss": "softened_cross_entropy", "temperature": 2.0, "weight": 5}
COSINE = {"loss": "hidden_cosine"}
MASKED = {"loss": "masked_lm", "weight": 2}
LAYERS = {"loss": "states_mse", "layers": [[1, 1, 2], [2, 3, 4]]}
MASKED_ONLY = {"target": "mlm"}
SETS: dict[str, tuple[list[dict[str, Any]], bool]] = {  # and whether models score the places alone
    "a language model": ([MASKED], True),
    "eliquare": ([SOFT, COSINE, MASKED], False),
    "eliquare at masked pieces": ([SOFT | MASKED_ONLY, COSINE | MASKED_ONLY, MASKED], True),
    "hidden states everywhere": ([COSINE, MASKED, SOFT | MASKED_ONLY], True),
    "layers": ([LAYERS, MASKED], True),
    "no scores": ([COSINE | MASKED_ONLY], False),
}


def encoder(layers: int, seed: int):
    return scratch_encoder(
        VOCABULARY,
        hidden_dim=8,
        layers=layers,
        attention_heads=2,
        max_positions=TIME,
        heads={"pieces": "mlm"},
        seed=seed,
        dropout=0.0,
        embedding_dropout=0.0,
    )


def batch_of(share: float) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(3)
    ids = draw.integers(5, VOCABULARY, (ROWS, TIME)).astype(np.int32)
    mask = (np.arange(TIME) < np.array([[12], [9], [12], [3], [7]])).astype(np.int32)
    chosen = (draw.random(ids.shape) < share) & (mask == 1)
    return {
        "input_ids": np.where(chosen, 4, ids),
        "attention_mask": mask,
        "target/mlm": np.where(chosen, ids, IGNORE).astype(np.int32),
        places_key("mlm"): places_of(chosen, share),
    }


def loss_and_gradients(specs: list[dict[str, Any]], batch: dict[str, np.ndarray]):
    terms = bind_terms(
        [TermSpec(stream="text", head="pieces", **spec) for spec in specs], (), "pieces"
    )
    teacher = encoder(4, seed=2) if any(term.teacher for term in terms) else None
    distiller = Distiller(encoder(2, seed=1), terms, teacher=teacher)
    with tf.GradientTape() as tape:
        signals = distiller({"text": batch}, training=True)
        loss = distiller.compute_loss({"text": batch}, y_pred=signals)
    scores = signals["text"]["pieces/mlm"].shape
    return float(loss), tape.gradient(loss, distiller.trainable_variables), scores


@pytest.mark.parametrize("share", [0.3, 0.0])
@pytest.mark.parametrize("name", SETS)
def test_loss_and_gradients_are_those_of_all_pieces(name, share):
    specs, alone = SETS[name]
    batch = batch_of(share)
    loss, gradients, scores = loss_and_gradients(specs, batch)
    everywhere = {key: value for key, value in batch.items() if key != places_key("mlm")}
    expected, others, whole = loss_and_gradients(specs, everywhere)
    assert whole == (ROWS, TIME, VOCABULARY)
    assert scores == ((64, VOCABULARY) if alone else whole)
    assert loss == pytest.approx(expected, rel=1e-5, abs=1e-7)
    for one, other in zip(gradients, others, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            one, other = (tf.convert_to_tensor(value).numpy() for value in (one, other))
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("count", "share", "length"), [(0, 0.1, 64), (64, 0.1, 64), (65, 0, 128)])
def test_places_are_those_chosen_then_none(count, share, length):
    chosen = np.zeros((20, 30), bool)
    chosen.flat[np.random.default_rng(1).choice(600, count, replace=False)] = True
    places = places_of(chosen, share)
    assert places.dtype == np.int32
    assert len(places) == length
    np.testing.assert_array_equal(places[:count], np.flatnonzero(chosen))
    assert (places[count:] == -1).all()
