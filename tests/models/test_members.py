"""Students of several members: from one key of the recipe to one file."""

from __future__ import annotations

import io
import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.models.recipes import varied
from tfdistil.console.screen import Screen
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.errors import RecipeError
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.exporting.tree import read_tree
from tfdistil.models.record import load_model
from tfdistil.pipeline.run import run
from tfdistil.recipe.members import APART
from tfdistil.recipe.schema.parts import LARGEST
from tfdistil.recipe.systems import baseline_of, main_of, name_of, teacher_of
from tfdistil.runs.run import open_run
from tfdistil.runtime.runtime import Runtime

RECIPE = """
task: {kind: intent_slots, continuation: false}
data: {demo: {kind: intent_slots, languages: [en], train: 120, dev: 15, test: 15, transfer: 30}}
models:
  teacher:
    scratch: {layers: 1, hidden_dim: 16, heads: 2, intermediate_dim: 24, vocabulary: 300}
    fine_tune: {epochs: 2, learning_rate: 1.0e-2, batch_size: 16}
    heads: {logits: crf}
    max_length: 20
  student:
    kind: piece_qrnn
    state: 8
    bottleneck: 8
    embedding: {dim: 8, init: svd}
    embedding_codes: 4
    max_length: 20
    heads: {labels: crf}
    members: 2
distill:
  - name: joint
    groups: [heads, encoder]
    terms:
      - {loss: sequence_cross_entropy, stream: [train, transfer], output: slots}
      - {loss: soft_cross_entropy, stream: [train, transfer], output: intent}
    batch_size: 16
    stop: {updates: 8, monitor: loss}
export: {length: 20, max_drop: 100}
benchmark: {queries: 100}
seed: 7
"""

recipe_of = partial(varied, RECIPE)


def test_one_entry_stands_for_its_members_and_their_mean():
    recipe = recipe_of()
    assert list(recipe.models) == ["teacher", "student"]
    assert list(recipe.named) == ["teacher", "student_1", "student_2", "student"]
    assert recipe.members_of("student") == ("student_1", "student_2")
    assert recipe.sources_of("student") == ("student_1", "student_2")
    order = recipe.plan()
    assert sorted(order) == ["baseline", "student", "student_1", "student_2", "teacher"]
    assert order.index("teacher") < order.index("student_1") < order.index("student")
    assert [recipe.seed_of(f"student_{number}") for number in (1, 2)] == [7, 7 + APART]
    assert recipe.stages_of("student") == []
    for name in ("student_1", "student_2"):
        (stage,) = recipe.stages_of(name)
        assert (stage.name, stage.student, stage.teacher) == ("joint", name, "teacher")
    assert recipe.teachers_of("student") == ("teacher",)


def test_the_baseline_is_that_of_the_first_member():
    recipe = recipe_of()
    assert recipe.baselines() == {"baseline": "student_1"}
    assert recipe.seed_of("baseline") == recipe.seed_of("student_1")
    assert baseline_of("student_1", recipe) == "baseline"
    assert baseline_of("student", recipe) is None
    main = main_of(recipe)
    assert (str(main), teacher_of(main, recipe)) == ("student.tflite", "teacher")


def test_what_systems_are_called():
    recipe = recipe_of()
    named = {str(one): name_of(one, recipe) for one in map(main_of(recipe).parse, recipe.plan())}
    assert named["student"] == "student (mean of 2)"
    assert named["student_2"] == "student 2 (distilled)"


@pytest.mark.parametrize(
    ("own", "seeds"),
    [(40, [40, 40 + APART]), (LARGEST, [LARGEST, APART - 1])],
)
def test_the_seeds_of_members(own, seeds):
    recipe = recipe_of(("members: 2", f"seed: {own}\n    members: 2"))
    assert [recipe.seed_of(f"student_{number}") for number in (1, 2)] == seeds


def test_runs_of_neighbouring_seeds_have_no_member_in_common():
    runs = [recipe_of(("seed: 7", f"seed: {seed}")) for seed in (13, 14, 15)]
    seeds = [run.seed_of(name) for run in runs for name in run.members_of("student")]
    assert len(set(seeds)) == 6


