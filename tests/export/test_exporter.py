"""A trained student through the whole export, and back through the runtime."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from tfdistil.distill.rows import encode_rows
from tfdistil.errors import ExportError
from tfdistil.exporting import export_student, exporter
from tfdistil.exporting.exporter import calibration_rows, featurizer_at_length
from tfdistil.exporting.inspect import inspect_model
from tfdistil.runtime import Runtime
from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec

LENGTH = 16


def export(trained, out, **options):
    arguments = {"examples": trained.dev, "out": out, "length": LENGTH, "batch": 8, **options}
    return export_student(
        trained.student, trained.task, trained.featurizer, trained.splitter, **arguments
    )


@pytest.fixture(scope="module")
def in_float(trained, tmp_path_factory) -> bytes:
    """The student's graph as `export` converts it with ``quantize="none"``."""
    converted, convert = [], exporter.convert

    def kept(*given):
        converted.append(convert(*given))
        return converted[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporter, "convert", kept)
        export(trained, tmp_path_factory.mktemp("float") / "student.tflite", quantize="none")
    return converted[0]


@pytest.fixture(scope="module")
def int8(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("int8") / "student.tflite"
    return export(trained, path, quantize="int8", languages=["en"])


def test_the_trained_student_is_worth_exporting(int8):
    assert int8.scores["keras"]["exact_match"] > 90


def test_int8_loses_next_to_nothing(int8):
    assert int8.drop <= 0.5
    for drift in int8.drift.values():
        assert drift.agreement >= 0.99
        assert drift.mean < 0.05 * drift.spread


def test_int8_graph_is_all_integer_built_in_operators(int8):
    graph = int8.inspection
    assert (graph.flex, graph.custom, graph.float_operator_count) == ((), (), 0)
    assert "float32" not in graph.constants
    assert set(graph.operators) == {"online", "batch"}
    assert "WHILE" not in graph.operators["online"]
    # Two directions, per step one product but for the first; inputs and two heads besides.
    assert graph.operators["online"]["FULLY_CONNECTED"] == 2 * (LENGTH - 1) + 2 + 2


def test_the_file_is_complete(int8, trained):
    with zipfile.ZipFile(int8.path) as archive:
        assert set(archive.namelist()) == {
            "tfdistil.json",
            "tokenizer.json",
            "labels_slots.txt",
            "labels_intent.txt",
        }
        config = json.loads(archive.read("tfdistil.json"))
        labels = archive.read("labels_intent.txt").decode().split()
    assert tuple(labels) == trained.task.outputs[1].labels
    assert config["signatures"]["batch"] == {"batch": 8, "length": LENGTH}
    assert config["quantize"] == "int8"
    assert config["languages"] == ["en"]
    assert config["featurizer"]["max_length"] == LENGTH
    assert config["min_runtime"] == int8.inspection.min_runtime != ""
    assert int8.bytes == int8.path.stat().st_size


def test_runtime_answers_like_keras(int8, trained):
    result = Runtime(int8.path).predict(["play some nina simone in the living room"])[0]
    assert result.label == "music"
    assert [(s.text, s.label) for s in result.spans] == [
        ("nina simone", "artist"),
        ("living room", "room"),
    ]


def test_both_signatures_give_the_same_labels(int8, trained):
    runtime = Runtime(int8.path)
    texts = [(e.words, None) for e in trained.dev[:8]]
    together = runtime.logits(texts)
    for text, batched in zip(texts, together, strict=True):
        (alone,) = runtime.logits([text])
        for output, values in alone.items():
            np.testing.assert_array_equal(values.argmax(-1), batched[output].argmax(-1))


def test_without_a_batch_there_is_one_signature(int8, trained, tmp_path):
    alone = export(trained, tmp_path / "alone.tflite", batch=1)
    assert alone.signatures == {"online": {"batch": 1, "length": LENGTH}}
    assert set(alone.inspection.operators) == {"online"}
    assert alone.bytes < int8.bytes
    texts = [(e.words, None) for e in trained.dev[:8]]
    both, one = (Runtime(result.path).logits(texts) for result in (int8, alone))
    for expected, found in zip(both, one, strict=True):
        for output, values in expected.items():
            np.testing.assert_array_equal(found[output].argmax(-1), values.argmax(-1))


def test_result_is_json(int8):
    data = json.loads(json.dumps(int8.to_json()))
    assert data["flex"] == data["custom"] == data["float_ops"] == 0
    assert data["agreement"] >= 0.99
    assert data["ops"]["online"]["LOGISTIC"] > 0
    assert data["path"] == "student.tflite"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quantize", "agreement"),
    [
        ("none", 1.0),
        ("float16", 0.999),
        pytest.param("dynamic", 0.99, marks=pytest.mark.long),
    ],
)
def test_other_ways_to_quantize(trained, tmp_path, int8, quantize, agreement):
    result = export(trained, tmp_path / "s.tflite", quantize=quantize)
    assert min(d.agreement for d in result.drift.values()) >= agreement
    assert result.inspection.flex == result.inspection.custom == ()
    assert result.inspection.parameters == int8.inspection.parameters
    weights = {"none": "float32", "float16": "float16", "dynamic": "int8"}[quantize]
    assert next(iter(result.inspection.constants)) == weights
    if quantize == "none":
        assert all(d.max < 1e-4 for d in result.drift.values())


