"""Sound checkpoints, and what their files are made of."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

WORDS = ["play some jazz", "play the next song", "what is the weather in paris", "wake me at six"]
TENSORS = "model.safetensors"
WANTED = "wanted.json"
"""Beside the checkpoint: the heads that are asked for, ``{name: [level, labels]}``."""


def make_bases(folder: Path) -> None:
    """Sound checkpoints: the families, the forms of tokenizers, one and two heads."""
    from tfdistil.text.train_tokenizer import train_wordpiece

    wordpiece = train_wordpiece(WORDS, 80, min_frequency=1)
    pieces = sorted(wordpiece.get_vocab(), key=wordpiece.token_to_id)
    size = len(pieces)
    tags, intent = {"tags": ("word", "abc")}, {"intent": ("sequence", "de")}
    _save(folder / "bert", "bert", size, tags, tokenizer=wordpiece)
    _save(folder / "joint", "bert", size, tags | intent, tokenizer=wordpiece)
    _save(folder / "vocab_txt", "distilbert", size, intent)
    (folder / "vocab_txt" / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    vocabulary, merges = _byte_level()
    _save(folder / "vocab_json", "roberta", len(vocabulary), tags)
    (folder / "vocab_json" / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    (folder / "vocab_json" / "merges.txt").write_text("\n".join(merges), "utf-8")
    model, count = _sentencepiece(folder)
    _save(folder / "sentencepiece", "xlm-roberta", count + 2, intent)
    (folder / "sentencepiece" / "sentencepiece.bpe.model").write_bytes(model)


def _save(folder: Path, family: Any, size: int, heads: dict, tokenizer: Any = None) -> None:
    from tfdistil.encoders import Encoder, EncoderConfig, save_encoder

    roberta = "roberta" in family
    config = EncoderConfig(
        vocabulary=size,
        hidden_dim=8,
        layers=2,
        attention_heads=2,
        intermediate_dim=12,
        max_positions=18 if roberta else 16,
        family=family,
        type_vocabulary={"bert": 2, "distilbert": 0}.get(family, 1),
        pad_id=int(roberta),
    )
    sizes = {name: (level, len(labels)) for name, (level, labels) in heads.items()}
    labels = {name: list(labels) for name, (_, labels) in heads.items()}
    save_encoder(Encoder(config, sizes, seed=7), folder, labels, tokenizer)
    wanted = {name: [level, labels[name]] for name, (level, _) in heads.items()}
    (folder / WANTED).write_text(json.dumps(wanted))


def _byte_level() -> tuple[dict[str, int], list[str]]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 5, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [" ".join(pair) for pair in model["merges"]]


def _sentencepiece(folder: Path) -> tuple[bytes, int]:
    import sentencepiece

    prefix = folder / "trained"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 10),
        model_prefix=str(prefix),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    data = prefix.with_suffix(".model").read_bytes()
    return data, sentencepiece.SentencePieceProcessor(model_proto=data).get_piece_size()


def split(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and values of a safetensors file."""
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header: Any, values: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + values
