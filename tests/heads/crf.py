"""A linear-chain CRF as a kind of head, and its decoder; who uses them registers them."""

from __future__ import annotations

from types import MappingProxyType

import keras
import numpy as np
from keras import ops

from tfdistil.crf import decoding
from tfdistil.crf.constraints import IMPOSSIBLE, legal_steps
from tfdistil.crf.likelihood import log_partition
from tfdistil.distill.forward import at_tokens
from tfdistil.heads.kinds import Head
from tfdistil.tasks.decoders import Decoder


class Crf(Head):
    """Potentials ``[L + 2, L]`` beside the scores, see `tfdistil.crf`.

    Args:
        deviation: of fresh potentials.
    """

    levels = frozenset({"word"})
    extra = MappingProxyType({"potentials": "model", "log_z": "sequence"})

    def __init__(self, size, name, deviation: float = 1.0):
        super().__init__(size, name)
        start = keras.initializers.RandomNormal(stddev=deviation, seed=3)
        self.potentials = self.add_weight((size + 2, size), start, name="potentials")

    def signals(self, scores, inputs):
        potentials = ops.convert_to_tensor(self.potentials)
        found = {"potentials": potentials}
        if "tokens" in inputs:
            at = at_tokens(scores, inputs["tokens"])
            found["log_z"] = log_partition(at, potentials, inputs["token_mask"])
        return found

    def constants(self):
        return {"potentials": np.asarray(self.potentials)}


class CrfDecoder(Decoder):
    """Viterbi over legal paths."""

    def __init__(self, labels, potentials):
        super().__init__(labels)
        if potentials.shape != (labels + 2, labels):
            raise ValueError(f"potentials are {potentials.shape} for {labels} labels")
        self.potentials = potentials

    def words(self, scores, start, follow):
        potentials = np.where(legal_steps(start, follow), self.potentials, IMPOSSIBLE)
        path = decoding.viterbi(scores, potentials)
        p = decoding.marginals(scores, potentials)[np.arange(len(path)), path]
        return path, p.tolist()
