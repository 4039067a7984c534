"""Runs against runs on the same sentences, with answers that are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tfdistil.cli.main import main
from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import RunError
from tfdistil.evaluation.comparison import write_predictions
from tfdistil.evaluation.paired_bootstrap import HEAD, over_sentences
from tfdistil.recipe.loading import load_recipe
from tfdistil.runs.folder import RunFolder
from tfdistil.tasks import Prediction

FEW = ["data.low_resource={samples: 2, per: class}"]
TINY = Path(__file__).parents[1] / "tiny.yaml"


@pytest.fixture
def make_run(tmp_path):
    """A run whose file errs in the intent of given sentences of dev, and whose teacher never."""

    def make(name: str, wrong: set[int], *assignments: str) -> Path:
        recipe = load_recipe(TINY, assignments)
        folder = RunFolder(tmp_path / name, recipe)
        folder.finish("evaluate", 1.0, {"systems": ["teacher", "student.tflite"]})
        (tmp_path / name / "predictions").mkdir()
        corpus = load_corpus(recipe)
        for kind, errors in (("teacher", set[int]()), ("student.tflite", wrong)):
            for key in ("dev", "test"):
                rows = [Prediction(tags=e.tags, label=e.label) for e in getattr(corpus, key)]
                for at in errors if key == "dev" else ():
                    rows[at] = replace(rows[at], label="none")
                path = tmp_path / name / "predictions" / f"{kind}.{key}.jsonl"
                path.write_text(write_predictions(rows), "utf-8")
        return tmp_path / name

    return make


def rows(table: str) -> dict[str, list[str]]:
    lines = table.splitlines()
    assert lines[2] == HEAD
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[4:]]
    return {name: rest for name, *rest in cells}


def test_the_gain_of_one_run_over_another(make_run):
    worse, better = make_run("worse", {0, 1, 2, 3, 4}), make_run("better", {0, 1})
    found = rows(over_sentences([better], [worse], "student.tflite"))
    assert found["dev"][:4] == ["20", "75.0", "90.0", "+15.0"]
    low, high = (float(x) for x in found["dev"][4].split(" to "))
    assert 0 <= low <= 15 <= high  # nowhere worse
    assert found["test"][1:5] == ["100.0", "100.0", "+0.0", "+0.0 to +0.0"]
    assert found["dev"][5] == "120.0 %"


def test_several_runs_are_one_system(make_run):
    one, two = make_run("one", {0, 1}), make_run("two", {0, 1, 2, 3}, "seed=13")
    found = rows(over_sentences([one, two], ["teacher"], "student.tflite"))
    assert found["dev"][:4] == ["20", "100.0", "85.0", "-15.0"]
    # Sentences that err in both runs weigh twice those that err in one.
    same = rows(over_sentences([one, one], ["teacher"], "student.tflite"))
    assert same["dev"] == rows(over_sentences([one], ["teacher"], "student.tflite"))["dev"]


def test_other_sentences_are_refused(make_run, tmp_path):
    one, other = make_run("one", set()), make_run("other", set(), "seed=99")
    for folders, against in (([one], [other]), ([one, other], ["teacher"])):
        with pytest.raises(RunError, match="do not have the same dev and test sentences"):
            over_sentences(folders, against, "student.tflite")
    with pytest.raises(RunError, match=r"no answers of baseline; there are those of teacher, st"):
        over_sentences([one], ["baseline"], "student.tflite")
    with pytest.raises(RunError, match="not a run folder"):
        over_sentences([one], [tmp_path / "none"], "student.tflite")


def test_runs_on_more_and_less_of_train_are_compared_on_dev_and_test(make_run, tmp_path):
    """Which sentences of test their train has not is another set in each."""
    texts = {"train": 30, "dev": 20, "test": 20}
    for name, count in texts.items():
        lines = [f"{'play' if i % 2 else 'stop'} {name} {i},{i % 2}" for i in range(count)]
        if name == "test":
            lines[0] = "stop train 0,0"
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *lines]), "utf-8")
    own = ["task=classes", "data.demo=null"]
    own += [f"data.{name}=[{{path: {tmp_path}/{name}.csv}}]" for name in texts]
    full, few = make_run("full", {0}, *own), make_run("few", {0, 1}, *own, *FEW)
    assert load_corpus(RunFolder(full).recipe).seen_in_train
    found = rows(over_sentences([full], [few], "student.tflite"))
    assert {"dev", "test"} <= set(found) <= {"dev", "test", "test_unseen"}
    assert found["dev"][:4] == ["20", "90.0", "95.0", "+5.0"]
    both = rows(over_sentences([full, few], ["teacher"], "student.tflite"))
    assert both["dev"][:4] == ["20", "100.0", "92.5", "-7.5"]


def test_on_the_command_line(make_run, capsys):
    run = str(make_run("one", {3}))
    assert main(["compare", run, "--against", "teacher"]) == 0
    assert "| dev | 20 | 100.0 | 95.0 | -5.0 |" in capsys.readouterr().out
    assert main(["compare", run, "--against", "teacher", "--model", "teacher"]) == 0
    assert "| dev | 20 | 100.0 | 100.0 | +0.0 |" in capsys.readouterr().out


def test_against_a_light_model_of_the_same_labels(make_run, capsys):
    run = make_run("one", set())
    assert main(["compare", str(run), "--against", "light"]) == 0
    table = capsys.readouterr().out
    assert "student.tflite against light: a CRF on affixes and shapes, TF-IDF" in table
    cells = rows(table)["dev"]
    assert float(cells[1]) < float(cells[2]) == 100.0


def test_a_set_in_two_languages_has_a_row_for_each(make_run):
    languages = "data.demo.languages=[en, de]"
    wrong = set(range(5))
    found = rows(over_sentences([make_run("one", wrong, languages)], ["teacher"]))
    corpus = load_corpus(load_recipe(TINY, [languages]))
    for name in ("dev", "test"):
        spoken = [example.language for example in getattr(corpus, name)]
        for code in ("de", "en"):
            right = [i not in wrong or name == "test" for i, s in enumerate(spoken) if s == code]
            assert found[f"{name}, {code}"][0] == str(len(right))
            assert float(found[f"{name}, {code}"][2]) == pytest.approx(
                100 * sum(right) / len(right), abs=0.05
            )
    one = rows(over_sentences([make_run("two", wrong)], ["teacher"]))
    assert [name for name in one if "," in name] == []


def test_anchors_refuse_what_they_are_not_for(make_run, capsys):
    run = str(make_run("one", set()))
    assert main(["compare", run, "--against", "majority"]) == 2
    assert "for tags and slots there is light" in capsys.readouterr().err
    assert main(["compare", run, "--against", "second"]) == 2
    assert "for single texts there is light" in capsys.readouterr().err
