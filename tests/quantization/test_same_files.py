"""int8 files of a pQRNN that agree: those of both engines, and of any length at full size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from tfdistil.exporting.convert import Entry, convert
from tfdistil.students.pqrnn import PqrnnStudent

pytestmark = pytest.mark.slow

OUTPUTS = {"slots": ("word", 7), "intent": ("sequence", 4)}
STILL = {"zoneout": 0.0, "projection_dropout": 0.0}


def sentences(count: int, longest: int, features: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs of random words out of 50, from one word to ``longest``."""
    words = np.random.default_rng(9).integers(0, 256, (50, features // 4)).astype(np.uint8)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, count)
    lengths[:2] = 1, longest
    mask = (np.arange(longest) < lengths[:, None]).astype(np.int32)
    chosen = words[rng.integers(0, 50, mask.shape)]
    return {"fingerprint": chosen * mask[..., None].astype(np.uint8), "attention_mask": mask}


def ready(**options: Any) -> PqrnnStudent:
    """A quantized student whose statistics and ranges know such sentences."""
    student = PqrnnStudent(OUTPUTS, **options, **STILL, seed=1, name="pqrnn")
    known = sentences(64, 16, student.features)
    student(known, training=True)
    student.recalibrate([known])
    # Zeros at the start: with them the slots would not depend on the intent.
    for condition in student.conditions.values():
        start = np.random.default_rng(2).normal(size=condition.kernel.shape)
        condition.kernel.assign(start.astype(np.float32))
    student(known, training=True)
    return student


def file_of(student: PqrnnStudent, length: int) -> bytes:
    entry = Entry(*student.export_function(length, 1))
    return convert(student, {"online": entry}, "int8", sentences(8, length, student.features))


def answers(flatbuffer: bytes, inputs: dict[str, np.ndarray], length: int) -> list[dict[str, Any]]:
    """int8 outputs of each row, padded to the length of the file; of words the real ones."""
    runner = Interpreter(model_content=flatbuffer).get_signature_runner("online")
    assert all(detail["dtype"] == np.int8 for detail in runner.get_output_details().values())
    found = []
    for row, words in enumerate(inputs["attention_mask"].sum(axis=1)):
        short = {name: array[row : row + 1] for name, array in inputs.items()}
        missing = length - short["attention_mask"].shape[1]
        padded = {
            name: np.pad(array, [(0, 0), (0, missing), (0, 0)][: array.ndim])
            for name, array in short.items()
        }
        out = runner(**padded)
        found.append({"intent": out["intent"][0], "slots": out["slots"][0, :words]})
    return found


@pytest.mark.long
def test_files_of_full_size_give_the_same_int8():
    """The defaults are the paper's size: 1,024 features, 256 wide, four layers of 128."""
    student = ready(quantize="keras")
    assert student.count_params() > 1.8e6
    inputs = sentences(24, 16, 1024, seed=6)
    shortest, *longer = (answers(file_of(student, n), inputs, n) for n in (16, 32, 48))
    for name in OUTPUTS:
        assert len({row[name][..., 0].tobytes() for row in shortest}) > 12  # inputs decide them
    for others in longer:
        for row, other in zip(shortest, others, strict=True):
            for name in OUTPUTS:
                np.testing.assert_array_equal(row[name], other[name])


def constants(flatbuffer: bytes) -> list[tuple[Any, ...]]:
    """Element type, shape, scales, zero points and content of every constant, sorted."""
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(flatbuffer, 0))
    found = []
    for graph in tree.subgraphs:
        for tensor in graph.tensors:
            content = tree.buffers[tensor.buffer].data
            if content is not None:
                grid = tensor.quantization
                limits = [np.asarray(x).tolist() for x in (grid.scale, grid.zeroPoint)]
                found.append(
                    (tensor.type, np.asarray(tensor.shape).tolist(), limits, bytes(content))
                )
    return sorted(found, key=repr)


def test_engines_export_the_same_int8_weights():
    small = {"features": 64, "bottleneck": 16, "layers": 2, "state": 8, "pooling": "ifo"}
    student = ready(quantize="keras", **small)
    other = PqrnnStudent(**{**student.get_config(), "quantize": "tfmot"})
    for mine, theirs in zip(other.weights, student.weights, strict=True):
        assert mine.path == theirs.path
        mine.assign(theirs)
    one, two = (constants(file_of(model, 8)) for model in (student, other))
    assert one == two
    kernels = sum(int(np.prod(w.shape)) for w in student.trainable_weights if w.name == "kernel")
    weights = sum(len(c[-1]) for c in one if c[0] == schema.TensorType.INT8)
    assert weights >= kernels > 5000
