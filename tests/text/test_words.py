"""Text to words: the rules one by one, and their laws on any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.errors import ModelFileError
from tfdistil.text.words import WordSplitter, replace_surrogates

UNICODE = WordSplitter("unicode")
WHITESPACE = WordSplitter("whitespace")

# Any code point, also surrogates and unassigned ones; the characters of the rules more often.
SPECIAL = (
    " \t\n\u00a0\u200b\u200d\u200c\u00ad\ufeff\u0301\u0e31\u17d2\u1039'’\"·.,:;-_12٣aéש"
    "אกไ漢かク한👍🏽👩\ud800\x00"
)
TEXT = st.text(st.one_of(st.sampled_from(SPECIAL), st.characters(codec=None)), max_size=40)


def words(text: str, splitter: WordSplitter = UNICODE) -> list[str]:
    return [word for word, _, _ in splitter.split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\u00a0\u3000\n", []),
        ("play jazz", ["play", "jazz"]),
        # rule 3: inside words
        ("don't 'tis dogs' l’été", ["don't", "'", "tis", "dogs", "'", "l’été"]),
        ("col·lecció", ["col·lecció"]),
        ("a'-b", ["a", "'", "-", "b"]),
        ("'", ["'"]),
        # rule 4: inside numbers
        (
            "10:30, 3.5 1,000.5 v2.x .5 5.",
            ["10:30", ",", "3.5", "1,000.5", "v2", ".", "x", ".", "5", "5", "."],
        ),
        ("٣٫٥", ["٣٫٥"]),
        ("www.x.com", ["www", ".", "x", ".", "com"]),
        # rule 5: gershayim typed as a quotation mark
        ('צה"ל "שלום"', ['צה"ל', '"', "שלום", '"']),
        ('a"b', ["a", '"', "b"]),
        # symbols stand alone
        ("well-known...", ["well", "-", "known", ".", ".", "."]),
        ("$5 20% #tag", ["$", "5", "20", "%", "#", "tag"]),
        ("snake_case", ["snake", "_", "case"]),
        # scripts without spaces
        ("東京タワーへgo", ["東", "京", "タ", "ワ", "ー", "へ", "go"]),
        ("ที่นี่10", ["ที่", "นี่", "10"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        # rules 6 and 7
        ("👨\u200d👩\u200d👧👍🏽x", ["👨\u200d👩\u200d👧", "👍🏽", "x"]),
        ("1\ufe0f\u20e3", ["1\ufe0f\u20e3"]),
        ("ខ្ញុំ", ["ខ្ញុំ"]),
        # rule 1: marks and joiners
        ("नमस्ते", ["नमस्ते"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("e\u0301t\u00adé", ["e\u0301t\u00adé"]),
        ("\u0301a", ["\u0301a"]),
        ("\u200d a", ["a"]),
        # controls are between words
        ("a\x00b\x07 \u200bc\ufeffd\u200e", ["a", "b", "c", "d"]),
        # what UTF-8 or this Unicode does not know is a letter
        ("a\ud800b \U000e1234", ["a\ud800b", "\U000e1234"]),
    ],
)
def test_rules(text, expected):
    assert words(text) == expected


def test_offsets_are_code_points():
    assert UNICODE.split("👍 don't 東京") == [
        ("👍", 0, 1),
        ("don't", 2, 7),
        ("東", 8, 9),
        ("京", 9, 10),
    ]


@pytest.mark.parametrize("splitter", [UNICODE, WHITESPACE], ids=lambda s: s.kind)
@given(text=TEXT)
def test_words_are_slices_in_order_without_white_space(splitter, text):
    end_before = 0
    for word, start, end in splitter.split(text):
        assert end_before <= start < end
        assert text[start:end] == word
        assert not any(character.isspace() for character in word)
        end_before = end


@given(text=TEXT)
def test_only_spaces_controls_and_stray_formats_are_left_out(text):
    kept = {at for _, start, end in UNICODE.split(text) for at in range(start, end)}
    for at, character in enumerate(text):
        if at not in kept:
            assert character.isspace() or not words(character)


@pytest.mark.parametrize("splitter", [UNICODE, WHITESPACE], ids=lambda s: s.kind)
@given(text=TEXT)
def test_splitting_again_changes_nothing(splitter, text):
    once = words(text, splitter)
    assert words(" ".join(once), splitter) == once
    for word in once:
        assert words(word, splitter) == [word]


@given(text=TEXT)
def test_whitespace_is_pythons_split(text):
    assert words(text, WHITESPACE) == text.split()


def test_round_trip():
    for splitter in (UNICODE, WHITESPACE):
        again = WordSplitter.from_json(splitter.to_json())
        assert again.to_json() == splitter.to_json()
        assert again.split("a,b c") == splitter.split("a,b c")


def test_unknown_kind():
    with pytest.raises(ModelFileError, match="unknown word splitter 'moses'"):
        WordSplitter.from_json({"kind": "moses"})


def test_replace_surrogates():
    assert replace_surrogates("a\ud800b\udfff😀") == "a\ufffdb\ufffd😀"
