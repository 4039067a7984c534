"""Tokenizers of checkpoints: read whatever form they come in, write what `transformers` reads."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer

from tfdistil.encoders.checkpoint_info import resolve_checkpoint
from tfdistil.encoders.config import EncoderConfig
from tfdistil.errors import CheckpointError
from tfdistil.text import pretrained

_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")


def load_tokenizer(source: str | Path) -> Tokenizer:
    """The tokenizer of a checkpoint, without padding or truncation.

    ``tokenizer.json`` is read as it is; other forms (``vocab.txt``, ``vocab.json`` with
    ``merges.txt``, SentencePiece models) are converted by `transformers` first.

    Args:
        source: a folder or hub id.

    Raises:
        CheckpointError: no tokenizer there, or one that cannot be read.
    """
    folder = resolve_checkpoint(source)
    if (folder / "tokenizer.json").is_file():
        tokenizer = pretrained.load_tokenizer(folder)
    else:
        with TemporaryDirectory() as converted:
            _auto_tokenizer(folder).save_pretrained(converted)
            tokenizer = pretrained.load_tokenizer(Path(converted))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer | str | Path, folder: Path, config: EncoderConfig) -> None:
    """Write a tokenizer so that ``AutoTokenizer`` loads it.

    Args:
        tokenizer: the tokenizer, or a folder or hub id to copy it from.
        folder: where to.
        config: of the encoder it goes with.

    Raises:
        CheckpointError: it has ids beyond the encoder's vocabulary, or no special tokens.
    """
    if isinstance(tokenizer, Tokenizer):
        saved: Any = _wrapped(tokenizer, config)
    else:
        saved = _auto_tokenizer(resolve_checkpoint(tokenizer))
    highest = max(saved.get_vocab().values(), default=0)
    if highest >= config.vocabulary:
        raise CheckpointError(
            f"the tokenizer has ids up to {highest}, the encoder embeddings for "
            f"{config.vocabulary}; save the tokenizer that the encoder was trained with"
        )
    saved.save_pretrained(folder)


def _wrapped(tokenizer: Tokenizer, config: EncoderConfig) -> Any:
    from transformers import PreTrainedTokenizerFast

    copy = Tokenizer.from_str(tokenizer.to_str())
    ids = pretrained.special_token_ids(copy, {})
    names = {f"{key}_token": copy.id_to_token(ids[key]) for key in ("cls", "sep", "pad", "unk")}
    mask = next((name for name in ("[MASK]", "<mask>") if copy.token_to_id(name) is not None), None)
    inputs = ["input_ids", "attention_mask"]
    if config.type_vocabulary > 1:
        inputs.insert(1, "token_type_ids")
    return PreTrainedTokenizerFast(
        tokenizer_object=copy,
        model_max_length=config.max_length,
        model_input_names=inputs,
        **names,
        **({} if mask is None else {"mask_token": mask}),
    )


def _auto_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    # AutoTokenizer makes an empty tokenizer of a folder without one.
    if not any(path for pattern in _VOCABULARIES for path in folder.glob(pattern)):
        raise CheckpointError(f"{folder} has no tokenizer ({', '.join(_VOCABULARIES)})")
    try:
        return AutoTokenizer.from_pretrained(str(folder), use_fast=True)
    except Exception as error:  # every tokenizer class raises its own
        raise CheckpointError(f"the tokenizer of {folder} cannot be read: {error}") from error
