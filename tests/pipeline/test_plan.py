"""A recipe of several models: the order they are made in, and a run from the first to the last."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from ruamel.yaml import YAML

from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.encoders import load_encoder
from tfdistil.errors import RecipeError, RunError
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.exporting.cli import main as export_main
from tfdistil.models.graph import Models
from tfdistil.models.record import load_model, save_checkpoint, save_model
from tfdistil.pipeline.run import check_stages, run
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.systems import files_of, name_of
from tfdistil.runs.folder import RunFolder
from tfdistil.runs.model_sharing import model_key
from tfdistil.runs.run import Run, open_run

TINY = Path(__file__).parents[1] / "tiny.yaml"
CASCADE = """
models:
  teacher: {scratch: {layers: 2}, fine_tune: {epochs: 4}}
  student: {kind: bilstm, hidden_dim: 8, embedding: {dim: 8}, max_length: 32}
  half: {from: teacher, apply: [{kind: keep_layers, layers: [1]}]}
distill:
  - name: last
    teacher: half
    terms: [{loss: logit_mse, stream: [train, transfer]}]
    stop: {updates: 40}
  - name: assist
    student: half
    terms: [{loss: logit_mse, head: logits, stream: [train, transfer]}]
    stop: {updates: 20}
baseline: false
"""


def parsed(text):
    return YAML(typ="safe").load(text)


def parsed_teacher():
    """The teacher of the cascade, as small as the tiny recipe's."""
    tiny = parsed(TINY.read_text("utf-8"))["models"]["teacher"]
    own = parsed(CASCADE)["models"]["teacher"]
    return {**tiny, **{part: {**tiny[part], **own[part]} for part in own}}


def cascade(**changes):
    """The tiny recipe's data with a student of an assistant, named before it."""
    tree = parsed(TINY.read_text("utf-8")) | parsed(CASCADE)
    tree["models"]["teacher"] = parsed_teacher()
    return parse_recipe({**tree, **changes})


def test_each_model_comes_after_those_it_needs():
    recipe = cascade()
    assert recipe.plan() == ("teacher", "half", "student")
    assert recipe.needs("student") == ("teacher", "half")
    assert recipe.needs("half") == ("teacher",)
    assert recipe.lineage("half") == ("half", "teacher")


def test_the_example_of_the_docs_is_a_recipe():
    page = (Path(__file__).parents[2] / "docs" / "encoders.md").read_text("utf-8")
    text = page.split("## Models made from others")[1].split("```yaml\n")[1].split("```")[0]
    data = {"demo": {"kind": "tags"}}
    recipe = parse_recipe({"task": "tags", "data": data, **YAML(typ="safe").load(text)})
    assert recipe.plan() == ("teacher", "assistant", "student")


def test_a_model_that_nothing_needs_is_not_made():
    models = {**json.loads(cascade().model_dump_json())["models"], "spare": {"from": "half"}}
    assert cascade(models=models).plan() == ("teacher", "half", "student")


def test_a_student_that_no_stage_trains():
    stages = [stage for stage in parsed(CASCADE)["distill"] if stage["name"] == "assist"]
    with pytest.raises(RecipeError, match="no stage trains 'student'"):
        cascade(distill=stages)


def test_a_teacher_that_a_stage_trains_is_another_teacher():
    corpus = load_corpus(cascade())
    on_labels = {
        "name": "more",
        "student": "teacher",
        "teacher": None,
        "terms": [{"loss": "cross_entropy", "head": "logits"}],
    }
    stages = parsed(CASCADE)["distill"]
    recipes = [
        cascade(distill=[*stages, *more])
        for more in (
            [],
            [on_labels],
            [on_labels | {"stop": {"updates": 7}}],
        )
    ]
    keys = {model_key(recipe, "teacher", corpus, Path()) for recipe in recipes}
    assert len(keys) == 3


def test_an_encoder_made_of_another_one_is_the_same_after_a_stop(tmp_path):
    """Dropout of what is made of a loaded model begins as that of what is made of a fresh one."""
    recipe = cascade()
    corpus = load_corpus(recipe)
    fresh = Models(recipe, corpus, tmp_path)
    save_model(fresh["teacher"], corpus.task, tmp_path / "teacher")
    loaded = load_model(tmp_path / "teacher", recipe.seed_of("teacher"))
    again = Models(recipe, corpus, tmp_path, made={"teacher": loaded})
    for mine, theirs in zip(
        again["half"].model.variables, fresh["half"].model.variables, strict=True
    ):
        np.testing.assert_array_equal(mine, theirs, err_msg=mine.path)