def turned(answer):
    """With the least likely label the most likely."""
    return answer._replace(logits={name: -values for name, values in answer.logits.items()})


def test_too_large_a_drop_is_an_error_and_leaves_no_file(trained, in_float, tmp_path, monkeypatch):
    """A file that finds the least likely label the most likely."""
    monkeypatch.setattr(exporter, "convert", lambda *_: in_float)
    true = Runtime.answers

    def upside_down(self, texts):
        return [turned(one) for one in true(self, texts)]

    monkeypatch.setattr(Runtime, "answers", upside_down)
    with pytest.raises(ExportError, match=r"exact_match on the dev examples drops from .* in the"):
        export(trained, tmp_path / "never.tflite", quantize="none")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("wrong", "warns"), [(0, False), (1, True), (4, True), (12, None)])
def test_a_drop_that_may_be_chance_is_a_warning(
    trained, in_float, tmp_path, monkeypatch, wrong, warns
):
    """Answers that go wrong out of 120: a few are less than an interval of them, twelve more."""
    monkeypatch.setattr(exporter, "convert", lambda *_: in_float)
    true = Runtime.answers

    def some_wrong(self, texts):
        found = true(self, texts)
        return [*map(turned, found[:wrong]), *found[wrong:]]

    monkeypatch.setattr(Runtime, "answers", some_wrong)
    monkeypatch.setattr("tfdistil.exporting.exporter.measure_probes", lambda *_: {})
    options = {"quantize": "none", "max_drop": 1.0 if wrong > 1 else 0.0}
    if warns is None:
        with pytest.raises(ExportError, match=r"where at most 1 may be lost"):
            export(trained, tmp_path / "s.tflite", **options)
        return
    result = export(trained, tmp_path / "s.tflite", **options)
    data = result.to_json()
    assert data["drop_low"] <= data["drop"] <= data["drop_high"]
    lost = result.scores["keras"]["exact_match"] - result.scores["file"]["exact_match"]
    assert data["drop"] == pytest.approx(lost)
    assert (lost > 0) == warns == (result.warning is not None)
    if result.warning is not None:
        assert "with 120 examples that may be chance (95 % interval" in result.warning


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"quantize": "int4"}, "cannot quantize to 'int4'; use one of int8"),
        ({"head": "logits"}, "no head 'logits'; this model has labels"),
        ({"length": 3}, "windows of 3 positions are not possible"),
        ({"examples": []}, "none of the 0 dev examples has labels for intent, slots"),
    ],
)
def test_errors(trained, tmp_path, options, text):
    with pytest.raises(ExportError, match=text):
        export(trained, tmp_path / "x.tflite", **options)


def test_unlabelled_dev_examples_do_not_count(trained, tmp_path):
    bare = [replace(e, label=None) for e in trained.dev]
    with pytest.raises(ExportError, match="none of the 120 dev examples"):
        export(trained, tmp_path / "x.tflite", examples=bare)


def test_featurizer_at_length_keeps_the_rest(trained):
    short = featurizer_at_length(trained.featurizer, 12)
    before, after = trained.featurizer.to_json(), short.to_json()
    assert after["max_length"] == 12
    assert {k for k in before if before[k] != after[k]} == {"max_length", "overlap"}
    words = trained.dev[0].words
    (whole,) = trained.featurizer.encode(words[:4])
    (same,) = short.encode(words[:4])
    np.testing.assert_array_equal(whole.inputs["input_ids"], same.inputs["input_ids"])


@pytest.mark.parametrize("length", [16, 32, 33, 34, 64])
def test_a_file_of_the_same_length_cuts_long_texts_as_the_model_does(length):
    spec = ProjectionSpec(families=(("murmur", 32),))
    featurizer = ProjectionFeaturizer(spec, length)
    same, words = featurizer_at_length(featurizer, length), ["a"] * (3 * length)
    assert same.to_json() == featurizer.to_json()
    assert [w.tokens.tolist() for w in same.encode(words)] == [
        w.tokens.tolist() for w in featurizer.encode(words)
    ]
    assert featurizer_at_length(featurizer, 12).to_json()["overlap"] <= 3


def test_calibration_rows_are_spread_and_padded(trained, monkeypatch):
    from tfdistil.exporting import exporter

    monkeypatch.setattr(exporter, "CALIBRATION_ROWS", 5)
    rows = encode_rows(trained.dev, trained.featurizer, None)
    found = calibration_rows(rows, ["input_ids", "attention_mask"], 48)
    assert {k: v.shape for k, v in found.items()} == {
        "input_ids": (5, 48),
        "attention_mask": (5, 48),
    }
    first, last = rows.windows[0], rows.windows[-1]
    np.testing.assert_array_equal(
        found["attention_mask"].sum(1)[[0, 4]], [first.length, last.length]
    )


def test_inspection_reads_packed_files_too(int8):
    assert inspect_model(int8.path.read_bytes()).operators == int8.inspection.operators
