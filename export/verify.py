"""Is the file the model? Logits side by side on real text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tfdistil.crf.graph import ONE
from tfdistil.errors import ExportError
from tfdistil.exporting.inspect import Inspection
from tfdistil.metrics.bootstrap import BootstrapResult
from tfdistil.runtime.runtime import Answer
from tfdistil.tasks import Prediction, Task

BEYOND_ROUNDING = 3.0
"""Times the drift on the dev examples: what is more is not the rounding of int8 alone. (Texts of a
single window drift more than those whose logits are a mean over several.)"""

Logits = Sequence[Mapping[str, np.ndarray]]
"""Per text, task output to ``[words, labels]`` or ``[labels]``, float."""

Labels = Mapping[str, np.ndarray]
"""Task output to the labels of all words, or of all texts, as one row."""


@dataclass(frozen=True)
class Drift:
    """How far the file's logits of one output are from Keras'.

    Attributes:
        max: the largest absolute difference.
        mean: the mean absolute difference.
        spread: the standard deviation of Keras' logits, to judge the other two by.
        agreement: the fraction of words (or texts) with the same label.
    """

    max: float
    mean: float
    spread: float
    agreement: float

    def to_json(self) -> dict[str, float]:
        """As plain JSON data."""
        return asdict(self)


def measure_drift(
    expected: Logits, found: Logits, labels: tuple[Labels, Labels] | None = None
) -> dict[str, Drift]:
    """Drift of every output over all texts.

    Args:
        expected: of Keras.
        found: of the file, for the same texts cut into the same windows.
        labels: what Keras and the file say of these texts, each decoded as its users decode it: the
            best path of a CRF is not of the best emissions. None: the highest logit's.

    Raises:
        ExportError: logits of another shape, or that are no numbers.
    """
    drifts = {}
    for output in expected[0] if expected else ():
        keras_rows = np.concatenate([np.atleast_2d(one[output]) for one in expected])
        file_rows = np.concatenate([np.atleast_2d(one[output]) for one in found])
        if keras_rows.shape != file_rows.shape:
            raise ExportError(
                f"the file gives logits {file_rows.shape} for {output!r} where Keras gives "
                f"{keras_rows.shape}"
            )
        if not np.isfinite(file_rows).all():
            raise ExportError(f"the file gives logits for {output!r} that are no finite numbers")
        if not len(keras_rows):
            continue
        if labels is None:
            same = keras_rows.argmax(axis=-1) == file_rows.argmax(axis=-1)
        else:
            same = labels[0][output] == labels[1][output]
        difference = np.abs(file_rows - keras_rows)
        drifts[output] = Drift(
            float(difference.max()),
            float(difference.mean()),
            float(keras_rows.std()),
            float(same.mean()),
        )
    return drifts


def labels_of(task: Task, predictions: Sequence[Prediction]) -> Labels:
    """The labels of predictions by output of their task."""
    return {
        output.name: np.array(
            [tag for one in predictions for tag in one.tags or ()]
            if output.level == "word"
            else [one.label for one in predictions]
        )
        for output in task.outputs
    }


@dataclass(frozen=True)
class PathAgreement:
    """How often a word gets the same label three ways, in texts of one window.

    Attributes:
        words: how many there are.
        keras: the share that Keras labels as the graph does.
        runtime: the share that the runtime, decoding the graph's logits, labels as the graph does.
    """

    words: int
    keras: float
    runtime: float

    def to_json(self) -> dict[str, float]:
        """As plain JSON data."""
        return asdict(self)


def measure_paths(
    task: Task, answers: Sequence[Answer], keras: Sequence[Prediction]
) -> dict[str, PathAgreement]:
    """Compare what the graph decodes with Keras and with the runtime.

    Args:
        task: the file's, with its decoders.
        answers: of the file, per text.
        keras: predictions for the same texts cut into the same windows.

    Raises:
        ExportError: a path that is worse than the runtime's by more than rounding to 1 / 16384.
    """
    agreement = {}
    for output in task.outputs:
        ids = {label: number for number, label in enumerate(output.labels)}
        rows = []
        for answer, expected in zip(answers, keras, strict=True):
            path = answer.paths.get(output.name)
            if path is None or not len(path):
                continue
            scores, decoder = answer.logits[output.name], task.decoders[output.name]
            best, of_keras = (
                np.array([ids[tag] for tag in prediction.tags or ()])
                for prediction in (task.decode(answer.logits), expected)
            )
            lost = decoder.score(scores, best) - decoder.score(scores, path)
            if path.min() < 0 or not lost <= 2 * (len(path) + 1) / ONE:
                raise ExportError(
                    f"the graph's path of {output.name!r} scores {lost:.4g} less than the best one "
                    f"of a text with {len(path)} words; export it without tags_in_graph"
                )
            rows.append((path == of_keras, path == best))
        if rows:
            same_keras, same_runtime = (
                np.concatenate(column) for column in zip(*rows, strict=True)
            )
            agreement[output.name] = PathAgreement(
                len(same_keras), float(same_keras.mean()), float(same_runtime.mean())
            )
    return agreement


def check_operators(inspection: Inspection) -> None:
    """The stock runtime has a kernel for every operator.

    Raises:
        ExportError: names the operators that need the Flex delegate, and custom ones.
    """
    if inspection.flex or inspection.custom:
        names = ", ".join((*inspection.flex, *inspection.custom))
        raise ExportError(
            f"the stock runtime has no kernel for: {names}. Write the layer with other operations"
        )


def check_drop(metric: str, lost: BootstrapResult, max_drop: float) -> None:
    """The file scores about what the model scores.

    Rounding turns a few answers either way, and on a few hundred examples that alone is a point. So
    it is the interval that counts: a loss is one when no chance of the dev examples explains it.

    Args:
        metric: its name.
        lost: Keras (second) over the file (first), on the dev examples.
        max_drop: points that may be lost.

    Raises:
        ExportError: the whole interval lies above ``max_drop``.
    """
    if not lost.low <= max_drop:
        raise ExportError(
            f"{metric} on the dev examples drops from {lost.second:.2f} to {lost.first:.2f} in "
            f"the file: {lost.difference:.2f} points ({lost.confidence:.0f} % interval "
            f"{lost.low:.2f} to {lost.high:.2f}), where at most {max_drop:g} may be lost. "
            "Try --quantize dynamic or float16, a longer --length, or a larger --max-drop (in a "
            "recipe export.quantize, export.length, export.max_drop)"
        )


def check_same_labels(found: Labels, other: Labels) -> None:
    """The file gives a text the same labels whatever its padding holds.

    Args:
        found, other: of the same texts in the same windows, padded with different values.

    Raises:
        ExportError: names the output, and how many labels changed.
    """
    for output, labels in found.items():
        changed = int((labels != other[output]).sum())
        if changed:
            raise ExportError(
                f"{changed} of {len(labels)} labels of {output!r} change with what the positions "
                "behind a text hold; the student has to leave out whatever attention_mask says is "
                "padding"
            )


def check_probes(
    dev: Mapping[str, Drift], probes: Mapping[str, Mapping[str, Drift]], max_drop: float
) -> None:
    """Texts shorter and longer than the file's rows keep their labels as the dev examples do.

    Rounding moves labels on any texts, so fewer equal labels alone are no error: the logits must
    have drifted further than on the dev examples, too.

    Args:
        dev: drift per output on the dev examples.
        probes: kind of texts to drift per output.
        max_drop: how many more labels may change than on the dev examples, in percent.

    Raises:
        ExportError: names the kind of texts, the output and both drifts.
    """
    for kind, drifts in probes.items():
        for output, drift in drifts.items():
            usual = dev[output]
            lost = 100 * (usual.agreement - drift.agreement)
            if lost > max_drop and drift.mean > BEYOND_ROUNDING * usual.mean:
                raise ExportError(
                    f"on texts {kind} than a row of the file, {100 * drift.agreement:.1f} % of the "
                    f"labels of {output!r} equal Keras', on the dev examples "
                    f"{100 * usual.agreement:.1f} %; logits differ by {drift.mean:.3f}, there by "
                    f"{usual.mean:.3f}. If all dev examples are longer than a row, or all much "
                    "shorter, add others to calibrate on, or try --quantize dynamic or float16"
                )


def summary(drifts: Mapping[str, Drift]) -> dict[str, Any]:
    """Drifts as JSON data, with the lowest agreement of all outputs."""
    return {
        "drift": {output: drift.to_json() for output, drift in drifts.items()},
        "agreement": min((d.agreement for d in drifts.values()), default=1.0),
    }
