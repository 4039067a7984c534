"""How often each language of a corpus is drawn: small ones more often than they are large."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tfdistil.errors import DataError


def sampling_exponent(sizes: Mapping[str, int], more: str, less: str, ratio: float) -> float:
    """S such that P'(more) = ratio · P'(less), where P'(l) ∝ P(l)^S.

    CAMeMBERT, Equations 1 and 2, as BERT's multilingual model was sampled: there English is drawn
    100 times as often as Icelandic. P(l) is the share of a language of all bytes, so P(more) /
    P(less) is the ratio of the sizes, its S-th power is to be ``ratio``, and S = ln ratio /
    ln(size(more) / size(less)).

    Args:
        sizes: bytes of each language.
        more, less: languages.
        ratio: how many times as often ``more`` is drawn, > 0.

    Raises:
        DataError: no such ratio, a language without text, or two of one size, which no exponent
            makes different.
    """
    if not (ratio > 0 and math.isfinite(ratio)):
        raise DataError(f"the ratio of {more!r} to {less!r} is {ratio}, expected more than 0")
    for language in (more, less):
        if not sizes.get(language):
            there = ", ".join(sorted(name for name, size in sizes.items() if size)) or "none"
            raise DataError(f"there is no text in {language!r} to balance; languages: {there}")
    if sizes[more] == sizes[less]:
        raise DataError(
            f"{more!r} and {less!r} have {sizes[more]:,} bytes each, so no exponent draws one "
            "of them more often; name two languages of different size"
        )
    return math.log(ratio) / math.log(sizes[more] / sizes[less])


def language_shares(sizes: Mapping[str, int], exponent: float) -> dict[str, float]:
    """P'(l) = P(l)^S / Σ P(k)^S of each language that has text; 1 in sum.

    Args:
        sizes: bytes of each language.
        exponent: S; 1 leaves the languages as they are, 0 draws all alike.
    """
    logs = {name: exponent * math.log(size) for name, size in sizes.items() if size}
    most = max(logs.values(), default=0.0)  # exp of a difference: of the sizes alone it overflows
    weights = {name: math.exp(value - most) for name, value in logs.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def draw_pass(
    language: np.ndarray, shares: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """The rows of one pass, as many as there are, of each language its share.

    A language with more rows than its share gives a random part of them, without repetition; one
    with fewer gives all of them, as often as it takes, and a random part once more. What a share
    leaves of a row is drawn too (one number for all languages, systematic sampling), so that over
    many passes each language has exactly its share, however small.

    Args:
        language: index of the language of each row, ``[rows]``.
        shares: of each language, float ``[languages]``; those of languages without rows go to the
            others in proportion.
        generator: of what is drawn.

    Returns:
        Row numbers in random order, int64 ``[rows]``.

    Raises:
        DataError: no rows of any language with a share.
    """
    rows = len(language)
    counts = np.bincount(language, minlength=len(shares))
    there = np.flatnonzero((counts > 0) & (shares > 0))
    if not len(there):
        raise DataError("no language with a share has rows to draw")
    # Rounded, so that sums a hair below a whole number in float arithmetic do not lose a row.
    wanted = np.round(np.cumsum(shares[there]) / shares[there].sum() * rows, 9)
    numbers = np.diff(np.floor(wanted + generator.random()).astype(np.int64), prepend=0)
    by_language = np.argsort(language, kind="stable")
    ends = np.cumsum(counts)
    drawn = []
    for one, number in zip(there, numbers, strict=True):
        own = by_language[ends[one] - counts[one] : ends[one]]
        whole, left = divmod(int(number), len(own))
        drawn += [own] * whole + [generator.permutation(own)[:left]]
    return generator.permutation(np.concatenate(drawn))
