"""Tokenizers of Hugging Face folders, read with the ``tokenizers`` library alone."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tfdistil.errors import CheckpointError
from tfdistil.printable import listed, shown
from tfdistil.text.checkpoint_files import read_json, read_text

MASK_TOKENS = ("[MASK]", "<mask>")
"""What the piece that hides another one is called, in BERT's and in RoBERTa's tokenizers, unless
``mask_token`` says otherwise."""

_USUAL = {
    "cls_token": ("[CLS]", "<s>"),
    "sep_token": ("[SEP]", "</s>"),
    "pad_token": ("[PAD]", "<pad>"),
    "unk_token": ("[UNK]", "<unk>"),
}


_LOG = logging.getLogger(__name__)
_PROBE = ["a", "Ünïcode", "語", "👍🏽", "\u200b", "."]
_STEPS = (8, 64, 128)
"""Tables are filled up to a multiple of these, which some machines like better."""


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Whatever the library raises as a `CheckpointError`: bare Exceptions, and its panics.

    A panic of the library's Rust code is a `BaseException`, so that nobody handles it by accident;
    on bytes from a file it is one more way to say that they are wrong.
    """
    try:
        yield
    except (CheckpointError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise CheckpointError(f"{what}: {error}") from error


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of ``tokenizer.json``, else BERT's WordPiece from ``vocab.txt``.

    It neither pads nor truncates. A byte-level tokenizer (RoBERTa, GPT-2) is set to put a space
    before each word, as it must be for text that is already split into words.

    Raises:
        CheckpointError: neither file, one that cannot be read, or see `check_fits`.
    """
    tokenizer_config(folder)
    if (folder / "tokenizer.json").is_file():
        tokenizer = _from_json(folder / "tokenizer.json")
    elif (folder / "vocab.txt").is_file():
        tokenizer = _bert_tokenizer(folder)
    else:
        names = (
            sorted(path.name for path in folder.iterdir())
            if folder.is_dir()
            else ["no such folder"]
        )
        raise CheckpointError(
            f"{folder} has neither tokenizer.json nor vocab.txt ({listed(names)}). Convert its "
            "tokenizer with transformers: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    check_fits(tokenizer, folder)
    return tokenizer


def check_fits(tokenizer: Tokenizer, folder: Path) -> None:
    """Refuse a tokenizer that fails on text, or that is not the one the embeddings were made for.

    Every id must have one of the ``vocab_size`` rows that ``config.json`` promises, where there is
    one, and the tokenizer must have pieces for at least half of the rows: with fewer it is cut off
    or another model's. Rows without a piece are logged, unless they fill up the table to a
    multiple of 8, 64 or 128.

    Args:
        tokenizer: its padding and truncation are switched off.
        folder: with the ``config.json``.

    Raises:
        CheckpointError: see above.
    """
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with refusing(f"the tokenizer of {folder} fails on text"):
        ids = {*tokenizer.get_vocab().values(), *tokenizer.encode("a", "a").ids}
        tokenizer.encode(_PROBE, is_pretokenized=True)
    if not ids:
        raise CheckpointError(f"the tokenizer of {folder} has no pieces")
    rows = _rows(folder)
    if rows is None:
        return
    highest = max(ids)
    if highest >= rows:
        raise CheckpointError(
            f"the tokenizer of {folder} has ids up to {highest}, but config.json says vocab_size: "
            f"{rows}; use the tokenizer that the encoder was trained with"
        )
    if 2 * len(ids) < rows:
        raise CheckpointError(
            f"the tokenizer of {folder} has {len(ids)} pieces, but config.json says vocab_size: "
            f"{rows}; it is cut off or another model's: use the one the encoder was trained with"
        )
    spare = rows - len(ids)
    if spare and not any(rows % step == 0 and spare < step for step in _STEPS):
        _LOG.warning(
            "the tokenizer of %s has %d pieces, the encoder rows for %d; is it the one the encoder "
            "was trained with?",
            folder,
            len(ids),
            rows,
        )


def _rows(folder: Path) -> int | None:
    """The ``vocab_size`` of ``config.json``, if there is one."""
    path = folder / "config.json"
    rows = read_json(path).get("vocab_size") if path.exists() else None
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise CheckpointError(
            f"{path}: vocab_size must be a positive whole number, got {shown(rows)}"
        )
    return rows


def _from_json(path: Path) -> Tokenizer:
    data = read_json(path)
    with refusing(f"{path} is no tokenizer that this version of tokenizers reads"):
        _space_before_words(data.get("pre_tokenizer"))
        return Tokenizer.from_str(json.dumps(data))


def special_token_names(folder: Path) -> dict[str, str]:
    """``cls_token``, ... and ``mask_token`` as the folder's configuration files name them."""
    names: dict[str, str] = {}
    for file in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / file).exists():
            for key, value in read_json(folder / file).items():
                text = value.get("content") if isinstance(value, dict) else value
                if key in (*_USUAL, "mask_token") and isinstance(text, str):
                    names[key] = text
    return names


