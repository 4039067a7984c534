"""The pretrained checkpoint: known properties of all-MiniLM-L6-v2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from keras import ops

from tfdistil.encoders import load_encoder, load_tokenizer, save_encoder

PAIRS = [
    ("A man is playing a guitar.", "Someone plays an instrument."),
    ("How do I reset my password?", "What are the steps to recover a forgotten password?"),
    ("The weather in Paris is lovely today.", "It is a beautiful sunny day in the French capital."),
    ("The company reported record profits.", "Earnings at the firm reached an all-time high."),
]


@pytest.fixture(scope="module")
def encoder(minilm: Path):
    return load_encoder(minilm)


def test_everything_in_the_file_is_used(encoder) -> None:
    assert encoder.load_report.architecture == "BertModel"
    assert encoder.load_report.ignored == ("embeddings.position_ids",)
    assert encoder.count_params() == 22_713_216


def test_paraphrases_are_closer_than_other_sentences(encoder, minilm: Path) -> None:
    """The model's own use: the mean of the last hidden states, compared by cosine."""
    tokenizer = load_tokenizer(minilm)
    tokenizer.enable_padding()
    encodings = tokenizer.encode_batch([text for pair in PAIRS for text in pair])
    inputs = {
        "input_ids": np.array([e.ids for e in encodings], "int32"),
        "attention_mask": np.array([e.attention_mask for e in encodings], "int32"),
        "token_type_ids": np.array([e.type_ids for e in encodings], "int32"),
    }
    signals = {k: ops.convert_to_numpy(v) for k, v in encoder(inputs, training=False).items()}
    assert all(np.isfinite(value).all() for value in signals.values())
    mask = inputs["attention_mask"][..., None]
    means = (signals["hidden/6"] * mask).sum(1) / mask.sum(1)
    means /= np.linalg.norm(means, axis=-1, keepdims=True)
    cosines = means[0::2] @ means[1::2].T
    paraphrases = np.diag(cosines)
    others = cosines[~np.eye(len(PAIRS), dtype=bool)]
    assert paraphrases.min() > 0.5
    assert others.max() < 0.25


def test_saved_with_its_tokenizer_it_is_the_same_model(encoder, minilm, tmp_path: Path) -> None:
    from transformers import AutoConfig, AutoTokenizer

    save_encoder(encoder, tmp_path, tokenizer=minilm)
    again = load_encoder(tmp_path)
    assert again.load_report.ignored == ()
    for a, b in zip(encoder.weights, again.weights, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b))
    theirs, ours = (AutoConfig.from_pretrained(f) for f in (minilm, tmp_path))
    for key in ("hidden_size", "num_hidden_layers", "layer_norm_eps", "vocab_size", "hidden_act"):
        assert getattr(theirs, key) == getattr(ours, key)
    text = "Unaffable wörds, twice: 2 × 21 = 42!"
    tokenizers = [AutoTokenizer.from_pretrained(f) for f in (minilm, tmp_path)]
    assert tokenizers[0](text)["input_ids"] == tokenizers[1](text)["input_ids"]
    pieces = load_tokenizer(tmp_path).encode(text).ids
    assert pieces == load_tokenizer(minilm).encode(text).ids


def test_a_head_on_top(minilm: Path) -> None:
    encoder = load_encoder(minilm, {"tags": ("word", 7)}, labels={"tags": "abcdefg"}, seed=1)
    assert encoder.load_report.fresh == ("head tags",)
    assert len(encoder.layer_groups()) == 8
