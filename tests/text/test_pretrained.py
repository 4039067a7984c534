"""Tokenizers of Hugging Face folders, against `transformers`."""

from __future__ import annotations

import json
import shutil

import pytest

from tfdistil.errors import CheckpointError
from tfdistil.text.pretrained import load_tokenizer, special_token_ids
from tfdistil.text.subwords import SubwordFeaturizer

WORDS = [
    *["Hello", "unbelievable", "don't", "10:30", "U.S.A.", "東京", "naïve", "Straße", "ไทย"],
    *["हिन्दी", "👍🏽", "state-of-the-art", "…", "İ", "ﬁ"],
    *["", "\u200b", "\u00a0", "a\u0301", "x" * 120],
]


def test_minilm_word_by_word_as_transformers(minilm, shared_data):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(minilm))
    ours = SubwordFeaturizer.from_pretrained_folder(minilm, 512)
    assert ours.token_types
    lines = (shared_data / "english_text" / "gum_open_genres.txt").read_text("utf-8").splitlines()
    sentences = [line.split() for line in lines[:300]] + [[w] for w in WORDS if w]
    compared = 0
    for words in sentences:
        (window,) = ours.encode(words)
        expected = theirs(words, is_split_into_words=True)
        word_ids = expected.word_ids()
        if {*word_ids} - {None} != {*range(len(words))}:
            continue  # a word without pieces, which is [UNK] here and nothing there
        compared += 1
        assert window.inputs["input_ids"].tolist() == expected["input_ids"]
        assert window.inputs["token_type_ids"].tolist() == expected["token_type_ids"]
        assert window.tokens.tolist() == [word_ids.index(w) for w in range(len(words))]
    assert compared > 0.95 * len(sentences)


def test_minilm_pairs_as_transformers(minilm):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(minilm))
    ours = SubwordFeaturizer.from_pretrained_folder(minilm, 32)
    one, two = ["A", "man", "inspects", "a", "uniform"], ["The", "man", "is", "asleep"] * 8
    (window,) = ours.encode(one, two)
    expected = theirs(one, two, is_split_into_words=True, truncation="longest_first", max_length=32)
    assert window.inputs["input_ids"].tolist() == expected["input_ids"]
    assert window.inputs["token_type_ids"].tolist() == expected["token_type_ids"]


@pytest.mark.parametrize("lowercase", [True, False])
def test_vocabulary_file_gives_the_same_tokenizer(minilm, tmp_path, lowercase):
    from transformers import BertTokenizer

    shutil.copy(minilm / "vocab.txt", tmp_path)
    config = {"do_lower_case": lowercase, "tokenizer_class": "BertTokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    ours = SubwordFeaturizer.from_pretrained_folder(tmp_path, 64)
    if lowercase:
        whole = SubwordFeaturizer.from_pretrained_folder(minilm, 64)
        assert ours.pieces(WORDS) == whole.pieces(WORDS)
        assert {**ours.to_json(), "token_types": True} == whole.to_json()
    theirs = BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=lowercase)
    for word, ids in ours.pieces(WORDS).items():
        assert [*ids] == theirs.encode(word, add_special_tokens=False) or ids == (ours.unk,)


def test_padding_and_truncation_of_the_file_do_not_matter(minilm):
    # Its tokenizer.json pads and cuts everything to 128.
    ours = SubwordFeaturizer.from_pretrained_folder(minilm, 512)
    assert [w.length for w in ours.encode(["the"] * 200)] == [202]
    assert [w.length for w in ours.encode(["the"])] == [3]


@pytest.mark.parametrize("family", ["wordpiece", "unigram", "byte_level"])
def test_folder_of_each_family(request, tmp_path, family):
    tokenizer = request.getfixturevalue(family)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ours = SubwordFeaturizer.from_pretrained_folder(tmp_path, 32)
    expected = SubwordFeaturizer.from_tokenizer(tokenizer, 32)
    assert ours.to_json() == expected.to_json()
    assert ours.pieces(WORDS) == expected.pieces(WORDS)
    assert (ours.separators, ours.pad) == ((1, 0) if family == "wordpiece" else (2, 1))


def test_byte_level_words_begin_with_a_space(byte_level, tmp_path):
    data = json.loads(byte_level.to_str())
    space = {**data["pre_tokenizer"], "add_prefix_space": False}
    data["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [space]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode(["fox"], is_pretokenized=True).tokens[1].startswith("Ġ")


def test_token_types_follow_the_config(wordpiece, tmp_path):
    wordpiece.save(str(tmp_path / "tokenizer.json"))
    for size, expected in ((2, True), (1, False)):
        (tmp_path / "config.json").write_text(json.dumps({"type_vocab_size": size}))
        made = SubwordFeaturizer.from_pretrained_folder(tmp_path, 16)
        assert made.token_types is expected


def test_names_of_special_tokens_are_read(unigram, tmp_path):
    data = json.loads(unigram.to_str())
    data["post_processor"] = None
    for item in data["added_tokens"]:
        item["content"] = item["content"].replace("<pad>", "<nothing>")
    data["model"]["vocab"] = [
        ["<nothing>" if piece == "<pad>" else piece, score]
        for piece, score in data["model"]["vocab"]
    ]
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(CheckpointError, match=r"no pad_token \(\[PAD\] or <pad>\)"):
        SubwordFeaturizer.from_pretrained_folder(tmp_path, 16)
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"pad_token": "<nothing>"}))
    assert SubwordFeaturizer.from_pretrained_folder(tmp_path, 16).pad == 1
    config = {"pad_token": {"content": "<unk>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert SubwordFeaturizer.from_pretrained_folder(tmp_path, 16).pad == 3


@pytest.mark.parametrize("pair", ["$A [SEP] $B [SEP]", "[CLS] $A $B [SEP]", "[CLS] $A [SEP] $B"])
def test_other_templates_are_refused(wordpiece, pair):
    from tokenizers import Tokenizer, processors

    other = Tokenizer.from_str(wordpiece.to_str())
    other.post_processor = processors.TemplateProcessing(
        single="$A", pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    with pytest.raises(CheckpointError, match="joins a pair as"):
        special_token_ids(other, {})


def test_broken_folders(tmp_path):
    with pytest.raises(CheckpointError, match=r"neither tokenizer\.json nor vocab\.txt"):
        load_tokenizer(tmp_path)
    with pytest.raises(CheckpointError, match="no such folder"):
        load_tokenizer(tmp_path / "nowhere")
    (tmp_path / "vocab.txt").write_text("[PAD]\nthe\n")
    with pytest.raises(CheckpointError, match=r"no token \[UNK\]"):
        load_tokenizer(tmp_path)
    for content, message in (("{", "cannot be read as JSON"), ("[]", "holds a JSON list")):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(CheckpointError, match=message):
            load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    with pytest.raises(CheckpointError, match="is no tokenizer"):
        load_tokenizer(tmp_path)
