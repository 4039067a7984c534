"""``tfdistil data check`` reads what a recipe names, as a run would."""

from __future__ import annotations

import json
import re

import pytest

from tfdistil.corpus.check import check_recipe
from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import RecipeError
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


@pytest.mark.parametrize(
    ("rows", "task", "says"),
    [
        ("anna\tB-PER\n", "intent_slots", r"train.conll:1: task intent_slots needs label"),
        ("anna\tO\n\nsees\tO\n", "tags", "data.train has no label but 'O'"),
    ],
)
def test_what_a_run_would_refuse_is_a_problem(rows, task, says, tmp_path):
    (tmp_path / "train.conll").write_text(rows)
    mine = recipe({"train": [{"path": "train.conll"}], "dev_fraction": 0.5}, task=task)
    report = check_recipe(mine, tmp_path)
    assert re.search(says, *report.problems)
    assert not report.ok
    if task == "tags":
        with pytest.raises(RecipeError, match="has no label but"):
            load_corpus(mine, tmp_path)


@pytest.mark.parametrize(("dev", "spans"), [(True, 20), (False, 40)])
def test_a_dev_set_too_small_to_choose_weights_by_is_a_warning(dev, spans, tmp_path):
    """That of the file, or what a run takes from train; no reason to refuse it."""
    name, city = "anna\tB-PER\nin\tO\n", "rome\tB-LOC\n"
    rows = [f"{name}a{i}\tO\n{city}\n" for i in range(200)]
    (tmp_path / "train.conll").write_text("".join(rows))
    (tmp_path / "dev.conll").write_text("".join(rows[:10]))
    sources = {"train": [{"path": "train.conll"}], "dev_fraction": 0.1}
    mine = recipe(sources | ({"dev": [{"path": "dev.conll"}]} if dev else {}))
    report = check_recipe(mine, tmp_path)
    assert report.ok
    assert f"warning: dev has {spans} spans, too few to choose weights by" in report.to_text()
    found = load_corpus(mine, tmp_path).dev
    assert sum(tag != "O" for example in found for tag in example.tags) == spans


@pytest.mark.parametrize(("share", "missed"), [(0.0, False), (0.4, True)])
def test_a_test_set_from_train_is_looked_through_for_labels(share, missed, tmp_path):
    """Ten of a label would be expected in a large one, and few in dev alone."""
    rows = [f"a{i}\tO\nrome\tB-LOC\n\n" for i in range(100)] + ["anna\tB-PER\n\n"] * 60
    (tmp_path / "train.conll").write_text("".join(rows))
    sources = {"train": [{"path": "train.conll"}], "dev_fraction": 0.1, "test_fraction": share}
    mine = recipe(sources)
    assert "B-PER" in {tag for e in load_corpus(mine, tmp_path).train for tag in e.tags}
    assert ("PER" in "".join(check_recipe(mine, tmp_path).unscored)) == missed


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


def text_recipe(sources):
    return parse_recipe(
        {
            "task": "text",
            "data": {"corpus": {"sources": sources}, "splitter": "whitespace"},
            "models": {
                "teacher": {"scratch": {}, "heads": {"logits": "mlm"}, "fine_tune": False},
                "half": {"from": "teacher", "apply": ["keep_layers"]},
            },
            "distill": [{"name": "one", "student": "half", "terms": [{"loss": "hidden_cosine"}]}],
            "deliver": {"half": {"checkpoint": True}},
        }
    )


def test_text_without_labels_has_no_anchor(tmp_path):
    tree = json.loads(text_recipe([{"path": "one.txt"}]).model_dump_json(exclude_unset=True))
    with pytest.raises(RecipeError, match="an anchor learns from labels"):
        parse_recipe({**tree, "anchor": "light"})


def test_the_text_of_a_corpus_is_read_and_counted(tmp_path):
    (tmp_path / "one.txt").write_text("a b c\n\nd\na b c\n")
    (tmp_path / "two.tsv").write_text("text\tx\ne f\t1\n")
    sources = [
        {"path": "one.txt", "language": "en"},
        {
            "path": "two.tsv",
            "format": "table",
            "language": "is",
            "options": {"text": "text", "label": None},
        },
    ]
    report = check_recipe(text_recipe(sources), tmp_path)
    assert report.ok
    (text,) = report.splits
    assert (text.name, text.examples, text.words, text.duplicates) == ("corpus", 4, 9, None)
    assert (text.lengths.minimum, text.lengths.median, text.lengths.maximum) == (1, 2, 3)
    assert text.languages == {"en": 3, "is": 1}
    assert "corpus      4      9    1       2    3    3           -" in report.to_text()


@pytest.mark.parametrize("held_out", [0.0, 0.3])
def test_the_parts_of_a_corpus_are_counted(tmp_path, held_out):
    """As a run would find them: without the sentences of dev, and all sections in the corpus."""
    lines = [f"line {n}" for n in range(200)]
    (tmp_path / "dev.txt").write_text("\n".join(lines[:20]))
    (tmp_path / "one.txt").write_text("\n".join(lines))
    tree = json.loads(text_recipe([{"path": "one.txt"}]).model_dump_json(exclude_unset=True))
    tree["data"]["corpus"] |= {"held_out": held_out, "test": 0.0, "sections": {"first": 0.5}}
    tree["data"]["dev"] = [{"path": "dev.txt", "format": "text"}]
    tree["distill"][0]["stop"] = {"monitor": "loss", "on": "corpus_held_out"}
    mine = parse_recipe(tree)
    report = check_recipe(mine, tmp_path)
    text = report.splits[-1]
    sets = load_corpus(mine, tmp_path).text
    assert text.counts == {f"lines in {name}": len(part) for name, part in sets.items()}
    assert len(sets["corpus"]) + len(sets["corpus_held_out"]) == 180
    if held_out:
        assert report.few is None
    else:
        assert "reads 'corpus_held_out', which gets no line" in report.to_text()


def test_what_is_broken_in_a_corpus_is_listed(tmp_path):
    (tmp_path / "one.txt").write_bytes(b"a b\n\xff\xfe\nc\n")
    (tmp_path / "two.tsv").write_text("text\tx\ne f\t1\n")
    sources = [
        {"path": "one.txt"},
        {"path": "two.tsv", "format": "table", "options": {"text": "other", "label": None}},
    ]
    report = check_recipe(text_recipe(sources), tmp_path)
    assert not report.ok
    first, second = report.problems
    assert "one.txt:2: " in first
    assert "no column 'other'" in second
    assert report.splits[0].examples >= 2


def test_how_a_run_splits_train_is_said(tmp_path):
    rows = [f"text number {n},{'ab'[n % 2]}" for n in range(100)]
    (tmp_path / "train.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    given = recipe({"train": [{"path": "train.csv"}], "test_fraction": 0.2}, task="classes")
    report = check_recipe(given, tmp_path)
    assert report.cut == "a run splits train: 70 for train, 10 for dev, 20 for test"
    assert report.cut in report.to_text()


def test_what_cannot_be_split_is_a_problem(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\none,a\ntwo,b\n")
    given = recipe({"train": [{"path": "train.csv"}], "test_fraction": 0.2}, task="classes")
    (problem,) = check_recipe(given, tmp_path).problems
    assert "1 different sentences that dev_fraction leaves into train and test" in problem
