"""A student of the checkpoint's own first layers, beside the teacher that is fine-tuned from it.

Zhou et al. 2021, Table 9, rows BP: embeddings and first four layers of BERT as it was pretrained.
"""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from rich.console import Console
from ruamel.yaml import YAML

from tests.conftest import SHARED
from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.encoders import load_encoder
from tfdistil.encoders.tokenizer import save_tokenizer
from tfdistil.models.graph import Models
from tfdistil.models.inputs import sentences
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import parse_recipe
from tfdistil.runs.run import open_run
from tfdistil.runtime import Runtime
from tfdistil.tasks.iob2 import allowed_transitions
from tfdistil.text.train_tokenizer import train_wordpiece

RECIPE = """
task: tags
baseline: false
data: {demo: {kind: tags, languages: [en], train: 120, dev: 15, test: 15, transfer: 60}}
models:
  base: {ORIGIN, fine_tune: false, heads: {labels: crf}, max_length: 20}
  teacher:
    ORIGIN
    heads: {logits: crf}
    max_length: 20
    fine_tune: {epochs: 2, learning_rate: 5.0e-3, batch_size: 16, rates: {crf: 1.0e-2}}
  student: {from: base, apply: [{kind: keep_layers, layers: [1, 2]}]}
distill:
  - name: joint
    terms:
      - {loss: crf_nll}
      - {loss: sequence_cross_entropy, stream: [train, transfer], k: 5}
    optimizer: {learning_rate: 5.0e-3, rates: {crf: 1.0e-2}}
    batch_size: 16
    stop: {updates: 20, monitor: loss}
export: {length: 20, max_drop: 100}
benchmark: {queries: 100}
"""
SCRATCH = "scratch: {layers: 3, hidden_dim: 8, heads: 2, intermediate_dim: 12, vocabulary: 150}"


def recipe_of(origin):
    return parse_recipe(YAML(typ="safe").load(RECIPE.replace("ORIGIN", origin)))


def checkpoint(golden, folder) -> str:
    """The tiny BERT with a tokenizer, which it lacks."""
    copytree(golden / "bert-mlm", folder)
    corpus = load_corpus(recipe_of(SCRATCH))
    texts = (" ".join(words) for words in sentences(corpus.train, corpus.transfer))
    save_tokenizer(train_wordpiece(texts, 97), folder, load_encoder(folder).config)
    return f"checkpoint: {folder}"


def weights(model, group):
    return [np.array(weight) for weight in dict(model.layer_groups())[group]]


@pytest.mark.slow
def test_from_the_checkpoint_to_the_file(request, tmp_path):
    origin, pretrained = SCRATCH, (SHARED / "golden").is_dir()
    if pretrained:
        origin = checkpoint(request.getfixturevalue("golden"), tmp_path / "checkpoint")
    recipe = recipe_of(origin)
    assert recipe.plan() == ("base", "teacher", "student")
    run(recipe, tmp_path / "run", screen=Screen(Console(file=io.StringIO())))
    work = open_run(tmp_path / "run")
    base, student = work.model("base").model, work.model("student").model
    fresh = Models(recipe, load_corpus(recipe), Path())
    for group in ("embeddings", "layer_1", "layer_2"):
        for mine, theirs in zip(
            weights(fresh["student"].model, group), weights(base, group), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)
        moved = zip(weights(student, group), weights(base, group), strict=True)
        assert any(not np.array_equal(mine, theirs) for mine, theirs in moved)
    if pretrained:
        words = np.asarray(load_encoder(tmp_path / "checkpoint").word_embeddings)
        np.testing.assert_array_equal(np.asarray(base.word_embeddings), words)

    runtime = Runtime(tmp_path / "run" / "student.tflite")
    texts = [example.words for example in work.corpus.test]
    labels = list(work.corpus.task.outputs[0].labels)
    first, follow = allowed_transitions(labels)
    for answer in runtime.predict_words(texts):
        ids = [labels.index(tag) for tag in answer.tags]
        assert first[ids[0]]
        assert all(follow[a, b] for a, b in pairwise(ids))
