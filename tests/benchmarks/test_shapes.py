from __future__ import annotations

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from tfdistil.benchmarks import shapes
from tfdistil.benchmarks.cache import cache_folder
from tfdistil.benchmarks.run import benchmark_run
from tfdistil.benchmarks.shapes import REFERENCES, TransformerShape, reference_file
from tfdistil.errors import RecipeError
from tfdistil.exporting.inspect import inspect_model

BATCH, LENGTH = 4, 8  # of the files of conftest.py


def parameters(size: shapes.TransformerSize) -> int:
    d, inner = size.hidden_dim, size.intermediate_dim
    tables = (size.vocabulary + size.positions + 2) * d + 2 * d
    layer = 4 * (d * d + d) + d * inner + inner + inner * d + d + 4 * d
    heads = d * d + d + d * size.labels + size.labels
    return tables + size.layers * layer + heads


def test_mbert_shape_has_the_published_size():
    # 177,853,440 parameters of multilingual BERT, and our word-level head.
    assert parameters(REFERENCES["mbert-shape"]) == 177_853_440 + 768 * 9 + 9


def test_the_file_holds_every_weight_once(shape_file, tiny):
    found = inspect_model(shape_file.read_bytes())
    model = TransformerShape(tiny)
    assert sum(int(np.prod(w.shape)) for w in model.weights) == parameters(tiny)
    # The converter folds away positions beyond the length and the second segment row.
    unused = (tiny.positions - LENGTH) * tiny.hidden_dim + 2 * tiny.hidden_dim
    assert parameters(tiny) - unused - 20 * tiny.hidden_dim <= found.parameters <= parameters(tiny)
    assert found.operators["online"]["FULLY_CONNECTED"] == 6 * tiny.layers + 2
    assert found.operators["online"]["GELU"] == tiny.layers
    assert found.flex == found.custom == ()


def test_the_file_computes_what_keras_computes(shape_file, tiny):
    ids = np.random.default_rng(1).integers(0, tiny.vocabulary, (BATCH, LENGTH)).astype(np.int32)
    logits, pooled = TransformerShape(tiny)(ids)
    found = Interpreter(str(shape_file)).get_signature_runner("batch")(input_ids=ids)
    np.testing.assert_allclose(found["tags"], logits, atol=1e-5)
    np.testing.assert_allclose(found["pooled"], pooled, atol=1e-5)


