from __future__ import annotations

import json

import numpy as np

from tfdistil.metrics import classification_scores, label_table, language_table, span_scores

LANGUAGES = ["es", "und", "en", "es", "en", "und", "en"]
RIGHT = [1, 0, 1, 0, 1, 0, 0]


def accuracy(rows):
    return {"accuracy": 100 * sum(RIGHT[row] for row in rows) / len(rows), "rows": float(len(rows))}


def test_mean_and_deviation_leave_the_undetermined_language_out():
    table = language_table(LANGUAGES, accuracy)
    assert list(table.languages) == ["en", "es", "und"]
    assert table.examples == {"en": 3, "es": 2, "und": 2}
    real = [100 * 2 / 3, 50.0]
    assert np.isclose(table.mean["accuracy"], np.mean(real))
    assert np.isclose(table.std["accuracy"], np.std(real))
    assert table.languages["und"]["accuracy"] == 0
    assert json.loads(json.dumps(table.to_json())) == table.to_json()


def test_one_language_has_no_deviation():
    table = language_table(["de"] * 7, accuracy)
    assert table.std == {"accuracy": 0.0, "rows": 0.0}


def test_without_a_real_language_there_is_no_mean():
    assert language_table(["und"] * 7, accuracy).mean == {}
    assert language_table([], accuracy).languages == {}


def test_label_tables_are_plain_data():
    spans = label_table(span_scores([["B-B", "B-A"]], [["B-B", "O"]]))
    assert spans == {
        "A": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1},
        "B": {"precision": 100.0, "recall": 100.0, "f1": 100.0, "support": 1},
    }
    assert list(label_table(classification_scores(["b", "a"], ["b", "b"]))) == ["a", "b"]
