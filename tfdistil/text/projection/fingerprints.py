"""Words to fingerprints: two bits a feature, four features a byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfdistil.text.projection.affix import affix_codes
from tfdistil.text.projection.byte_strings import ByteStrings
from tfdistil.text.projection.murmur import murmur_codes
from tfdistil.text.projection.ngram import ngram_codes
from tfdistil.text.projection.shape import shapes
from tfdistil.text.projection.spec import ProjectionSpec
from tfdistil.text.projection.ternary import pair_of, sign_table
from tfdistil.text.projection.tokens import NULL, capitals, encoded, normalized

_FAMILIES: dict[str, Callable[[ByteStrings, int], np.ndarray]] = {
    "murmur": murmur_codes,
    "affix8": lambda strings, count: affix_codes(strings, count, 8),
    "affix16": lambda strings, count: affix_codes(strings, count, 16),
    "affix32": lambda strings, count: affix_codes(strings, count, 32),
    "ngram": ngram_codes,
}

_CACHED_LENGTH = 64  # code points of the longest word that is kept


def fingerprints(words: Sequence[str], spec: ProjectionSpec) -> np.ndarray:
    """The fingerprint of each word, normalized and in lower case as the spec says.

    Feature i of a word is in bits ``2 (i mod 4)`` and ``2 (i mod 4) + 1`` of byte ``i // 4``;
    `expand` makes features of bytes.

    Args:
        words: any strings; an empty one is the token ``<null>``.
        spec: see `ProjectionSpec`.

    Returns:
        uint8 ``[words, N / 4]``.
    """
    full = normalized([word or NULL for word in words], spec.normalization)
    return _fingerprints(full, spec, lowercase=spec.lowercase)


def fingerprint_tokens(tokens: Sequence[str], spec: ProjectionSpec) -> np.ndarray:
    """Fingerprints of special tokens such as ``<EOS>``: their code points as they are.

    Returns:
        uint8 ``[tokens, N / 4]``.
    """
    return _fingerprints(tokens, spec, lowercase=False)


def _fingerprints(tokens: Sequence[str], spec: ProjectionSpec, *, lowercase: bool) -> np.ndarray:
    out = np.empty((len(tokens), spec.token_bytes), np.uint8)
    if not tokens:
        return out
    strings = encoded(tokens, lowercase=lowercase)
    first = 0
    for name, features in spec.families:
        codes = _FAMILIES[name](strings, -(-features // 32)).astype("<u8", copy=False)
        part = codes.view(np.uint8)[:, : features // 4]
        if name == "ngram" and spec.map == "paper":
            part = sign_table(spec.map)[part]
        out[:, first : first + features // 4] = part
        first += features // 4
    pairs = np.array([pair_of(spec.map, -1), pair_of(spec.map, 1)], np.uint8)
    if spec.capitalization:
        first_letter, all_letters = pairs[capitals(tokens).astype(int)].T
        last = out[:, first - 1]
        last[:] = (last & 0x0F) | (first_letter << 4) | (all_letters << 6)
    if spec.shape:
        four = pairs[shapes(tokens).astype(int)].reshape(len(tokens), -1, 4)
        out[:, first:] = (four << np.array([0, 2, 4, 6], np.uint8)).sum(axis=2)
    return out


class FingerprintCache:
    """`fingerprints` that remembers words. Threads may share it.

    Args:
        spec: see `ProjectionSpec`.
        words: how many words are kept at most; all are forgotten when there are more. 0 keeps none.
            A kept word takes its N / 4 bytes and some 200 more.
    """

    def __init__(self, spec: ProjectionSpec, words: int):
        self.spec = spec
        self.words = words
        self._bytes = spec.token_bytes
        self._known: dict[str, bytes] = {}

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        """Fingerprints of words, uint8 ``[words, N / 4]``; each different word is hashed once."""
        known = self._known  # another thread may put a new one in its place
        try:
            rows = [known[word] for word in words]
        except KeyError:
            missing = [word for word in dict.fromkeys(words) if word not in known]
            fresh = dict(zip(missing, map(bytes, fingerprints(missing, self.spec)), strict=True))
            rows = [known[word] if word in known else fresh[word] for word in words]
            if self.words:
                self._keep({w: row for w, row in fresh.items() if len(w) <= _CACHED_LENGTH})
        return np.frombuffer(b"".join(rows), np.uint8).reshape(len(words), self._bytes)

    def forget(self) -> None:
        """Drop all words."""
        self._known = {}

    def _keep(self, fresh: dict[str, bytes]) -> None:
        if len(self._known) + len(fresh) > self.words:
            self.forget()
        if len(fresh) <= self.words:
            self._known.update(fresh)
