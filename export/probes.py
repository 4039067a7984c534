"""Texts that dev examples may lack: shorter and longer than the file's rows, padded otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import numpy as np

from tfdistil.data.example import Example
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.exporting.verify import Drift, check_same_labels, labels_of, measure_drift
from tfdistil.runtime.runtime import Runtime
from tfdistil.text.featurizer import Featurizer, Window

PROBES = 128
"""Texts of each kind; fewer where there are fewer examples."""


def shorter(examples: Sequence[Example], length: int) -> list[Example]:
    """The first words of examples, at most a quarter of a row: most of each row is padding.

    Args:
        examples: those taken are spread over all.
        length: positions of a row.
    """
    sizes = cycle(range(1, max(1, length // 4) + 1))
    return [
        Example(example.words[:size], second=example.second and example.second[:size])
        for example, size in zip((examples[n] for n in _spread(len(examples))), sizes, strict=False)
    ]


def longer(examples: Sequence[Example], length: int) -> list[Example]:
    """Examples put together until there are more words than a row has positions.

    Args:
        examples: those a text begins with are spread over all. Without words they are left out.
        length: positions of a row.
    """
    examples = [example for example in examples if example.words]
    found = []
    for start in _spread(len(examples)):
        words: tuple[str, ...] = ()
        second: tuple[str, ...] = ()
        for example in cycle([*examples[start:], *examples[:start]]):
            words, second = words + example.words, second + (example.second or ())
            if len(words) > length:
                break
        found.append(Example(words, second=None if examples[start].second is None else second))
    return found


def refilled(window: Window, length: int) -> Window:
    """The same window of ``length`` positions: behind the text comes the text again, masked out."""
    inputs = {
        name: np.concatenate([values] * -(-length // len(values)))[:length]
        for name, values in window.inputs.items()
    }
    inputs["attention_mask"] = (np.arange(length) < window.length).astype(np.int32)
    return replace(window, inputs=inputs)


def measure_probes(
    runtime: Runtime, predictor: Predictor, featurizer: Featurizer, examples: Sequence[Example]
) -> dict[str, dict[str, Drift]]:
    """How far the file is from Keras on texts of other lengths than the examples may have.

    Keras pads a short text to the next multiple of 8, the file to its row: they agree only if
    padding changes nothing, neither its amount nor what it holds.

    Args:
        runtime: the file's.
        predictor: Keras'.
        featurizer: with windows of the file's length.
        examples: labelled or not.

    Returns:
        ``shorter`` and ``longer``, each with the drift per task output; without the kind that no
        text can be made of.

    Raises:
        ExportError: labels that depend on what the padding holds, or logits of another shape or
            that are no numbers.
    """
    length = featurizer.max_length
    probes = {"shorter": shorter(examples, length), "longer": longer(examples, length)}
    drifts = {}
    for kind, texts in probes.items():
        if not texts:  # no example has words
            continue
        windows = featurizer.encode_batch([(text.words, text.second) for text in texts])
        found = runtime.answers_of_windows(windows)
        other = [[refilled(window, length) for window in text] for text in windows]
        of_file, of_other = (
            labels_of(runtime.task, [runtime.task.decode(*one) for one in answers])
            for answers in (found, runtime.answers_of_windows(other))
        )
        check_same_labels(of_file, of_other)
        keras = predictor.logits(encode_rows(texts, featurizer, None))
        labels = labels_of(runtime.task, predictor.decode(keras)), of_file
        drifts[kind] = measure_drift(keras, [one.logits for one in found], labels)
    return drifts


def _spread(count: int) -> list[int]:
    """At most `PROBES` of ``count`` places."""
    return np.unique(np.linspace(0, count - 1, min(count, PROBES)).astype(np.int64)).tolist()
