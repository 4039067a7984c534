"""A linear-chain CRF as a kind of head, and its decoder; who uses them registers them."""

from __future__ import annotations

from types import MappingProxyType

import keras
import numpy as np
from keras import ops

from tfdistil.distill.forward import at_tokens
from tfdistil.heads.kinds import Head
from tfdistil.tasks.decoders import Decoder


class Crf(Head):
    """Transitions ``[L + 1, L]`` beside the scores; the last row is for the start of a text.

    Args:
        deviation: of fresh transitions.
    """

    levels = frozenset({"word"})
    extra = MappingProxyType({"potentials": "model", "log_z": "sequence"})

    def __init__(self, size, name, deviation: float = 1.0):
        super().__init__(size, name)
        start = keras.initializers.RandomNormal(stddev=deviation, seed=3)
        self.transitions = self.add_weight((size + 1, size), start, name="transitions")

    def signals(self, scores, inputs):
        found = {"potentials": ops.convert_to_tensor(self.transitions)}
        if "tokens" in inputs:  # Zhou et al. 2021, the denominator of equation 1
            at, mask = at_tokens(scores, inputs["tokens"]), inputs["token_mask"]

            def step(n, total):
                onward = ops.logsumexp(ops.expand_dims(total, -1) + self.transitions[:-1], axis=1)
                real = ops.expand_dims(mask[:, n], -1) > 0
                return ops.where(real, onward + at[:, n], total)

            first = at[:, 0] + self.transitions[-1]
            total = ops.fori_loop(1, ops.shape(at)[1], step, first)
            found["log_z"] = ops.logsumexp(total, axis=-1)
        return found

    def constants(self):
        return {"transitions": np.asarray(self.transitions)}


class CrfDecoder(Decoder):
    """Viterbi over legal paths; the score of a word is not asked for here."""

    def __init__(self, labels, transitions):
        super().__init__(labels)
        if transitions.shape != (labels + 1, labels):
            raise ValueError(f"transitions are {transitions.shape} for {labels} labels")
        self.transitions = transitions

    def words(self, scores, start, follow):
        steps = np.where(follow, self.transitions[:-1], -np.inf)
        if not len(scores):
            return np.zeros(0, int), []
        best, back = np.where(start, self.transitions[-1], -np.inf) + scores[0], []
        for row in scores[1:]:
            onward = best[:, None] + steps
            back.append(onward.argmax(axis=0))
            best = onward.max(axis=0) + row
        path = [int(best.argmax())]
        for row in reversed(back):
            path.append(int(row[path[-1]]))
        return np.array(path[::-1]), [1.0] * len(path)
