"""The shipped recipe for aspect terms, from SemEval's XML to a file that answers."""

from __future__ import annotations

import io
from itertools import product

import pytest
from rich.console import Console

from tfdistil.console.screen import Screen
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import load_recipe
from tfdistil.runtime import Runtime

THINGS = ["soup", "waiter", "lamb chops", "house wine", "view", "battery life", "screen", "bread"]
VERBS = ["was", "is", "seems"]
OPINIONS = ["awful", "fine", "too cold", "great", "slow"]

RECIPE = """
base: aspect_terms
baseline: false
data:
  train: [{path: train.xml, language: en}]
  dev: [{path: dev.xml, language: en}]
  test: [{path: dev.xml, language: en}]
  transfer: [{path: more.xml, language: en}]
models:
  teacher:
    scratch: {layers: 1, hidden_dim: 16, heads: 2, intermediate_dim: 32, vocabulary: 150}
    fine_tune: {epochs: 8, learning_rate: 7.0e-3, batch_size: 8, rates: {crf: 1.0e-2}}
    max_length: 24
  student: {hidden_dim: 8, embedding: {dim: 16}, max_length: 24}
export: {length: 24, max_drop: 100}
benchmark: {queries: 100}
"""


def sentences(names=("aspectTerms", "aspectTerm", "term")) -> list[str]:
    """Reviews with one term each, in the form of 2014 or of 2015."""
    outer, inner, words = names
    found = []
    for thing, verb, opinion in product(THINGS, VERBS, OPINIONS):
        target = f'<{inner} {words}="{thing}" from="4" to="{4 + len(thing)}"/>'
        found.append(
            f'<sentence id="{len(found)}"><text>The {thing} {verb} {opinion}.</text>\n'
            f"<{outer}>{target}</{outer}></sentence>"
        )
    return found


def document(parts: list[str]) -> str:
    return "<sentences>\n" + "\n".join(parts) + "\n</sentences>\n"


@pytest.mark.slow
def test_from_reviews_to_a_file(tmp_path):
    of_2014, of_2015 = sentences(), sentences(("Opinions", "Opinion", "target"))
    bare = [part.partition("\n")[0] + "</sentence>" for part in of_2014]
    (tmp_path / "train.xml").write_text(document(of_2014[::2]))
    (tmp_path / "dev.xml").write_text(document(of_2015[1::8]))
    (tmp_path / "more.xml").write_text(document(bare[3::8]))
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    small = ("batch_size=4", "optimizer.learning_rate=1.0e-2", "stop.epochs=15")
    changes = [f"distill.joint.{change}" for change in small]
    recipe = load_recipe(tmp_path / "recipe.yaml", changes)
    metrics = run(
        recipe, tmp_path / "run", base=tmp_path, screen=Screen(Console(file=io.StringIO()))
    )
    assert metrics.delivered.scores["dev"]
    runtime = Runtime(tmp_path / "run" / "student.tflite")
    assert runtime.task.outputs[0].labels == ("O", "B-ASPECT", "I-ASPECT")
    answers = runtime.predict(["The house wine was great.", "The soup is too cold."])
    assert [[span.text for span in answer.spans] for answer in answers] == [
        ["house wine"],
        ["soup"],
    ]
