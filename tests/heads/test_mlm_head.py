"""Masked-language heads in recipes: named as any other, pre-trained, cut, kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from ruamel.yaml import YAML

from tfdistil.corpus.loading import load_corpus
from tfdistil.encoders import scratch_encoder
from tfdistil.errors import ExportError, RecipeError
from tfdistil.exporting import export_student
from tfdistil.exporting.convert import convert, entries_of
from tfdistil.exporting.inspect import inspect_model
from tfdistil.models.checks import check_models
from tfdistil.models.graph import Models
from tfdistil.models.masked_language import copy_body, with_mlm_head
from tfdistil.models.record import load_model, save_model
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.recipe import Recipe

RECIPE = """
task: tags
data: {demo: {kind: tags, languages: [en, de], train: 60, dev: 5, test: 5, transfer: 40}}
models:
  teacher:
    scratch: {layers: 3, hidden_dim: 8, heads: 2, intermediate_dim: 12, vocabulary: 300}
    heads: HEADS
    fine_tune: false
    max_length: 32
  small:
    from: teacher
    apply: [{kind: keep_layers, layers: [1, 2]}, {kind: reduce_vocabulary, language: de}]
  student: {kind: bilstm, hidden_dim: 4, embedding: {dim: 8}}
distill:
  - {name: one, terms: [{loss: cross_entropy}], teacher: null}
"""


def parse(heads="{logits: mlm}", text=RECIPE) -> Recipe:
    return parse_recipe(YAML().load(text.replace("HEADS", heads)))


def models(heads="{logits: mlm}") -> Models:
    recipe = parse(heads)
    return Models(recipe, load_corpus(recipe), Path())


def signals(record, words):
    inputs = {k: v[None] for k, v in record.featurizer.encode(words)[0].inputs.items()}
    return {name: np.asarray(value) for name, value in record.model(inputs).items()}


def test_a_teacher_of_pieces_and_one_made_of_it(tmp_path):
    made = models()
    words = next(e.words for e in made.corpus.transfer if e.language == "de")
    for name in ("teacher", "small"):
        record = made[name]
        found = signals(record, words)
        assert "logits/tags" not in found
        assert found["logits/mlm"].shape[-1] == record.model.config.vocabulary
        assert record.model.level("logits/mlm") == "subword"
        save_model(record, made.corpus.task, tmp_path / name)
        again = load_model(tmp_path / name)
        np.testing.assert_allclose(signals(again, words)["logits/mlm"], found["logits/mlm"])
    assert made["small"].model.config.vocabulary < made["teacher"].model.config.vocabulary


def test_pre_training_trains_the_head_that_is_there():
    made = models("{logits: linear, pieces: mlm}")
    record = made["teacher"]
    assert {"logits/tags", "pieces/mlm"} <= set(record.model.signals())
    before = record.model.classifiers["tags"].get_weights()
    encoder = with_mlm_head(record, seed=1)
    for mine, theirs in zip(encoder.model.mlm.weights, record.model.mlm.weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for weight in encoder.model.weights:
        weight.assign(weight + 1)
    copy_body(encoder.model, record.model)
    words = made.corpus.train[0].words
    found, expected = signals(record, words), signals(encoder, words)
    np.testing.assert_array_equal(found["pieces/mlm"], expected["logits/mlm"])
    for mine, theirs in zip(record.model.classifiers["tags"].get_weights(), before, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_what_it_is_not_for(tmp_path):
    with pytest.raises(
        RecipeError, match=r"teacher.fine_tune: none of the heads logits scores the"
    ):
        check_models(parse(text=RECIPE.replace("    fine_tune: false\n", "")), Path())
    student = RECIPE.replace("kind: bilstm,", "kind: bilstm, heads: {labels: mlm},")
    hashed = RECIPE.replace(
        "bilstm, hidden_dim: 4, embedding: {dim: 8}", "pqrnn, heads: {labels: mlm}"
    )
    for text in (student, hashed):
        with pytest.raises(RecipeError, match=r"models.student: .*'mlm' scores pieces, which only"):
            check_models(parse(text=text), Path())
    made = models()
    teacher, corpus = made["teacher"], made.corpus
    arguments = (teacher.model, corpus.task, teacher.featurizer, corpus.splitter)
    with pytest.raises(
        ExportError, match="head 'logits' has no tags, which the task needs; it has"
    ):
        export_student(*arguments, examples=corpus.dev, out=tmp_path / "x.tflite", head="logits")


@pytest.mark.slow
def test_its_graph_is_all_integers():
    model = scratch_encoder(40, 16, 1, max_positions=8, heads={"logits": "mlm"}, seed=1)
    ids = np.random.default_rng(0).integers(1, 40, (32, 8)).astype(np.int32)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": 0 * ids}
    content = convert(model, entries_of(model, 8, 4, "logits"), "int8", inputs)
    graph = inspect_model(content)
    assert (graph.flex, graph.custom, graph.float_operator_count) == ((), (), 0)
    runner = Interpreter(model_content=content).get_signature_runner("batch")
    scale, zero = runner.get_output_details()["mlm"]["quantization"]
    found = (runner(**{k: v[:4] for k, v in inputs.items()})["mlm"] - np.float32(zero)) * scale
    expected = np.asarray(model(inputs)["logits/mlm"])
    assert np.abs(found - expected[:4]).mean() < 0.1 * expected.std()
