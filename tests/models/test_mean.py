"""Several models as one: the mean of their distributions, from the recipe to the signals."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock, patch

import numpy as np
import pytest
from rich.console import Console
from scipy.special import log_softmax, logsumexp, softmax

from tests.models.recipes import varied
from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.distill.signal_cache import SignalCache
from tfdistil.errors import ExportError, RecipeError
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.exporting.run import export
from tfdistil.models.checks import check_int8
from tfdistil.models.graph import Models
from tfdistil.models.mean import MeanOfModels
from tfdistil.models.record import ModelRecord, load_model
from tfdistil.pipeline.run import run
from tfdistil.runs.run import open_run
from tfdistil.students import build_student

RECIPE = """
task: intent_slots
data: {demo: {kind: intent_slots, languages: [en], train: 120, dev: 15, test: 15, transfer: 30}}
models:
  one:
    scratch: &small {layers: 1, hidden_dim: 16, heads: 2, intermediate_dim: 24, vocabulary: 300}
    fine_tune: &short {epochs: 2, learning_rate: 1.0e-2, batch_size: 16}
    max_length: 20
    seed: 1
  two: {scratch: *small, fine_tune: *short, max_length: 20, seed: 2}
  teacher: {mean_of: [one, two]}
  student: {kind: bilstm, hidden_dim: 8, embedding: {dim: 8}, max_length: 20}
distill:
  - name: joint
    terms: [{loss: soft_cross_entropy, stream: [train, transfer]}]
    batch_size: 16
    stop: {updates: 8, monitor: loss}
