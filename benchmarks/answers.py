"""What a file answers, to be compared between devices: labels and logits of many texts."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfdistil.errors import DataError

if TYPE_CHECKING:
    from tfdistil.runtime import Runtime


@dataclass(frozen=True)
class Answers:
    """The answers of one file.

    Attributes:
        labels: per text, the tags of its words and its label, whichever the task has.
        logits: by output, float32, those of all texts one after the other.
    """

    labels: tuple[tuple[str, ...], ...]
    logits: Mapping[str, np.ndarray]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data; every bit of a logit is kept."""
        return {
            "labels": self.labels,
            "logits": {
                name: base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()
                for name, values in self.logits.items()
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Answers:
        """What `to_json` gave."""
        return cls(
            tuple(tuple(labels) for labels in data["labels"]),
            {
                name: np.frombuffer(base64.b64decode(values), "<f4")
                for name, values in data["logits"].items()
            },
        )


def answer(runtime: Runtime, texts: Sequence[str]) -> Answers:
    """Answer texts with a model, here.

    Args:
        runtime: holds its file.
        texts: two with a tab between them for a model of pairs.

    Raises:
        DataError: a text that is no pair, for a model of pairs.
    """
    pairs = [pair(text) if runtime.task.kind == "pair" else (text, None) for text in texts]
    words = [[_words(runtime, text) for text in both] for both in pairs]
    found = runtime.answers([(one or [], two) for one, two in words])
    predictions = [runtime.task.decode(*one) for one in found]
    return Answers(
        tuple((*(p.tags or ()), *([] if p.label is None else [p.label])) for p in predictions),
        {
            output.name: np.concatenate([one.logits[output.name].ravel() for one in found])
            for output in runtime.task.outputs
        },
    )


def _words(runtime: Runtime, text: str | None) -> list[str] | None:
    return None if text is None else [word for word, _, _ in runtime.splitter.split(text)]


def pair(text: str) -> tuple[str, str]:
    """The two texts of a line.

    Raises:
        DataError: there is no tab between two.
    """
    parts = text.split("\t")
    if len(parts) != 2:
        raise DataError(f"a model for pairs needs two texts with a tab between them, got {text!r}")
    return parts[0], parts[1]


def scales(path: Path) -> dict[str, float]:
    """The quantum of each output's logits; 0 where they are floats."""
    from tfdistil.runtime import ModelFile
    from tfdistil.runtime.tflite import read_model

    file = ModelFile.open(path)
    model = read_model(file.model)
    online = next(s for s in model.signatures if s.key == "online")
    tensors = dict(online.outputs)
    found = {}
    for output, name in file.config["outputs"].items():
        quantization = model.subgraphs[online.subgraph].tensors[tensors[name]].quantization
        found[output] = float(quantization.scales[0]) if quantization and quantization.scales else 0
    return found


def agreement(here: Answers, there: Answers, quanta: Mapping[str, float]) -> dict[str, Any]:
    """How far two devices' answers to the same texts differ.

    Args:
        here: the answers of the one.
        there: of the other.
        quanta: see `scales`.

    Returns:
        ``texts`` and ``labels`` (how many), ``same`` (the share of labels that are identical),
        ``other_texts`` (how many texts have another label), ``most_quanta`` (the largest
        difference of two logits in steps of their quantization; None without any that is
        quantized) and ``most_difference`` (of two float logits; None without).

    Raises:
        DataError: answers to other texts, or of another model.
    """
    sizes = [{name: v.size for name, v in a.logits.items()} for a in (here, there)]
    counts = [[len(labels) for labels in a.labels] for a in (here, there)]
    if sizes[0] != sizes[1] or counts[0] != counts[1]:
        raise DataError(f"answers to other texts: {sizes[1]} logits came, expected {sizes[0]}")
    same = [
        sum(a == b for a, b in zip(x, y, strict=True))
        for x, y in zip(here.labels, there.labels, strict=True)
    ]
    labels = sum(counts[0])
    differences = {
        name: float(np.abs(values - there.logits[name]).max(initial=0))
        for name, values in here.logits.items()
    }
    steps = [d / quanta[name] for name, d in differences.items() if quanta[name] > 0]
    floats = [d for name, d in differences.items() if not quanta[name] > 0]
    return {
        "texts": len(counts[0]),
        "labels": labels,
        "same": sum(same) / labels if labels else 1.0,
        "other_texts": sum(s != n for s, n in zip(same, counts[0], strict=True)),
        "most_quanta": round(max(steps), 3) if steps else None,
        "most_difference": max(floats) if floats else None,
    }
