"""A run on text without labels: from words to small encoders, with scores and a report."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from ruamel.yaml import YAML

from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.encoders import load_encoder, save_encoder
from tfdistil.errors import RecipeError
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import parse_recipe
from tfdistil.runs.run_metrics import Metrics

RECIPE = """
task: text
data:
  demo: {kind: tags, languages: [en, es], train: 150, dev: 30, test: 30, transfer: 20}
models:
  teacher:
    scratch:
      {layers: 2, hidden_dim: 16, heads: 2, intermediate_dim: 24, vocabulary: 300,
       pretrain: {updates: 250, batch_size: 16, learning_rate: 5.0e-3}}
    heads: {logits: mlm}
    fine_tune: false
    max_length: 32
  half: {from: teacher, apply: [keep_layers]}
  spanish: {from: half, apply: [{kind: reduce_vocabulary, language: es}]}
distill:
  - name: language
    student: half
    terms:
      - {loss: softened_cross_entropy, weight: 5}
      - {loss: hidden_cosine}
      - {loss: masked_lm, weight: 2}
    noise: [masking]
    batch_size: 16
    stop: {updates: 20, every: 10, monitor: loss}
deliver: {half: {checkpoint: true}, spanish: {checkpoint: true}}
"""


def tree(**changes):
    return YAML(typ="safe").load(RECIPE) | changes


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "text"
    printed = io.StringIO()
    run(parse_recipe(tree()), out, screen=Screen(Console(file=printed, width=120)))
    return out, printed.getvalue()


@pytest.mark.slow
def test_every_masked_language_model_is_scored_and_delivered(finished):
    out, printed = finished
    metrics = Metrics.load(out)
    assert (metrics.task, metrics.metric, metrics.main) == ("text", "words_guessed", "half")
    assert [system.id for system in metrics.systems] == ["teacher", "half", "spanish"]
    teacher, half, spanish = metrics.systems
    assert half.parameters < teacher.parameters
    assert spanish.parameters < half.parameters
    for system in metrics.systems:
        assert set(system.scores) >= {"dev", "test"}
        assert 0 <= system.scores["test"]["words_guessed"] <= 100
        assert 0 < system.scores["test"]["bits_per_byte"] < 16
        assert set(system.languages) == {"en", "es"}
    assert teacher.scores["test"]["words_guessed"] > 5
    # What Spanish does not need is gone; what it needs is as it was.
    assert spanish.languages["es"] == pytest.approx(half.languages["es"], abs=3)
    assert not metrics.errors
    page = (out / "report.html").read_text("utf-8")
    assert "words guessed" in page
    assert "bits per byte" in page
    assert "words guessed" in (out / "MODEL_CARD.md").read_text("utf-8")
    assert "checkpoint of spanish" in printed


@pytest.mark.slow
def test_what_is_delivered_is_a_masked_language_model_of_its_format(finished):
    out, _ = finished
    folder = out / "checkpoints" / "spanish"
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert config["num_hidden_layers"] == 1
    encoder = load_encoder(folder, {}, heads={"logits": {"kind": "mlm"}})
    assert not encoder.load_report.fresh
    assert encoder.config.vocabulary == config["vocab_size"] < 300


@pytest.mark.slow
def test_models_of_text_are_evaluated_on_other_text(finished, tmp_path):
    out, _ = finished
    file = tmp_path / "other.txt"
    file.write_text("wake me up at seven\nset a timer for ten minutes\n", "utf-8")
    found = evaluate(out, file, model="teacher")
    assert found["other.txt"].examples == 2
    assert set(found["other.txt"].scores) == {"words_guessed", "bits_per_byte"}
    again = evaluate(out)
    assert again["test"].scores == pytest.approx(Metrics.load(out).delivered.scores["test"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"deliver": {}}, "task: text delivers encoders for other runs; say which"),
        ({"deliver": {"half": {"tflite": True}}}, "deliver.half.tflite needs a task"),
        (
            {"models": {"teacher": {"scratch": {}, "heads": {"logits": "mlm"}}}},
            "set models.teacher.fine_tune: false",
        ),
        (
            {"models": {"teacher": tree()["models"]["teacher"], "half": {"kind": "bilstm"}}},
            "models.half is a bilstm, which guesses no masked pieces",
        ),
    ],
)
def test_what_needs_labels_is_refused_at_once(changes, message):
    with pytest.raises(RecipeError, match=message):
        parse_recipe(tree(**changes))


def test_a_term_on_labels_is_refused(tmp_path: Path):
    changed = tree()
    changed["distill"][0]["terms"] = [{"loss": "cross_entropy"}]
    with pytest.raises(RecipeError, match="reads labels of the task, which has none"):
        run(parse_recipe(changed), tmp_path / "run", screen=Screen(Console(file=io.StringIO())))


def test_a_model_that_scores_no_pieces_is_refused(tmp_path: Path):
    changed = tree()
    changed["models"]["teacher"]["heads"] = {"logits": "linear"}
    with pytest.raises(RecipeError, match="mlm"):
        run(parse_recipe(changed), tmp_path / "run", screen=Screen(Console(file=io.StringIO())))


@pytest.fixture
def headless(finished, tmp_path):
    """A checkpoint without a masked-language head."""
    folder = tmp_path / "headless"
    save_encoder(load_encoder(finished[0] / "checkpoints" / "half"), folder)
    tokenizer = finished[0] / "checkpoints" / "half" / "tokenizer.json"
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return folder


@pytest.mark.slow
def test_a_head_that_nothing_has_trained_teaches_nothing(headless, tmp_path):
    changed = tree()
    changed["models"]["teacher"] = {
        "checkpoint": str(headless),
        "heads": {"logits": "mlm"},
        "fine_tune": False,
    }
    changed["models"]["copy"] = {"from": "teacher"}
    changed["models"]["half"] = {"from": "copy", "apply": [{"kind": "keep_layers", "layers": 1}]}
    changed["distill"][0]["teacher"] = "copy"
    screen = Screen(Console(file=io.StringIO()))
    with pytest.raises(RecipeError, match=r"models.copy: .* has no trained masked-language head"):
        run(parse_recipe(changed), tmp_path / "run", screen=screen)


@pytest.mark.slow
def test_layers_of_a_checkpoint_without_a_head_learn_other_pieces(headless, tmp_path):
    changed = tree()
    changed["models"] = {
        "english": {"checkpoint": str(headless), "heads": {"logits": "mlm"}, "fine_tune": False},
        "half": {"from": "english", "apply": [{"kind": "new_vocabulary", "vocabulary": 200}]},
    }
    changed["deliver"].pop("spanish")
    stage = changed["distill"][0]
    stage["teacher"], stage["terms"] = None, [{"loss": "masked_lm", "stream": "train"}]
    stage["stop"] |= {"updates": 60, "every": 20}
    screen = Screen(Console(file=io.StringIO()))
    metrics = run(parse_recipe(changed), tmp_path / "run", screen=screen)
    assert [system.id for system in metrics.systems] == ["half"]
    config = json.loads((tmp_path / "run/checkpoints/half/config.json").read_text("utf-8"))
    assert config["vocab_size"] == 200


@pytest.mark.slow
def test_a_corpus_is_all_the_text_that_a_run_needs(tmp_path):
    """Tokenizer, pre-training, an assistant on its own section, and scores on what is held out."""
    for language, words in (("en", "the sun is a star"), ("es", "el sol es una estrella")):
        lines = [f"{words} {number} {words}" for number in range(200)]
        (tmp_path / f"{language}.txt").write_text("\n".join(lines) + "\n", "utf-8")
    changed = tree(
        data={
            "corpus": {
                "sources": [{"path": f"{name}.txt", "language": name} for name in ("en", "es")],
                "sections": {"half": 0.5},
                "held_out": 0.1,
                "test": 0.1,
                "balance": {"more": "en", "less": "es", "ratio": 2},
            }
        }
    )
    changed["models"].pop("spanish")
    changed["deliver"].pop("spanish")
    stage = changed["distill"][0]
    stage["stop"] |= {"on": "corpus_held_out"}
    stage["terms"] = [term | {"stream": "corpus.half"} for term in stage["terms"]]
    stage["noise"] = [{"kind": "masking", "smoothing": 0.7, "whole_words": True}]
    changed["models"]["teacher"]["scratch"] |= {"vocabulary": 100}
    printed = io.StringIO()
    screen = Screen(Console(file=printed, width=120))
    metrics = run(parse_recipe(changed), tmp_path / "run", tmp_path, screen)
    assert [system.id for system in metrics.systems] == ["teacher", "half"]
    # Both sets are drawn from the parts that nothing is trained on: a tenth of 400 lines each.
    assert 20 < metrics.data["dev"] < 60
    assert 20 < metrics.data["test"] < 60
    assert metrics.data["train"] == 0
    assert set(metrics.languages) == {"en", "es"}
    teacher = metrics.system("teacher")
    assert teacher.scores["test"]["words_guessed"] > 20
    assert "pieces per word" in printed.getvalue()


def corpus_of_numbers(folder: Path, **shares):
    """A recipe that only cuts the vocabulary, and its text of 60 lines."""
    (folder / "en.txt").write_text("".join(f"line {n} of text\n" for n in range(60)), "utf-8")
    source = {"path": "en.txt", "language": "en"}
    changed = tree(data={"corpus": {"sources": [source], **shares}}, distill=[])
    changed["models"]["teacher"]["scratch"] = {"layers": 1, "hidden_dim": 8, "vocabulary": 100}
    changed["models"] = {
        "teacher": changed["models"]["teacher"],
        "small": {"from": "teacher", "apply": ["reduce_vocabulary"]},
    }
    changed["deliver"] = {"small": {"checkpoint": True}}
    return parse_recipe(changed)


def test_a_run_with_nothing_to_score_on_ends_before_it_trains(tmp_path):
    recipe = corpus_of_numbers(tmp_path, held_out=0, test=0)
    with pytest.raises(RecipeError, match="leave no line to score models on"):
        load_corpus(recipe, tmp_path)


@pytest.mark.slow
def test_a_checkpoint_is_read_back_where_there_is_no_dev(tmp_path):
    recipe = corpus_of_numbers(tmp_path, held_out=0, test=0.2)
    screen = Screen(Console(file=io.StringIO()))
    metrics = run(recipe, tmp_path / "run", tmp_path, screen)
    assert set(metrics.delivered.scores) == {"test"}
    assert load_encoder(tmp_path / "run" / "checkpoints" / "small", {}).config.layers == 1


@pytest.mark.parametrize("stream", ["test", "corpus_test", ["train", "test"]])
def test_nothing_is_trained_on_what_is_reported_on(stream):
    changed = tree()
    changed["distill"][0]["terms"] = [{"loss": "masked_lm", "stream": stream}]
    with pytest.raises(RecipeError, match="which scores are reported on"):
        parse_recipe(changed)


def test_labels_need_more_than_a_corpus():
    changed = tree(task="tags", data={"corpus": {"sources": [{"path": "a.txt"}]}})
    with pytest.raises(RecipeError, match=r"task tags learns from labels; give data\.train"):
        parse_recipe(changed)
