"""Tokenizers of checkpoints: read whatever form they come in, write what `transformers` reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from tfdistil.encoders.checkpoint_info import resolve_checkpoint
from tfdistil.encoders.config import EncoderConfig, Family, family_of
from tfdistil.encoders.vocabulary_files import FILES, read_vocabulary
from tfdistil.errors import CheckpointError
from tfdistil.text import pretrained
from tfdistil.text.checkpoint_files import read_json

_CLASSES: dict[Family, str] = {
    "bert": "BertTokenizer",
    "distilbert": "DistilBertTokenizer",
    "roberta": "RobertaTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
}
"""Whose files a family has unless the checkpoint names another class."""

_ANY = ("PreTrainedTokenizer", "TokenizersBackend")
"""Classes that say nothing about the files."""


def load_tokenizer(source: str | Path) -> Tokenizer:
    """The tokenizer of a checkpoint, without padding or truncation.

    ``tokenizer.json`` is read as it is; other forms (``vocab.txt``, ``vocab.json`` with
    ``merges.txt``, SentencePiece models) are converted. No class that the checkpoint names is
    made, and no code that lies in it is run.

    Args:
        source: a folder or hub id.

    Raises:
        CheckpointError: no tokenizer there, one that cannot be read or is code of its own, a
            ``model_type`` that is not supported, or a vocabulary that does not go with the
            embeddings, see `tfdistil.text.pretrained.check_fits`.
    """
    folder = resolve_checkpoint(source)
    family, content = _family(folder / "config.json")
    stated = pretrained.tokenizer_config(folder).get("tokenizer_class")
    if (folder / "tokenizer.json").is_file():
        return pretrained.load_tokenizer(folder)
    if not any(found for pattern in FILES for found in folder.glob(pattern)):
        raise CheckpointError(
            f"{folder} has no tokenizer ({', '.join(('tokenizer.json', *FILES))})"
        )
    kind = str(stated or content.get("tokenizer_class") or "").removesuffix("Fast")
    return read_vocabulary(folder, _CLASSES[family] if kind in ("", *_ANY) else kind)


def _family(path: Path) -> tuple[Family, dict[str, Any]]:
    """The family, and all of ``config.json``; BERT's, whose files say enough, where it is not."""
    if not path.exists():
        return "bert", {}
    content = read_json(path)
    try:
        return family_of(content), content
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from None


def save_tokenizer(
    tokenizer: Tokenizer | str | Path,
    folder: Path,
    config: EncoderConfig,
    names: Mapping[str, str] | None = None,
) -> None:
    """Write a tokenizer so that ``AutoTokenizer`` loads it.

    Args:
        tokenizer: the tokenizer, or a folder or hub id to copy it from.
        folder: where to.
        config: of the encoder it goes with.
        names: ``cls_token``, ``sep_token``, ... of a tokenizer whose special tokens have unusual
            names; a folder names its own.

    Raises:
        CheckpointError: it has ids beyond the encoder's vocabulary, or no special tokens.
    """
    if not isinstance(tokenizer, Tokenizer):
        folder_of = resolve_checkpoint(tokenizer)
        names, tokenizer = pretrained.special_token_names(folder_of), load_tokenizer(folder_of)
    saved = _wrapped(tokenizer, names or {}, config)
    highest = max(saved.get_vocab().values(), default=0)
    if highest >= config.vocabulary:
        raise CheckpointError(
            f"the tokenizer has ids up to {highest}, the encoder embeddings for "
            f"{config.vocabulary}; save the tokenizer that the encoder was trained with"
        )
    saved.save_pretrained(folder)


def _wrapped(tokenizer: Tokenizer, names: Mapping[str, str], config: EncoderConfig) -> Any:
    from transformers import PreTrainedTokenizerFast

    copy = Tokenizer.from_str(tokenizer.to_str())
    ids = pretrained.special_token_ids(copy, names)
    roles = ("cls", "sep", "pad", "unk", "mask")
    special = {f"{role}_token": copy.id_to_token(ids[role]) for role in roles if role in ids}
    inputs = ["input_ids", "attention_mask"]
    if config.type_vocabulary > 1:
        inputs.insert(1, "token_type_ids")
    return PreTrainedTokenizerFast(
        tokenizer_object=copy,
        model_max_length=config.max_length,
        model_input_names=inputs,
        **special,
    )
