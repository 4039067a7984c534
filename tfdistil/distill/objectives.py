"""Distillation objectives: pure functions of student, teacher and label signals.

Each takes tensors that are already aligned on *tokens* (the scored tokens), on all pieces or on
texts, and returns a scalar: the mean over those that are real, so that the weights of terms do not
depend on the length of the texts or the size of the batch. The papers sum instead; that differs by
a factor only. One that is a mean over something else says so by its ``count``.

What the tensors are belongs to the term. An objective is registered with the signals that its terms
read by default, and a term may say others: `soft_cross_entropy` is the same function on the outputs
of a task and on the pieces of a masked-language head.

A new objective is one function here (or anywhere) under `objective`, and one line in the contract
test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from keras import ops

from tfdistil.errors import RecipeError
from tfdistil.options import Between
from tfdistil.registry import add_once

Align = Literal["token", "subword"]

STATES = {
    "hidden": {"word": "hidden", "sequence": "sentence"},
    "projection": {"word": "projection", "sequence": "sentence_projection"},
}
"""What a place in a signal's template stands for at each level of an output."""


Count = Callable[..., Any]


def known_tokens(mask: Any, target: Any = None, **signals: Any) -> Any:
    """Real tokens (or texts), of which a target is known where one is read; float scalar.

    Args:
        mask: 1 at real tokens, ``[...]``.
        target: ids, int ``[...]``, negative where there is none; None: no target is read.
        signals: not looked at.
    """
    del signals
    known = ops.cast(mask, "float32")
    if target is not None:
        known = known * ops.cast(target >= 0, "float32")
    return ops.sum(known)


@dataclass(frozen=True)
class Signals:
    """What a term reads: templates of names, which the term's head, output and options fill.

    Attributes:
        student, teacher: names of signals, with ``{head}``, ``{teacher_head}``, ``{output}``, a key
            of `STATES` and option names to fill in; empty ``teacher`` where none is needed.
        target: the ids that are passed as ``target``: ``{output}`` for the task's gold ids, or the
            name of targets a transform makes (``mlm``); None where there are none.
        align: ``token`` (scored tokens or texts) or ``subword`` (every position, same tokenizer).
    """

    student: tuple[str, ...]
    teacher: tuple[str, ...] = ()
    target: str | None = None
    align: Align = "token"

    @property
    def per(self) -> Literal["output", "level"] | None:
        """What a term stands for one copy of: each ``output`` of the task, each ``level`` that
        they have, or (None) one copy in all."""
        templates = (*self.student, *self.teacher, self.target or "")
        if any("{output}" in template for template in templates):
            return "output"
        if any(f"{{{state}}}" in template for template in templates for state in STATES):
            return "level"
        return None


@dataclass(frozen=True)
class Objective:
    """A pure function and the signals that a term of it reads by default.

    Attributes:
        function: ``function(student, teacher?, target?, mask, **parameters, **options)``;
            ``student`` and ``teacher`` are one tensor where one name is read, else a list.
        signals: what a term reads that says nothing else.
        count: ``count(student=, teacher=, target=, mask=, ...)``: how many values the returned mean
            is over, so that means of batches of different size can be joined into that of all of
            them. It is known before a model runs: of the student it gets the signals of level
            ``model``, of the teacher those that are stored, and None for all others.
        parameters: scalars that each term of it owns and learns with the student, with what they
            begin at; they come as arguments of the function.
        defaults: options that a term may leave out, of those its templates name.
        hints: what options that its templates name have to be.
        by_scores: it takes the label of the teacher's highest score for what the teacher says,
            which is not so of a head that decodes with more than its scores (a CRF).
        counts_padding: the option that makes it count padding, too. Where a term sets it, rows are
            padded to the most that the student reads, so that the mean does not depend on what else
            is in a batch, nor on the lengths that a backend compiles for; None: it never does.
    """

    name: str
    function: Callable[..., Any]
    signals: Signals
    count: Count = known_tokens
    parameters: Mapping[str, float] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    hints: Mapping[str, Any] = field(default_factory=dict)
    by_scores: bool = False
    counts_padding: str | None = None


OBJECTIVES: dict[str, Objective] = {}


