"""Scores in percent, numpy and the standard library only.

Span F1 (strict IOB2 and conlleval rules), classification, joint intent and slots, tables per
language and label, the paired bootstrap.
"""

from __future__ import annotations

from tfdistil.metrics.bootstrap import BootstrapResult, Statistics, paired_bootstrap, retention
from tfdistil.metrics.classification import ClassificationScores, classification_scores
from tfdistil.metrics.counts import LabelScores
from tfdistil.metrics.joint import JointScores, joint_scores
from tfdistil.metrics.spans import (
    SpanCounts,
    SpanScores,
    conll_spans,
    span_counts,
    span_scores,
    strict_spans,
)
from tfdistil.metrics.tables import LanguageTable, label_table, language_table

__all__ = [
    "BootstrapResult",
    "ClassificationScores",
    "JointScores",
    "LabelScores",
    "LanguageTable",
    "SpanCounts",
    "SpanScores",
    "Statistics",
    "classification_scores",
    "conll_spans",
    "joint_scores",
    "label_table",
    "language_table",
    "paired_bootstrap",
    "retention",
    "span_counts",
    "span_scores",
    "strict_spans",
]
