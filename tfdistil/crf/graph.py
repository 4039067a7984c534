"""Viterbi as a graph for devices: built-in operators of the runtime, no loop, no float arithmetic.

A converter that quantizes rounds all float sums to 256 steps between the least and the greatest of
them, and what is forbidden is far below all others: one label in five is right then. Integers it
leaves alone, so scores are whole multiples of 1 / 16384 here, which is what float32 has at 1000.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from tfdistil import device_ops
from tfdistil.crf.constraints import NO_TAG

ONE = 2**14
"""What 1 is; sums up to 131,072 fit into int32."""


def graph_viterbi(potentials: np.ndarray, emissions: Any, mask: Any) -> Any:
    """The best path through the words of each row; unrolled, nine operators for each place.

    Places that are no words (padding, special pieces, the later pieces of a word) are skipped: the
    words on both sides of them are neighbours.

    Args:
        potentials: float32 ``[L + 2, L]``, see `tfdistil.crf`; they become constants.
        emissions: float32 ``[B, T, L]``, both B and T known; the converter may quantize them.
        mask: 1 where a place is a word, int32 ``[B, T]``.

    Returns:
        Label ids, int32 ``[B, T]``, `NO_TAG` where there is no word. Of equal paths it is the one
        that `tfdistil.crf.decoding.viterbi` gives.
    """
    whole = np.round(np.asarray(potentials, np.float64) * ONE).astype(np.int32)
    steps, start, end = whole[:-2], whole[-2:-1], whole[-1:]
    scores = ops.unstack(ops.cast(emissions * ONE, "int32"), axis=1)
    words = ops.unstack(ops.expand_dims(mask, -1) > 0, axis=1)
    row = np.zeros((emissions.shape[0], 1), np.int32)
    suffixes = []  # the best way to go on from each label, [B, L]
    beyond = ops.convert_to_tensor(row + end)
    for own, word in zip(reversed(scores), reversed(words), strict=True):
        suffixes.append(own + beyond)
        onward = ops.max(ops.expand_dims(suffixes[-1], 1) + steps, axis=2)
        beyond = ops.where(word, onward, beyond)
    tags = []
    before = ops.convert_to_tensor(row + start)
    for suffix, word in zip(reversed(suffixes), words, strict=True):
        tags.append(device_ops.argmax(before + suffix))
        before = ops.where(word, device_ops.gather(steps, tags[-1]), before)
    return (ops.stack(tags, axis=1) - NO_TAG) * mask + NO_TAG
