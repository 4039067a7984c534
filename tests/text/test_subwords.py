"""Words to sub-words: alignment, windows, pairs; against the libraries' own answers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.text.pretrained import bert_tokenizer
from tfdistil.text.subwords import SubwordFeaturizer

FAMILIES = ["wordpiece", "unigram", "byte_level"]
SENTENCES = [
    ["play", "some", "unbelievable", "jazz", ",", "please"],
    ["münchen", "東", "京", "x\u0301y", "qqq", "don't"],
    ["the"],
    [],
]


def featurizer(request, family: str, max_length: int = 64, **options) -> SubwordFeaturizer:
    return SubwordFeaturizer.from_tokenizer(request.getfixturevalue(family), max_length, **options)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("words", SENTENCES, ids=len)
def test_ids_and_first_pieces_are_the_tokenizers_own(request, family, words):
    made = featurizer(request, family)
    (window,) = made.encode(words)
    encoding = made.tokenizer.encode(words, is_pretokenized=True)
    assert window.inputs["input_ids"].tolist() == encoding.ids
    word_ids = encoding.word_ids
    assert window.tokens.tolist() == [word_ids.index(w) for w in range(len(words))]
    assert window.starts.tolist() == [*range(len(words))]
    assert window.words == (0, len(words))
    assert window.inputs["attention_mask"].tolist() == [1] * window.length
    mask = window.input(made.word_mask)
    assert (mask.dtype, mask.shape) == (np.int32, (window.length,))
    assert np.flatnonzero(mask).tolist() == window.tokens.tolist()
    assert all(v.dtype == np.int32 for v in [*window.inputs.values(), window.tokens, window.starts])


@pytest.mark.parametrize("family", FAMILIES)
def test_alignment_x_scores_every_piece(request, family):
    words = SENTENCES[0]
    made = featurizer(request, family, alignment="x")
    (window,) = made.encode(words)
    word_ids = made.tokenizer.encode(words, is_pretokenized=True).word_ids
    assert window.tokens.tolist() == [i for i, w in enumerate(word_ids) if w is not None]
    firsts = window.tokens[window.starts]
    assert firsts.tolist() == [word_ids.index(w) for w in range(len(words))]
    assert np.flatnonzero(window.input(made.word_mask)).tolist() == firsts.tolist()


def test_first_piece_of_a_sentencepiece_word_begins_it(request):
    made = featurizer(request, "unigram")
    words = ["the", "jazz", "münchen"]
    (window,) = made.encode(words)
    for token in window.tokens:
        piece = made.tokenizer.id_to_token(int(window.inputs["input_ids"][token]))
        assert piece.startswith("▁")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 0), (3, 2), (1, 3)])
def test_pairs_are_the_tokenizers_own(request, family, first, second):
    made = featurizer(request, family, token_types=True)
    (window,) = made.encode(SENTENCES[first], SENTENCES[second])
    encoding = made.tokenizer.encode(SENTENCES[first], SENTENCES[second], is_pretokenized=True)
    assert window.inputs["input_ids"].tolist() == encoding.ids
    assert window.words == (0, len(SENTENCES[first]))
    if family == "wordpiece":
        assert window.inputs["token_type_ids"].tolist() == encoding.type_ids


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("max_length", [8, 9, 12])
def test_long_pairs_lose_what_the_library_cuts(request, family, max_length):
    made = featurizer(request, family, max_length)
    first, second = SENTENCES[0] * 2, SENTENCES[1]
    (window,) = made.encode(first, second)
    other = type(made.tokenizer).from_str(made.tokenizer.to_str())
    whole = len(other.encode(first, second, is_pretokenized=True).ids)
    other.enable_truncation(max_length, strategy="longest_first")
    encoding = other.encode(first, second, is_pretokenized=True)
    assert window.inputs["input_ids"].tolist() == encoding.ids
    assert window.dropped == whole - len(encoding.ids) > 0
    kept = {w for w, s in zip(encoding.word_ids, encoding.sequence_ids, strict=True) if s == 0}
    assert window.words == (0, len(kept))
    assert len(window.tokens) == len(kept)


def test_a_word_without_pieces_is_unknown(request):
    made = featurizer(request, "wordpiece")
    (window,) = made.encode(["", "\u200b", "the", "\x00"])
    ids = window.inputs["input_ids"]
    assert ids[1] == ids[2] == ids[4] == made.unk
    assert ids[3] == made.tokenizer.token_to_id("the")


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_in_a_text_are_text(request, family):
    made = featurizer(request, family)
    (window,) = made.encode(["[SEP]", "</s>", "<s>", "[PAD]", "<pad>"])
    inner = window.inputs["input_ids"][1:-1]
    assert not {made.cls, made.sep, made.pad} & {*inner.tolist()}


@pytest.mark.parametrize("family", FAMILIES)
def test_lone_surrogates_do_no_harm(request, family):
    (window,) = featurizer(request, family).encode(["a\ud800b", "the"])
    assert window.words == (0, 2)


def test_a_word_longer_than_a_window_keeps_its_first_pieces(request):
    made = featurizer(request, "byte_level", 10)
    words = ["the", "x" * 40, "dog"]
    windows = made.encode(words)
    assert [w for window in windows for w in range(*window.words)] == [0, 1, 2]
    pieces = made.pieces(words)
    held = next(w for w in windows if w.words[0] <= 1 < w.words[1])
    assert held.inputs["input_ids"].tolist()[1:-1] == list(pieces["x" * 40][:8])
    assert sum(w.dropped for w in windows) == len(pieces["x" * 40]) - 8


WORD = st.one_of(st.sampled_from(["the", "unbelievable", "zzzz", "東京", "", "."]), st.text())


@settings(deadline=None)
@given(
    words=st.lists(WORD, max_size=40),
    max_length=st.integers(5, 20),
    share=st.floats(0, 0.99),
    alignment=st.sampled_from(["first", "x"]),
)
def test_laws_of_windows(wordpiece, words, max_length, share, alignment):
    made = SubwordFeaturizer.from_tokenizer(
        wordpiece, max_length, alignment=alignment, overlap=int(share * (max_length - 2))
    )
    pieces = made.pieces(words)
    windows = made.encode(words)
    owned = [w for window in windows for w in range(*window.words)]
    assert owned == [*range(len(words))]
    for window in windows:
        ids = window.inputs["input_ids"]
        assert len(ids) == window.length <= max_length
        assert (ids[0], ids[-1]) == (made.cls, made.sep)
        assert len(window.starts) == window.words[1] - window.words[0]
        ends = [*window.starts.tolist(), len(window.tokens)][1:]
        for start, end, word in zip(window.starts, ends, range(*window.words), strict=True):
            kept = pieces[words[word]][: made.budget]
            scored = window.tokens[start:end]
            assert ids[scored].tolist() == list(kept if alignment == "x" else kept[:1])
            at = scored[0]
            assert ids[at : at + len(kept)].tolist() == list(kept)


def test_batch_equals_one_by_one(request):
    made = featurizer(request, "wordpiece", 10)
    texts = [(s, None) for s in SENTENCES] + [(SENTENCES[0], SENTENCES[1])] * 2
    texts += [([f"w{i}" for i in range(700)], None)]  # more new words than one chunk
    batch = made.encode_batch(texts)
    fresh = featurizer(request, "wordpiece", 10)
    for (words, second), windows in zip(texts, batch, strict=True):
        alone = fresh.encode(words, second)
        assert len(alone) == len(windows)
        for one, two in zip(alone, windows, strict=True):
            assert one.words == two.words
            assert one.tokens.tolist() == two.tokens.tolist()
            assert one.inputs["input_ids"].tolist() == two.inputs["input_ids"].tolist()


def test_remembered_words_are_bounded(request, monkeypatch):
    from tfdistil.text import subwords

    monkeypatch.setattr(subwords, "_CACHED_CHARACTERS", 50)
    made = featurizer(request, "wordpiece")
    for at in range(20):
        made.encode([f"word{at}{i}" for i in range(5)])
        assert len(made._known) < 30


@pytest.mark.parametrize("family", FAMILIES)
def test_assets_round_trip(request, family):
    made = featurizer(request, family, 12, alignment="x", token_types=True, overlap=3)
    settings_read = json.loads(json.dumps(made.to_json()))
    again = SubwordFeaturizer.from_assets(settings_read, made.to_assets())
    assert again.to_json() == made.to_json()
    assert again.padding == made.padding
    if family != "unigram":  # the library reads its float scores up to the last bit
        assert again.to_assets() == made.to_assets()
    for words in SENTENCES:
        for one, two in zip(made.encode(words), again.encode(words), strict=True):
            assert one.inputs["input_ids"].tolist() == two.inputs["input_ids"].tolist()


def test_padding_names_every_input(request):
    made = featurizer(request, "unigram", token_types=True)
    (window,) = made.encode(["the"], ["dog"])
    assert {*made.padding} == {*window.inputs}
    assert made.padding["input_ids"] == made.pad == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 4}, "max_length is 4; the least is 5"),
        ({"max_length": 10, "overlap": 8}, "overlap is 8.*must be 0 to 7"),
        ({"max_length": 10, "overlap": -1}, "overlap is -1"),
        ({"max_length": 10, "alignment": "last"}, "alignment is 'last'"),
    ],
)
def test_settings_that_leave_no_room(wordpiece, options, message):
    with pytest.raises(RecipeError, match=message):
        SubwordFeaturizer.from_tokenizer(wordpiece, **options)


def test_assets_without_tokenizer():
    with pytest.raises(ModelFileError, match=r"needs tokenizer\.json"):
        SubwordFeaturizer.from_assets({"kind": "subwords"}, {})
    with pytest.raises(ModelFileError, match="cannot be read"):
        SubwordFeaturizer.from_assets({"kind": "subwords"}, {"tokenizer.json": b"{}"})


@pytest.mark.parametrize("name", ["[MASK]", "<mask>"])
def test_older_files_do_not_say_which_piece_is_the_mask(name):
    vocabulary = {
        piece: i for i, piece in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", name])
    }
    made = SubwordFeaturizer.from_tokenizer(bert_tokenizer(vocabulary, lowercase=True), 8)
    assert made.to_json()["mask"] == 5
    older = {key: value for key, value in made.to_json().items() if key != "mask"}
    assert SubwordFeaturizer.from_assets(older, made.to_assets()).mask == 5
