"""Encoders through the same export as students: every mode, every family, texts of any length."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from tests.export.conftest import fit
from tests.export.test_exporter import LENGTH, export
from tests.int8_drift import int8_drift
from tfdistil.encoders import Encoder, EncoderConfig, scratch_encoder
from tfdistil.errors import ExportError
from tfdistil.exporting.convert import convert, entries_of
from tfdistil.exporting.inspect import inspect_model
from tfdistil.exporting.probes import longer
from tfdistil.runtime import Runtime
from tfdistil.text.subwords import SubwordFeaturizer

JOINT = {"slots": ("word", 5), "intent": ("sequence", 3)}


@pytest.fixture(scope="module")
def encoder(trained):
    """A BERT of two layers, trained on the same sentences as the student."""
    tokenizer = trained.featurizer.tokenizer
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 48, token_types=True)
    model = scratch_encoder(
        vocabulary=tokenizer.get_vocab_size(),
        hidden_dim=32,
        layers=2,
        attention_heads=2,
        intermediate_dim=64,
        max_positions=48,
        outputs={o.name: (o.level, len(o.labels)) for o in trained.task.outputs},
        seed=1,
    )
    fit(model, featurizer, trained.task, trained.train, 16, rate=3e-3, head="logits")
    return replace(trained, student=model, featurizer=featurizer)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quantize", "agreement"),
    [
        pytest.param("none", 1.0, marks=pytest.mark.long),
        ("float16", 0.999),
        pytest.param("dynamic", 0.99, marks=pytest.mark.long),
        ("int8", 0.98),
    ],
)
def test_a_trained_encoder_in_every_mode(encoder, tmp_path, quantize, agreement):
    path = tmp_path / "encoder.tflite"
    # Sentences alone leave the last positions of a row unseen.
    calibration = [*encoder.dev, *longer(encoder.train, LENGTH)]
    result = export(encoder, path, quantize=quantize, head="logits", calibration=calibration)
    assert result.scores["keras"]["exact_match"] > 90
    assert result.inspection.flex == result.inspection.custom == ()
    for drifts in (result.drift, *result.probes.values()):  # shorter and longer than a row, too
        assert min(drift.agreement for drift in drifts.values()) >= agreement
    if quantize == "none":
        assert all(drift.max < 1e-4 for drift in result.drift.values())
    if quantize == "int8":
        assert result.inspection.float_operator_count == 0
    with zipfile.ZipFile(path) as archive:
        assert "tokenizer.json" in archive.namelist()
        assert json.loads(archive.read("tfdistil.json"))["featurizer"]["token_types"] is True
    answer = Runtime(path).predict(["play some nina simone in the living room"])[0]
    assert answer.label == "music"
    assert [(s.text, s.label) for s in answer.spans] == [
        ("nina simone", "artist"),
        ("living room", "room"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta"])
def test_int8_calibrated_without_padding_leaves_padding_out(family):
    """Documents fill every row; a mask must not depend on having been seen."""
    roberta = family == "roberta"
    config = EncoderConfig(
        family=family,
        vocabulary=30,
        hidden_dim=16,
        layers=2,
        attention_heads=2,
        intermediate_dim=24,
        max_positions=20,
        type_vocabulary={"bert": 2, "distilbert": 0}.get(family, 1),
        pad_id=int(roberta),
        initializer_range=0.3,
    )
    model = Encoder(config, JOINT, seed=3)
    rng, time = np.random.default_rng(0), 12

    def rows(lengths):
        mask = (np.arange(time) < np.array(lengths)[:, None]).astype(np.int32)
        ids = rng.integers(2, 30, mask.shape).astype(np.int32)
        found = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids % 2 * mask}
        return {name: found[name] for name in model.input_names}

    full, short = rows([time] * 32), rows([1, 2, 3] * 8)
    content = convert(model, entries_of(model, time, 4, "logits"), "int8", full)
    graph = inspect_model(content)
    assert (graph.flex, graph.custom, graph.float_operator_count) == ((), (), 0)
    of_full, of_short = (int8_drift(model, "logits", content, rows) for rows in (full, short))
    for output in JOINT:
        assert of_full[output] < 0.1
        assert of_short[output] < 0.2  # with padding in attention it is about 1


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "compare"])
def test_int8_of_a_mean_of_pieces(pooling):
    """Its weights have one scale for texts of all lengths, whichever calibration has seen."""
    config = EncoderConfig(
        vocabulary=30,
        hidden_dim=16,
        layers=2,
        attention_heads=2,
        intermediate_dim=24,
        max_positions=128,
        initializer_range=0.3,
        classifier_pooling=pooling,
    )
    model, time = Encoder(config, {"class": ("sequence", 3)}, seed=3), 128
    rng = np.random.default_rng(0)

    def rows(lengths):
        mask = (np.arange(time) < np.array(lengths)[:, None]).astype(np.int32)
        ids = rng.integers(2, 30, mask.shape).astype(np.int32)
        second = (np.arange(time) >= np.array(lengths)[:, None] // 2).astype(np.int32) * mask
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": second}

    content = convert(
        model, entries_of(model, time, 4, "logits"), "int8", rows([20, 60, 113, 128] * 8)
    )
    graph = inspect_model(content)
    assert (graph.flex, graph.custom, graph.float_operator_count) == ((), (), 0)
    # Means of few pieces are larger than those that were seen, and the range of means is cut off.
    for length, most in ((4, 0.3), (7, 0.2), (30, 0.1), (128, 0.1)):
        drift = int8_drift(model, "logits", content, rows([length] * 24))["class"]
        assert drift < most


def test_wrong_lengths_and_heads(encoder, tmp_path):
    for options, text in (
        (
            {"length": 49, "head": "logits"},
            "49 positions per call, but this encoder reads at most 48",
        ),
        ({}, "no head 'labels'; this model has logits"),
    ):
        with pytest.raises(ExportError, match=text):
            export(encoder, tmp_path / "x.tflite", **{"length": LENGTH, **options})