@pytest.mark.slow
@pytest.mark.long
def test_a_quantized_student_may_have_the_only_stage(tmp_path):
    """The student without distillation is then the model that it began as, wholly trained."""
    recipe = cascade(
        models={
            "teacher": parsed_teacher(),
            "hashed": HASHED,
            "student": {"from": "hashed", "apply": ["quantize"]},
        },
        distill=[{"name": "only", "terms": [{"loss": "cross_entropy"}], "stop": {"updates": 5}}],
        baseline=True,
    )
    found = run(recipe, tmp_path, screen=Screen(Console(file=io.StringIO())))
    assert [s.id for s in found.systems] == [
        *("teacher", "baseline", "student", "student.tflite")  # nothing has trained `hashed`
    ]


@pytest.mark.slow
def test_assistants_that_learn_inner_states_alone_are_not_scored(tmp_path):
    teacher = {**parsed_teacher(), "fine_tune": False}
    tuned = {"epochs": 1, "learning_rate": 1.0e-3}
    recipe = cascade(
        models={
            "teacher": teacher,
            "half": {"from": "teacher", "apply": [{"kind": "keep_layers", "layers": [1]}]},
            "half_tags": {"from": "half", "fine_tune": tuned},
            "teacher_tags": {"from": "teacher", "fine_tune": tuned},
        },
        distill=[
            {
                "name": "assist",
                "student": "half",
                "terms": [{"loss": "states_mse", "layers": [[1, 1, 2]]}],
                "stop": {"updates": 3, "monitor": "loss", "on": "transfer_held_out"},
            }
        ],
        deliver={"half_tags": {"tflite": True}, "teacher_tags": {"checkpoint": True}},
    )
    found = run(recipe, tmp_path, screen=Screen(Console(file=io.StringIO())))
    assert [s.id for s in found.systems] == ["teacher_tags", "half_tags", "half_tags.tflite"]
    assert (tmp_path / "report.html").is_file()


@pytest.mark.slow
def test_a_model_is_scored_once_all_that_it_answers_is_trained(tmp_path):
    """New heads beside those that answer do not matter, and one of two outputs is not enough."""
    fresh = cascade()
    models = Models(fresh, load_corpus(fresh), tmp_path)
    save_checkpoint(models["teacher"], models.corpus.task, tmp_path / "checkpoint")
    student = parsed(CASCADE)["models"]["student"]
    recipe = cascade(
        models={
            "teacher": {
                "checkpoint": str(tmp_path / "checkpoint"),
                "fine_tune": False,
                "heads": ["logits", "more"],
                "max_length": 32,
            },
            "slots": student,
            "both": {"from": "slots"},
            "student": student,
        },
        distill=[
            {
                "name": name,
                "student": name,
                "teacher": teacher,
                "terms": [term],
                "stop": {"updates": 2},
            }
            for name, teacher, term in (
                ("slots", "teacher", {"loss": "cross_entropy", "output": "slots"}),
                ("both", "teacher", {"loss": "logit_mse", "output": "intent"}),
                ("student", "both", {"loss": "logit_mse"}),
            )
        ],
    )
    found = run(recipe, tmp_path / "run", screen=Screen(Console(file=io.StringIO())))
    assert [s.id for s in found.systems] == ["teacher", "both", "student", "student.tflite"]
    with pytest.raises(RunError, match="'slots' has no head that was trained for the task"):
        evaluate(tmp_path / "run", model="slots")


HASHED = {
    "kind": "pqrnn",
    "bottleneck": 4,
    "layers": 1,
    "state": 3,
    "max_length": 32,
    "hashing": {"families": {"murmur": 16}},
}
ON_LABELS = {
    "name": "only",
    "teacher": None,
    "terms": [{"loss": "cross_entropy"}],
    "stop": {"updates": 5},
}


def quietly(recipe, folder):
    return run(recipe, folder, screen=Screen(Console(file=io.StringIO())))


def test_what_is_delivered_is_made_with_its_baseline():
    recipe = cascade(
        baseline=True, deliver={"half": {"checkpoint": True}, "student": {"tflite": True}}
    )
    assert recipe.main == "half"
    assert recipe.baselines() == {}  # an encoder's would be the fine-tuned checkpoint
    recipe = cascade(baseline=True, deliver={"student": {"tflite": True}})
    assert recipe.baselines() == {"baseline": "student"}
    assert recipe.plan() == ("teacher", "half", "student", "baseline")
    assert recipe.teachers_of("student") == ("half", "teacher")
    assert recipe.teachers_of("teacher") == ()


def test_a_file_has_the_keys_of_export_but_for_its_own():
    deliver = {"student": {"tflite": {"quantize": "dynamic"}}, "half": {"tflite": True}}
    recipe = cascade(deliver=deliver, export={"quantize": "none", "length": 24})
    assert (recipe.export_of("student").quantize, recipe.export_of("half").quantize) == (
        "dynamic",
        "none",
    )
    assert recipe.export_of("student").length == 24
    again = parse_recipe(parsed(recipe.to_yaml()))
    assert again == recipe
    assert parse_recipe({**parsed(recipe.to_yaml()), "export": {"length": 16}}).export_of(
        "student"
    ) == again.export_of("student").model_copy(update={"length": 16})


