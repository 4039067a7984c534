"""Model selection on scripted values: what is kept, when it stops, what is written down."""

from __future__ import annotations

import csv

import keras
import numpy as np
import pytest

from tfdistil.distill.best_weights import BestWeights, History, Patience, Progress
from tfdistil.report.history import read_history


def counter() -> keras.Model:
    """A model whose weight is the number of updates made."""
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    model.compile(optimizer=keras.optimizers.SGD(1.0), loss=lambda y, p: -keras.ops.mean(p))
    model.build((None, 1))
    return model


ALWAYS = Patience()


def fit(values, higher=True, patience=ALWAYS, updates=None, epochs=None, steps=4, **others):
    """Train for ``steps`` updates an epoch; the monitored value is ``values[evaluation]``.

    Returns:
        The callback, the updates behind the weights that were kept, and the rows of the history.
    """
    model, rows, left = counter(), [], iter(values)
    best = BestWeights(
        model, left.__next__, higher, patience, steps, updates, rows.append, **others
    )
    data = np.ones((steps, 1), np.float32)
    model.fit(
        data,
        data,
        batch_size=1,
        epochs=len(values) - 1 if epochs is None else epochs,
        verbose=0,
        callbacks=[best],
    )
    return best, round(float(model.weights[0][0, 0])), rows


@pytest.mark.parametrize(
    ("values", "higher", "kept"),
    [
        ([1, 5, 9, 7], True, 8),
        ([9, 5, 7, 8], True, 0),  # the weights before the first update
        ([9, 5, 7, 8], False, 4),
        ([0, 0, 0, 0], True, 12),  # of equals the last
        ([3, 3, 1, 3], False, 8),
        ([1, np.nan, np.nan], False, 0),
        ([1, np.nan, 5], True, 8),
    ],
)
def test_the_best_weights_are_put_back(values, higher, kept):
    best, found, _ = fit(values, higher)
    assert found == kept
    assert best.progress.best_value == (max if higher else min)(
        v for v in values if not np.isnan(v)
    )


@pytest.mark.parametrize(
    ("values", "patience", "epochs"),
    [
        ([5, 4, 3, 2, 1], 2, 2),
        ([5, 6, 5, 7, 6, 6, 9], 2, 5),
        ([5, 5, 5, 5, 5], 3, 3),  # equal is no improvement
        ([5, 4, 3, 2, 1], None, 4),
        ([1, np.nan, np.nan, 9], 2, 2),
    ],
)
def test_patience_counts_evaluations_without_improvement(values, patience, epochs):
    best, _, rows = fit(values, patience=Patience(patience))
    assert len(rows) - 1 == epochs
    assert best.done == 4 * epochs


@pytest.mark.parametrize(
    ("values", "patience", "epochs"),
    [
        ([0, 0, 0, 0, 0, 0], Patience(2, floor=0.0), 5),  # learning has not begun
        ([0, 0, 0, 5, 4, 4, 9], Patience(2, floor=0.0), 5),
        ([7, 6, 7, 9, 8, 7, 9], Patience(2, floor=7.0), 6),  # what a constant answer scores
        ([5, 4, 4, 4, 4, 4], Patience(2, min_updates=12), 4),  # evaluations at 12 and 16
        ([5, 4, 4, 4, 4, 4], Patience(2, min_updates=4), 2),
        ([0, np.nan, np.nan, 1], Patience(2, floor=0.0), 2),  # what has diverged does not wait
    ],
)
def test_patience_waits_for_learning_to_begin(values, patience, epochs):
    best, _, _ = fit(values, patience=patience)
    assert best.done == 4 * epochs


def test_minutes_end_it_after_an_evaluation():
    best, _, rows = fit(range(10), minutes=1e-9)
    assert (best.done, len(rows)) == (4, 2)
    best, _, _ = fit(range(10), minutes=10)
    assert best.done == 36


@pytest.mark.parametrize(("seconds", "epochs"), [(0, 5), (59, 5), (61, 1)])
def test_minutes_count_from_before_an_interruption(seconds, epochs):
    model, rows = counter(), []
    best = BestWeights(model, iter(range(9)).__next__, True, ALWAYS, 4, 20, rows.append, minutes=1)
    first = {"epoch": 0.0, "updates": 0.0, "monitored": -1.0}
    best.resume(Progress(0, [first], -1.0, 0, seconds), model.get_weights())
    data = np.ones((20, 1), np.float32)
    model.fit(data, data, batch_size=1, verbose=0, callbacks=[best])
    assert [row["updates"] for row in rows] == [4 * n for n in range(epochs + 1)]
    assert rows[0] == first
    assert best.progress.seconds >= seconds


@pytest.mark.parametrize("updates", [1, 4, 6, 100])
def test_updates_end_it_anywhere_in_an_epoch(updates):
    best, kept, rows = fit(range(10), updates=updates, epochs=5)
    assert best.done == kept == min(updates, 20)
    assert rows[-1]["updates"] == best.done  # the weights of the last update were scored too


def test_a_row_for_every_evaluation():
    _, _, rows = fit([1, 5, 3])
    assert [row["monitored"] for row in rows] == [1, 5, 3]
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    assert [row["updates"] for row in rows] == [0, 4, 8]
    assert "loss" not in rows[0]
    assert rows[2]["loss"] < rows[1]["loss"]


def test_the_history_is_appended_in_long_form(tmp_path):
    path = tmp_path / "history.csv"
    row = {"epoch": 1.0, "updates": 8.0, "monitored": 50.0}
    History(path)("student", "a, b", row | {"loss": 1 / 3})
    History(path)("student", "c", row)  # another session
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.reader(file))
    assert found == [
        ["model", "phase", "epoch", "updates", "name", "value"],
        ["student", "a, b", "1", "8", "monitored", "50"],
        ["student", "a, b", "1", "8", "loss", "0.333333"],
        ["student", "c", "1", "8", "monitored", "50"],
    ]
    History(None)("student", "c", row)


def test_phases_that_start_anew_are_forgotten(tmp_path):
    path = tmp_path / "history.csv"
    history, row = History(path), {"epoch": 0.0, "updates": 0.0, "monitored": 50.0}
    history.forget("student", ["first"])  # no file yet
    assert not path.exists()
    history("student", "first", row)
    history("teacher", "a, b", row)
    before = path.read_bytes()
    history("student", "a, b", row)
    with path.open("a", encoding="utf-8") as file:
        file.write("student,")  # killed while it wrote
    history.forget("student", ["a, b", "later"])
    assert path.read_bytes() == before
    History(None).forget("student", ["first"])


@pytest.mark.parametrize("left", ["", "model,pha", "model,phase,epoch,updates,name,value\r\nst"])
def test_a_history_cut_off_at_its_beginning_is_read_again(tmp_path, left):
    """Killed after the file was opened, or while its first lines were written."""
    path = tmp_path / "history.csv"
    path.write_text(left, encoding="utf-8")
    history, row = History(path), {"epoch": 0.0, "updates": 0.0, "monitored": 50.0}
    history.forget("student", ["first"])
    history("student", "first", row)
    (phase,) = read_history(path).models["student"]
    assert phase.values == {"monitored": [(0, 50.0)]}
    path.write_text("", encoding="utf-8")
    history("student", "first", row)
    assert read_history(path).unreadable == 0
    assert list(read_history(path).models) == ["student"]
