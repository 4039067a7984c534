"""Conversion of small graphs: what comes out, what is refused, what a crash looks like."""

from __future__ import annotations

import os
import signal
import sys
import time

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from tfdistil.errors import ExportError
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.convert_worker import KEPT
from tfdistil.exporting.converter import Converter
from tfdistil.exporting.inspect import Inspection, inspect_model
from tfdistil.exporting.quantize import calibration_batches
from tfdistil.exporting.slim import ALIGNMENT, slim
from tfdistil.exporting.verify import check_operators, measure_drift

ROWS = {"x": np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)}


@pytest.fixture(scope="module")
def model() -> keras.Model:
    keras.utils.set_random_seed(0)
    bias = {"bias_initializer": "random_normal"}  # the converter drops zeros
    model = keras.Sequential(
        [keras.layers.Dense(8, activation="tanh", **bias), keras.layers.Dense(3, **bias)]
    )
    model.build((None, 4))
    return model


def entry(model: keras.Model, batch: int) -> Entry:
    spec = keras.InputSpec(shape=(batch, 4), dtype="float32", name="x")
    return Entry(lambda x: {"y": model(x)}, [spec])


@pytest.fixture(scope="module")
def flatbuffer(model) -> bytes:
    return convert(model, {"one": entry(model, 1), "three": entry(model, 3)}, "none")


def test_signatures_run_and_share_the_weights(model, flatbuffer):
    interpreter = Interpreter(model_content=flatbuffer)
    expected = np.asarray(model(ROWS["x"][:3]))
    for name, rows in (("one", 1), ("three", 3)):
        found = interpreter.get_signature_runner(name)(x=ROWS["x"][:rows])["y"]
        np.testing.assert_allclose(found, expected[:rows], atol=1e-6)
    found = inspect_model(flatbuffer)
    assert found.parameters == 4 * 8 + 8 + 8 * 3 + 3
    assert found.constants == {"float32": 4 * found.parameters}
    assert found.operators["one"] == {"FULLY_CONNECTED": 2, "TANH": 1}
    assert found.float_operator_count == 6


def test_constants_are_aligned_as_the_schema_demands(flatbuffer):
    root = schema.Model.GetRootAs(flatbuffer, 0)
    seen = 0
    for n in range(root.BuffersLength()):
        buffer = root.Buffers(n)
        if not buffer.DataIsNone():
            start = buffer._tab.Vector(buffer._tab.Offset(4))
            assert start % ALIGNMENT == 0
            seen += 1
    assert seen >= 4


def test_slim_changes_no_answer_and_is_stable(model):
    archive_free = tf.lite.TFLiteConverter.from_concrete_functions(
        [tf.function(lambda x: model(x)).get_concrete_function(tf.TensorSpec((1, 4), name="x"))]
    ).convert()
    small = slim(archive_free)
    assert len(small) < len(archive_free)
    assert slim(small) == small
    answers = []
    for content in (archive_free, small):
        interpreter = Interpreter(model_content=content)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], ROWS["x"][:1])
        interpreter.invoke()
        answers.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    np.testing.assert_array_equal(*answers)


def test_int8_needs_rows(model):
    with pytest.raises(ExportError, match="int8 needs rows to calibrate on"):
        convert(model, {"one": entry(model, 1)}, "int8")
    with pytest.raises(ExportError, match="int8 needs rows"):
        convert(model, {"one": entry(model, 1)}, "int8", {"x": ROWS["x"][:0]})


def test_an_operator_outside_the_built_in_set_fails_with_its_name(model):
    spec = keras.InputSpec(shape=(4, 4), dtype="float32", name="x")
    bad = Entry(lambda x: {"y": tf.linalg.det(model.layers[0](x)[:, :4])[None]}, [spec])
    with pytest.raises(ExportError, match=r"converter failed \(status 1\)(.|\n)*MatrixDeterminant"):
        convert(model, {"one": bad}, "none")


def test_a_crash_of_the_converter_is_an_error_with_its_last_words(tmp_path):
    script = (
        "import os, signal, sys; print('calibrating', file=sys.stderr, flush=True); "
        "os.kill(os.getpid(), signal.SIGSEGV)"
    )
    with pytest.raises(ExportError, match=r"was ended by signal SIGSEGV:\ncalibrating"):
        Converter([sys.executable, "-c", script]).run(tmp_path / "job.json")


