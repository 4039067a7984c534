"""There and back by translation."""

from __future__ import annotations

import pytest

from tests.augmentation.conftest import TRAIN
from tfdistil.augmentation import AugmentationContext, augment, check_options
from tfdistil.data.example import Example
from tfdistil.errors import DataError


def texts(examples) -> list[str]:
    return sorted(" ".join(example.words) for example in examples)


def test_every_sentence_goes_through_every_pivot(make, upside_down):
    english = [e for e in TRAIN if e.language == "en"]
    made = make("pivoting", english, 50, pivots=["xx", "yy"])
    assert texts(made) == sorted(
        ["kroy wen ot ylf", "yadot emor ni niar", "sknaht"]
        + [f"{text} {text}" for text in ("fly to new york", "rain in rome today", "thanks")]
    )
    assert {(source, target) for _, source, target in upside_down} == {
        ("en", "xx"), ("xx", "en"), ("en", "yy"), ("yy", "en")
    }  # fmt: skip


def test_a_way_through_several_languages(make, upside_down):
    made = make("pivoting", [Example(("one", "two"), language="en")], pivots=[["xx", "yy"]])
    assert texts(made) == ["owt eno owt eno"]
    assert [call[1:] for call in upside_down] == [("en", "xx"), ("xx", "yy"), ("yy", "en")]


def test_each_language_goes_back_to_itself_and_never_through_itself(make):
    both = [Example(("ab", "cd"), language="en"), Example(("ef",), language="xx")]
    made = {(e.language, e.words) for e in make("pivoting", both, pivots=["xx", "yy"])}
    # Into "xx" everything is spelled backwards, so "xx" by way of "yy" ends like that too.
    assert made == {
        ("en", ("dc", "ba")),
        ("en", ("ab", "cd", "ab", "cd")),
        ("xx", ("fe", "fe")),
    }


def test_translations_are_kept(make, upside_down, tmp_path):
    first = make("pivoting")
    asked = len(upside_down)
    assert make("pivoting") == first
    assert len(upside_down) == asked > 0
    assert sorted(path.parent.name for path in tmp_path.rglob("*.jsonl"))[0] == "translations"


def test_case_and_punctuation_as_the_data_has_them(make, monkeypatch):
    from tfdistil.augmentation.translation import TRANSLATORS

    def polite(texts, source, target):
        return [f"Please , {text} !" if target == "en" else text for text in texts]

    monkeypatch.setitem(TRANSLATORS, "polite", polite)
    one = [Example(("go", "home"), language="en")]
    options = {"model": "polite", "pivots": ["xx"]}
    assert texts(make("pivoting", one, **options)) == ["Please , go home !"]
    made = make("pivoting", one, **options, lowercase=True, punctuation=False)
    assert texts(made) == ["please go home"]


def test_words_of_languages_without_spaces_are_joined_without(make, upside_down):
    make("pivoting", [Example(("東", "京"), language="ja")], pivots=["xx"])
    assert upside_down[0] == (("東京",), "ja", "xx")


def test_both_texts_of_a_pair(make):
    pair = Example(("ab",), second=("cd", "ef"), language="en", label="yes")
    assert [(e.words, e.second) for e in make("pivoting", [pair], pivots=["xx"])] == [
        (("ba",), ("fe", "dc"))
    ]


def test_what_is_missing_is_said():
    with pytest.raises(DataError, match="pivoting needs model: FOLDER"):
        augment("pivoting", TRAIN, 5, 1, AugmentationContext())
    with pytest.raises(DataError, match="pivoting needs model: FOLDER"):
        augment("pivoting", TRAIN, 5, 1, AugmentationContext(), model="x")


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"batch": -1}, {"beams": 0}])
def test_options_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(DataError, match=f"option '{name}' is .*, expected int from 1 to "):
        check_options("pivoting", {"model": "x", "pivots": ["es"], **wrong})


def test_sentences_of_an_unknown_language_are_left_out(make):
    assert make("pivoting", [Example(("ab",))]) == []
