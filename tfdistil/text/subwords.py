"""Words to sub-word ids with a ``tokenizers`` tokenizer, aligned on words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tokenizers import Tokenizer

from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.text.featurizer import WORD_MASK, Text, Window, check_integers
from tfdistil.text.windows import stretches, truncate_pair
from tfdistil.text.words import replace_surrogates

Pieces = tuple[int, ...]

_CHUNK = 256  # words a tokenizer thread gets at once
_CACHED_CHARACTERS = 250_000  # some 30,000 words, 8 MB


class SubwordFeaturizer:
    """WordPiece, SentencePiece or byte-pair pieces of words, in windows of at most ``max_length``.

    Each word is tokenized by itself and has at least one piece: a word the tokenizer turns into
    nothing becomes the unknown token. Lower-casing and normalization are the tokenizer's. A word
    that looks like a special token (``[SEP]``) is ordinary text. With SentencePiece a word's first
    piece is the one that begins with ``▁``, or ``▁`` alone, as in ``transformers``' ``word_ids``.

    A sequence is ``cls A sep``, a pair ``cls A sep B sep`` (``separators`` times sep in between).
    Texts longer than ``max_length`` become several windows, cut between words; a single word longer
    than a window keeps its first pieces. Pairs are one window: the longer text is cut first.
    Windows of a pair own the words of the first text of which a piece is left.

    The pieces of words are kept for the next call, until the words are 250,000 characters.

    Args:
        tokenizer: configured in place: no padding, no truncation, special tokens as text.
        max_length: positions of a window, special tokens included.
        cls, sep, pad, unk: ids of the special tokens.
        mask: the id of the piece that hides another one in masked-language training; None: there
            is none.
        alignment: ``first`` scores the first piece of a word, ``x`` all pieces (the continuations
            carry the label ``X``).
        token_types: whether windows have ``token_type_ids`` (0 for the first text, 1 for the
            second).
        separators: sep tokens between the texts of a pair: 1 (BERT) or 2 (RoBERTa).
        overlap: pieces that neighbouring windows share; a quarter of a window if None.

    Raises:
        RecipeError: a max_length or overlap that leaves no room for words; another alignment.
    """

    kind = "subwords"
    word_mask = WORD_MASK

    def __init__(
        self,
        tokenizer: Tokenizer,
        max_length: int,
        *,
        cls: int,
        sep: int,
        pad: int,
        unk: int,
        mask: int | None = None,
        alignment: Literal["first", "x"] = "first",
        token_types: bool = False,
        separators: int = 1,
        overlap: int | None = None,
    ):
        # cls + one piece of each text of a pair + the separators.
        shortest = 4 + separators
        if max_length < shortest:
            raise RecipeError(f"max_length is {max_length}; the least is {shortest}")
        self.budget = max_length - 2
        overlap = self.budget // 4 if overlap is None else overlap
        if not 0 <= overlap < self.budget:
            raise RecipeError(
                f"overlap is {overlap}; a window of max_length {max_length} holds {self.budget} "
                f"pieces, so the overlap must be 0 to {self.budget - 1}"
            )
        if alignment not in ("first", "x"):
            raise RecipeError(f"alignment is {alignment!r}; expected 'first' or 'x'")
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.cls, self.sep, self.pad, self.unk, self.mask = cls, sep, pad, unk, mask
        self.alignment = alignment
        self.token_types = token_types
        self.separators = separators
        self.overlap = overlap
        self.padding = {"input_ids": pad, "attention_mask": 0}
        if token_types:
            self.padding["token_type_ids"] = 0
        self._reserved = frozenset((cls, sep, pad))
        self._known: dict[str, Pieces] = {}
        self._cached = 0

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Tokenizer,
        max_length: int,
        *,
        names: Mapping[str, str] | None = None,
        alignment: Literal["first", "x"] = "first",
        token_types: bool = False,
        overlap: int | None = None,
    ) -> SubwordFeaturizer:
        """Take the special tokens from the tokenizer's post-processor, ``names``, or usual names.

        Args:
            tokenizer: see the class.
            max_length: see the class.
            names: ``cls_token``, ``sep_token``, ``pad_token``, ``unk_token``, ``mask_token``; any
                may be missing.
            alignment: see the class.
            token_types: see the class.
            overlap: see the class.

        Raises:
            CheckpointError: a special token that is not in the vocabulary, or a post-processor
                that does not make ``cls A sep B sep``.
        """
        from tfdistil.text.pretrained import special_token_ids

        return cls(
            tokenizer,
            max_length,
            **special_token_ids(tokenizer, names or {}),
            alignment=alignment,
            token_types=token_types,
            overlap=overlap,
        )

    @property
    def subwords(self) -> SubwordFeaturizer:
        """Itself: what makes word pieces, here and in those that have more beside them."""
        return self

    def with_tokenizer(self, tokenizer: Tokenizer, names: Mapping[str, str]) -> SubwordFeaturizer:
        """The same windows of another tokenizer's pieces.

        Args:
            tokenizer: see the class.
            names: of its special tokens, see `from_tokenizer`.

        Raises:
            CheckpointError: see `from_tokenizer`.
        """
        return self.from_tokenizer(
            tokenizer,
            self.max_length,
            names=names,
            alignment=self.alignment,
            token_types=self.token_types,
            overlap=self.overlap,
        )

    @classmethod
    def from_pretrained_folder(
        cls,
        folder: str | Path,
        max_length: int,
        *,
        alignment: Literal["first", "x"] = "first",
        token_types: bool | None = None,
        overlap: int | None = None,
    ) -> SubwordFeaturizer:
        """The tokenizer of a Hugging Face folder: ``tokenizer.json``, or BERT's ``vocab.txt``.

        Args:
            folder: the checkpoint's folder.
            max_length: see the class.
            alignment: see the class.
            token_types: None means: if the folder's ``config.json`` has more than one of them.
            overlap: see the class.

        Raises:
            CheckpointError: no tokenizer that can be read.
        """
        from tfdistil.text.pretrained import has_token_types, load_tokenizer, special_token_names

        folder = Path(folder)
        return cls.from_tokenizer(
            load_tokenizer(folder),
            max_length,
            names=special_token_names(folder),
            alignment=alignment,
            token_types=has_token_types(folder) if token_types is None else token_types,
            overlap=overlap,
        )

    def encode(self, words: Sequence[str], second: Sequence[str] | None = None) -> list[Window]:
        """Windows of one text or pair; at least one, also for no words at all."""
        return self.encode_batch([(words, second)])[0]

    def encode_batch(self, texts: Sequence[Text]) -> list[list[Window]]:
        """`encode` of many texts; each different word is tokenized once."""
        words = chain.from_iterable((*words, *(other or ())) for words, other in texts)
        return self.encode_known(texts, self.pieces(words))

    def encode_known(
        self, texts: Sequence[Text], known: Mapping[str, Pieces]
    ) -> list[list[Window]]:
        """`encode_batch` of texts whose words have been tokenized, see `pieces`."""
        return [
            self._windows([known[word] for word in words])
            if other is None
            else [self._pair([known[word] for word in words], [known[word] for word in other])]
            for words, other in texts
        ]

    def pieces(self, words: Iterable[str]) -> dict[str, Pieces]:
        """The ids of each different word by itself, at least one; may hold other words too."""
        if self._cached > _CACHED_CHARACTERS:
            self.forget()
        known = self._known
        missing = [word for word in dict.fromkeys(words) if word not in known]
        if missing:
            known.update(zip(missing, self._tokenize(missing), strict=True))
            self._cached += sum(map(len, missing))
        return known

    def special_names(self) -> dict[str, str]:
        """``cls_token``, ``sep_token``, ... of its tokenizer, as `from_tokenizer` takes them."""
        roles = ("cls", "sep", "pad", "unk", *(["mask"] if self.mask is not None else []))
        name_of = self.tokenizer.id_to_token
        return {f"{role}_token": str(name_of(getattr(self, role))) for role in roles}

    def special_ids(self) -> tuple[int, int, int, int]:
        """Of cls, sep, pad and unk."""
        return self.cls, self.sep, self.pad, self.unk

    def forget(self) -> None:
        """Drop the pieces of words already seen."""
        self._known, self._cached = {}, 0

    def to_assets(self) -> dict[str, bytes]:
        """``tokenizer.json``, as Hugging Face writes it."""
        return {"tokenizer.json": self.tokenizer.to_str().encode()}

    def to_json(self) -> dict[str, Any]:
        """All settings but the tokenizer."""
        return {
            "kind": self.kind,
            "max_length": self.max_length,
            "cls": self.cls,
            "sep": self.sep,
            "pad": self.pad,
            "unk": self.unk,
            **({} if self.mask is None else {"mask": self.mask}),
            "alignment": self.alignment,
            "token_types": self.token_types,
            "separators": self.separators,
            "overlap": self.overlap,
        }

    @classmethod
    def from_assets(
        cls, settings: Mapping[str, Any], assets: Mapping[str, bytes]
    ) -> SubwordFeaturizer:
        """The featurizer that wrote ``settings`` (`to_json`) and ``assets`` (`to_assets`).

        Raises:
            ModelFileError: no tokenizer, or one that this version of ``tokenizers`` cannot read.
            ValueError: settings that are no numbers.
        """
        check_integers(
            settings, ("max_length", "overlap", "separators", "cls", "sep", "pad", "unk", "mask")
        )
        if not isinstance(settings.get("token_types", False), bool) or not settings.get(
            "separators", 1
        ):
            raise ValueError("expected token_types true or false, and at least one separator")
        if "tokenizer.json" not in assets:
            raise ModelFileError("the featurizer 'subwords' needs tokenizer.json; it is missing")
        try:
            tokenizer = Tokenizer.from_buffer(assets["tokenizer.json"])
        except Exception as error:  # the library raises bare Exceptions
            raise ModelFileError(
                f"tokenizer.json cannot be read ({error}); upgrade the package tokenizers, or "
                "export the model again"
            ) from error
        from tfdistil.text.pretrained import mask_id

        given = {"mask": mask_id(tokenizer, {}), **settings}  # older files do not say it
        return cls(tokenizer, **{k: v for k, v in given.items() if k != "kind"})

    def _tokenize(self, words: list[str]) -> list[Pieces]:
        """Ids of each word; a list of words is one pre-tokenized text for the tokenizer."""
        chunks = [words[at : at + _CHUNK] for at in range(0, len(words), _CHUNK)]
        try:
            encodings = self._encode(chunks)
        except TypeError:  # Rust's strings hold no lone surrogates
            encodings = self._encode([[replace_surrogates(w) for w in c] for c in chunks])
        found: list[Pieces] = []
        for chunk, encoding in zip(chunks, encodings, strict=True):
            ids: list[list[int]] = [[] for _ in chunk]
            for piece, word in zip(encoding.ids, encoding.word_ids, strict=True):
                ids[word].append(piece)
            found.extend(self._plain(part) for part in ids)
        return found

    def _plain(self, ids: list[int]) -> Pieces:
        """At least one piece, and none that would be a special token to the model.

        A Unigram vocabulary holds ``<s>`` as a piece like any other.
        """
        if self._reserved.isdisjoint(ids):
            return tuple(ids) or (self.unk,)
        return tuple(self.unk if i in self._reserved else i for i in ids)

    def _encode(self, chunks: list[list[str]]) -> list[Any]:
        if len(chunks) == 1:  # a query: no threads
            return [
                self.tokenizer.encode(chunks[0], is_pretokenized=True, add_special_tokens=False)
            ]
        return self.tokenizer.encode_batch(chunks, is_pretokenized=True, add_special_tokens=False)

    def _windows(self, pieces: list[Pieces]) -> list[Window]:
        lengths = [len(part) for part in pieces]
        if sum(lengths) <= self.budget:
            return [self._window(pieces, lengths, 0, (0, len(pieces)), 0)]
        kept = [part[: self.budget] for part in pieces]
        kept_lengths = [len(part) for part in kept]
        windows = []
        for stretch in stretches(kept_lengths, self.budget, self.overlap):
            (first, end), (start, stop) = stretch.shown, stretch.owned
            dropped = sum(lengths[start:stop]) - sum(kept_lengths[start:stop])
            windows.append(
                self._window(
                    kept[first:end], kept_lengths[first:end], first, stretch.owned, dropped
                )
            )
        return windows

    def _window(
        self,
        pieces: list[Pieces],
        lengths: list[int],
        first: int,
        owned: tuple[int, int],
        dropped: int,
    ) -> Window:
        ids = [self.cls, *chain.from_iterable(pieces), self.sep]
        return Window(self._inputs(ids), *self._tokens(lengths, first, owned), owned, dropped)

    def _pair(self, first: list[Pieces], second: list[Pieces]) -> Window:
        one, two = list(chain.from_iterable(first)), list(chain.from_iterable(second))
        budget = self.max_length - 2 - self.separators
        kept, other = truncate_pair(len(one), len(two), budget)
        dropped = len(one) - kept + len(two) - other
        ids = [self.cls, *one[:kept], *[self.sep] * self.separators, *two[:other], self.sep]
        lengths: list[int] = []
        for part in first:
            length = min(len(part), kept - sum(lengths)) if dropped else len(part)
            if length == 0:
                break
            lengths.append(length)
        owned = (0, len(lengths))
        inputs = self._inputs(ids, second_from=1 + kept + self.separators)
        return Window(inputs, *self._tokens(lengths, 0, owned), owned, dropped)

    def _inputs(self, ids: list[int], second_from: int | None = None) -> dict[str, np.ndarray]:
        inputs = {
            "input_ids": np.array(ids, dtype=np.int32),
            "attention_mask": np.ones(len(ids), dtype=np.int32),
        }
        if self.token_types:
            types = np.zeros(len(ids), dtype=np.int32)
            if second_from is not None:
                types[second_from:] = 1
            inputs["token_type_ids"] = types
        return inputs

    def _tokens(
        self, lengths: list[int], first: int, owned: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the owned words' scored pieces, and where each word starts among them."""
        start, stop = owned[0] - first, owned[1] - first
        positions = list(accumulate(lengths, initial=1))  # after cls
        firsts = np.array(positions[start:stop], dtype=np.int32)
        if self.alignment == "first":
            return firsts, np.arange(stop - start, dtype=np.int32)
        begin = positions[start]
        return np.arange(begin, positions[stop], dtype=np.int32), firsts - np.int32(begin)
