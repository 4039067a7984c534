"""Translators: any model or function that turns texts of one language into those of another."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tfdistil.augmentation.stored_answers import StoredAnswers
from tfdistil.errors import CheckpointError, DataError
from tfdistil.files import beside
from tfdistil.printable import listed, shown
from tfdistil.registry import entering


class Translator(Protocol):
    """Turns texts into another language, the same ones always into the same.

    Attributes:
        batch: texts to give it at once, where the recipe does not say.
    """

    batch: int

    def identity(self, source: str, target: str) -> str:
        """What its translations depend on, beside the text; decides which are kept together."""
        ...

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        """One translation of each text; ``source`` and ``target`` are the data's codes."""
        ...


MODEL_TYPES = ("marian", "m2m_100", "nllb-moe", "mbart", "fsmt", "t5", "mt5", "umt5")
"""The kinds of models that `HuggingFaceTranslator` reads; NLLB's are ``m2m_100``."""

Translate = Callable[[Sequence[str], str, str], list[str]]

TRANSLATORS: dict[str, Translate] = {}


def translator(name: str) -> Callable[[Translate], Translate]:
    """Register ``(texts, source, target) -> texts`` as what ``model: NAME`` means in a recipe.

    Raises:
        ValueError: there is a translator of that name.
    """
    return entering(TRANSLATORS, name)


class RegisteredTranslator:
    """A function of one's own by its registered name; another name starts its translations anew."""

    batch = 16

    def __init__(self, name: str):
        self.name = name

    def identity(self, source: str, target: str) -> str:
        """The name and the direction."""
        return f"{self.name} {source} {target}"

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        """What the function returns, checked for length."""
        found = list(TRANSLATORS[self.name](texts, source, target))
        if len(found) != len(texts):
            raise DataError(
                f"the translator {self.name!r} returned {len(found)} texts for {len(texts)}"
            )
        return found


class HuggingFaceTranslator:
    """Marian, NLLB, M2M100 or another of `MODEL_TYPES`, by beam search. Needs PyTorch.

    Args:
        folders: ``source-target`` to the folder or hub id of a model for that direction, or one
            folder for all directions. Weights are read from safetensors alone, and code that lies
            in a folder is never run.
        codes: the data's language codes to the model's, such as ``{en: eng_Latn}`` for NLLB.
        beams: of the search.
        base: folder that folders are relative to.
    """

    batch = 16

    def __init__(
        self,
        folders: str | Mapping[str, str],
        codes: Mapping[str, str] | None = None,
        beams: int = 4,
        base: Path = Path(),
    ):
        self.folders, self.codes, self.beams, self.base = folders, dict(codes or {}), beams, base
        self._loaded: dict[str, tuple[Any, Any]] = {}

    def identity(self, source: str, target: str) -> str:
        """The model's configuration and the sizes of its weights, the codes and the beams."""
        folder = Path(self._folder(source, target))
        config = folder / "config.json"
        parts = [config.read_text("utf-8")] if config.is_file() else [str(folder)]
        parts += [f"{p.name} {p.stat().st_size}" for p in sorted(folder.glob("*.safetensors"))]
        return "\n".join([*parts, self._code(source), self._code(target), str(self.beams)])

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        """One batch through the model.

        Raises:
            DataError: no PyTorch, no model for the direction, one of another kind, or one that does
                not know a code.
        """
        tokenizer, model = self._load(self._folder(source, target))
        options, texts = self._direction(tokenizer, list(texts), source, target)
        longest = getattr(model.config, "max_position_embeddings", 512)
        batch = tokenizer(
            texts, return_tensors="pt", padding=True, truncation=True, max_length=longest
        )
        made = model.generate(**batch, num_beams=self.beams, max_length=longest, **options)
        return [text.strip() for text in tokenizer.batch_decode(made, skip_special_tokens=True)]

    def _direction(
        self, tokenizer: Any, texts: list[str], source: str, target: str
    ) -> tuple[dict[str, Any], list[str]]:
        """How a model of many languages is told which to write; one of two languages knows."""
        mark = f">>{self._code(target)}<<"
        marks: Sequence[str] = getattr(tokenizer, "supported_language_codes", ())
        if mark in marks:
            return {}, [f"{mark} {text}" for text in texts]
        if len(marks) > 1:
            raise DataError(
                f"{self._folder(source, target)} writes {listed(marks)}, and not {mark}; say which "
                f"of them is meant, such as codes: {{{target}: {marks[0].strip('<>')}}}"
            )
        if not hasattr(tokenizer, "src_lang"):
            return {}, texts
        known = getattr(tokenizer, "lang_code_to_id", None) or tokenizer.get_added_vocab()
        for language in (source, target):
            code = self._code(language)
            if code not in known:
                raise DataError(
                    f"{self._folder(source, target)} has no language {code!r}; say which of its "
                    f"codes is meant, such as codes: {{{language}: eng_Latn}}"
                )
        tokenizer.src_lang = self._code(source)
        return {"forced_bos_token_id": known[self._code(target)]}, texts

    def _code(self, language: str) -> str:
        return self.codes.get(language, language)

    def _folder(self, source: str, target: str) -> str:
        if isinstance(self.folders, str):
            name = self.folders
        elif (direction := f"{source}-{target}") in self.folders:
            name = self.folders[direction]
        else:
            raise DataError(
                f"pivoting: no model for {direction}; there are {', '.join(self.folders)}"
            )
        return beside(self.base, name)

    def _load(self, folder: str) -> tuple[Any, Any]:
        if folder not in self._loaded:
            try:
                path = _translation_folder(folder)
                tokenizer = _tokenizer(path)
            except CheckpointError as error:
                raise DataError(f"{folder}: not a translation model: {error}") from error
            try:
                import torch  # noqa: F401
                from transformers import AutoModelForSeq2SeqLM
            except ImportError as error:
                raise DataError(
                    f"translating with {folder} needs PyTorch ({error}): pip install torch "
                    "sentencepiece; or register a function with tfdistil.augmentation.translator"
                ) from error
            try:
                model = AutoModelForSeq2SeqLM.from_pretrained(
                    path, use_safetensors=True, trust_remote_code=False
                )
            except (OSError, ValueError) as error:
                raise DataError(f"{folder}: not a translation model: {error}") from error
            self._loaded[folder] = tokenizer, model.eval()
        return self._loaded[folder]