def test_one_member_is_a_student_as_any_other():
    recipe = recipe_of(("    members: 2\n", ""))
    assert list(recipe.named) == ["teacher", "student"]
    assert recipe.baselines() == {"baseline": "student"}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("members: 2", "members: 0", "greater than or equal to 1"),
        ("members: 2", "members: 17", "less than or equal to 16"),
        ("distill:", "  student_2: {kind: bilstm}\ndistill:", "the name of a member of 'student'"),
        (
            "  student:\n    kind: piece_qrnn",
            f"  {'s' * 49}: {{kind: bilstm, members: 2}}\n  student:\n    kind: piece_qrnn",
            "longer than 50 letters",
        ),
        (
            "distill:",
            "  other: {kind: bilstm, heads: {labels: crf}}\n"
            "  both: {mean_of: [student_1, other], mean: geometric}\n"
            "deliver: {both: {tflite: true}}\ndistill:",
            "no stage trains 'other', which is delivered as a part of 'both'",
        ),
        ("distill:", "  again: {from: student}\ndistill:", "'student', which is a mean"),
        (
            "distill:",
            "  all: {mean_of: [student, teacher]}\ndistill:",
            "'student', which is a mean",
        ),
        ("seed: 7", "deliver: {student: {checkpoint: true}}", "is a piece_qrnn"),
        ("- name: joint", "- name: joint\n    student: student_1", "has the student 'student_1'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(before, after, says):
    with pytest.raises(RecipeError, match=says):
        recipe_of((before, after))


def test_a_member_may_teach():
    recipe = recipe_of(
        ("distill:", "  small: {kind: bilstm, heads: {labels: crf}}\ndistill:"),
        (
            "    stop: {updates: 8, monitor: loss}\n",
            "    stop: {updates: 8, monitor: loss}\n"
            "  - name: second\n    student: small\n    teacher: student_2\n"
            "    terms: [{loss: sequence_cross_entropy, output: slots}]\n",
        ),
        ("seed: 7", "seed: 7\ndeliver: {small: {tflite: true}}"),
    )
    assert recipe.teachers_of("small") == ("student_2", "teacher")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("members") / "run"
    run(recipe_of(), out, screen=Screen(Console(file=io.StringIO())))
    return out


@pytest.mark.slow
def test_members_differ_by_their_seeds_alone(made):
    one, two = (load_model(made / "models" / name) for name in ("student_1", "student_2"))
    assert one.featurizer.to_json() == two.featurizer.to_json()
    assert one.featurizer.to_assets() == two.featurizer.to_assets()
    assert {**one.arguments, "seed": 7 + APART} == two.arguments
    apart = [
        np.abs(a - b).max()
        for a, b in zip(one.model.get_weights(), two.model.get_weights(), strict=True)
    ]
    assert max(apart) > 1e-2


@pytest.mark.slow
def test_the_file_says_what_the_mean_says(made):
    work, runtime = open_run(made), Runtime(made / "student.tflite")
    records = [work.model(name) for name in ("student_1", "student_2")]
    kept = np.asarray(runtime.file.config["heads"]["slots"]["constants"]["potentials"])
    steps = [np.asarray(record.model.heads["labels/slots"].potentials) for record in records]
    np.testing.assert_allclose(kept, np.mean(steps, axis=0), atol=1e-6)
    examples = work.corpus.test
    rows = encode_rows(examples, records[0].featurizer, None)
    each = [Predictor(one.model, work.corpus.task, "labels").logits(rows) for one in records]
    found = runtime.answers([(example.words, None) for example in examples])
    for answer, *members in zip(found, *each, strict=True):
        for output, scores in answer.logits.items():
            expected = np.mean([one[output] for one in members], axis=0)
            assert np.abs(scores - expected).max() < 0.05 * max(1.0, np.abs(expected).max())
    parameters = [one.model.count_params() for one in (work.model("student"), *records)]
    table = sum(int(np.prod(one.shape)) for one in records[0].model.embedding.weights)
    assert table > 0
    assert parameters[0] == sum(parameters[1:]) - table


@pytest.mark.slow
def test_every_member_is_scored(made):
    scores = {name: evaluate(made, model=name) for name in ("student", "student_1", "student_2")}
    assert {frozenset(found) for found in scores.values()} == {frozenset(scores["student"])}
    assert not (made / "models" / "student" / "model.weights.h5").exists()


@pytest.mark.slow
def test_a_table_that_stays_is_in_the_file_once(made):
    models = [load_model(made / "models" / name).model for name in ("student_1", "student_2")]
    tables = [np.asarray(model.embedding.codes) for model in models]
    np.testing.assert_array_equal(*tables)
    tree = read_tree((made / "student.tflite").read_bytes())
    contents = [np.asarray(b.data, np.uint8).tobytes() for b in tree.buffers if b.data is not None]
    assert contents.count(tables[0].astype(np.uint8).tobytes()) == 1


@pytest.mark.slow
def test_a_run_that_was_stopped_between_members_goes_on(made, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(made, out)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    done = ("models/teacher", "models/student_1")
    manifest["steps"] = {name: manifest["steps"][name] for name in done}
    (out / "manifest.json").write_text(json.dumps(manifest))
    for name in ("student", "student_2"):
        shutil.rmtree(out / "models" / name)
    shutil.rmtree(out / "phases" / "student_2")
    run(recipe_of(), out, screen=Screen(Console(file=io.StringIO())))
    before, after = (load_model(of / "models" / "student_2").model for of in (made, out))
    for old, new in zip(before.get_weights(), after.get_weights(), strict=True):
        np.testing.assert_allclose(old, new, atol=1e-5)