def objective(
    name: str,
    *,
    student: str | Sequence[str],
    teacher: str | Sequence[str] = (),
    target: str | None = None,
    align: Align = "token",
    count: Count = known_tokens,
    parameters: Mapping[str, float] | None = None,
    defaults: Mapping[str, Any] | None = None,
    hints: Mapping[str, Any] | None = None,
    by_scores: bool = False,
    counts_padding: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as an objective, with what its terms read by default; see `Signals`.

    Args:
        name: in recipes.
        student, teacher: templates, one or several.
        target, align: see `Signals`.
        count, parameters, defaults, hints, by_scores, counts_padding: see `Objective`.

    Raises:
        ValueError: there is an objective of that name.
    """
    signals = Signals(as_names(student), as_names(teacher), target, align)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        own = (parameters or {}, defaults or {}, hints or {})
        made = Objective(name, function, signals, count, *own, by_scores, counts_padding)
        add_once(OBJECTIVES, name, made)
        return function

    return register


def as_names(value: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as several."""
    return (value,) if isinstance(value, str) else tuple(value)


def find_objective(name: str) -> Objective:
    """The objective of that name.

    Raises:
        RecipeError: an unknown name; the message lists the known ones.
    """
    if name not in OBJECTIVES:
        raise RecipeError(f"unknown loss {name!r}; there are {', '.join(sorted(OBJECTIVES))}")
    return OBJECTIVES[name]


def masked_mean(values: Any, mask: Any) -> Any:
    """Mean of ``values [...]`` where ``mask [...]`` is 1; 0 where the mask is empty."""
    mask = ops.cast(mask, values.dtype)
    return ops.sum(values * mask) / ops.maximum(ops.sum(mask), 1.0)


@objective("cross_entropy", student="{head}/{output}", target="{output}")
def cross_entropy(student: Any, target: Any, mask: Any) -> Any:
    """Cross-entropy with the gold labels: XtremeDistil, Equation 2 (mean instead of sum).

    Args:
        student: logits, float ``[..., labels]``.
        target: gold ids, int ``[...]``; negative where there is no label.
        mask: 1 at real tokens, ``[...]``.

    Returns:
        Mean of -log softmax(student)[target] over labelled real tokens.
    """
    known = ops.cast(target >= 0, "int32") * ops.cast(mask, "int32")
    return masked_mean(-_log_p(student, ops.maximum(target, 0)), known)


def _log_p(logits: Any, ids: Any) -> Any:
    """log softmax(logits)[ids], ``[...]``, of logits ``[..., labels]`` and ids ``[...]``."""
    log_p = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
    return ops.squeeze(ops.take_along_axis(log_p, ops.expand_dims(ids, -1), axis=-1), -1)


@objective("masked_lm", student="{head}/mlm", target="mlm", align="subword")
def masked_lm(student: Any, target: Any, mask: Any) -> Any:
    """Cross-entropy of the masked pieces (Devlin et al. 2019): `cross_entropy` at every piece.

    Args:
        student: logits over the vocabulary, float ``[B, T, V]``.
        target: the pieces that were there, int ``[B, T]``; negative where nothing was masked.
        mask: 1 at real pieces, ``[B, T]``.
    """
    return cross_entropy(student, target, mask)


@objective("logit_mse", student="{head}/{output}", teacher="{teacher_head}/{output}")
def logit_mse(
    student: Any,
    teacher: Any,
    mask: Any,
    target_as: Literal["logits", "log_p", "log_odds"] = "logits",
) -> Any:
    """Squared error of the teacher's logits: XtremeDistil, Equation 4 (mean instead of sum).

    Args:
        student, teacher: logits, float ``[..., labels]``.
        mask: 1 at real tokens, ``[...]``.
        target_as: a key of `LOGIT_TARGETS`.

    Returns:
        Mean over real tokens of ½‖student - target‖².

    Raises:
        RecipeError: another ``target_as``.
    """
    if target_as not in LOGIT_TARGETS:
        raise RecipeError(
            f"logit_mse: target_as is one of {', '.join(LOGIT_TARGETS)}, got {target_as!r}"
        )
    target = LOGIT_TARGETS[target_as](ops.cast(teacher, "float32"))
    error = ops.cast(student, "float32") - target
    return masked_mean(0.5 * ops.sum(ops.square(error), axis=-1), mask)


def _log_odds(logits: Any) -> Any:
    """log p - log(1 - p) of a softmax, without forming p: x_i - log Σ_{j≠i} exp x_j."""
    labels = logits.shape[-1]
    others = ops.expand_dims(logits, -2) - 1e9 * ops.eye(labels)
    return logits - ops.logsumexp(others, axis=-1)


LOGIT_TARGETS: dict[str, Callable[[Any], Any]] = {
    "logits": lambda logits: logits,
    "log_p": lambda logits: ops.log_softmax(logits, axis=-1),
    "log_odds": _log_odds,
}
"""What the logits of a student are to equal: the teacher's raw pre-softmax logits, as in the
published code; log p, which differs from them by a constant per token, so that no capacity goes
into their level; or log p - log(1 - p), which the paper's logit(p) means literally."""


@objective("hidden_kl", student="{projection}", teacher="{hidden}/{layer}")
def hidden_kl(student: Any, teacher: Any, mask: Any) -> Any:
    """Divergence of a layer's states: XtremeDistil, Equation 6 (mean instead of sum).

    The paper takes KL between representations, which are no distributions. Our reading is the
    softmax over the hidden dimension; it ignores a shift of all dimensions, and so does the
    student. At word level the state is that of the scored token, at sequence level of [CLS].

    Args:
        student: its projection to the teacher's width (Equation 5), float ``[..., D]``.
        teacher: states of the layer ``layer``, float ``[..., D]``.
        mask: 1 at real tokens, ``[...]``.

    Returns:
        Mean over real tokens of KL(softmax(teacher) ‖ softmax(student)).
    """
    log_p = ops.log_softmax(ops.cast(teacher, "float32"), axis=-1)
    log_q = ops.log_softmax(ops.cast(student, "float32"), axis=-1)
    return masked_mean(ops.sum(ops.exp(log_p) * (log_p - log_q), axis=-1), mask)


@objective("hidden_mse", student="{projection}", teacher="{hidden}/{layer}")
def hidden_mse(student: Any, teacher: Any, mask: Any) -> Any:
    """Squared error of a layer's states: `hidden_kl` with the measure of FitNets (Romero et al.).

    Give the student ``projection_activation: linear``. Equation 5 projects with GELU, which is for
    the softmax of `hidden_kl`; it does not go below -0.17, but about half of a layer's states do,
    and on these the error could not fall.

    Args:
        student, teacher, mask: as of `hidden_kl`.

    Returns:
        Mean over real tokens of the mean over dimensions of (student - teacher)².
    """
    error = ops.cast(student, "float32") - ops.cast(teacher, "float32")
    return masked_mean(ops.mean(ops.square(error), axis=-1), mask)


@objective("soft_cross_entropy", student="{head}/{output}", teacher="{teacher_head}/{output}")
def soft_cross_entropy(student: Any, teacher: Any, mask: Any, scale: float = 1.0) -> Any:
    """Cross-entropy with the teacher's distribution, as pQRNN and Eliquare use it.

    Args:
        student, teacher: logits, float ``[..., labels]``.
        mask: 1 at real tokens, ``[...]``.
        scale: s, multiplies the teacher's logits only; there is no T² factor.

    Returns:
        Mean over real tokens of -softmax(s·teacher) · log softmax(student).
    """
    p = ops.softmax(scale * ops.cast(teacher, "float32"), axis=-1)
    log_q = ops.log_softmax(ops.cast(student, "float32"), axis=-1)
    return masked_mean(-ops.sum(p * log_q, axis=-1), mask)


@objective(
    "hard_label_cross_entropy",
    student="{head}/{output}",
    teacher="{teacher_head}/{output}",
    by_scores=True,
)
def hard_label_cross_entropy(
    student: Any, teacher: Any, mask: Any, least: Annotated[float, Between(0, 1)] = 0.9
) -> Any:
    """Cross-entropy with the teacher's best labels where it is sure: self-training (Lee 2013).

    Gold labels are not read, of labelled text neither. The teacher's head is a linear one; of a CRF
    `hard_label_nll` takes the best path.

    Args:
        student, teacher: logits, float ``[..., labels]``.
        mask: 1 at real tokens, ``[...]``.
        least: the probability from which a label of the teacher counts.

    Returns:
        Mean over real tokens, of -log softmax(student)[argmax teacher] where the teacher's best
        label has the probability ``least``, of 0 elsewhere.
    """
    teacher = ops.cast(teacher, "float32")
    sure = ops.max(ops.softmax(teacher, axis=-1), axis=-1) >= least
    picked = _log_p(student, ops.argmax(teacher, axis=-1))
    return masked_mean(ops.where(sure, -picked, 0.0), mask)
