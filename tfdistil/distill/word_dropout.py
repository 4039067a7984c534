"""Word dropout: whole words hidden from the student afresh each time a batch is drawn."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from tfdistil.distill.masking import Texts, check_share, mask_piece
from tfdistil.distill.streams import Batch, Transform


@dataclass(frozen=True)
class Letters:
    """Letters as often as words have them: in lower case, and those of scripts without cases."""

    cased: list[str]
    caseless: list[str]

    @classmethod
    def of(cls, words: Iterable[str]) -> Letters:
        """Those of words, but for the few, such as the Turkish İ, that change with their case."""
        found = [c.lower() for word in words for c in word if _is_plain(c)]
        return cls(
            [c for c in found if c != c.upper()],
            [c for c in found if c == c.upper()],
        )


def _is_plain(c: str) -> bool:
    """Whether a character is a letter whose cases are one character each and lead to each other."""
    lower, upper = c.lower(), c.upper()
    there_and_back = upper.lower() == lower and lower.upper() == upper
    return c.isalpha() and len(lower) == len(upper) == 1 and c in (lower, upper) and there_and_back


TRIES = 4
"""Draws of a word that nobody has seen before it becomes a letter longer."""


Words = Sequence[Sequence[str]]
"""The words that each row of a batch owns."""
KINDS = {
    "words": ("subwords", "projection", "subwords+projection"),
    "pieces": ("subwords", "subwords+projection"),
    "letters": ("projection", "subwords+projection"),
}
"""What may be hidden, and of which kinds of featurizers."""


def word_dropout(
    featurizer: Any, texts: Texts, probability: float = 0.1, hides: str = "words"
) -> Transform:
    """Whole words hidden: all their pieces become the mask piece, a hashed word becomes zeros.

    Targets and the teacher's signals stay, so the student learns to tag a word by its context (Dai
    and Le 2015, Section 3.3). Words that another window of a long text owns, and the second text of
    a pair, are not hidden.

    Args:
        featurizer: of word pieces with a mask piece, of hashed words, or of both.
        texts: not read.
        probability: of each word to be hidden.
        hides: ``words``: all that the student reads of them. ``letters``: the hashes become those
            of a word that the batch has not, with the same capitals (`unseen`); the hash of such a
            word is no zero, but noise, above which a student has to hear its capitals. Its
            ``shape`` stays, bit for bit. ``pieces``: hashes stay as they are.

    Returns:
        A transform that replaces ``input_ids``, ``fingerprint``, or both.

    Raises:
        ValueError: no probability, another word for ``hides``, a featurizer that does not read
            what is hidden, or no mask piece.
    """
    del texts
    check_share(probability)
    if hides not in KINDS:
        raise ValueError(f"hides: expected {', '.join(KINDS)}, got {hides!r}")
    if featurizer.kind not in KINDS[hides]:
        raise ValueError(
            f"{hides} of {featurizer.kind!r} cannot be hidden; those of "
            f"{', '.join(map(repr, KINDS[hides]))} can"
        )
    pieces = None
    if featurizer.kind != "projection":
        pieces = getattr(featurizer, "subwords", featurizer)
    mask = None if pieces is None else mask_piece(pieces)
    hashed = "projection" in featurizer.kind and hides != "pieces"

    def transform(batch: Batch, words: Words, generator: np.random.Generator) -> Batch:
        flat = [*chain.from_iterable(words)]
        struck = generator.random(len(flat)) < probability
        if not struck.any():
            return batch
        owner = _hashes_of(batch, words) if pieces is None else _pieces_of(pieces, batch, words)
        hidden = (owner >= 0) & struck[owner]
        changed = dict(batch)
        if mask is not None:
            changed["input_ids"] = np.where(hidden, mask, batch["input_ids"])
        if hashed:
            changed["fingerprint"] = fingerprint = batch["fingerprint"].copy()
            if hides == "letters":
                letters, seen = Letters.of(flat), {word.lower() for word in flat}
                others = [unseen(flat[i], seen, letters, generator) for i in np.flatnonzero(struck)]
                rows = featurizer.hashes(others)[(np.cumsum(struck) - 1)[owner[hidden]]]
                # A word that has become a letter longer may be of another length class.
                hashed_bytes = featurizer.spec.hashed // 4
                fingerprint[hidden, :hashed_bytes] = rows[:, :hashed_bytes]
            else:
                fingerprint[hidden] = featurizer.padding["fingerprint"]
        return changed

    return transform


def unseen(
    word: str, seen: Container[str], letters: Letters, generator: np.random.Generator
) -> str:
    """A `strange` word that is none of those seen, in lower case; of a few letters, one longer.

    Where words are single characters, as in Chinese, nearly all that are drawn are words.
    """
    for _ in range(TRIES):
        made = strange(word, letters, generator)
        if made.lower() not in seen:
            return made
    return made + "".join([c for c in made if _is_plain(c)][-1:])


def strange(word: str, letters: Letters, generator: np.random.Generator) -> str:
    """The word with other letters, each a capital where it was one; all else is as it was."""
    drawn = generator.random(len(word)).tolist()
    made = []
    for c, share in zip(word, drawn, strict=True):
        alike = letters.cased if c.lower() != c.upper() else letters.caseless
        if c.isalpha() and alike:
            letter = alike[int(share * len(alike))]
            c = letter if c == c.lower() else letter.upper()
        made.append(c)
    return "".join(made)


def _pieces_of(pieces: Any, batch: Batch, words: Words) -> np.ndarray:
    """Which word each position is a piece of, counted through all rows; -1: of none.

    Returns:
        int64 ``[B, T]``.
    """
    ids = batch["input_ids"]
    owner = np.full(ids.shape, -1, np.int64)
    known = pieces.pieces(chain.from_iterable(words))
    ends = [pieces.cls, pieces.sep, pieces.pad]
    before = 0
    for row, own in enumerate(words):
        if len(own):
            # The words that a row owns stand one after the other; the last may have been cut.
            start = batch["tokens"][row, 0]
            lengths = [len(known[word]) for word in own]
            numbers = np.repeat(np.arange(before, before + len(own)), lengths)
            place = ids[row, start : start + len(numbers)]
            inside = np.cumsum(np.isin(place, ends)) == 0
            owner[row, start : start + len(place)][inside] = numbers[: len(place)][inside]
        before += len(own)
    return owner


def _hashes_of(batch: Batch, words: Words) -> np.ndarray:
    """`_pieces_of` where each word has one position, its hash."""
    owner = np.full(batch["fingerprint"].shape[:2], -1, np.int64)
    before = 0
    for row, own in enumerate(words):
        owner[row, batch["tokens"][row, : len(own)]] = np.arange(before, before + len(own))
        before += len(own)
    return owner