baseline: false
export: {length: 20, max_drop: 100}
benchmark: {queries: 100}
"""

recipe_of = partial(varied, RECIPE)


def batched(record, examples):
    """The first window of each text, padded to the longest."""
    windows = [one[0].inputs for one in record.featurizer.encode_batch(examples)]
    time = max(len(one["input_ids"]) for one in windows)
    return {
        name: np.stack([np.pad(one[name], (0, time - len(one[name]))) for one in windows])
        for name in windows[0]
    }


def logits_of(scale: float, seed: int):
    """A student whose logits are this large."""
    outputs = {"tags": ("word", 5), "class": ("sequence", 3)}
    model = build_student("bilstm", outputs=outputs, vocabulary=20, embedding=4, hidden_dim=5)
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(rng.normal(scale=scale, size=weight.shape).astype(np.float32))
    return model


@pytest.mark.parametrize("scale", [0.3, 300.0], ids=["unsure", "sure of everything"])
def test_the_softmax_is_the_mean_of_the_members(scale):
    members = {str(seed): logits_of(scale, seed) for seed in range(3)}
    mean = MeanOfModels(members)
    rows = {"input_ids": np.random.default_rng(0).integers(1, 20, (4, 6)).astype(np.int32)}
    found = mean(rows)
    assert set(found) == {"labels/tags", "labels/class"} == set(mean.signals())
    for signal, logs in found.items():
        each = [np.asarray(model(rows)[signal], np.float64) for model in members.values()]
        expected = np.mean([softmax(one, axis=-1) for one in each], axis=0)
        assert np.isfinite(logs).all()
        np.testing.assert_allclose(np.exp(np.asarray(logs)), expected, atol=1e-6)
        assert mean.level(signal) == members["0"].level(signal)
    assert mean.count_params() == 3 * members["0"].count_params()


@pytest.mark.parametrize("scale", [0.3, 300.0], ids=["unsure", "sure of everything"])
def test_the_geometric_mean_of_the_members(scale):
    members = {str(seed): logits_of(scale, seed) for seed in range(3)}
    mean = MeanOfModels(members, "geometric")
    rows = {"input_ids": np.random.default_rng(0).integers(1, 20, (4, 6)).astype(np.int32)}
    for signal, scores in mean(rows).items():
        each = [np.asarray(model(rows)[signal], np.float64) for model in members.values()]
        logs = np.mean([log_softmax(one, axis=-1) for one in each], axis=0)
        expected = np.exp(logs - logsumexp(logs, axis=-1, keepdims=True))
        np.testing.assert_allclose(softmax(np.asarray(scores), axis=-1), expected, atol=1e-4)


def test_it_has_no_dropout_of_its_own_and_groups_every_weight_once():
    members = {str(seed): logits_of(0.3, seed) for seed in range(2)}
    mean = MeanOfModels(members)
    grouped = [id(weight) for _, weights in mean.layer_groups() for weight in weights]
    assert sorted(grouped) == sorted(id(weight) for m in members.values() for weight in m.weights)


def test_what_is_stored_of_both_means_lies_apart(tmp_path):
    members = {str(seed): logits_of(0.3, seed) for seed in range(2)}
    cache = SignalCache(tmp_path, {"train": []}, Mock(), Mock())
    featurizer = SimpleNamespace(to_assets=dict, to_json=dict)
    records = (
        SimpleNamespace(model=MeanOfModels(members, mean), featurizer=featurizer)
        for mean in ("arithmetic", "geometric")
    )
    assert len({cache.folder_of(record, "train", ["labels/tags"]) for record in records}) == 2


def test_members_score_alike():
    crf = {"kind": "bilstm", "vocabulary": 20, "embedding": 4, "hidden_dim": 5}
    labels = ["O", "B-a", "I-a"]
    paths, single = (
        build_student(outputs={"tags": ("word", 3)}, heads={"labels": head}, **crf)
        for head in ({"kind": "crf", "labels": labels}, "linear")
    )
    with pytest.raises(ValueError, match=r"'b' scores labels/tags \(linear, 3\), but 'a' scores"):
        MeanOfModels({"a": paths, "b": single})


@pytest.mark.slow
def test_from_the_recipe_to_a_student(tmp_path):
    out = tmp_path / "run"
    metrics = run(recipe_of(), out, screen=Screen(Console(file=io.StringIO())))
    assert {"one", "two", "teacher", "student"} <= {system.id for system in metrics.systems}
    assert metrics.delivered.teacher == "teacher"
    work = open_run(out)
    examples = [(example.words, None) for example in work.corpus.test]
    one, two, teacher = (work.model(name) for name in ("one", "two", "teacher"))
    rows = batched(teacher, examples)
    for signal, logs in teacher.model(rows).items():
        each = [softmax(np.asarray(m.model(rows)[signal]), axis=-1) for m in (one, two)]
        assert np.abs(each[0] - each[1]).max() > 1e-3  # two seeds
        np.testing.assert_allclose(np.exp(logs), np.mean(each, axis=0), atol=1e-5)
    assert not (out / "models" / "teacher" / "model.weights.h5").exists()
    assert set(evaluate(out, model="teacher")) == set(evaluate(out, model="one"))
    with pytest.raises(ExportError, match="the model has an arithmetic mean of slots, intent"):
        export(out, tmp_path / "teacher.tflite", model="teacher", quantize="int8")
    # A student without words of its own begins with those of the first.
    pruned = work.model("student").featurizer.tokenizer.get_vocab()
    assert pruned.keys() <= one.featurizer.tokenizer.get_vocab().keys()


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("[one, two]", "[one]", "at least 2"),
        ("[one, two]", "[one, one]", "a model counts once"),
        ("[one, two]", "[one, three]", "mean_of: 'three', which is no model"),
        ("[one, two]", "[one, teacher]", "'teacher', which is a mean"),
        (
            "baseline: false",
            "deliver: {teacher: {checkpoint: true}}",
            "is a mean, which no Hugging",
        ),
        ("- name: joint", "- name: joint\n    student: teacher\n    teacher: one", "is a mean"),
        ("student: {kind: bilstm,", "student: {kind: bilstm, mean_of: [one],", "kind: or mean_of:"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(before, after, says):
    with pytest.raises(RecipeError, match=says):
        recipe_of((before, after))


def test_members_read_the_same_pieces(tmp_path):
    recipe = recipe_of(("max_length: 20, seed: 2", "max_length: 16, seed: 2"))
    with pytest.raises(RecipeError, match=r"models\.teacher\.mean_of: 'two' reads other pieces"):
        Models(recipe, load_corpus(recipe), tmp_path)["teacher"]


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_int8_of_both_means(mean, tmp_path):
    """Refused before anything is trained: an arithmetic mean has logarithms."""
    recipe = recipe_of(
        ("[one, two]", f"[one, two], mean: {mean}"),
        ("baseline: false", "deliver: {teacher: {tflite: {quantize: int8}}}"),
    )
    corpus = load_corpus(recipe)
    models = Models(recipe, corpus, tmp_path)
    if mean == "geometric":
        check_int8(recipe, "teacher", models["teacher"].model)
        return
    with pytest.raises(RecipeError, match="an arithmetic mean of slots, intent, whose logarithms"):
        check_int8(recipe, "teacher", models["teacher"].model)
    with pytest.raises(RecipeError, match="arithmetic mean"):
        run(recipe, tmp_path / "run", screen=Screen(Console(file=io.StringIO())))


def test_a_mean_that_was_saved_before_there_were_two_is_arithmetic(tmp_path):
    member = ModelRecord(logits_of(0.3, 0), Mock(), {})
    with patch("tfdistil.models.record.load_model", return_value=member) as load:
        load.side_effect = [replace(member), replace(member)]
        (tmp_path / "model.json").write_text(
            json.dumps({"kind": "mean", "members": ["one", "two"], "heads": []})
        )
        assert load_model(tmp_path).model.mean == "arithmetic"
