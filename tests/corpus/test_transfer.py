"""What a run draws of its transfer text: of every file, as much as its size and weight say."""

from __future__ import annotations

from collections import Counter

import pytest

from tfdistil.corpus.check import check_recipe
from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import RecipeError
from tfdistil.recipe.loading import parse_recipe

SIZES = {"a.txt": 60, "sub/b.txt": 30, "c.txt": 10}
"""Without the line of a.txt that is in dev."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, size in SIZES.items():
        lines = "".join(f"{name} has line {i}\n" for i in range(size + (name == "a.txt")))
        (tmp_path / name).write_text(lines, encoding="utf-8")
    rows = "".join(f"visit O\n{city} B-LOC\n\n" for city in ("rome", "oslo", "lima", "bonn"))
    (tmp_path / "train.conll").write_text(rows, encoding="utf-8")
    dev = "a.txt O\nhas O\nline O\n60 O\n\nparis B-LOC\n"
    (tmp_path / "dev.conll").write_text(dev, encoding="utf-8")
    return tmp_path


def recipe(limit=None, weights=(1, 1, 1), **more):
    lines = zip(SIZES, weights, strict=True)
    data = {
        "train": [{"path": "train.conll"}],
        "dev": [{"path": "dev.conll"}],
        "transfer": [{"path": name, "weight": weight} for name, weight in lines],
        "transfer_limit": limit,
        "splitter": "whitespace",
    }
    return parse_recipe(
        {
            "task": "tags",
            "data": data | more,
            "models": {"teacher": {"scratch": {}}, "student": {"kind": "bilstm"}},
            "distill": [{"name": "one", "terms": [{"loss": "logit_mse"}]}],
        }
    )


def texts(corpus, name=""):
    return {" ".join(e.words) for e in corpus.transfer if e.words[0].startswith(name)}


@pytest.mark.parametrize(
    ("weights", "limit", "numbers"),
    [
        ((1, 1, 1), 50, (30, 15, 5)),
        ((2, 2, 2), 50, (30, 15, 5)),
        ((1, 1, 3), 20, (10, 5, 5)),
        ((1, 0.5, 1), 17, (12, 3, 2)),
        ((1, 1, 6), 30, (13, 7, 10)),  # 12 of c.txt would be its share
        ((1, 1, 1e9), 55, (30, 15, 10)),
        ((1, 7, 1), 100, (60, 30, 10)),
        ((1, 7, 1), 1000, (60, 30, 10)),
    ],
)
def test_every_file_gives_its_share_which_is_told(folder, weights, limit, numbers):
    mine = recipe(limit, weights)
    corpus = load_corpus(mine, folder)
    assert [len(texts(corpus, name)) for name in SIZES] == [*numbers]
    assert len(corpus.transfer) == corpus.counts["transfer"] == sum(numbers)  # none twice
    assert corpus.drawn == {
        name: {"sentences": size, "drawn": number}
        for (name, size), number in zip(SIZES.items(), numbers, strict=True)
    }
    told = check_recipe(mine, folder).to_text()
    for (name, size), number in zip(SIZES.items(), numbers, strict=True):
        assert f"  {number} of {size} transfer sentences are drawn from {name}\n" in told


def test_without_a_limit_nothing_is_drawn(folder):
    corpus = load_corpus(recipe(), folder)
    assert (len(corpus.transfer), corpus.drawn) == (100, {})
    assert "drawn" not in check_recipe(recipe(), folder).to_text()


def test_neither_order_nor_the_draw_of_another_file_change_what_a_file_gives(folder):
    mine = recipe(40, (1, 2, 3))
    corpus = load_corpus(mine, folder)
    data = mine.data.model_copy(update={"transfer": mine.data.transfer[::-1]})
    other = load_corpus(mine.model_copy(update={"data": data}), folder)
    assert set(other.transfer) == set(corpus.transfer)
    assert other.transfer != corpus.transfer  # both in the order of the files
    more = load_corpus(recipe(60, (1, 2, 3)), folder)
    assert texts(corpus, "a.txt") < texts(more, "a.txt")
    seeded = load_corpus(mine.model_copy(update={"seed": 5}), folder)
    assert seeded.drawn == corpus.drawn
    assert texts(seeded) != texts(corpus)


def test_what_low_resource_leaves_of_train_has_the_weight_1(folder):
    few = {"low_resource": {"samples": 1}}
    corpus = load_corpus(recipe(41, (0.5, 1, 3), **few), folder)
    assert corpus.drawn["train.conll"] == {"sentences": 3, "drawn": 1}  # 3 of 30 + 30 + 30 + 3
    told = check_recipe(recipe(41, (0.5, 1, 3), **few), folder).to_text()
    assert "1 of 3 transfer sentences are drawn from train.conll" in told


def test_languages_of_a_file_give_in_proportion_too(folder):
    rows = [f'{{"text": "{i} there", "language": "{"de" if i % 5 else "da"}"}}' for i in range(50)]
    (folder / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    source = {"path": "rows.jsonl", "format": "jsonl_words"}
    corpus = load_corpus(recipe(20, transfer=[source]), folder)
    assert Counter(e.language for e in corpus.transfer) == {"de": 16, "da": 4}


def test_a_file_of_which_dev_has_every_line_is_told_too(folder):
    (folder / "d.txt").write_text("a.txt has line 60\n", "utf-8")
    mine = recipe(9, transfer=[{"path": "a.txt"}, {"path": "d.txt"}])
    assert load_corpus(mine, folder).drawn["d.txt"] == {"sentences": 0, "drawn": 0}
    told = check_recipe(mine, folder).to_text()
    assert "  0 of 0 transfer sentences are drawn from d.txt\n" in told


def test_a_folder_has_the_weight_of_its_line(folder):
    (folder / "turns").mkdir()
    for name, line in {"seq.in": "go {}\n", "seq.out": "O O\n", "label": "x\n"}.items():
        (folder / "turns" / name).write_text("".join(line.format(i) for i in range(20)), "utf-8")
    lines = [
        {"path": "turns", "format": "slotgated", "weight": 3},
        {"path": "a.txt"},
    ]
    corpus = load_corpus(recipe(20, transfer=lines), folder)
    drawn = {name: of["drawn"] for name, of in corpus.drawn.items()}
    assert drawn == {"turns/seq.in": 10, "a.txt": 10}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, r"transfer\.1\.weight is 2, but without transfer_limit there is nothing to share"),
        (
            {"transfer_limit": 9, "transfer": [{"path": "b", "weight": 2}, {"path": "./b"}]},
            r"transfer\.1\.weight is 1, but './b' stands there with 2 before",
        ),
        ({"transfer_limit": 9, "transfer": [{"path": "b", "weight": 0}]}, "greater than 0; got 0"),
        ({"transfer": [], "train": [{"path": "b", "weight": 2}]}, r"key `data\.train\.0\.weight`"),
        ({"transfer": [], "train": [{"path": "b", "seed": 2}]}, r"key `data\.train\.0\.seed`"),
    ],
)
def test_weights_that_mean_nothing_are_refused(data, says):
    with pytest.raises(RecipeError, match=says):
        recipe(weights=(1, 2, 1), **data)