def test_attention_is_quantized_row_by_row_unless_the_recipe_says_otherwise():
    recipe = cascade(deliver={name: {"tflite": True} for name in ("student", "half")})
    found = [recipe.export_of(name).quantize for name in ("student", "half", "teacher")]
    assert found == ["int8", "dynamic", "dynamic"]
    assert [name_of(id, recipe) for id in files_of(recipe)] == ["student int8", "half dynamic"]
    models = json.loads(recipe.model_dump_json())["models"]
    models["student"] = {"kind": "transformer", "hidden_dim": 8, "layers": 1}
    assert cascade(models=models).export_of("student").quantize == "dynamic"
    recipe = cascade(deliver={"half": {"tflite": True}}, export={"quantize": "int8"})
    assert recipe.export_of("half").quantize == "int8"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"deliver": {"nobody": {"tflite": True}}}, "deliver names 'nobody', which is no model"),
        ({"deliver": {"student": {}}}, "tflite: true, checkpoint: true, or both"),
        ({"deliver": {"student": {"checkpoint": True}}}, "needs an encoder, but 'student' is a b"),
        ({"deliver": {"student": {"tflite": {"head": "x"}}}}, "export.head 'x' is no head of"),
    ],
)
def test_what_cannot_be_delivered(changes, words):
    with pytest.raises(RecipeError, match=words):
        cascade(**changes)


STUDENT = {"kind": "bilstm", "hidden_dim": 8, "embedding": {"dim": 8}}


@pytest.mark.parametrize(
    "models",
    [
        {"one": {"from": "two"}, "two": {"from": "missing"}},
        {"one": {"baseline_of": "two"}, "two": {"from": "missing"}},
        {"student": {**STUDENT, "encoder": "two"}, "two": {"from": "missing"}},
        {"student": {"from": "two"}, "two": {"baseline_of": "student"}},
        {"one": {"baseline_of": "one"}},
        {"one": {"baseline_of": "two"}, "two": {"baseline_of": "one"}},
    ],
)
def test_entries_that_lead_nowhere_are_errors(models):
    tree = {"teacher": parsed_teacher(), "student": STUDENT, **models}
    with pytest.raises(RecipeError, match=r"no model|begins as"):
        cascade(models=tree, distill=[ON_LABELS])


def test_a_baseline_may_be_delivered_and_is_not_made_twice():
    models = {"teacher": parsed_teacher(), "student": STUDENT, "d0": {"baseline_of": "student"}}
    recipe = cascade(
        models=models, distill=[ON_LABELS], baseline=True, deliver={"d0": {"tflite": True}}
    )
    assert recipe.plan() == ("teacher", "student", "d0")
    with pytest.raises(RecipeError, match="which is a baseline and learns from the labels"):
        cascade(models=models, distill=[ON_LABELS, {**ON_LABELS, "name": "x", "student": "d0"}])


def test_the_head_of_an_encoder_is_the_one_that_teaches():
    models = {
        "teacher": parsed_teacher() | {"heads": ["soft", "hard"]},
        "student": STUDENT | {"heads": ["soft", "hard"]},
    }
    stage = ON_LABELS | {"terms": [{"loss": "cross_entropy", "head": "hard"}]}
    recipe = cascade(models=models, distill=[stage], baseline=True, export={"head": "hard"})
    heads = {name: recipe.head_of(name) for name in recipe.plan()}
    assert heads == {"teacher": "soft", "student": "hard", "baseline": "hard"}


def test_the_first_teacher_is_the_one_that_had_none():
    """A student of both an assistant and the assistant's teacher."""
    stages = [*parsed(CASCADE)["distill"], {**ON_LABELS, "name": "both", "teacher": "teacher"}]
    assert cascade(distill=stages).teachers_of("student") == ("half", "teacher")
    assert cascade(distill=stages[::-1]).teachers_of("student") == ("half", "teacher")


def test_without_a_student_it_must_be_said_what_is_delivered():
    with pytest.raises(RecipeError, match=r"so say what is delivered, as in deliver: \{teacher:"):
        cascade(models={"teacher": parsed_teacher()}, distill=[])


def test_a_student_of_pieces_needs_an_encoder(tmp_path):
    student = {"kind": "bilstm", "hidden_dim": 8, "embedding": {"dim": 8}}
    recipe = cascade(models={"student": student}, distill=[ON_LABELS])
    with pytest.raises(RecipeError, match=r"reads the word pieces of models\.teacher, which there"):
        quietly(recipe, tmp_path)


