"""Masking for masked language models: drawn afresh each time a batch is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, singledispatch
from itertools import chain
from typing import Any

import numpy as np

from tfdistil.distill.places import places_key, places_of
from tfdistil.distill.streams import Batch, Transform
from tfdistil.tasks import IGNORE
from tfdistil.text.pretrained import MASK_TOKENS

MASKED, SWAPPED = 0.8, 0.1
"""Of the chosen pieces: shares that become the mask piece and a random piece; the rest stays."""

Texts = Iterable[Sequence[str]]
"""The words of each text; gone through only when something has to be counted."""


MOST_SMOOTHING = 20.0
"""With more, weights of frequent pieces vanish in floats: 1e9 times ** -20 is 1e-180."""


def masking(
    featurizer: Any,
    texts: Texts,
    probability: float = 0.15,
    smoothing: float = 0.0,
    whole_words: bool = False,
) -> Transform:
    """Pieces to be guessed, for masked-language training: see `mask_pieces`.

    Args:
        featurizer: of word pieces, whose special ones are never chosen.
        texts: those of the stage, whose pieces are counted for ``smoothing``, see `count_pieces`.
        probability: share of the pieces that is chosen.
        smoothing: s ≥ 0: a piece is chosen in proportion to count^-s, so that rare ones are guessed
            more often; 0: all alike. DistilBERT and Eliquare have 0.7.
        whole_words: choose all pieces of a word or none.

    Raises:
        ValueError: no probability, a smoothing that is negative or no number, a tokenizer without a
            mask piece or whose pieces do not tell where a word begins, or none at all.
    """
    check_share(probability)
    if probability == 0:
        raise ValueError("option 'probability' is 0, so there would be nothing to guess")
    if not 0 <= smoothing <= MOST_SMOOTHING:
        raise ValueError(
            f"option 'smoothing' is {smoothing}, expected 0 or more, {MOST_SMOOTHING:g} at the most"
        )
    if featurizer.kind == "subwords+projection":
        raise ValueError("the student reads hashes, too, which tell it the pieces it is to guess")
    mask = mask_piece(featurizer)
    special = (mask, *featurizer.special_ids())
    vocabulary = featurizer.tokenizer.get_vocab_size()
    begins = word_beginnings(featurizer.tokenizer) if whole_words else None

    @cache  # counted with the first batch: a recipe that is only checked does not wait for it
    def weights() -> np.ndarray:
        counts = np.maximum(count_pieces(texts, featurizer), 1)
        return counts.astype(np.float64) ** -smoothing

    return mask_pieces(
        mask, vocabulary, frozenset(special), probability, weights if smoothing else None, begins
    )


def check_share(probability: float) -> None:
    """Raises ValueError where a probability is none."""
    if not 0 <= probability <= 1:
        raise ValueError(f"option 'probability' is {probability}, expected 0 to 1")


def mask_piece(featurizer: Any) -> int:
    """The id of the piece that stands for one that is hidden.

    Raises:
        ValueError: a tokenizer without it, or none at all.
    """
    if getattr(featurizer, "tokenizer", None) is None:
        raise ValueError("the student has no word pieces, so there is no piece [MASK]")
    if featurizer.mask is None:
        raise ValueError(
            f"the tokenizer has neither the piece {' nor '.join(MASK_TOKENS)}, and its "
            "tokenizer_config.json names no other mask_token"
        )
    return featurizer.mask


def piece_counts(featurizer: Any, texts: Texts) -> np.ndarray:
    """How often each piece occurs in texts, int64 ``[vocabulary]``."""
    counts = np.zeros(featurizer.tokenizer.get_vocab_size(), np.int64)
    for words in texts:
        known = featurizer.pieces(words)
        ids = list(chain.from_iterable(known[word] for word in words))
        np.add.at(counts, ids, 1)
    return counts


@singledispatch
def count_pieces(texts: Texts, featurizer: Any) -> np.ndarray:
    """How often each piece occurs in texts, int64 ``[vocabulary]``.

    Texts of a type that has been tokenized already register a function of their own.

    Args:
        texts: gone through once.
        featurizer: of word pieces.
    """
    return piece_counts(featurizer, texts)


def word_beginnings(tokenizer: Any) -> np.ndarray:
    """Of each piece, whether a word can begin with it, bool ``[vocabulary]``.

    Raises:
        ValueError: the pieces do not show it: neither ``##`` inside words nor ``▁`` or ``Ġ`` in
            front of them.
    """
    pieces = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]
    inside = getattr(tokenizer.model, "continuing_subword_prefix", None)
    if inside and any(piece.startswith(inside) for piece in pieces):
        return np.array([not piece.startswith(inside) for piece in pieces])
    for front in ("▁", "Ġ"):
        if any(piece.startswith(front) for piece in pieces):
            return np.array([piece.startswith(front) for piece in pieces])
    raise ValueError("whole_words: the tokenizer's pieces do not show where a word begins")


def mask_pieces(
    mask_id: int,
    vocabulary: int,
    special: frozenset[int],
    probability: float = 0.15,
    weights: Callable[[], np.ndarray] | None = None,
    begins: np.ndarray | None = None,
) -> Transform:
    """BERT's masking (Devlin et al. 2019, Section 3.1) as a transform of batches.

    Of the N real, non-special pieces of a batch ⌈probability · N⌉ are drawn without replacement,
    as DistilBERT does (Sanh et al. 2020), in proportion to their weights; of these 80 % become the
    mask piece, 10 % a random piece and 10 % stay. The chosen pieces' ids are the targets.

    Args:
        mask_id: id of the mask piece.
        vocabulary: random pieces are drawn from ``[0, vocabulary)``.
        special: ids that are never chosen.
        probability: share that is chosen.
        weights: gives that of each piece, positive, float ``[vocabulary]``; None: all alike.
        begins: whether a word can begin with a piece, bool ``[vocabulary]``: words are drawn, of
            the mean weight of their pieces, until there are so many pieces or, with the last word,
            a few more. None: pieces are drawn.

    Returns:
        A transform that replaces ``input_ids`` and adds ``target/mlm``, int32 ``[B, T]``, `IGNORE`
        where nothing was chosen, and its places, see `tfdistil.distill.places`.
    """
    never = np.array(sorted(special))

    def transform(
        batch: Batch, words: Sequence[Sequence[str]], generator: np.random.Generator
    ) -> Batch:
        del words
        ids = batch["input_ids"]
        places = np.nonzero((batch["attention_mask"] == 1) & ~np.isin(ids, never))
        pieces = ids[places]
        of_piece = np.ones(len(pieces)) if weights is None else weights()[pieces]
        unit = np.arange(len(pieces)) if begins is None else _words(places, begins[pieces])
        sizes = np.bincount(unit)
        share = np.bincount(unit, of_piece) / np.maximum(sizes, 1)
        drawn = _without_replacement(share, sizes, probability * len(pieces), generator)
        chosen = np.zeros(ids.shape, bool)
        chosen[places] = np.isin(unit, drawn)
        fate = generator.random(ids.shape)
        random_ids = generator.integers(0, vocabulary, ids.shape)
        masked = np.where(chosen & (fate < MASKED), mask_id, ids)
        masked = np.where(chosen & (fate >= 1 - SWAPPED), random_ids, masked)
        return {
            **batch,
            "input_ids": masked.astype(np.int32),
            "target/mlm": np.where(chosen, ids, IGNORE).astype(np.int32),
            places_key("mlm"): places_of(chosen, probability),
        }

    return transform


def _words(places: tuple[np.ndarray, ...], begins: np.ndarray) -> np.ndarray:
    """The number of the word that each piece belongs to; a new row begins a new word."""
    row, column = places
    apart = np.ones(len(row), bool)
    apart[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1] + 1)
    return np.cumsum(apart | begins) - 1


def _without_replacement(
    weights: np.ndarray, sizes: np.ndarray, least: float, generator: np.random.Generator
) -> np.ndarray:
    """Units one after the other in proportion to their weights until their sizes sum to ``least``.

    By exponential variables divided by the weights: the order in which they come is that of drawing
    without replacement (Efraimidis and Spirakis 2006).
    """
    order = np.argsort(generator.exponential(size=len(weights)) / weights, kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    # Not in float arithmetic alone: 0.15 * 20 is 3 and nothing more.
    return order[before < np.round(least, 9)]
