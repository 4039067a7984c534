"""Viterbi as a graph for devices: built-in operators of the runtime, no loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from tfdistil import device_ops
from tfdistil.crf.constraints import NO_TAG


def graph_viterbi(emissions: Any, potentials: np.ndarray, mask: Any) -> Any:
    """The best path through the words of each row; unrolled, eight operators for each place.

    Places that are no words (padding, special pieces, the later pieces of a word) are skipped: the
    labels of the words on both sides of them are neighbours.

    Args:
        emissions: float32 ``[B, T, L]``, both B and T known.
        potentials: float32 ``[L + 2, L]``, see `tfdistil.crf`; they become constants.
        mask: 1 where a place is a word, int32 ``[B, T]``.

    Returns:
        Label ids, int32 ``[B, T]``, `NO_TAG` where there is no word. Of equal paths it is the one
        that `tfdistil.crf.decoding.viterbi` gives.
    """
    steps, start, end = (np.asarray(part, np.float32) for part in np.split(potentials, [-2, -1]))
    rows = np.zeros((emissions.shape[0], 1), np.float32)
    words = ops.unstack(ops.expand_dims(mask, -1) > 0, axis=1)
    suffixes = []
    beyond = ops.convert_to_tensor(rows + end)
    for own, word in zip(reversed(ops.unstack(emissions, axis=1)), reversed(words), strict=True):
        suffixes.append(own + beyond)
        onward = ops.max(ops.expand_dims(suffixes[-1], 1) + steps, axis=2)
        beyond = ops.where(word, onward, beyond)
    tags = []
    before = ops.convert_to_tensor(rows + start)
    for suffix, word in zip(reversed(suffixes), words, strict=True):
        tags.append(device_ops.argmax(before + suffix))
        before = ops.where(word, device_ops.gather(steps, tags[-1]), before)
    return (ops.stack(tags, axis=1) - NO_TAG) * mask + NO_TAG