@pytest.mark.slow
def test_a_student_of_hashed_words_needs_no_teacher(tmp_path):
    recipe = cascade(models={"student": HASHED}, distill=[ON_LABELS])
    found = quietly(recipe, tmp_path)
    assert [s.name for s in found.systems] == ["student (labels only)", "student int8"]
    assert found.teacher is None
    assert found.delivered.retention == {}
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "No teacher to compare" in page
    assert "learnt from its outputs" not in (tmp_path / "MODEL_CARD.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.long
def test_a_run_without_a_file_and_then_with_three(tmp_path):
    """A checkpoint alone; then, without training anything again, files of two kinds too."""
    models = {"teacher": parsed_teacher(), "student": HASHED, "other": HASHED | {"state": 4}}
    stages = [{**ON_LABELS, "name": f"on_{name}", "student": name} for name in ("student", "other")]
    deliver = {"teacher": {"checkpoint": True}}
    recipe = cascade(models=models, distill=stages, deliver=deliver)
    found = quietly(recipe, tmp_path)
    assert found.main == "teacher"
    assert not list(tmp_path.rglob("*.tflite"))
    assert load_encoder(tmp_path / "checkpoints" / "teacher").config.layers == 2
    assert "The model teacher has a" in (tmp_path / "report.html").read_text("utf-8")

    before = (tmp_path / "history.csv").read_bytes()
    deliver |= {"student": {"tflite": True}, "other": {"tflite": {"quantize": "none"}}}
    again = quietly(cascade(models=models, distill=stages, deliver=deliver), tmp_path)
    assert (tmp_path / "history.csv").read_bytes() == before
    ids = ["teacher", "student", "other", "student.tflite", "other.tflite"]
    assert [system.id for system in again.systems] == ids
    assert [again.system(id).export.quantize for id in ids[3:]] == ["int8", "none"]
    assert all(again.system(id).latency for id in ids[3:])


@pytest.mark.slow
@pytest.mark.long
def test_a_teachers_assistant_teaches_the_student(tmp_path, capsys):
    text = io.StringIO()
    run(cascade(), tmp_path, screen=Screen(Console(file=text, width=200)))
    names = [path.name for path in sorted((tmp_path / "models").iterdir())]
    assert names == ["half", "student", "teacher"]
    half = load_encoder(tmp_path / "models" / "half")
    assert half.config.layers == 1
    work = open_run(tmp_path)
    moved = [
        not np.array_equal(mine, theirs)
        for mine, theirs in zip(
            dict(work.model("half").model.layer_groups())["layer_1"],
            dict(work.model("teacher").model.layer_groups())["layer_1"],
            strict=True,
        )
    ]
    assert any(moved)  # the assistant was trained on
    assert [phase["name"] for phase in work.phases("student")] == ["last"]
    assert any("half on train" in line for line in text.getvalue().splitlines())
    for name in ("teacher", "half", "student"):
        assert evaluate(tmp_path, model=name)["dev"].examples == 20
    file = tmp_path / "half.tflite"
    assert export_main([str(tmp_path), "--model", "half", "--out", str(file)]) == 0
    assert file.stat().st_size > 10_000
    assert "Keras" in capsys.readouterr().out

    # Stopped before the last model, it goes on with that one alone.
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    scores = json.loads((tmp_path / "metrics.json").read_text("utf-8"))["systems"]
    for step in [
        step for step in manifest["steps"] if step not in ("models/teacher", "models/half")
    ]:
        del manifest["steps"][step]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for path in (tmp_path / "phases" / "student").iterdir():
        path.unlink()
    before = (tmp_path / "student.tflite").read_bytes()
    again = io.StringIO()
    run(cascade(), tmp_path, screen=Screen(Console(file=again, width=200)))
    assert "fine_tune" not in again.getvalue()
    assert "assist: " not in again.getvalue()
    assert "last: done" in again.getvalue()
    assert (tmp_path / "student.tflite").read_bytes() == before
    found = json.loads((tmp_path / "metrics.json").read_text("utf-8"))["systems"]
    assert [s["scores"] for s in found] == [s["scores"] for s in scores]


def test_fine_tuning_in_a_precision_that_a_model_has_not_is_refused_at_once(tmp_path):
    recipe = cascade(
        models={
            "teacher": parsed_teacher(),
            "student": HASHED,
            "tuned": {"from": "student", "fine_tune": {"precision": "bfloat16"}},
        },
        distill=[{"name": "one", "terms": [{"loss": "cross_entropy"}]}],
        deliver={"student": {"tflite": True}, "tuned": {"tflite": True}},
    )
    work = Run(RunFolder(tmp_path, recipe), load_corpus(recipe), Screen())
    with pytest.raises(RecipeError, match=r"models\.tuned\.fine_tune\.precision: bfloat16: this"):
        check_stages(work)