WORKER = """
import os, sys
for line in sys.stdin:
    path = line.strip()
    if path.endswith("crash"):
        os.abort()
    open(path, "a").write(str(os.getpid()))
    if path.endswith("large"):
        print("last", flush=True)
        sys.exit()
    print("next", flush=True)
"""


def test_the_process_is_kept_until_it_ends(tmp_path):
    converter = Converter([sys.executable, "-c", WORKER])
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    converter.run(first)
    converter.run(second)
    assert first.read_text() == second.read_text()
    with pytest.raises(ExportError, match="was ended by signal SIGABRT"):
        converter.run(tmp_path / "crash")
    converter.run(third)
    assert third.read_text() != first.read_text()
    os.kill(int(third.read_text()), signal.SIGKILL)  # by somebody else, between two jobs
    time.sleep(0.1)
    converter.run(first)
    converter.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(first.read_text()[len(second.read_text()) :]), 0)


def test_one_that_takes_no_more_is_replaced_before_it_has_ended(tmp_path):
    converter = Converter([sys.executable, "-c", WORKER])
    for n in range(3):
        converter.run(tmp_path / f"{n}large")
    pids = {(tmp_path / f"{n}large").read_text() for n in range(3)}
    converter.run(tmp_path / "small")
    assert len(pids | {(tmp_path / "small").read_text()}) == 4
    converter.close()


@pytest.mark.slow
def test_the_process_is_kept_however_large_the_one_that_started_it(model, monkeypatch):
    """A child's maximum in getrusage begins with its parent's; what it has itself counts."""
    np.ones(KEPT // 8 + 2**24)
    converter = Converter()
    monkeypatch.setattr("tfdistil.exporting.convert._CONVERTER", converter)
    first, second = (convert(model, {"one": entry(model, 1)}, "none") for _ in range(2))
    assert first == second
    assert converter._process.poll() is None
    converter.close()


def test_ctrl_c_ends_the_process(tmp_path):
    converter = Converter(
        [
            sys.executable,
            "-c",
            "import os, sys, time; input(); print(os.getpid(), flush=True); time.sleep(60)",
        ]
    )
    converter.run(tmp_path / "a")  # the line is taken for an answer
    process = converter._process
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            converter.run(tmp_path / "b")
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert process.returncode == -signal.SIGKILL


def test_calibration_batches_hold_the_same_rows_for_every_signature():
    rows = {"x": np.arange(5)[:, None]}
    found = calibration_batches(rows, {"one": 1, "four": 4})
    assert [name for name, _ in found] == ["one"] * 5 + ["four"] * 2
    assert [len(b["x"]) for _, b in found] == [1] * 5 + [4, 4]
    for name in ("one", "four"):
        seen = np.concatenate([b["x"] for n, b in found if n == name])
        assert set(seen.ravel()) == set(range(5))


def test_flex_and_custom_operators_are_named():
    inspection = Inspection({}, ("FlexErf",), ("MyOp",), {}, {}, 0, 0, "")
    with pytest.raises(ExportError, match="no kernel for: FlexErf, MyOp"):
        check_operators(inspection)


def test_inspection_refuses_what_is_no_flatbuffer():
    with pytest.raises(ExportError, match="no TFL3"):
        inspect_model(b"PK\3\4" * 10)


def test_drift_counts_what_numpy_counts():
    expected = [{"tags": np.array([[1.0, 0.0], [0.0, 3.0]])}, {"tags": np.array([[0.0, 1.0]])}]
    found = [{"tags": np.array([[1.0, 0.5], [4.0, 3.0]])}, {"tags": np.array([[0.0, 1.0]])}]
    drift = measure_drift(expected, found)["tags"]
    assert drift.max == 4.0
    assert drift.mean == 0.75
    assert drift.agreement == pytest.approx(2 / 3)
    assert drift.spread == pytest.approx(np.std([1, 0, 0, 3, 0, 1]))
    with pytest.raises(ExportError, match="no finite numbers"):
        measure_drift(expected, [found[0], {"tags": np.array([[np.nan, 1.0]])}])
    with pytest.raises(ExportError, match=r"logits \(2, 2\) for 'tags' where Keras gives \(3, 2\)"):
        measure_drift(expected, found[:1])
