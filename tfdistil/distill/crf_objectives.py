"""Objectives on the label paths of CRF heads: multi-grained distillation (Zhou et al. 2021).

Each is a sum over the words of a text and a mean over texts. The teacher's best paths are signals
(`tfdistil.heads.best_paths`), found once the windows of a long text have been joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from keras import ops

from tfdistil.crf import losses
from tfdistil.crf.paths import BestPaths
from tfdistil.distill.objectives import objective
from tfdistil.heads.best_paths import PARTS
from tfdistil.options import Between

OWN = ("{head}/{output}", "{head}/{output}/potentials")
THEIRS = ("{teacher_head}/{output}", "{teacher_head}/{output}/potentials")
BEST = "{teacher_head}/{output}/paths/1"
K: dict[str, Any] = {"defaults": {"k": 10}, "hints": {"k": Annotated[int, Between(1, 32)]}}
"""Paths in a list: time and memory of a loss grow with the square of it."""

LISTS = tuple(f"{{teacher_head}}/{{output}}/{part}/{{k}}" for part in PARTS)


def texts(mask: Any, **others: Any) -> Any:
    """How many texts a loss is a mean over: those with words.

    Args:
        mask: 1 at real words, int ``[B, U]``.
        others: not looked at.
    """
    del others
    return ops.sum(losses.counted_texts(mask))


def _gold_texts(student: Any, target: Any, mask: Any) -> Any:
    return ops.sum(losses.legal_texts(student[1], target, mask))


@objective("crf_nll", student=OWN, target="{output}", count=_gold_texts)
def crf_nll(student: Any, target: Any, mask: Any) -> Any:
    """Negative log-likelihood of the gold labels: Equation 7.

    Args:
        student: emissions ``[B, U, L]`` and potentials ``[L + 2, L]``.
        target: gold ids, int ``[B, U]``; a text without them is not counted.
        mask: 1 at real words, ``[B, U]``.

    Returns:
        Mean over texts.
    """
    emissions, potentials = student
    return losses.crf_nll(emissions, potentials, target, mask)


def _hard_labels(teacher: Any, target: Any, mask: Any) -> Any:
    labelled = ops.expand_dims(losses.counted_texts(mask, target) > 0, -1)
    return ops.where(labelled, target, ops.cast(teacher[:, :, 0], target.dtype))


def _hard_texts(student: Any, teacher: Any, target: Any, mask: Any) -> Any:
    return _gold_texts(student, _hard_labels(teacher, target, mask), mask)


@objective("hard_label_nll", student=OWN, teacher=BEST, target="{output}", count=_hard_texts)
def hard_label_nll(student: Any, teacher: Any, target: Any, mask: Any) -> Any:
    """The same of hard labels: gold where a text has them, else the teacher's best path.

    Equation 7 over labelled and unlabelled text together (Section 3.2).

    Args:
        student: emissions ``[B, U, L]`` and potentials ``[L + 2, L]``.
        teacher: ids of its best path, int ``[B, U, 1]``.
        target: gold ids, int ``[B, U]``, negative where a word has none.
        mask: 1 at real words, ``[B, U]``.
    """
    return crf_nll(student, _hard_labels(teacher, target, mask), mask)


def _listed_texts(student: Any, teacher: Any, mask: Any) -> Any:
    del student
    return ops.sum(losses.listed_texts(teacher[-1], mask))


@objective("sequence_cross_entropy", student=OWN, teacher=LISTS, count=_listed_texts, **K)
def sequence_cross_entropy(student: Any, teacher: Any, mask: Any) -> Any:
    """Cross-entropy over the teacher's K best paths and all others together: Equation 4.

    Args:
        student: emissions ``[B, U, L]`` and potentials ``[L + 2, L]``.
        teacher: its K best paths, see `tfdistil.heads.best_paths.BestPathSignals`.
        mask: 1 at real words, ``[B, U]``.

    Returns:
        Mean over texts of -Σ p log q - (1 - Σ p) log(1 - Σ q).
    """
    (emissions, potentials), best = student, _best(teacher)
    return losses.sequence_cross_entropy(emissions, potentials, *best, mask)


@objective("fuzzy_cross_entropy", student=OWN, teacher=LISTS, count=_listed_texts, **K)
def fuzzy_cross_entropy(student: Any, teacher: Any, mask: Any) -> Any:
    """Binary cross-entropy of the mass on the teacher's K best paths: Equation 6."""
    (emissions, potentials), best = student, _best(teacher)
    return losses.fuzzy_cross_entropy(emissions, potentials, *best, mask)


def _best(teacher: Sequence[Any]) -> BestPaths:
    tags, log_p, log_residual, count = teacher
    tags = ops.cast(ops.swapaxes(tags, 1, 2), "int32")
    return BestPaths(tags, log_p, log_residual, count)


@objective("token_emissions", student=OWN[0], teacher=THEIRS[0], count=texts)
def token_emissions(student: Any, teacher: Any, mask: Any) -> Any:
    """Cross-entropy of single labels by the emissions alone: Equation 10, Token-em.

    Args:
        student, teacher: emissions ``[B, U, L]``.
        mask: 1 at real words, ``[B, U]``.
    """
    return losses.token_emissions(student, teacher, mask)


@objective("token_marginals", student=OWN, teacher=THEIRS, count=texts)
def token_marginals(student: Any, teacher: Any, mask: Any) -> Any:
    """Cross-entropy of single labels by the marginals of both CRFs: Equation 10, Token-pos."""
    (emissions, potentials), (their_emissions, their_potentials) = student, teacher
    return losses.token_marginals(emissions, potentials, their_emissions, their_potentials, mask)