def has_token_types(folder: Path) -> bool:
    """Whether the model of the folder knows more than one token type, by its ``config.json``."""
    path = folder / "config.json"
    types = read_json(path).get("type_vocab_size", 0) if path.exists() else 0
    if not isinstance(types, int):
        raise CheckpointError(f"{path}: type_vocab_size must be a whole number, got {shown(types)}")
    return types > 1


def special_token_ids(tokenizer: Tokenizer, names: Mapping[str, str]) -> dict[str, int]:
    """Ids ``cls``, ``sep``, ``pad``, ``unk``, and the number of ``separators`` of a pair.

    The post-processor decides about the template, where the tokenizer has one. ``mask`` is among
    them where the tokenizer has such a piece, which only masked-language training needs.

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
    if (mask := mask_id(tokenizer, names)) is not None:
        ids["mask"] = mask
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


def mask_id(tokenizer: Tokenizer, names: Mapping[str, str]) -> int | None:
    """The id of the piece that hides another one: ``mask_token`` of ``names``, or a usual name.

    None: the tokenizer has neither.
    """
    candidates = (*filter(None, [names.get("mask_token")]), *MASK_TOKENS)
    found = map(tokenizer.token_to_id, candidates)
    return next((i for i in found if i is not None), None)


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
    pieces = read_text(path).split("\n")
    vocabulary = {piece: i for i, piece in enumerate(pieces) if piece}
    config = tokenizer_config(folder)
    names = special_token_names(folder)
    unk, cls, sep = (
        names.get(key, _USUAL[key][0]) for key in ("unk_token", "cls_token", "sep_token")
    )
    for name in (unk, cls, sep):
        if name not in vocabulary:
            raise CheckpointError(f"{path} has no token {name}; is it a BERT vocabulary?")
    switches: dict[str, Any] = {
        "do_lower_case": True,
        "tokenize_chinese_chars": True,
        "strip_accents": None,
    }
    for key, usual in switches.items():
        switches[key] = value = config.get(key, usual)
        if not isinstance(value, bool) and (value is not None or usual is not None):
            raise CheckpointError(
                f"{folder / 'tokenizer_config.json'}: {key} must be true or false, got "
                f"{shown(value)}"
            )
    return bert_tokenizer(
        vocabulary,
        lowercase=switches["do_lower_case"],
        strip_accents=switches["strip_accents"],
        split_chinese=switches["tokenize_chinese_chars"],
        unk=unk,
        cls=cls,
        sep=sep,
    )


def tokenizer_config(folder: Path) -> dict[str, Any]:
    """The content of ``tokenizer_config.json``; empty where there is none.

    Raises:
        CheckpointError: no JSON object, or one that says the tokenizer is code of its own.
    """
    path = folder / "tokenizer_config.json"
    content = read_json(path) if path.exists() else {}
    if content.get("auto_map"):
        raise CheckpointError(
            f"{path} says that the tokenizer is code of its own (auto_map: "
            f"{shown(content['auto_map'])}), which is never run. If its tokenizer.json does the "
            "same without it, take auto_map out"
        )
    return content


def _space_before_words(pre_tokenizer: Any) -> None:
    if isinstance(pre_tokenizer, dict):
        if pre_tokenizer.get("type") == "ByteLevel":
            pre_tokenizer["add_prefix_space"] = True
        for part in pre_tokenizer.get("pretokenizers", []):
            _space_before_words(part)