def _translation_folder(source: str) -> Path:
    """The folder of a model that is of a kind we know and brings no code, by its own account."""
    from tfdistil.encoders.checkpoint_info import resolve_checkpoint
    from tfdistil.text.checkpoint_files import read_json
    from tfdistil.text.pretrained import tokenizer_config

    folder = resolve_checkpoint(source)
    config = read_json(folder / "config.json")
    tokenizer_config(folder)
    if config.get("auto_map"):
        raise CheckpointError(
            f"config.json says that the model is code of its own (auto_map: "
            f"{shown(config['auto_map'])}), which is never run"
        )
    if config.get("model_type") not in MODEL_TYPES:
        raise CheckpointError(
            f"model_type is {shown(config.get('model_type'))}; expected one of "
            f"{', '.join(MODEL_TYPES)}"
        )
    return folder


def _tokenizer(folder: Path) -> Any:
    """The tokenizer of a folder that `_translation_folder` has looked at.

    A class of `transformers` that does not find or cannot read its vocabulary may make a few pieces
    up instead, so they are counted.
    """
    from transformers import AutoConfig, AutoTokenizer

    from tfdistil.text.pretrained import refusing

    with refusing("the tokenizer cannot be read"):  # every class raises its own
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        rows = int(AutoConfig.from_pretrained(folder, trust_remote_code=False).vocab_size)
    if 2 * len(tokenizer) < rows:
        raise CheckpointError(
            f"the tokenizer has {len(tokenizer)} pieces, but config.json says vocab_size: {rows}; "
            "its vocabulary is missing, cut off or another model's"
        )
    return tokenizer


class StoredTranslations:
    """A translator whose translations are kept in files, so that each text is translated once.

    See `StoredAnswers`.

    Args:
        translate: is asked for what the files do not have.
        folder: of the files, one for each direction.
        batch: texts translated at once, and written together.
    """

    def __init__(self, translate: Translator, folder: Path, batch: int = 16):
        self.translate, self.folder, self.batch = translate, folder, batch

    def __call__(
        self,
        texts: Sequence[str],
        source: str,
        target: str,
        count: Callable[[int], None] = lambda done: None,
    ) -> list[str]:
        """Translations of all texts; ``count`` is told how many are there."""
        key = hashlib.sha256(self.translate.identity(source, target).encode()).hexdigest()[:16]
        file = self.folder / f"{source}-{target}-{key}.jsonl"
        stored = StoredAnswers(file, self.batch, lambda text, answer: isinstance(answer, str))
        return stored(texts, lambda part: self.translate(part, source, target), count)
