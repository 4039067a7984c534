"""A checkpoint keeps the kinds of its heads: none is dropped, and nothing random is learnt from."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import CheckpointError, RecipeError
from tfdistil.models.graph import Models
from tfdistil.models.record import save_checkpoint
from tfdistil.pipeline.run import check_stages
from tfdistil.recipe.loading import parse_recipe
from tfdistil.runs.folder import RunFolder
from tfdistil.runs.run import Run

RECIPE = """
task: tags
data: {{demo: {{kind: tags, languages: [en], train: 40, dev: 8, test: 5, transfer: 20}}}}
models:
  teacher: {teacher}
  student: {{kind: bilstm, hidden_dim: 4, embedding: {{dim: 4}}, heads: {{labels: {kind}}}}}
distill: [{{name: one, terms: [{{loss: {loss}, stream: transfer}}]}}]
"""
SCRATCH = (
    "{{scratch: {{layers: 1, hidden_dim: 8, heads: 2, intermediate_dim: 12, vocabulary: 300}}, "
    "heads: {{logits: {kind}}}, max_length: 48}}"
)

JOINT = """
task: intent_slots
data: {{demo: {{kind: intent_slots, languages: [en], train: 40, dev: 8, test: 5, transfer: 20}}}}
models: {{teacher: {}, student: {{kind: bilstm, hidden_dim: 4, embedding: {{dim: 4}}}}}}
distill: [{{name: one, terms: [{{loss: soft_cross_entropy, teacher_head: {}, stream: transfer}}]}}]
"""


def recipe(teacher: str, kind: str):
    loss = {"crf": "token_marginals", "linear": "soft_cross_entropy"}[kind]
    return parse_recipe(YAML().load(RECIPE.format(teacher=teacher, kind=kind, loss=loss)))


def check(teacher: str, kind: str, folder: Path):
    parsed = recipe(teacher, kind)
    check_stages(Run(RunFolder(folder, parsed), load_corpus(parsed), Screen()))


@pytest.fixture(scope="module", params=["crf", "linear"])
def saved(request, tmp_path_factory):
    """The kind of a checkpoint's head, and its folder."""
    kind, folder = request.param, tmp_path_factory.mktemp("saved")
    made = recipe(SCRATCH.format(kind=kind), kind)
    models = Models(made, load_corpus(made), Path())
    save_checkpoint(models["teacher"], models.corpus.task, folder)
    return kind, folder


def test_the_kind_it_was_saved_with_is_learnt_from(saved, tmp_path):
    kind, folder = saved
    teacher = f"{{checkpoint: {folder}, fine_tune: false, heads: {{logits: {kind}}}}}"
    check(teacher, kind, tmp_path / "run")


def test_another_kind_is_refused(saved, tmp_path):
    kind, folder = saved
    other = {"crf": "linear", "linear": "crf"}[kind]
    teacher = f"{{checkpoint: {folder}, fine_tune: false, heads: {{logits: {other}}}}}"
    if kind == "crf":
        with pytest.raises(
            CheckpointError, match=r"heads.tags.potentials, which a linear head has"
        ):
            check(teacher, other, tmp_path / "run")
    else:
        with pytest.raises(
            RecipeError, match="has no trained crf of head tags, and nothing here trains it"
        ):
            check(teacher, other, tmp_path / "run")
        check(teacher.replace("fine_tune: false, ", ""), other, tmp_path / "tuned")


def test_new_heads_may_be_there_where_nothing_reads_them(saved, tmp_path):
    _, folder = saved
    teacher = f"{{checkpoint: {folder}, fine_tune: false, heads: {{logits: crf}}}}"
    text = RECIPE.format(teacher=teacher, kind="linear", loss="hidden_kl, layer: 1")
    parsed = parse_recipe(
        YAML().load(text.replace("kind: bilstm", "kind: bilstm, projection: true"))
    )
    check_stages(Run(RunFolder(tmp_path / "run", parsed), load_corpus(parsed), Screen()))


def test_a_teacher_may_have_new_heads_beside_those_that_are_read(tmp_path):
    made = parse_recipe(YAML().load(JOINT.format(SCRATCH.format(kind="linear"), "logits")))
    models = Models(made, load_corpus(made), Path())
    save_checkpoint(models["teacher"], models.corpus.task, tmp_path / "saved")
    teacher = f"{{checkpoint: {tmp_path / 'saved'}, fine_tune: false, heads: [logits, more]}}"
    for head in ("logits", "more"):
        parsed = parse_recipe(YAML().load(JOINT.format(teacher, head)))
        work = Run(RunFolder(tmp_path / head, parsed), load_corpus(parsed), Screen())
        if head == "logits":
            check_stages(work)
        else:
            with pytest.raises(
                RecipeError, match="has no trained head more/slots, head more/intent, and nothing"
            ):
                check_stages(work)
