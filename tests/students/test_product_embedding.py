"""Tables as codes and codebooks: what is kept, and what the layer makes of them."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from tfdistil.benchmarks.model import vocabulary_size
from tfdistil.exporting.convert import convert, entries_of
from tfdistil.exporting.inspect import inspect_model
from tfdistil.students import build_student
from tfdistil.students.embeddings import svd_embedding
from tfdistil.students.product_embedding import ENTRIES, ProductEmbedding, product_codes


def table(rows=600, width=24, seed=0):
    """Columns of falling variance, turned at random, around a mean: like a trained table."""
    draw = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(draw.normal(size=(width, width)))
    return draw.normal(size=(rows, width)) * 0.8 ** np.arange(width) @ turn + draw.normal(
        size=width
    )


def decoded(found):
    codes, books = found
    return books[np.arange(codes.shape[1]), codes].reshape(len(codes), -1)


def distances(rows):
    return np.linalg.norm(rows[:, None] - rows, axis=-1)


@pytest.mark.parametrize("codes", [1, 3, 8, 24])
def test_a_table_with_a_code_for_each_row_keeps_all_distances(codes):
    rows = table(ENTRIES)
    found = product_codes(rows, codes)
    assert found.codes.shape == (ENTRIES, codes)
    assert found.codes.dtype == np.uint8
    assert found.codebooks.shape == (codes, ENTRIES, 24 // codes)
    np.testing.assert_allclose(distances(decoded(found)), distances(rows), atol=1e-5)


@pytest.mark.parametrize("codes", [3, 6, 12])
def test_codes_keep_more_than_as_many_columns(codes):
    """A byte for several columns against a byte each for the best of them."""
    rows = table()
    centred = rows - rows.mean(axis=0)
    kept = (decoded(product_codes(rows, codes)) ** 2).sum()
    # A row's code is the mean of the rows that share it, so what is lost is what is not kept.
    of_columns = (svd_embedding(centred, codes).astype(np.float64) ** 2).sum()
    assert of_columns < kept <= (centred**2).sum() * (1 + 1e-6)


def test_the_layer_comes_back_from_its_config():
    layer = ProductEmbedding(40, 8, 2, seed=1)
    again = keras.layers.deserialize(keras.layers.serialize(layer))
    assert type(again) is ProductEmbedding
    ids = np.array([[3, 5]])
    np.testing.assert_array_equal(layer(ids), again(ids))


def test_parts_have_like_variances():
    rows = table(2000)
    parts = decoded(product_codes(rows, 4)).reshape(len(rows), 4, 6)
    logs = np.log(parts.var(axis=0)).mean(axis=1)
    assert np.ptp(logs) < 1.0  # columns in order would give 4


def test_equal_rows_and_few_of_them():
    rows = np.repeat(table(5), 3, axis=0)
    found = product_codes(rows, 2)
    assert found.codes.max() < 5
    np.testing.assert_allclose(distances(decoded(found)), distances(rows), atol=1e-5)
    assert not decoded(product_codes(np.ones((4, 6)), 3)).any()  # nothing but a mean


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_makes_no_difference(scale):
    rows = table().astype(np.float32)
    shares = [
        (decoded(product_codes(given, 6)) ** 2).sum() / ((given - given.mean(0)) ** 2).sum()
        for given in (rows.astype(np.float64), rows * scale)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_table_of_other_than_numbers(value):
    rows = table()
    rows[3, 3] = value
    with pytest.raises(ValueError, match="finite"):
        product_codes(rows, 6)


def test_the_same_seed_gives_the_same_codes():
    one, again, other = (product_codes(table(), 6, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.codes, again.codes)
    np.testing.assert_array_equal(one.codebooks, again.codebooks)
    assert (one.codes != other.codes).any()


def test_a_layer_gives_what_the_codes_stand_for():
    rows = table().astype(np.float32)
    layer = ProductEmbedding(600, 24, 6, seed=3)
    layer.build()
    layer.assign(rows)
    ids = np.array([[0, 599], [7, 7]])
    expected = decoded(product_codes(rows, 6))[ids]
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(layer(ids)), expected)
    assert [v.name for v in layer.trainable_variables] == ["codebooks"]


@pytest.mark.parametrize(
    ("codes", "says"), [(5, "5 codes do not divide the 24 columns"), (0, "codes")]
)
def test_codes_that_do_not_fit(codes, says):
    for make in (lambda: product_codes(table(), codes), lambda: ProductEmbedding(9, 24, codes)):
        with pytest.raises(ValueError, match=says):
            make()


def make_student(codes):
    return build_student(
        kind="bilstm",
        vocabulary=600,
        embedding=24,
        embedding_codes=codes,
        hidden_dim=4,
        outputs={"tags": ("word", 3)},
        seed=1,
    )


def test_a_student_is_saved_with_its_codes():
    student = make_student(6)
    student.set_embedding(table())
    again = type(student).from_config(student.get_config())
    again.set_weights(student.get_weights())
    inputs = {"input_ids": np.array([[5, 300, 2]])}
    np.testing.assert_array_equal(student(inputs)["embedding"], again(inputs)["embedding"])
    with pytest.raises(ValueError, match=r"table is \(600, 24\), got \(600, 12\)"):
        student.set_embedding(np.zeros((600, 12)))


@pytest.mark.slow
def test_a_file_has_a_byte_for_each_code(tmp_path):
    rows = {"input_ids": np.arange(32).reshape(4, 8), "attention_mask": np.ones((4, 8))}
    rows = {name: values.astype(np.int32) for name, values in rows.items()}
    files = {
        codes: convert(student, entries_of(student, 8, 4, "labels"), "int8", rows)
        for codes, student in ((3, make_student(3)), (6, make_student(6)))
    }
    few, many = (inspect_model(file) for file in files.values())
    for file in (few, many):
        assert (file.flex, file.custom, file.float_operator_count) == ((), (), 0)
    # The codebooks of either have 256 rows of all 24 columns.
    assert many.parameters - few.parameters == 600 * 3
    assert len(files[6]) - len(files[3]) == pytest.approx(600 * 3, abs=64)
    path = tmp_path / "m.tflite"
    path.write_bytes(files[3])
    assert vocabulary_size(path) == 600  # not the 768 rows of the codebooks
