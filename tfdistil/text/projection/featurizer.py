"""Words to fingerprints in windows: one position for each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np

from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.text.featurizer import WORD_MASK, Text, Window, check_integers
from tfdistil.text.projection.fingerprints import FingerprintCache, fingerprint_tokens, fingerprints
from tfdistil.text.projection.spec import ProjectionSpec
from tfdistil.text.projection.tokens import END, NULL
from tfdistil.text.windows import stretches, truncate_pair

_CACHED_WORDS = 30_000


class ProjectionFeaturizer:
    """The projection's fingerprints, one position, which is scored, for each word.

    Inputs are ``fingerprint``, uint8 ``[T, N / 4]``, and ``attention_mask``, int32 ``[T]``. Padding
    is the byte whose four features are 0: 00 for the maps ``operator`` and ``unbalanced``, 55
    (hexadecimal) for ``paper``.

    With ``eos`` every window ends with ``<EOS>``, which has no label. A pair is its two texts with
    ``<EOS>`` between them in any case. A text without words, and without ``<EOS>``, is the one
    position ``<null>``, which has none either. Texts with more words than a window holds become
    several windows; of a pair that is too long the longer text is cut first.

    Args:
        spec: what the fingerprints are.
        max_length: positions of a window.
        overlap: words that neighbouring windows share; a quarter of a window if None.

    Raises:
        RecipeError: a max_length or overlap that leaves no room for words.
    """

    kind = "projection"

    def __init__(self, spec: ProjectionSpec, max_length: int, *, overlap: int | None = None):
        # A word of each text of a pair and what ends both.
        shortest = 3 + spec.eos
        if max_length < shortest:
            raise RecipeError(f"max_length is {max_length}; the least is {shortest}")
        self.budget = max_length - spec.eos
        overlap = self.budget // 4 if overlap is None else overlap
        if not 0 <= overlap < self.budget:
            raise RecipeError(
                f"overlap is {overlap}; a window of max_length {max_length} holds {self.budget} "
                f"words, so the overlap must be 0 to {self.budget - 1}"
            )
        self.spec = spec
        self.max_length = max_length
        self.overlap = overlap
        self.padding = {"fingerprint": spec.padding, "attention_mask": 0}
        self.word_mask = WORD_MASK if spec.eos else "attention_mask"  # <EOS> is no word
        self._fingerprints = FingerprintCache(spec, _CACHED_WORDS)
        self._end, self._null = fingerprint_tokens([END, NULL], spec)

    def encode(self, words: Sequence[str], second: Sequence[str] | None = None) -> list[Window]:
        """Windows of one text or pair; at least one, also for no words at all."""
        return self.encode_batch([(words, second)])[0]

    def encode_batch(self, texts: Sequence[Text]) -> list[list[Window]]:
        """`encode` of many texts; each different word is hashed once."""
        parts = [part for words, second in texts for part in (words, second or ())]
        rows = self._fingerprints([*chain.from_iterable(parts)])
        ends = [*accumulate(map(len, parts))]
        split = (rows[end - len(part) : end] for part, end in zip(parts, ends, strict=True))
        return [
            self._windows(one) if second is None else [self._pair(one, two)]
            for (_, second), one, two in zip(texts, split, split, strict=True)
        ]

    def hashes(self, words: Sequence[str]) -> np.ndarray:
        """The rows of ``fingerprint`` of single words, uint8 ``[words, N / 4]``, none kept."""
        return fingerprints(words, self.spec)

    def forget(self) -> None:
        """Drop the fingerprints of words already seen."""
        self._fingerprints.forget()

    def to_assets(self) -> dict[str, bytes]:
        """``projection.json``; the tables of docs/projection.md go with its spec id."""
        return {"projection.json": self.spec.to_bytes()}

    def to_json(self) -> dict[str, Any]:
        """All settings but the spec."""
        return {"kind": self.kind, "max_length": self.max_length, "overlap": self.overlap}

    @classmethod
    def from_assets(
        cls, settings: Mapping[str, Any], assets: Mapping[str, bytes]
    ) -> ProjectionFeaturizer:
        """The featurizer that wrote ``settings`` (`to_json`) and ``assets`` (`to_assets`).

        Raises:
            ModelFileError: no projection, or one that this version does not know.
            ValueError: settings that are no numbers.
        """
        check_integers(settings, ("max_length", "overlap"))
        if "projection.json" not in assets:
            raise ModelFileError("the featurizer 'projection' needs projection.json; it is missing")
        spec = ProjectionSpec.from_bytes(assets["projection.json"])
        return cls(spec, **{k: v for k, v in settings.items() if k != "kind"})

    def _windows(self, rows: np.ndarray) -> list[Window]:
        windows = []
        for stretch in stretches([1] * len(rows), self.budget, self.overlap):
            (first, end), (start, stop) = stretch.shown, stretch.owned
            tokens = np.arange(start - first, stop - first, dtype=np.int32)
            windows.append(self._window([rows[first:end]], tokens, stretch.owned))
        return windows

    def _pair(self, one: np.ndarray, two: np.ndarray) -> Window:
        kept, other = truncate_pair(len(one), len(two), self.budget - 1)
        tokens = np.arange(kept, dtype=np.int32)
        dropped = len(one) - kept + len(two) - other
        parts = [one[:kept], self._end[None], two[:other]]
        return self._window(parts, tokens, (0, kept), dropped)

    def _window(
        self,
        parts: list[np.ndarray],
        tokens: np.ndarray,
        words: tuple[int, int],
        dropped: int = 0,
    ) -> Window:
        if self.spec.eos:
            parts = [*parts, self._end[None]]
        elif not any(map(len, parts)):
            parts = [self._null[None]]
        rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
        inputs = {"fingerprint": rows, "attention_mask": np.ones(len(rows), np.int32)}
        return Window(inputs, tokens, np.arange(len(tokens), dtype=np.int32), words, dropped)
