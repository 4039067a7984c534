"""A vocabulary of one's own, the same every time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from tfdistil.errors import DataError
from tfdistil.text.train_tokenizer import SPECIAL_TOKENS, train_wordpiece

# Many ties: every word as frequent as the next.
TEXTS = [f"{a}{b}{c} {c}{b} {a}-{b}" for a in "abcdefg" for b in "hijklm" for c in "nopqrs"]

SCRIPT = """
import hashlib, sys
from tfdistil.text.train_tokenizer import train_wordpiece
texts = sys.stdin.read().split("\\n")
print(hashlib.sha256(train_wordpiece(texts, 150).to_str().encode()).hexdigest())
"""


def test_same_vocabulary_in_every_process():
    expected = hashlib.sha256(train_wordpiece(TEXTS, 150).to_str().encode()).hexdigest()
    for seed in ("0", "1", "2"):
        process = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            input="\n".join(TEXTS),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert process.stdout.strip() == expected


def test_order_of_texts_does_not_matter():
    assert train_wordpiece(TEXTS[::-1], 150).to_str() == train_wordpiece(TEXTS, 150).to_str()


def test_order_and_size_of_the_vocabulary():
    tokenizer = train_wordpiece(TEXTS, 100)
    assert [tokenizer.id_to_token(i) for i in range(5)] == [*SPECIAL_TOKENS]
    assert tokenizer.token_to_id("[PAD]") == 0
    assert tokenizer.get_vocab_size() == 100
    assert {*tokenizer.get_vocab().values()} == {*range(100)}
    characters = [tokenizer.id_to_token(i) for i in range(5, 5 + 20)]
    assert characters == sorted("-abcdefghijklmnopqrs")


def test_frequent_words_are_whole_and_others_are_pieces():
    tokenizer = train_wordpiece(["weather"] * 9 + ["together"] * 2 + ["feather"], 60)
    assert tokenizer.encode("weather").tokens == ["[CLS]", "weather", "[SEP]"]
    assert len(tokenizer.encode("feather").tokens) > 3
    assert tokenizer.encode("zoo").tokens == ["[CLS]", "[UNK]", "[SEP]"]
    assert tokenizer.decode(tokenizer.encode("weather together").ids) == "weather together"


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ({}, "ÉTÉ", "été"),
        ({"lowercase": False}, "ÉTÉ", "ÉTÉ"),
        ({"strip_accents": True}, "ÉTÉ", "ete"),
        ({}, "ที่", "ที่"),
        ({}, "हिन्दी", "हिन्दी"),
    ],
)
def test_normalization(options, text, expected):
    tokenizer = train_wordpiece([text] * 5, 60, **options)
    assert tokenizer.normalizer.normalize_str(text) == expected
    assert "[UNK]" not in tokenizer.encode(text).tokens


def test_rare_characters_give_way():
    texts = ["ab"] * 5 + ["ac"] * 3 + ["xy"]
    tokenizer = train_wordpiece(texts, 40, max_alphabet=3)
    assert tokenizer.encode("x").tokens[1] == "[UNK]"
    assert tokenizer.encode("ac").tokens[1] != "[UNK]"


def test_pair_is_joined_as_bert_does():
    encoding = train_wordpiece(TEXTS, 150).encode("a", "b")
    assert encoding.tokens == ["[CLS]", "a", "[SEP]", "b", "[SEP]"]
    assert encoding.type_ids == [0, 0, 0, 1, 1]


def test_any_iterable_and_lone_surrogates():
    assert train_wordpiece(iter(["a\ud800b"] * 3), 40).get_vocab_size() > 5


def test_words_too_long_to_be_read_teach_nothing():
    """They are ``[UNK]`` in any case, and a line of a million letters would take hours."""
    texts = ["red green", "red green", "ab" * 500_000, "Ω" * 101, "Ω" * 101]
    tokenizer = train_wordpiece(texts, 1000)
    assert tokenizer.get_vocab() == train_wordpiece(["red green"] * 2, 1000).get_vocab()
    assert tokenizer.encode("Ω" * 101).tokens[1:-1] == ["[UNK]"]
    short = train_wordpiece([*texts, "x" * 100, "x" * 100], 1000)
    assert short.encode("x" * 100).tokens[1:-1] == ["x" * 100]


def test_too_little():
    with pytest.raises(DataError, match="every text is empty"):
        train_wordpiece(["", " "], 100)
    with pytest.raises(DataError, match="vocabulary_size is 10, but special tokens and"):
        train_wordpiece(TEXTS, 10)
