"""A teacher and a student of word pieces and hashes of whole words, from the recipe to the file."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console
from ruamel.yaml import YAML

from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import RecipeError
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.models.graph import Models
from tfdistil.models.record import save_checkpoint
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.schema.models import HeadPart
from tfdistil.runs.run import open_run
from tfdistil.runtime import Runtime
from tfdistil.text.hashed_subwords import HashedSubwordFeaturizer

RECIPE = """
task: tags
baseline: false
data: {demo: {kind: tags, languages: [en], train: 120, dev: 15, test: 15, transfer: 60}}
models:
  teacher:
    scratch:
      {layers: 1, hidden_dim: 16, heads: 2, intermediate_dim: 24, vocabulary: 300, lowercase: true}
    fine_tune: {epochs: 12, learning_rate: 1.0e-2, batch_size: 16}
    hashed_dim: 6
    hashing: {families: {affix16: 16}, capitalization: true}
    max_length: 20
  student:
    kind: KIND
    hidden_dim: 12
    hashed_dim: 8
    embedding: {dim: 8}
    hashing: {families: {affix16: 32, ngram: 32}, capitalization: true}
    max_length: 20
distill:
  - name: joint
    groups: [heads, TRAINED]
    terms:
      - {loss: cross_entropy}
      - {loss: soft_cross_entropy, stream: [train, transfer]}
    noise: [{kind: word_dropout, probability: 0.1}]
    optimizer: {learning_rate: 1.0e-2}
    batch_size: 16
    stop: {updates: 40, monitor: loss}
export: {length: 20, max_drop: 100}
deliver: {student: {tflite: true}, teacher: {checkpoint: true}}
benchmark: {queries: 100}
"""


def recipe_of(kind: str, trained: str, options: str = ""):
    text = RECIPE.replace("KIND", kind + options).replace("TRAINED", trained)
    return parse_recipe(YAML(typ="safe").load(text))


def batched(encoded):
    """The first window of each text, cut to the shortest."""
    first = [windows[0].inputs for windows in encoded]
    length = min(len(one["input_ids"]) for one in first)
    return {name: np.stack([one[name][:length] for one in first]) for name in first[0]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "trained", "options"),
    [
        ("bilstm", "encoder", ""),
        pytest.param(
            "transformer",
            "embedding",
            "\n    layers: 1\n    attention_heads: 2\n    max_positions: 20",
            marks=pytest.mark.long,
        ),
    ],
)
def test_from_the_recipe_to_the_file(kind, trained, options, tmp_path):
    recipe = recipe_of(kind, trained, options)
    run(recipe, tmp_path / "run", screen=Screen(Console(file=io.StringIO())))
    work = open_run(tmp_path / "run")
    student, teacher = work.model("student"), work.model("teacher")
    assert isinstance(student.featurizer, HashedSubwordFeaturizer)
    assert isinstance(teacher.featurizer, HashedSubwordFeaturizer)
    assert teacher.model.features == 16
    assert np.abs(np.array(teacher.model.hashed_words.out.kernel)).max() > 0
    assert student.model.features == 64
    fresh = Models(recipe, work.corpus, tmp_path)["student"].model
    moved = zip(student.model.hashed_words.weights, fresh.hashed_words.weights, strict=True)
    gaps = [float(np.abs(np.array(mine) - np.array(theirs)).max()) for mine, theirs in moved]
    assert min(gaps) > 0, gaps
    assert (tmp_path / "run" / "checkpoints" / "teacher" / "projection.json").is_file()

    runtime = Runtime(tmp_path / "run" / "student.tflite")
    texts = [example.words for example in work.corpus.test]
    before = [answer.tags for answer in runtime.predict_words(texts)]
    in_keras = evaluate(tmp_path / "run", model="student")
    in_file = evaluate(tmp_path / "run", model="student.tflite")
    assert set(in_keras) == set(in_file)
    # The vocabulary is in lower case: only the hashes can tell capitals.
    pieces, upper = student.featurizer.subwords, [tuple(w.upper() for w in t) for t in texts]
    for text, changed in zip(texts, upper, strict=True):
        (one, *_), (two, *_) = pieces.encode(text), pieces.encode(changed)
        np.testing.assert_array_equal(one.inputs["input_ids"], two.inputs["input_ids"])
    rows, changed = (
        student.featurizer.encode_batch([(t, None) for t in ts]) for ts in (texts, upper)
    )
    keras_scores = [
        np.array(student.model(batched(windows))["labels/tags"]) for windows in (rows, changed)
    ]
    assert np.abs(keras_scores[0] - keras_scores[1]).max() > 1e-3
    assert [answer.tags for answer in runtime.predict_words(texts)] == before


def test_a_checkpoint_keeps_its_hashes(tmp_path):
    recipe = recipe_of("bilstm", "encoder")
    corpus = load_corpus(recipe)
    teacher = Models(recipe, corpus, tmp_path)["teacher"]
    kernel = teacher.model.hashed_words.out.kernel
    kernel.assign(np.random.default_rng(3).normal(size=kernel.shape))
    save_checkpoint(teacher, corpus.task, tmp_path / "saved")

    spec = recipe.models["teacher"]
    spec = spec.model_copy(update={"scratch": None, "checkpoint": "saved"})
    again = recipe.model_copy(update={"models": {**recipe.models, "teacher": spec}})
    loaded = Models(again, corpus, tmp_path)["teacher"]
    inputs = batched(teacher.featurizer.encode_batch([(e.words, None) for e in corpus.test]))
    np.testing.assert_array_equal(
        np.array(teacher.model(inputs)["logits/tags"]),
        np.array(loaded.model(inputs)["logits/tags"]),
    )
    hashing = spec.hashing.model_copy(update={"capitalization": False})
    spec = spec.model_copy(update={"hashing": hashing})
    other = recipe.model_copy(update={"models": {**recipe.models, "teacher": spec}})
    with pytest.raises(RecipeError, match=r"models.teacher.hashing: .* was trained with"):
        Models(other, corpus, tmp_path)["teacher"]


def test_hashes_do_not_go_with_masked_pieces(tmp_path):
    recipe = recipe_of("bilstm", "encoder")
    heads = {"logits": HeadPart(), "pieces": HeadPart(kind="mlm")}
    spec = recipe.models["teacher"].model_copy(update={"heads": heads})
    recipe = recipe.model_copy(update={"models": {**recipe.models, "teacher": spec}})
    with pytest.raises(RecipeError, match="hashed_dim does not go with the masked-language head"):
        Models(recipe, load_corpus(recipe), tmp_path)["teacher"]


def test_an_end_of_hashed_words_is_refused(tmp_path):
    recipe = recipe_of("bilstm", "encoder")
    hashing = recipe.models["student"].hashing.model_copy(update={"eos": True})
    spec = recipe.models["student"].model_copy(update={"hashing": hashing})
    changed = recipe.model_copy(update={"models": {**recipe.models, "student": spec}})
    with pytest.raises(RecipeError, match="eos"):
        Models(changed, load_corpus(changed), tmp_path)["student"]
