"""`pooling` of a recipe's encoder: models made from it read texts alike, and are kept so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import RecipeError
from tfdistil.models.graph import Models
from tfdistil.models.record import load_model, save_model
from tfdistil.recipe.loading import parse_recipe

ROWS = """premise\thypothesis\tlabel
Ada sleeps at home\tsomeone rests\tyes
Bob runs in the park\tnobody moves\tno
Ada reads a book\tsomeone reads\tyes
Bob eats an apple\tnobody eats\tno
"""
RECIPE = """
task: KIND
data:
  train: [{path: rows.tsv, options: {text: premise, SECOND label: label}}]
  dev: [{path: rows.tsv, options: {text: premise, SECOND label: label}}]
models:
  teacher:
    scratch: {layers: 2, hidden_dim: 8, heads: 2, intermediate_dim: 12, vocabulary: 100}
    max_length: 32
    pooling: POOLING
    HEADS
  student: {from: teacher, apply: [{kind: keep_layers, layers: 1}]}
  smaller: {from: teacher, apply: [{kind: reduce_vocabulary, min_sentences: 1}]}
distill:
  - {name: one, terms: [{loss: cross_entropy}]}
deliver: {student: {checkpoint: true}}
"""


def models(folder: Path, kind: str, pooling: str, heads: str = "") -> Models:
    (folder / "rows.tsv").write_text(ROWS, "utf-8")
    second = "second: hypothesis," if kind == "pair" else ""
    text = RECIPE.replace("KIND", kind).replace("POOLING", pooling)
    tree = YAML().load(text.replace("SECOND", second).replace("HEADS", heads))
    recipe = parse_recipe(tree)
    return Models(recipe, load_corpus(recipe, folder), folder)


@pytest.mark.parametrize(
    ("kind", "pooling", "read"),
    [("pair", "compare", 32), ("pair", "mean", 8), ("classes", "mean", 8)],
)
def test_what_is_made_from_it_reads_alike(tmp_path, kind, pooling, read):
    made = models(tmp_path, kind, pooling)
    for name in ("teacher", "student", "smaller"):
        record = made[name]
        assert record.model.config.classifier_pooling == pooling
        assert record.model.pooler.read_dim == read
        second = ["someone", "rests"] if kind == "pair" else None
        (window,) = record.featurizer.encode(["Ada", "sleeps"], second)
        inputs = {key: value[None] for key, value in window.inputs.items()}
        save_model(record, made.corpus.task, tmp_path / name)
        again = load_model(tmp_path / name)
        np.testing.assert_allclose(
            again.model(inputs)["logits/class"], record.model(inputs)["logits/class"], atol=1e-6
        )


def test_errors(tmp_path):
    with pytest.raises(RecipeError, match=r"models\.teacher\.pooling: compare is for pairs"):
        models(tmp_path, "classes", "compare")["teacher"]
    with pytest.raises(RecipeError, match=r"models\.teacher\.pooling: mean is for labels of whole"):
        models(tmp_path, "pair", "mean", "heads: {logits: mlm}\n    fine_tune: false")["teacher"]
