"""Scores broken down by language and by label, as plain data for reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum, sqrt

from tfdistil.metrics.classification import ClassificationScores
from tfdistil.metrics.spans import SpanScores

UNDETERMINED = "und"
"""The language code of text whose language is unknown; it is no language of its own."""


@dataclass(frozen=True, slots=True)
class LanguageTable:
    """Scores per language.

    Attributes:
        languages: code to named scores, sorted by code, ``und`` last.
        examples: code to number of examples, in the same order.
        mean: the mean of each score over the languages without ``und``, each counted once.
        std: its standard deviation (that of these languages, divisor n; 0 for one language).
    """

    languages: dict[str, dict[str, float]]
    examples: dict[str, int]
    mean: dict[str, float]
    std: dict[str, float]

    def to_json(self) -> dict[str, dict[str, dict[str, float]] | dict[str, float]]:
        """The table as JSON data."""
        return asdict(self)


def rows_by_language(languages: Sequence[str]) -> dict[str, list[int]]:
    """The rows of each language, sorted by code, ``und`` last."""
    rows: dict[str, list[int]] = {}
    for row, language in enumerate(languages):
        rows.setdefault(language, []).append(row)
    order = sorted(rows, key=lambda language: (language == UNDETERMINED, language))
    return {language: rows[language] for language in order}


def language_table(
    languages: Sequence[str], score: Callable[[list[int]], Mapping[str, float]]
) -> LanguageTable:
    """Score each language's examples on their own.

    Args:
        languages: the language of each example.
        score: named scores of the examples with the given row numbers, the same names each time.

    Returns:
        The table; without a real language ``mean`` and ``std`` are empty.
    """
    rows = rows_by_language(languages)
    scores = {language: dict(score(own)) for language, own in rows.items()}
    real = [scores[language] for language in rows if language != UNDETERMINED]
    columns = {name: [row[name] for row in real] for name in (real[0] if real else ())}
    mean = {name: fsum(values) / len(values) for name, values in columns.items()}
    std = {
        name: sqrt(fsum((value - mean[name]) ** 2 for value in values) / len(values))
        for name, values in columns.items()
    }
    return LanguageTable(scores, {code: len(own) for code, own in rows.items()}, mean, std)


def label_table(scores: SpanScores | ClassificationScores) -> dict[str, dict[str, float]]:
    """Label to its precision, recall, f1 and support, sorted by label."""
    return {label: asdict(row) for label, row in scores.per_label.items()}
