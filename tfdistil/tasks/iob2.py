"""Legal tags: which may follow which, the best legal path, and its spans. Numpy only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tfdistil.crf.constraints import may_end
from tfdistil.data.schemes import CONTINUES, FOLLOWS, scheme_of
from tfdistil.tasks.base import Span

CONTINUATION = "X"
"""The label of the non-first pieces of a word, where a recipe gives them one of their own."""


def allowed_transitions(labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Which labels may start a text and which may follow which.

    Args:
        labels: of a scheme (`tfdistil.data.schemes`), perhaps with `CONTINUATION`, which is never
            allowed on a word.

    Returns:
        ``(start [labels], follow [labels, labels])`` of bool; ``follow[a, b]`` says b may follow a.
        What a start may not follow may not end a text, see `may_end`.
    """
    follows = FOLLOWS[scheme_of(labels)]
    start = np.array([tag != CONTINUATION and tag[0] in follows["O"] for tag in labels])
    ends = np.array([tag == CONTINUATION or "O" in follows[tag[0]] for tag in labels])
    follow = np.outer(ends, start)
    place = {tag: number for number, tag in enumerate(labels)}
    for b, tag in enumerate(labels):
        if tag != CONTINUATION and tag[0] in CONTINUES:
            before = (
                place.get(f"{a}-{tag[2:]}") for a, after in follows.items() if tag[0] in after
            )
            follow[[a for a in before if a is not None], b] = True
    return start, follow


def probabilities(logits: np.ndarray, chosen: np.ndarray) -> list[float]:
    """The softmax probability of a chosen label in each row.

    Args:
        logits: ``[rows, labels]``.
        chosen: label ids, int ``[rows]``.
    """
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True), dtype=np.float64)
    picked = odds[np.arange(len(chosen)), chosen] / odds.sum(axis=-1)
    return picked.tolist()


def is_legal(path: np.ndarray, start: np.ndarray, follow: np.ndarray) -> bool:
    """Whether a path ``[words]`` has only ids of labels, allowed steps and an allowed end."""
    if not len(path):
        return True
    if path.min() < 0 or path.max() >= len(start):
        return False
    steps = start[path[0]] and follow[path[:-1], path[1:]].all()
    return bool(steps and may_end(start, follow[path[-1:]]).all())


def best_legal_path(scores: np.ndarray, start: np.ndarray, follow: np.ndarray) -> np.ndarray:
    """The legal label path with the highest sum of scores (Viterbi with hard constraints).

    Args:
        scores: ``[words, labels]``, log-probabilities or logits: what is added to a whole row
            changes nothing.
        start: bool ``[labels]``; follow: bool ``[labels, labels]``, as `allowed_transitions` gives.

    Returns:
        Label ids, int ``[words]``.
    """
    words = len(scores)
    path = scores.argmax(axis=-1)
    # The unconstrained best path is the answer whenever it is legal, which is most often.
    if is_legal(path, start, follow):
        return path
    scores = scores.astype(np.float64)  # sums over long texts
    forbidden = np.where(follow, 0.0, -np.inf)
    best = np.where(start, scores[0], -np.inf)
    back = np.zeros(scores.shape, dtype=np.int64)
    for word in range(1, words):
        candidates = best[:, None] + forbidden
        back[word] = candidates.argmax(axis=0)
        best = candidates.max(axis=0) + scores[word]
    path[-1] = np.where(may_end(start, follow), best, -np.inf).argmax()
    for word in range(words - 1, 0, -1):
        path[word - 1] = back[word, path[word]]
    return path


def spans(tags: Sequence[str], scores: Sequence[float] = ()) -> list[Span]:
    """The entities of a legal IOB2 sequence.

    Args:
        tags: one tag per word.
        scores: the probability of each tag; a span's score is their geometric mean. Empty: all 1.
    """
    found: list[Span] = []
    start = None
    for word, tag in enumerate([*tags, "O"]):
        if start is not None and not tag.startswith("I-"):
            part = scores[start:word] or (1.0,)
            # Plain numbers: a span has too few for numpy to pay.
            score = math.exp(sum(math.log(max(p, 1e-12)) for p in part) / len(part))
            found.append(Span(start, word, tags[start][2:], score))
            start = None
        if tag.startswith("B-"):
            start = word
    return found