def test_the_shape_is_a_real_transformer(tiny):
    """The same weights in Keras' own layers give the same hidden states."""
    model = TransformerShape(tiny)
    ids = np.array([[3, 1, 4, 1, 5]], np.int32)
    d = tiny.hidden_dim

    def norm(x, weights):
        layer = keras.layers.LayerNormalization(epsilon=1e-12)
        layer.build(x.shape)
        layer.set_weights([np.asarray(w) for w in weights])
        return layer(x)

    x = np.asarray(model.words)[ids] + np.asarray(model.place)[:5] + np.asarray(model.segment)[0]
    x = norm(x, model.norms[0])
    for n, block in enumerate(model.blocks):
        attention = keras.layers.MultiHeadAttention(tiny.heads, d // tiny.heads)
        attention.build(x.shape, x.shape, x.shape)
        weights = []
        for part, (kernel, bias) in enumerate(block["attention"]):
            heads = (tiny.heads, d // tiny.heads)
            shape = (*heads, d) if part == 3 else (d, *heads)
            weights += [np.asarray(kernel).reshape(shape)]
            weights += [np.asarray(bias) if part == 3 else np.asarray(bias).reshape(heads)]
        attention.set_weights(weights)
        x = norm(x + attention(x, x), model.norms[2 * n + 1])
        (k1, b1), (k2, b2) = block["inner"], block["outer"]
        inner = keras.ops.gelu(x @ k1 + b1, approximate=False)
        x = norm(x + inner @ k2 + b2, model.norms[2 * n + 2])
    expected = x @ model.head[0] + model.head[1]
    np.testing.assert_allclose(model(ids)[0], expected, atol=1e-5)


def test_reference_is_built_once(tmp_path, monkeypatch, tiny):
    monkeypatch.setitem(REFERENCES, "tiny", tiny)
    said: list[str] = []
    path = reference_file("tiny", tmp_path, length=LENGTH, batch=2, screen=said.append)
    stamp = path.stat().st_mtime_ns
    again = reference_file("tiny", tmp_path, length=LENGTH, batch=2, screen=said.append)
    assert (again, again.stat().st_mtime_ns) == (path, stamp)
    assert len(said) == 1
    assert [p.name for p in tmp_path.iterdir()] == [f"tiny-none-2x{LENGTH}.tflite"]
    with pytest.raises(RecipeError, match="unknown reference 'x'"):
        reference_file("x", tmp_path)


def test_a_reference_of_one_row_has_one_signature(tiny):
    found = inspect_model(shapes.build(tiny, LENGTH, 1))
    assert [*found.operators] == ["online"]


def test_where_references_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TFDISTIL_CACHE", raising=False)
    assert cache_folder() == tmp_path / "tfdistil"
    monkeypatch.setenv("TFDISTIL_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


@pytest.mark.slow
def test_run_times_student_teacher_and_reference(student_file, tmp_path, monkeypatch, tiny):
    from tfdistil.encoders import scratch_encoder

    monkeypatch.setitem(REFERENCES, "tiny", tiny)
    monkeypatch.setenv("TFDISTIL_CACHE", str(tmp_path / "shapes"))
    teacher = scratch_encoder(
        vocabulary=60,
        hidden_dim=8,
        layers=1,
        attention_heads=2,
        intermediate_dim=16,
        max_positions=16,
        outputs={"tags": ("word", 3), "class": ("sequence", 2)},
        seed=0,
    )
    files, teachers = {"student.tflite": student_file}, {"teacher": (teacher, "logits")}
    folder = tmp_path / "benchmark"
    found = benchmark_run(files, teachers, queries=20, reference="tiny", folder=folder)
    assert set(found["models"]) == {"student.tflite", "teacher", "reference shape"}
    assert found["models"]["teacher"]["batch_ms"]["batch"] == BATCH
    assert (
        found["models"]["teacher"]["bytes"]
        == (tmp_path / "benchmark/teacher.tflite").stat().st_size
    )
    assert found["reference"]["name"] == "tiny"
    assert found["reference"]["latency"]["online_ms"]["p50"] > 0
    assert set(found["ratios"]) == {"student.tflite"}
    assert set(found["ratios"]["student.tflite"]) == {"teacher", "reference"}
    # All runs share one reference: it does not lie in the run's folder.
    assert [p.name for p in (tmp_path / "benchmark").iterdir()] == ["teacher.tflite"]
    assert [p.name for p in (tmp_path / "shapes").iterdir()] == [
        f"tiny-none-{BATCH}x{LENGTH}.tflite"
    ]
    stamp = (tmp_path / "benchmark/teacher.tflite").stat().st_mtime_ns
    benchmark_run(files, {"teacher": (None, "logits")}, queries=20, folder=folder)  # not made again
    assert (tmp_path / "benchmark/teacher.tflite").stat().st_mtime_ns == stamp
    ids = np.random.default_rng(0).integers(1, 60, (1, LENGTH)).astype(np.int32)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    if "token_type_ids" in teacher.input_names:
        inputs["token_type_ids"] = np.zeros_like(ids)
    inputs["attention_mask"][:, 5:] = 0
    expected = teacher(inputs)
    runner = Interpreter(str(tmp_path / "benchmark/teacher.tflite")).get_signature_runner("online")
    for name, values in runner(**inputs).items():
        cut = slice(5) if name == "tags" else slice(None)
        np.testing.assert_allclose(values[0][cut], expected[f"logits/{name}"][0][cut], atol=1e-4)
