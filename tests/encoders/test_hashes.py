"""An encoder that reads hashes of whole words beside its pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from keras import ops

from tfdistil.encoders import Encoder, load_encoder, save_encoder
from tfdistil.errors import CheckpointError

TAGS = {"tags": ("word", 3)}
LABELS = {"tags": ["a", "b", "c"]}
HASHED = {"hashed_dim": 5, "features": 16}


@pytest.fixture
def hashes(batch) -> dict[str, np.ndarray]:
    fingerprint = np.random.default_rng(1).integers(0, 256, (3, 6, 4)).astype("uint8")
    return {**batch, "fingerprint": fingerprint}


def scores(encoder: Encoder, batch) -> np.ndarray:
    return ops.convert_to_numpy(encoder(batch)["logits/tags"])


def trained(encoder: Encoder) -> Encoder:
    """With weights that let hashes through."""
    kernel = encoder.hashed_words.out.kernel
    kernel.assign(np.random.default_rng(2).normal(size=kernel.shape))
    return encoder


def test_it_begins_as_the_encoder_without_them(tiny, hashes):
    plain, hashed = tiny(outputs=TAGS), tiny(outputs=TAGS, **HASHED)
    np.testing.assert_array_equal(scores(plain, hashes), scores(hashed, hashes))


def test_what_is_added_is_the_formula(tiny, hashes):
    """Hidden states 0 are embeddings + U relu(W f + b), f of two bits each: 0, 1, -1, 0."""
    plain, hashed = tiny(outputs=TAGS), trained(tiny(outputs=TAGS, **HASHED))
    bits = (hashes["fingerprint"][..., None] >> np.array([0, 2, 4, 6])) & 3
    f = np.array([0.0, 1.0, -1.0, 0.0])[bits].reshape(3, 6, 16)
    words, out = hashed.hashed_words.words.dense, hashed.hashed_words.out
    bottleneck = np.maximum(f @ np.array(words.kernel) + np.array(words.bias), 0)
    expected = np.array(plain(hashes)["hidden/0"]) + bottleneck @ np.array(out.kernel)
    np.testing.assert_allclose(np.array(hashed(hashes)["hidden/0"]), expected, atol=1e-5)


def test_its_weights_learn_with_the_heads(tiny):
    encoder = tiny(outputs=TAGS, **HASHED)
    (name, top), *_ = encoder.layer_groups()
    assert name == "heads"
    assert {id(w) for w in encoder.hashed_words.weights} < {id(w) for w in top}
    groups = [weight for _, weights in encoder.layer_groups() for weight in weights]
    assert {id(w) for w in groups} == {id(w) for w in encoder.weights}
    assert len(groups) == len(encoder.weights)


def test_inputs_and_arguments(tiny):
    encoder = tiny(outputs=TAGS, **HASHED)
    *_, spec = encoder.input_specs(6, 2)
    assert (spec.name, spec.shape, spec.dtype) == ("fingerprint", (2, 6, 4), "uint8")
    for wrong in ({"hashed_dim": 4}, {"features": 8}):
        with pytest.raises(ValueError, match="hashed_dim and features go together"):
            tiny(outputs=TAGS, **wrong)
    again = Encoder.from_config(encoder.get_config())
    assert [w.shape for w in again.weights] == [w.shape for w in encoder.weights]


def test_saved_and_loaded(tiny, hashes, tmp_path: Path):
    encoder = trained(tiny(outputs=TAGS, **HASHED))
    save_encoder(encoder, tmp_path, LABELS)
    again = load_encoder(tmp_path, TAGS, labels=LABELS, seed=9, **HASHED)
    np.testing.assert_array_equal(scores(encoder, hashes), scores(again, hashes))
    with pytest.raises(CheckpointError, match=r"unexpected: hashed_words\.dense\.bias.*give its h"):
        load_encoder(tmp_path, TAGS, labels=LABELS)
    with pytest.raises(CheckpointError, match=r"hashed_words\.dense\.weight is"):
        load_encoder(tmp_path, TAGS, labels=LABELS, hashed_dim=5, features=32)


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta"])
def test_a_checkpoint_without_them_gets_new_ones(saved, hashes, family: str):
    folder = saved(family)
    outputs = {"out": ("word", 3)}
    plain = load_encoder(folder, outputs)(hashes)["logits/out"]
    hashed = load_encoder(folder, outputs, **HASHED)(hashes)["logits/out"]
    np.testing.assert_array_equal(np.array(plain), np.array(hashed))
