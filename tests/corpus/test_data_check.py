"""``tfdistil data check`` reads what a recipe names, as a run would."""

from __future__ import annotations

import pytest

from tfdistil.corpus.check import check_recipe
from tfdistil.recipe.loading import parse_recipe
from tfdistil.text.train_tokenizer import train_wordpiece


def recipe(data, teacher=None, task="tags"):
    return parse_recipe(
        {
            "task": task,
            "data": data,
            "models": {"teacher": teacher or {"scratch": {}}, "student": {"kind": "bilstm"}},
            "distill": [{"name": "one", "terms": [{"loss": "logit_mse"}]}],
        }
    )


@pytest.fixture
def data(tmp_path):
    (tmp_path / "train.conll").write_text("anna\tB-PER\nsees\tO\n\nx\tI-PER\n\nrome\tB-LOC\n")
    (tmp_path / "raw.txt").write_text("anna sees\nvisit rome!\n")
    return {"train": [{"path": "train.conll"}], "transfer": [{"path": "raw.txt"}]}


def test_broken_lines_are_collected_and_the_rest_is_counted(data, tmp_path):
    report = check_recipe(recipe(data), tmp_path)
    assert [split.name for split in report.splits] == ["train", "transfer"]
    train, transfer = report.splits
    assert (train.examples, train.spans) == (2, {"LOC": 1, "PER": 1})
    assert transfer.words == 5  # words as the recipe's splitter makes them
    assert len(report.problems) == 1
    assert "train.conll:4: " in report.problems[0]
    assert report.overlaps == {("transfer", "train"): 1}
    assert not report.ok


def test_options_of_a_source_are_obeyed(data, tmp_path):
    data["train"][0] |= {"repair": "iob2", "label_map": {"LOC": "PLACE"}}
    data["splitter"] = "whitespace"
    report = check_recipe(recipe(data), tmp_path)
    assert report.ok
    assert report.splits[0].spans == {"PER": 2, "PLACE": 1}
    assert report.splits[0].counts == {"repaired_tags": 1, "labels_mapped": 1}
    assert report.splits[1].words == 4


def test_the_demo_corpus_is_checked_too(tmp_path):
    demo = {"kind": "tags", "languages": ["en"], "train": 300, "dev": 5, "test": 5, "transfer": 9}
    report = check_recipe(recipe({"demo": demo}), tmp_path)
    assert [split.examples for split in report.splits] == [300, 5, 5, 9]
    assert report.problems == ()


def test_word_pieces_are_counted_with_the_teachers_tokenizer(data, tmp_path):
    """A checkpoint beside the recipe is found from anywhere."""
    (tmp_path / "mine").mkdir()
    train_wordpiece(["anna sees rome", "visit"] * 9, 60).save(str(tmp_path / "mine/tokenizer.json"))
    mine = recipe(data, {"checkpoint": "mine"})
    found = check_recipe(mine, tmp_path, True)
    assert all(split.fertility >= 1 for split in found.splits)
    assert [s.fertility for s in check_recipe(mine, tmp_path).splits] == [None, None]
    scratch = check_recipe(recipe(data), tmp_path, True)  # has no tokenizer yet
    assert [split.fertility for split in scratch.splits] == [None, None]
