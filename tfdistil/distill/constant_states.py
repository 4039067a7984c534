"""States of a teacher that are alike in all texts, of which a student learns a constant.

In the lower layers of a BERT the state of [CLS] may hardly depend on the text (MiniLM fine-tuned on
150 intents: up to the fourth of six). A stage on it is over soon, with a loss near 0, and leaves
a student that says the same of every text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from tfdistil.distill.objectives import STATES
from tfdistil.distill.streams import Stream
from tfdistil.distill.terms import Term

TEXTS = 256
"""That are looked at."""
BATCH = 32
LEAST = 1e-3
"""Loss of the best constant in parts of that of zeros, below which nothing is left to learn."""


def constant_states(
    terms: Sequence[Term], streams: Mapping[str, Stream], seed: int
) -> Iterator[str]:
    """What to say of terms whose teacher's states, one per text, hardly differ.

    Measured by the term's own loss: that of the mean state as the student's answer to every text,
    against that of zeros.

    Args:
        terms: of a stage.
        streams: by the keys that the terms use, with the signals that they need.
        seed: of the texts that are looked at.
    """
    for term in terms:
        signal = term.teacher[0] if len(term.teacher) == 1 else ""
        if signal.partition("/")[0] != STATES["hidden"]["sequence"] or term.target:
            continue
        generator = np.random.default_rng(seed)
        stream = streams[term.stream]
        # A file may be sorted by class, and a live teacher reads what is in a batch at once.
        chosen = generator.permutation(stream.epoch_rows(generator))[:TEXTS]
        parts = (chosen[at : at + BATCH] for at in range(0, len(chosen), BATCH))
        found = [stream.batch(part, generator)[f"teacher/{signal}"] for part in parts]
        states = np.concatenate(found).astype(np.float32)
        if len(states) > 1 and (share := _loss_of_the_mean(term, states)) < LEAST:
            yield (
                f"{term.label}: the teacher's {signal} is nearly the same in all texts: "
                f"one answer to all of them has {share:.0e} of the loss of zeros, so the student "
                "will learn a constant, which later stages have to undo. Take a later `layer`, or "
                "a teacher with `pooling: mean`"
            )


def _loss_of_the_mean(term: Term, states: np.ndarray) -> float:
    def loss(answer: Any) -> float:
        given = ops.convert_to_tensor(np.broadcast_to(answer, states.shape))
        mask = np.ones(len(states), np.int32)
        found = term.objective.function(
            student=given, teacher=ops.convert_to_tensor(states), mask=mask, **term.options
        )
        return float(ops.convert_to_numpy(found))

    zeros = loss(np.zeros_like(states[0]))
    return loss(states.mean(axis=0)) / zeros if zeros > 0 else 1.0
