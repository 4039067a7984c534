"""Loads a checkpoint as a run does, and holds it against its files, read here on their own."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tests.fuzz.checkpoints.bases import TENSORS, WANTED, split

KINDS = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}
BERT = {
    "vocab_size": "vocabulary",
    "hidden_size": "hidden_dim",
    "num_hidden_layers": "layers",
    "num_attention_heads": "attention_heads",
    "intermediate_size": "intermediate_dim",
    "max_position_embeddings": "max_positions",
    "type_vocab_size": "type_vocabulary",
    "layer_norm_eps": "layer_norm_epsilon",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "classifier_dropout": "classifier_dropout",
    "initializer_range": "initializer_range",
    "model_type": "family",
    "pad_token_id": "pad_id",
}
DISTILBERT = {
    "vocab_size": "vocabulary",
    "dim": "hidden_dim",
    "n_layers": "layers",
    "n_heads": "attention_heads",
    "hidden_dim": "intermediate_dim",
    "max_position_embeddings": "max_positions",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "seq_classif_dropout": "classifier_dropout",
    "initializer_range": "initializer_range",
    "model_type": "family",
    "pad_token_id": "pad_id",
}
DOUBTED = " doubted"
"""Ends the answer where a warning was logged."""

TEXT = ["play", "naïve", "jazz", "語", "👍🏽", "[SEP]", "</s>", "wéather", "a" * 40, "\u200b"]


def load(path: Path) -> str:
    """Encoder and tokenizer of a folder, checked and used; a digest of all that was read.

    Raises:
        AssertionError: something was read that is not what the files say.
    """
    from tfdistil.encoders import load_tokenizer
    from tfdistil.text.subwords import SubwordFeaturizer

    doubts: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: doubts.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("tfdistil").handlers = [handler]
    model, read = _encoder(path)
    tokenizer = load_tokenizer(path)
    featurizer = SubwordFeaturizer.from_tokenizer(
        tokenizer, 12, token_types=model.config.type_vocabulary > 1
    )
    windows = featurizer.encode(TEXT)
    for window in windows:
        model({name: ids[None] for name, ids in window.inputs.items()})
    pieces = _same_pieces(tokenizer, path)
    ids = [window.inputs["input_ids"].tolist() for window in windows]
    return _digest(read, sorted(pieces.items()), ids) + DOUBTED * bool(doubts)


def encoder(path: Path) -> str:
    """The encoder alone, for folders without a tokenizer; see `load`."""
    return _digest(_encoder(path)[1])


def _encoder(path: Path) -> tuple[Any, list[Any]]:
    """The encoder, and all that was read of it."""
    from tfdistil.encoders import load_encoder

    wanted = json.loads((path / WANTED).read_text())
    labels = {name: list(given) for name, (_, given) in wanted.items()}
    heads = {name: (level, len(labels[name])) for name, (level, _) in wanted.items()}
    model = load_encoder(path, heads, labels=labels, seed=1)
    weights = _same_weights(model, path, labels)
    _same_config(model.config, path)
    return model, [weights, sorted(model.config.to_json().items())]


def _digest(*read: Any) -> str:
    return hashlib.sha256(repr(read).encode()).hexdigest()


def _same_weights(encoder: Any, path: Path, labels: dict[str, list[str]]) -> list[str]:
    """The values of every tensor, after they were compared with the file's."""
    from tfdistil.encoders.tensor_names import bare_name, base_tensors, head_tensors, pooler_tensors

    content = json.loads((path / "config.json").read_text())
    joint = "tfdistil" in content
    weights = base_tensors(encoder) | pooler_tensors(encoder)
    rows: dict[str, list[int]] = {}
    for name in encoder.classifiers:
        tensors = head_tensors(encoder, name, joint)
        theirs = (
            content["tfdistil"]["heads"][name]["labels"]
            if joint
            else [content["id2label"][str(i)] for i in range(len(labels[name]))]
        )
        order = [theirs.index(label) for label in labels[name]]
        rows |= dict.fromkeys(list(tensors)[-2:], order)
        weights |= tensors
    file = _tensors(path)
    bare = {bare_name(name, encoder.config.family): array for name, array in file.items()}
    digests = []
    for name, weight in sorted(weights.items()):
        expected = bare[name].astype(np.float32)
        expected = expected[rows[name]] if name in rows else expected
        found = np.asarray(weight.variable)
        found = found.T if weight.transposed else found
        assert expected.tobytes() == np.ascontiguousarray(found).tobytes(), f"misread: {name}"
        digests.append(hashlib.sha256(expected.tobytes()).hexdigest())
    assert len(encoder.weights) == len(weights), "weights that no tensor was compared with"
    return digests


def _tensors(path: Path) -> dict[str, np.ndarray]:
    index = path / f"{TENSORS}.index.json"
    files = {TENSORS} if (path / TENSORS).is_file() else set()
    if not files:
        files = set(json.loads(index.read_text())["weight_map"].values())
    found = {}
    for file in files:
        header, values = split((path / file).read_bytes())
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] in KINDS:
                start, stop = entry["data_offsets"]
                array = np.frombuffer(values[start:stop], KINDS[entry["dtype"]])
                found[name] = array.reshape(entry["shape"])
    return found


def _same_config(config: Any, path: Path) -> None:
    content = json.loads((path / "config.json").read_text())
    fields = DISTILBERT if content["model_type"] == "distilbert" else BERT
    for key, field in fields.items():
        if content.get(key) is not None:  # left out, it is what `transformers` takes it for
            assert getattr(config, field) == content[key], f"misread: {key}"


def _same_pieces(tokenizer: Any, path: Path) -> dict[str, int]:
    """Pieces and ids, after they were compared with the file's."""
    pieces = tokenizer.get_vocab()
    if (path / "tokenizer.json").is_file():
        content = json.loads((path / "tokenizer.json").read_text("utf-8"))
        expected = dict(content["model"]["vocab"])
        expected |= {added["content"]: added["id"] for added in content["added_tokens"]}
    elif (path / "vocab.txt").is_file():
        lines = (path / "vocab.txt").read_bytes().decode().replace("\r\n", "\n").replace("\r", "\n")
        expected = {line: i for i, line in enumerate(lines.split("\n")) if line}
    elif (path / "vocab.json").is_file():
        expected = json.loads((path / "vocab.json").read_text("utf-8"))
    else:
        from sentencepiece import SentencePieceProcessor

        (file,) = path.glob("*.model")
        model = SentencePieceProcessor(model_proto=file.read_bytes())
        words = [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
        names = ["<s>", "<pad>", "</s>", "<unk>", *words, "<mask>"]
        expected = {name: i for i, name in enumerate(names)}
        for word in TEXT:
            found = tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False).tokens
            theirs = model.encode_as_pieces(word)
            known = "<unk>" not in found and not {*names[:4]} & {*found}
            assert not known or found == theirs, f"misread: {word!r} is {found}, not {theirs}"
    assert pieces == expected, "misread: the vocabulary"
    return pieces
