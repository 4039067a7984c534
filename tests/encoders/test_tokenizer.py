from __future__ import annotations

import json
from pathlib import Path

import pytest

from tfdistil.encoders import load_tokenizer, save_encoder, scratch_encoder
from tfdistil.errors import CheckpointError
from tfdistil.text.train_tokenizer import train_wordpiece

WORDS = ["play some jazz", "play the next song", "what is the weather in paris", "wake me at six"]


@pytest.fixture
def tokenizer():
    return train_wordpiece(WORDS, 80, min_frequency=1)


def test_a_trained_tokenizer_goes_with_its_encoder(tokenizer, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    size = tokenizer.get_vocab_size()
    save_encoder(scratch_encoder(size, 8, 1, seed=1), tmp_path, tokenizer=tokenizer)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    for text in (*WORDS, "unheard words 42"):
        assert theirs(text)["input_ids"] == ours.encode(text).ids == tokenizer.encode(text).ids
    pair = theirs(WORDS[0], WORDS[1])
    assert pair["token_type_ids"] == ours.encode(WORDS[0], WORDS[1]).type_ids
    assert (theirs.cls_token, theirs.pad_token_id, theirs.mask_token) == ("[CLS]", 0, "[MASK]")
    assert theirs.model_max_length == 128


def test_vocab_txt_alone(tokenizer, tmp_path: Path) -> None:
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    (tmp_path / "vocab.txt").write_text("\n".join(piece for piece, _ in vocabulary), "utf-8")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}), "utf-8")
    loaded = load_tokenizer(tmp_path)
    for text in WORDS:
        assert loaded.encode(text).ids == tokenizer.encode(text).ids


def test_padding_and_truncation_are_off(tokenizer, tmp_path: Path) -> None:
    tokenizer.enable_padding(length=40)
    tokenizer.enable_truncation(4)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert 4 < len(load_tokenizer(tmp_path).encode(WORDS[2]).ids) < 40


def test_sentencepiece_model(tmp_path: Path) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 10),
        model_prefix=str(tmp_path / "sentencepiece.bpe"),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}), "utf-8")
    loaded = load_tokenizer(tmp_path)
    encoding = loaded.encode("play the song")
    assert (encoding.tokens[0], encoding.tokens[-1]) == ("<s>", "</s>")
    assert "".join(encoding.tokens[1:-1]).replace("▁", " ").strip() == "play the song"


def test_folders_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no tokenizer \(tokenizer.json, vocab.txt"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match="no tokenizer that this version"):
        load_tokenizer(tmp_path)


def test_ids_the_encoder_has_no_embedding_for(tokenizer, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"ids up to \d+, the encoder embeddings for 20"):
        save_encoder(scratch_encoder(20, 8, 1), tmp_path, tokenizer=tokenizer)
