"""The rates of dropout that a recipe gives an encoder: where they act, and when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from keras import ops

from tests.encoders.conftest import FAMILIES
from tfdistil.encoders import Encoder

JOINT = {"slots": ("word", 5), "intent": ("sequence", 3)}
every_family = pytest.mark.parametrize("family", FAMILIES)


def numpy(signals):
    return {name: ops.convert_to_numpy(value) for name, value in signals.items()}


def without_dropout(tiny, family, **rates) -> Encoder:
    calm = replace(tiny(family).config, dropout=0.0, attention_dropout=0.0, classifier_dropout=None)
    return Encoder(calm, JOINT, seed=7, **rates)


def changed(encoder, batch) -> set[str]:
    """The signals that training changes."""
    calm, noisy = numpy(encoder(batch)), numpy(encoder(batch, training=True))
    return {name for name, value in calm.items() if not np.array_equal(value, noisy[name])}


@every_family
def test_without_a_rate_an_encoder_has_those_of_its_config(tiny, batch, family):
    assert not changed(without_dropout(tiny, family), batch)
    one = tiny(family, JOINT)
    other = Encoder(one.config, JOINT, seed=7, embedding_dropout=None, head_dropout=None)
    one, other = (numpy(encoder(batch, training=True)) for encoder in (one, other))
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name])


@every_family
def test_dropout_of_embeddings_hides_single_numbers(tiny, batch, family):
    encoder = without_dropout(tiny, family, embedding_dropout=0.5)
    calm, noisy = (
        numpy(encoder(batch))["hidden/0"],
        numpy(encoder(batch, training=True))["hidden/0"],
    )
    kept = noisy != 0
    assert 0.3 < kept.mean() < 0.7
    np.testing.assert_allclose(noisy[kept], 2 * calm[kept], rtol=1e-5)  # the mean stays
    assert kept.any(axis=-1).all()
    assert not kept.all(axis=-1).any()


@every_family
def test_dropout_of_heads_is_behind_all_layers(tiny, batch, family):
    encoder = without_dropout(tiny, family, head_dropout=0.5)
    assert changed(encoder, batch) == {"logits/slots", "logits/intent"}
    config = replace(encoder.config, classifier_dropout=0.5)
    calm = Encoder(config, JOINT, seed=7, head_dropout=0.0)
    assert not changed(calm, batch)


@every_family
def test_they_change_neither_weights_nor_inference(tiny, batch, family):
    encoder = tiny(family, JOINT, embedding_dropout=0.6, head_dropout=0.7)
    plain = numpy(tiny(family, JOINT)(batch))
    for training in (None, False):
        for name, value in numpy(encoder(batch, training=training)).items():
            np.testing.assert_array_equal(value, plain[name])
    one, other = (
        encoder.export_function(6, 3, "logits") for encoder in (encoder, tiny(family, JOINT))
    )
    fed = [batch[spec.name] for spec in one[1]]
    for output, value in numpy(one[0](*fed)).items():
        np.testing.assert_array_equal(value, numpy(other[0](*fed))[output])


def test_rates_are_part_of_the_config(tiny):
    encoder = tiny("bert", JOINT, embedding_dropout=0.6, head_dropout=0.7)
    again = Encoder.from_config(encoder.get_config())
    assert (again.embedding_dropout, again.head_dropout) == (0.6, 0.7)
    assert again.get_config() == encoder.get_config()
