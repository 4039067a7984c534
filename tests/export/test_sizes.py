"""How large the files of `tfdistil init --size` are; bytes do not depend on trained weights."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tfdistil.exporting.convert import Entry, convert
from tfdistil.recipe.new_students import SIZES, STUDENTS
from tfdistil.students import build_student

LENGTH = 32
OUTPUTS = {
    "tags": {"tags": ("word", 9)},
    "intent_slots": {"slots": ("word", 79), "intent": ("sequence", 7)},
    "classes": {"class": ("sequence", 151)},
}
MOST = {"tiny": 0.6e6, "small": 1.2e6, "medium": 4.0e6}
BYTES_OF_A_PIECE = 14
"""In tokenizer.json, where MiniLM's pieces of SNIPS take 13.7."""


def file_bytes(name: str, task: str) -> float:
    """Of a graph, of a tokenizer of as many pieces, and of a CRF's potentials."""
    student = STUDENTS[name]
    ((_, spec), *_) = student.models(task, 384).items()
    arguments = {"seed": 1, "outputs": OUTPUTS[task]} | spec
    pieces, inputs = arguments.pop("max_pieces", 0), {}
    for other in ("prune_vocabulary", "heads", "apply", "max_length"):
        arguments.pop(other, None)
    draw, shape = np.random.default_rng(0), (8, LENGTH)
    if pieces:
        arguments |= {"vocabulary": pieces, "embedding": arguments["embedding"]["dim"]}
        inputs["input_ids"] = draw.integers(1, pieces, shape).astype(np.int32)
    if hashing := arguments.pop("hashing", None):
        arguments["features"] = sum(hashing["families"].values())
        bytes_of_word = (*shape, arguments["features"] // 4)
        inputs["fingerprint"] = draw.integers(0, 256, bytes_of_word).astype(np.uint8)
    inputs["attention_mask"] = np.ones(shape, np.int32)
    model = build_student(**arguments)
    batches = {"online": 1, "batch": student.export.get("batch", 32)}
    entries = {
        signature: Entry(*model.export_function(LENGTH, batch))
        for signature, batch in batches.items()
        if signature == "online" or batch > 1
    }
    graph = convert(model, entries, "int8", inputs)
    labels = max((size for level, size in OUTPUTS[task].values() if level == "word"), default=0)
    potentials = draw.normal(size=(labels + 2, labels)).astype(np.float32).astype(str).tolist()
    return len(graph) + pieces * BYTES_OF_A_PIECE + len(json.dumps(potentials))


CASES = [(task, size) for task in OUTPUTS for size in SIZES[task]]
SHORT = {("intent_slots", "small"), ("tags", "small")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "size"),
    [case if case in SHORT else pytest.param(*case, marks=pytest.mark.long) for case in CASES],
)
def test_a_size_holds(task, size):
    found = file_bytes(SIZES[task][size], task)
    assert 0.35 * MOST[size] < found < MOST[size]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["tags", "classes"])
def test_a_middle_pqrnn_is_below_a_megabyte(task):
    assert 0.9e6 < file_bytes("pqrnn_medium", task) < 1.0e6
