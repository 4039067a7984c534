"""What ``init`` makes of files: columns, subsets, labels of words, and what goes together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfdistil.errors import DataError, RecipeError
from tfdistil.recipe.loading import load_recipe
from tfdistil.recipe.new import new_recipe
from tfdistil.recipe.new_data import dev_share, find_data

CLASSES = "so good\tgood\nso bad\tbad\nvery good\tgood\nvery bad\tbad\n"
TAGS = "in O\nRome B-LOC\n\nOslo B-LOC\nis O\n\n"
TREEBANK = "1\tde\tde\tDET\t_\t_\t2\tdet\t_\t_\n2\thond\thond\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
CLINC = '{"train": [["a b", "x"], ["c", "y"]], "val": [["d", "x"]], "test": [["e f", "y"]]}'


@pytest.fixture
def file(tmp_path):
    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, "utf-8")
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("Text\tLabel", {"text": "Text", "label": "Label"}),
        (" text \t label", {"text": " text ", "label": " label"}),
        ("review\tstars", {"text": "review", "label": "stars"}),
        ("satz\turteil", {"text": "satz", "label": "urteil"}),
        ("Label\tText", None),
        ("not bad\tgood", {"text": 0, "label": 1}),
        ("wow\tgood", {"text": 0, "label": 1}),
    ],
)
def test_a_header_is_no_example(header, options, file):
    path = file("a.tsv", f"{header}\n{CLASSES}")
    if options is None:  # the columns are named the other way round
        options = {"text": "Text", "label": "Label"}
        path = file("a.tsv", "Label\tText\n" + "good\tso good\nbad\tso bad\n" * 2)
    found = find_data("train", path, "classes")
    assert found.source.options == options
    assert {example.label for example in found.examples} == {"good", "bad"}
    assert len(found.examples) == 4 + (options["text"] == 0)


def test_each_file_of_clinc_is_the_subset_of_its_name(file):
    path = file("data.json", CLINC)
    read = {name: find_data(name, path, "classes") for name in ("train", "dev", "test")}
    assert [len(one.examples) for one in read.values()] == [2, 1, 1]
    assert read["dev"].source.options == {"subset": "val"}
    alone = file("dev.json", '{"train": [["a b", "x"], ["c", "y"]]}')  # split by someone
    assert len(find_data("dev", alone, "classes").examples) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [("nl.conllu", TREEBANK), ("pos.conll", "de B-DET\nhond B-NOUN\n\nen B-CCONJ\n\n")],
)
def test_labels_of_words_are_a_task_of_their_own(name, text, file, tmp_path):
    """And swapping words for others with the same label makes no sentences."""
    path, out = file(name, text), tmp_path / "mine.yaml"
    out.write_text(new_recipe("tags", out, path))
    recipe = load_recipe(out)
    assert recipe.task.scheme == "words"
    assert recipe.data.augment == []
    assert find_data("train", path, "tags").examples[0].tags == ("B-DET", "B-NOUN")
    out.write_text(new_recipe("tags", out, file("ner.conll", TAGS)))
    assert load_recipe(out).task.scheme == "iob2"


@pytest.mark.parametrize(
    ("task", "name", "text", "says"),
    [
        (
            "tags",
            "a.tsv",
            CLASSES,
            "have a label of the whole text, .* did you mean --task classes",
        ),
        ("classes", "a.conll", TAGS, "have tags, but --task classes needs a label"),
        ("intent_slots", "a.conll", TAGS, "needs a label of the whole text; .* --task tags"),
        ("pair", "a.tsv", CLASSES, "needs a second text; did you mean --task classes"),
        ("classes", "a.txt", "one\ntwo\n", "read as text, its texts have nothing but words"),
        ("tags", "a.txt", "Word Tag\nin O\nRome B-LOC\n", r"Named \.conll, it is read as columns"),
        (
            "classes",
            "a.tsv",
            "premise\thypothesis\tlabel\na\tb\tx\nc\td\ty\n",
            "its texts are pairs; give --task pair",
        ),
    ],
)
def test_a_task_that_the_texts_do_not_have(task, name, text, says, file):
    path = file(name, text)
    for split in ("train", "dev"):
        with pytest.raises(DataError, match=says):
            find_data(split, path, task)


def test_transfer_needs_no_labels_but_pairs_for_pairs(file):
    text = file("a.txt", "one\ntwo\n")
    assert len(find_data("transfer", text, "tags").examples) == 2
    assert find_data("transfer", file("a.dan", "en\nto\n"), "tags").source.format == "text"
    with pytest.raises(DataError, match="needs a second text"):
        find_data("transfer", text, "pair")


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.jsonl", '{"text": "one"}\n{"text": "two"}\n', {"label": None}),
        ("a.csv", "sentence,id\none,1\ntwo,2\n", {"text": "sentence", "label": None}),
        ("a.csv", "text,label\none,x\ntwo,y\n", {}),
        ("a.conll", "1\tone\n\n1\ttwo\n", {"word": 1, "tag": None}),
    ],
)
def test_transfer_of_any_format_may_have_no_labels(name, text, options, file):
    found = find_data("transfer", file(name, text), "tags")
    assert [e.words for e in found.examples] == [("one",), ("two",)]
    assert dict(found.source.options) == options


def test_a_file_of_which_nothing_can_be_used(file):
    rows = '{"text": "a", "label": true}\n' * 3
    with pytest.raises(DataError, match=r"none of its texts .* first of 3 problems: .*:1: field"):
        find_data("train", file("a.jsonl", rows), "classes")


def test_dev_of_tags_has_spans_enough(file):
    """A tenth of the sentences has a tenth of the spans, and few have any."""
    rows = "in O\nRome B-LOC\n\n" * 1000 + "nothing O\nhere O\n\n" * 4000
    assert dev_share(find_data("train", file("a.conll", rows), "tags")) == 0.24
    dense = find_data("train", file("b.conll", "in O\nRome B-LOC\n\n" * 5000), "tags")
    assert dev_share(dense) == 0.1


def test_what_was_found_is_told(file, tmp_path):
    told: list[str] = []
    train = file("a.tsv", f"Text\tLabel\n{CLASSES}one\ttwo\tthree\n")
    new_recipe("classes", tmp_path / "x.yaml", train, tell=told.append)
    assert told == [
        "train: a.tsv is table (text: Text, label: Label), 4 texts, 1 broken line",
    ]


def test_a_teacher_that_is_no_folder(file, tmp_path):
    with pytest.raises(RecipeError, match=r"--teacher \./nope: there is no such folder"):
        new_recipe("classes", tmp_path / "x.yaml", file("a.tsv", CLASSES), teacher="./nope")
    with pytest.raises(RecipeError, match="--teacher is empty"):
        new_recipe("classes", tmp_path / "x.yaml", file("a.tsv", CLASSES), teacher="")
