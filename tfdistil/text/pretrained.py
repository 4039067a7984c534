"""Tokenizers of Hugging Face folders, read with the ``tokenizers`` library alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tfdistil.errors import CheckpointError

_USUAL = {
    "cls_token": ("[CLS]", "<s>"),
    "sep_token": ("[SEP]", "</s>"),
    "pad_token": ("[PAD]", "<pad>"),
    "unk_token": ("[UNK]", "<unk>"),
}


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of ``tokenizer.json``, else BERT's WordPiece from ``vocab.txt``.

    A byte-level tokenizer (RoBERTa, GPT-2) is set to put a space before each word, as it must be
    for text that is already split into words.

    Raises:
        CheckpointError: neither file, or one that cannot be read.
    """
    if (folder / "tokenizer.json").is_file():
        data = _read_json(folder / "tokenizer.json")
        _space_before_words(data.get("pre_tokenizer"))
        try:
            return Tokenizer.from_str(json.dumps(data))
        except Exception as error:  # the library raises bare Exceptions
            raise CheckpointError(
                f"{folder / 'tokenizer.json'} is no tokenizer that this version of tokenizers "
                f"reads: {error}"
            ) from error
    if (folder / "vocab.txt").is_file():
        return _bert_tokenizer(folder)
    present = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else "no such folder"
    raise CheckpointError(
        f"{folder} has neither tokenizer.json nor vocab.txt ({present}). Convert its tokenizer "
        "with transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
    )


def special_token_names(folder: Path) -> dict[str, str]:
    """``cls_token``, ``sep_token``, ... as the folder's configuration files name them."""
    names: dict[str, str] = {}
    for file in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / file).is_file():
            for key, value in _read_json(folder / file).items():
                text = value.get("content") if isinstance(value, dict) else value
                if key in _USUAL and isinstance(text, str):
                    names[key] = text
    return names


def has_token_types(folder: Path) -> bool:
    """Whether the model of the folder knows more than one token type, by its ``config.json``."""
    config = folder / "config.json"
    return config.is_file() and int(_read_json(config).get("type_vocab_size", 0)) > 1


def special_token_ids(tokenizer: Tokenizer, names: Mapping[str, str]) -> dict[str, int]:
    """Ids ``cls``, ``sep``, ``pad``, ``unk`` and the number of ``separators`` of a pair.

    The post-processor decides about the template, where the tokenizer has one.

    Raises:
        CheckpointError: a token that is not in the vocabulary, or another template.
    """
    ids: dict[str, int] = {}
    for key, usual in _USUAL.items():
        candidates = (names[key],) if key in names else usual
        found = [tokenizer.token_to_id(name) for name in candidates]
        known = [i for i in found if i is not None]
        if not known:
            raise CheckpointError(
                f"the tokenizer's vocabulary has no {key} ({' or '.join(candidates)}); name it in "
                "tokenizer_config.json"
            )
        ids[key.removesuffix("_token")] = known[0]
    ids["separators"] = 1
    if tokenizer.post_processor is None:
        return ids
    tokenizer.no_padding()
    tokenizer.no_truncation()
    encoding = tokenizer.encode("a", "a")
    sides = encoding.sequence_ids
    between = [i for i, s in enumerate(sides) if s is None][1:-1]
    special = [i for i, s in zip(encoding.ids, sides, strict=True) if s is None]
    if sides[0] is not None or sides[-1] is not None or len(special) < 3 or not between:
        raise CheckpointError(
            f"the tokenizer joins a pair as {' '.join(encoding.tokens)}; expected a token before "
            "the first text, separators between the two, and one after the second"
        )
    if len({*special[1:]}) != 1 or between != list(range(between[0], between[-1] + 1)):
        raise CheckpointError(
            f"the tokenizer joins a pair as {' '.join(encoding.tokens)}; expected the same "
            "separator between the texts and after the second"
        )
    return {**ids, "cls": special[0], "sep": special[-1], "separators": len(between)}


def bert_tokenizer(
    vocabulary: Mapping[str, int],
    *,
    lowercase: bool,
    strip_accents: bool | None = None,
    split_chinese: bool = True,
    unk: str = "[UNK]",
    cls: str = "[CLS]",
    sep: str = "[SEP]",
) -> Tokenizer:
    """BERT's tokenizer (basic tokenization, then WordPiece) over a vocabulary.

    Args:
        vocabulary: piece to id; continuations begin with ``##``.
        lowercase: whether text is lower-cased.
        strip_accents: None means: if text is lower-cased.
        split_chinese: whether each Chinese character is a word of its own.
        unk, cls, sep: names of the special tokens in the vocabulary.
    """
    tokenizer = Tokenizer(models.WordPiece(dict(vocabulary), unk_token=unk))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=split_chinese,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    return tokenizer


def _bert_tokenizer(folder: Path) -> Tokenizer:
    path = folder / "vocab.txt"
    vocabulary = {
        piece: i for i, piece in enumerate(path.read_text(encoding="utf-8").split("\n")) if piece
    }
    config_path = folder / "tokenizer_config.json"
    config = _read_json(config_path) if config_path.is_file() else {}
    names = special_token_names(folder)
    unk, cls, sep = (
        names.get(key, _USUAL[key][0]) for key in ("unk_token", "cls_token", "sep_token")
    )
    for name in (unk, cls, sep):
        if name not in vocabulary:
            raise CheckpointError(f"{path} has no token {name}; is it a BERT vocabulary?")
    return bert_tokenizer(
        vocabulary,
        lowercase=bool(config.get("do_lower_case", True)),
        strip_accents=config.get("strip_accents"),
        split_chinese=bool(config.get("tokenize_chinese_chars", True)),
        unk=unk,
        cls=cls,
        sep=sep,
    )


def _space_before_words(pre_tokenizer: Any) -> None:
    if isinstance(pre_tokenizer, dict):
        if pre_tokenizer.get("type") == "ByteLevel":
            pre_tokenizer["add_prefix_space"] = True
        for part in pre_tokenizer.get("pretokenizers", []):
            _space_before_words(part)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(data, dict):
        raise CheckpointError(f"{path} holds a JSON {type(data).__name__}; expected an object")
    return data
