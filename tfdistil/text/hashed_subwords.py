"""Word pieces, and beside each the hashed features of the whole word that it is a piece of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.text.featurizer import Text, Window
from tfdistil.text.projection.fingerprints import FingerprintCache, fingerprints
from tfdistil.text.projection.spec import ProjectionSpec
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.windows import stretches, truncate_pair

PROJECTION = "projection.json"
"""The file of a featurizer, and of a checkpoint, that says what the fingerprints are."""
_CACHED_WORDS = 30_000


class HashedSubwordFeaturizer:
    """`SubwordFeaturizer`, and the input ``fingerprint``: the projection of a piece's word.

    A vocabulary that knows no capitals, or another language's pieces, hides what a word looks like;
    hashed affixes, n-grams and capitals of the whole word are there beside all of its pieces,
    uint8 ``[T, N / 4]``. Special tokens have the byte of four zeros, as padding has.

    Args:
        subwords: decides about windows, pieces and which of them are scored.
        spec: what the fingerprints are; without ``eos``, since the pieces have their own end.

    Raises:
        RecipeError: a spec with ``eos``.
    """

    kind = "subwords+projection"

    def __init__(self, subwords: SubwordFeaturizer, spec: ProjectionSpec):
        if spec.eos:
            raise RecipeError("hashing: {eos: true} is for students that read hashed words alone")
        self.subwords, self.spec = subwords, spec
        self.max_length, self.word_mask = subwords.max_length, subwords.word_mask
        self.padding = subwords.padding | {"fingerprint": spec.padding}
        self._fingerprints = FingerprintCache(spec, _CACHED_WORDS)

    def encode(self, words: Sequence[str], second: Sequence[str] | None = None) -> list[Window]:
        """Windows of one text or pair; at least one, also for no words at all."""
        return self.encode_batch([(words, second)])[0]

    def encode_batch(self, texts: Sequence[Text]) -> list[list[Window]]:
        """`encode` of many texts; each different word is tokenized and hashed once."""
        parts = [part for words, second in texts for part in (words, second or ())]
        words = [*chain.from_iterable(parts)]
        known, rows = self.subwords.pieces(words), self._fingerprints(words)
        # Of each part: the fingerprints of its words, and how many pieces these have.
        ends = [*accumulate(map(len, parts))]
        hashed = (
            (rows[end - len(part) : end], [len(known[word]) for word in part])
            for part, end in zip(parts, ends, strict=True)
        )
        encoded = self.subwords.encode_known(texts, known)
        return [
            self._with_hashes(windows, *one)
            if second is None
            else [self._pair_with_hashes(windows[0], np.repeat(*one, 0), np.repeat(*two, 0))]
            for windows, (_, second), one, two in zip(encoded, texts, hashed, hashed, strict=True)
        ]

    def hashes(self, words: Sequence[str]) -> np.ndarray:
        """The fingerprint of each word, uint8 ``[words, N / 4]``, none kept."""
        return fingerprints(words, self.spec)

    def with_tokenizer(
        self, tokenizer: Tokenizer, names: Mapping[str, str]
    ) -> HashedSubwordFeaturizer:
        """The same windows and hashes of another tokenizer's pieces; see `SubwordFeaturizer`."""
        return type(self)(self.subwords.with_tokenizer(tokenizer, names), self.spec)

    def forget(self) -> None:
        """Drop pieces and fingerprints of words already seen."""
        self.subwords.forget()
        self._fingerprints.forget()

    def to_assets(self) -> dict[str, bytes]:
        """``tokenizer.json`` and ``projection.json``."""
        return self.subwords.to_assets() | {PROJECTION: self.spec.to_bytes()}

    def to_json(self) -> dict[str, Any]:
        """The settings of `SubwordFeaturizer`, under another kind."""
        return self.subwords.to_json() | {"kind": self.kind}

    @classmethod
    def from_assets(
        cls, settings: Mapping[str, Any], assets: Mapping[str, bytes]
    ) -> HashedSubwordFeaturizer:
        """The featurizer that wrote ``settings`` (`to_json`) and ``assets`` (`to_assets`).

        Raises:
            ModelFileError: no tokenizer or projection, or one that this version does not know.
            ValueError: settings that are no numbers.
        """
        if PROJECTION not in assets:
            raise ModelFileError(f"the featurizer {cls.kind!r} needs {PROJECTION}; it is missing")
        spec = ProjectionSpec.from_bytes(assets[PROJECTION])
        return cls(SubwordFeaturizer.from_assets(settings, assets), spec)

    def _with_hashes(
        self, windows: list[Window], rows: np.ndarray, lengths: list[int]
    ) -> list[Window]:
        """One text's windows, which are cut where `SubwordFeaturizer` cuts them."""
        lengths = [min(length, self.subwords.budget) for length in lengths]
        cut = stretches(lengths, self.subwords.budget, self.subwords.overlap)
        found = []
        for window, stretch in zip(windows, cut, strict=True):
            first, end = stretch.shown
            of_pieces = np.repeat(rows[first:end], lengths[first:end], axis=0)
            found.append(self._window(window, [(1, of_pieces)]))
        return found

    def _pair_with_hashes(self, window: Window, one: np.ndarray, two: np.ndarray) -> Window:
        """The window of a pair, given the fingerprints of all pieces of both texts."""
        separators = self.subwords.separators
        kept, other = truncate_pair(len(one), len(two), self.max_length - 2 - separators)
        return self._window(window, [(1, one[:kept]), (1 + kept + separators, two[:other])])

    def _window(self, window: Window, parts: Sequence[tuple[int, np.ndarray]]) -> Window:
        """The window with fingerprints of its pieces, each part at its first position."""
        rows = np.full((window.length, self.spec.token_bytes), self.spec.padding, np.uint8)
        for start, part in parts:
            rows[start : start + len(part)] = part
        return replace(window, inputs=window.inputs | {"fingerprint": rows})
