"""Tokenizers from the vocabulary files that families had before ``tokenizer.json``.

They are read here, not by the classes of `transformers`: those make a tokenizer of five pieces
where a file has another name than they expect, and which class it is a checkpoint may decide.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from tfdistil.errors import CheckpointError
from tfdistil.printable import listed
from tfdistil.text import pretrained
from tfdistil.text.checkpoint_files import read_bytes, read_json, read_text

FILES = ("vocab.txt", "vocab.json", "*.model")
"""Files that hold a vocabulary."""

_SPECIAL = {
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
}
_MASK = "<mask>"
_ADDED = re.compile(r"<|\[|madeupword")
"""How pieces begin that no merge makes in the checkpoints of RoBERTa."""

_UNMADE = 16
"""Other such pieces that a vocabulary may have, with a warning."""

_LOG = logging.getLogger(__name__)


def read_vocabulary(folder: Path, kind: str) -> Tokenizer:
    """The tokenizer of a folder, by the class of `transformers` that its files are for.

    Raises:
        CheckpointError: another class, or files that are missing or damaged.
    """
    reader = _READERS.get(kind.removesuffix("Fast"))
    if reader is None:
        raise CheckpointError(
            f"{folder} has files of a {kind}, and no tokenizer.json; only those of "
            f"{', '.join(_READERS)} are read. Write tokenizer.json with transformers: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    with pretrained.refusing(f"the tokenizer of {folder} cannot be made"):
        tokenizer = reader(folder)
    pretrained.check_fits(tokenizer, folder)
    return tokenizer


def byte_level(folder: Path) -> Tokenizer:
    """RoBERTa's byte-level BPE, from ``vocab.json`` and ``merges.txt``.

    It puts a space before each word, see `tfdistil.text.pretrained.load_tokenizer`.

    Raises:
        CheckpointError: a file is missing, ids are not 0 to n - 1, or a merge makes no piece.
    """
    path = folder / "vocab.json"
    vocabulary = read_json(path)
    ids = list(vocabulary.values())
    if not all(isinstance(i, int) for i in ids) or sorted(ids) != list(range(len(ids))):
        raise CheckpointError(
            f"{path} must map pieces to the ids from 0 to their number less one, each once"
        )
    special = _special(folder, vocabulary, path)
    merges = _merges(folder / "merges.txt", vocabulary)
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, fuse_unk=False))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    sep, cls = special["sep_token"], special["cls_token"]
    tokenizer.post_processor = processors.RobertaProcessing(
        (sep, vocabulary[sep]), (cls, vocabulary[cls]), add_prefix_space=True
    )
    return _with_special(tokenizer, special.values())


def unigram(folder: Path) -> Tokenizer:
    """XLM-RoBERTa's unigram pieces, from a SentencePiece model.

    The file begins with ``<unk> <s> </s>``; the ids of the encoder are those of fairseq: ``<s>
    <pad> </s> <unk>``, the file's other pieces, and ``<mask>``.

    Raises:
        CheckpointError: no such file or several, or no whole unigram model with these pieces.
    """
    found = sorted(folder.glob("*.model"))
    if len(found) != 1:
        names = [path.name for path in found]
        raise CheckpointError(f"{folder} must have one SentencePiece model (*.model), got {names}")
    model = _sentencepiece(found[0])
    pieces = [(piece.piece, piece.score) for piece in model.pieces[3:]]
    first = [(name, 0.0) for name in _SPECIAL.values()]
    tokenizer = Tokenizer(models.Unigram([*first, *pieces, (_MASK, 0.0)], unk_id=3))
    if charsmap := model.normalizer_spec.precompiled_charsmap:
        tokenizer.normalizer = normalizers.Precompiled(charsmap)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    )
    tokenizer.decoder = decoders.Metaspace("▁", "always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return _with_special(tokenizer, [*_SPECIAL.values(), _MASK])


def _special(folder: Path, vocabulary: Mapping[str, int], path: Path) -> dict[str, str]:
    given = pretrained.special_token_names(folder)
    names = {key: given.get(key, usual) for key, usual in _SPECIAL.items()}
    missing = [name for name in names.values() if name not in vocabulary]
    if missing:
        raise CheckpointError(f"{path} has no {', '.join(missing)}; is it RoBERTa's vocabulary?")
    return names


def _merges(path: Path, vocabulary: Mapping[str, int]) -> list[tuple[str, str]]:
    """The pairs of a ``merges.txt``, which must make (nearly) all pieces of the vocabulary."""
    merges = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line or line.startswith("#version"):
            continue
        left, _, right = line.partition(" ")
        if not {left, right, left + right} <= vocabulary.keys():
            raise CheckpointError(
                f"{path}:{number}: expected two pieces of vocab.json that make a third, got "
                f"{line!r}"
            )
        merges.append((left, right))
    made = {left + right for left, right in merges}
    unmade = [p for p in vocabulary if len(p) > 1 and p not in made and not _ADDED.match(p)]
    message = (
        f"{path} has {len(merges)} merges, which make all but {len(unmade)} of the pieces of "
        f"vocab.json ({listed(unmade, 3)}); it is cut off or another model's"
    )
    if len(unmade) > _UNMADE:
        raise CheckpointError(message)
    if unmade:
        _LOG.warning(message)
    return merges


def _sentencepiece(path: Path) -> Any:
    """The content of a SentencePiece model that is whole and of the kind we read."""
    from google.protobuf.message import DecodeError
    from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2

    protocol: Any = sentencepiece_model_pb2  # its messages are made when it is imported
    model = protocol.ModelProto()
    data = read_bytes(path)
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise CheckpointError(f"{path} is no SentencePiece model: {error}") from error
    if not (model.HasField("trainer_spec") and model.HasField("normalizer_spec")):
        raise CheckpointError(
            f"{path} is no whole SentencePiece model: it has {len(model.pieces)} pieces, but not "
            "how they were trained and normalized, which comes after them"
        )
    trained, normal = model.trainer_spec, model.normalizer_spec
    if trained.model_type != trained.UNIGRAM or trained.byte_fallback:
        kind = trained.ModelType.Name(trained.model_type)
        raise CheckpointError(
            f"{path} is a model of kind {kind}{' with bytes' * trained.byte_fallback}; expected "
            "UNIGRAM, as XLM-RoBERTa's is"
        )
    if (
        not (normal.add_dummy_prefix and normal.escape_whitespaces)
        or trained.treat_whitespace_as_suffix
    ):
        raise CheckpointError(f"{path} does not put ▁ before each word, as XLM-RoBERTa's does")
    names = [piece.piece for piece in model.pieces]
    kinds = [piece.type for piece in model.pieces]
    of = protocol.ModelProto.SentencePiece
    if names[:3] != ["<unk>", "<s>", "</s>"] or kinds[:3] != [of.UNKNOWN, of.CONTROL, of.CONTROL]:
        raise CheckpointError(
            f"{path} begins with the pieces {names[:3]}; expected <unk>, <s> and </s>, as "
            "XLM-RoBERTa's does"
        )
    if set(kinds[3:]) != {of.NORMAL}:
        raise CheckpointError(f"{path} has control or user-defined pieces, or none; expected words")
    known = {*_SPECIAL.values(), _MASK}
    if len({*names, *known}) != len(names) + 2 or "" in names:
        raise CheckpointError(f"{path} has a piece twice, or an empty one")
    if not all(math.isfinite(piece.score) for piece in model.pieces):
        raise CheckpointError(f"{path} has scores that are NaN or infinite")
    try:
        SentencePieceProcessor(model_proto=data)  # the normalization's table, above all
    except (RuntimeError, OSError) as error:
        raise CheckpointError(f"{path} is no SentencePiece model: {error}") from error
    return model


def _with_special(tokenizer: Tokenizer, names: Iterable[str]) -> Tokenizer:
    tokenizer.add_special_tokens([AddedToken(n, lstrip=n == _MASK, special=True) for n in names])
    return tokenizer


_READERS: dict[str, Callable[[Path], Tokenizer]] = {
    "BertTokenizer": pretrained.load_tokenizer,
    "DistilBertTokenizer": pretrained.load_tokenizer,
    "RobertaTokenizer": byte_level,
    "XLMRobertaTokenizer": unigram,
}
