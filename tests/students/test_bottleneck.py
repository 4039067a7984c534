"""Bodies of a pQRNN and a mixer over word pieces; what every student must do is in the contract."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from tfdistil.distill.freezing import set_trainable
from tfdistil.students import PieceMixerStudent, PieceQrnnStudent
from tfdistil.text.projection.ternary import ternary_table

OUTPUTS = {"slots": ("word", 5), "intent": ("sequence", 3)}
SHARED = {"vocabulary": 20, "embedding": 6, "bottleneck": 8, "outputs": OUTPUTS, "seed": 1}
HASHES = {"hashed_dim": 5, "features": 16}


def qrnn(**changes) -> PieceQrnnStudent:
    return PieceQrnnStudent(**{**SHARED, "state": 4, "layers": 2, **changes})


def mixer(**changes) -> PieceMixerStudent:
    return PieceMixerStudent(**{**SHARED, "hidden_dim": 7, "max_positions": 9, **changes})


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    mask = (np.arange(7) < np.array([[4], [7], [1]])).astype(np.int32)
    return {
        "input_ids": rng.integers(0, 20, mask.shape).astype(np.int32),
        "attention_mask": mask,
        "fingerprint": rng.integers(0, 256, (*mask.shape, 4)).astype(np.uint8),
    }


def values(layer: keras.layers.Layer) -> list[np.ndarray]:
    return [np.asarray(weight) for weight in layer.weights]


@pytest.mark.parametrize("window", [0, 1])
def test_what_a_body_reads_is_a_sum_of_products(rows, window):
    """In numpy: each piece's embedding (and its neighbours'), and the hashes of its word."""
    model = mixer(window=window, **HASHES) if window else qrnn(**HASHES)
    rng = np.random.default_rng(1)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape))
    read = []
    model._encode = lambda x, *others: read.append(x) or x
    model.attention = None
    model.head_layers, model.heads = {}, {}
    model(rows)
    (table,), (kernel, bias) = values(model.embedding), values(model.bottleneck)
    (hashed_kernel,) = values(model.hashed_bottleneck)
    dense, dense_bias = values(model.hashed_words)
    embedding = table[rows["input_ids"]] * rows["attention_mask"][..., None]
    padded = np.pad(embedding, ((0, 0), (window, window), (0, 0)))
    expected = sum(padded[:, i : i + 7] @ kernel[0, i] for i in range(2 * window + 1)) + bias
    ternary = ternary_table("operator")[rows["fingerprint"].astype(int)].reshape(3, 7, 16)
    expected += np.maximum(ternary @ dense + dense_bias, 0) @ hashed_kernel[0, 0]
    expected *= rows["attention_mask"][..., None]
    np.testing.assert_allclose(read[0], expected, atol=1e-5)


@pytest.mark.parametrize(("groups", "follow"), [(("heads", "encoder"), True), (("heads",), False)])
def test_statistics_belong_to_the_encoder(rows, groups, follow):
    """A stage that leaves the table as it is measures them; one of heads alone does not."""
    model = qrnn()
    set_trainable(model, groups)
    assert not model.embedding.trainable
    statistics = [w for w in model.weights if w.path.endswith("statistics/variance")]
    assert len(statistics) == 4  # of two layers in two directions
    model(rows, training=True)
    assert [bool((np.asarray(w) != 1).all()) for w in statistics] == [follow] * 4


def test_statistics_are_measured_again_without_noise(rows):
    """They are those of a student of the same weights that has no noise at all."""
    noisy, plain = qrnn(zoneout=0.5, dropout=0.3), qrnn(zoneout=0.0, dropout=0.0)
    plain.set_weights(noisy.get_weights())
    for model in (noisy, plain):
        model.recalibrate([rows, {**rows, "target/slots": 3}])
    for one, other in zip(noisy.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert noisy.qrnns[0].zoneout == 0.5
    assert noisy.embedding_dropout.rate == 0.3


def test_a_tagger_has_no_attention():
    model = qrnn(outputs={"tags": ("word", 3)}, projection=4)
    assert model.attention is None
    assert "sentence" not in model.signals()
    assert "projection" in model.signals()
    assert "sentence_projection" not in model.signals()


@pytest.mark.parametrize(
    ("make", "change", "text"),
    [
        (qrnn, {"state": 0}, "state is a whole number"),
        (qrnn, {"zoneout": 1.0}, "zoneout is a number from 0 to below 1"),
        (qrnn, {"pooling": "x"}, "pooling is one of f, fo, ifo"),
        (qrnn, {"pooling": ["fo"]}, r"pooling is one of f, fo, ifo; got \['fo'\]"),
        (qrnn, {"intent_condition": "no"}, "intent_condition is true or false, got 'no'"),
        (qrnn, {"embedding_codes": 4}, "4 codes do not divide the 6 columns"),
        (qrnn, {"bottleneck": 0}, "bottleneck is a whole number"),
        (qrnn, {"hashed_dim": 4}, "hashed_dim and features go together"),
        (qrnn, {"layers": 1000, "state": 60000}, "a student has at most"),
        (mixer, {"window": 9}, "window is a whole number of neighbours on each side, 0 to below"),
        (mixer, {"max_positions": 0}, "max_positions is a whole number"),
    ],
)
def test_errors(make, change, text):
    with pytest.raises(ValueError, match=text):
        make(**change)


def test_rows_that_are_too_long_for_a_mixer(rows):
    model = mixer(max_positions=5)
    with pytest.raises(ValueError, match="the rows have 7 pieces and this student 5 positions"):
        model(rows)
    with pytest.raises(ValueError, match="the rows have 6 pieces"):
        model.export_function(6, 1)
