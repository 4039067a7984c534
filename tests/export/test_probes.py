"""Texts of other lengths than the dev examples: what they are, and what they find."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.export.conftest import document
from tfdistil.data.example import Example
from tfdistil.errors import ExportError
from tfdistil.exporting import export_student
from tfdistil.exporting.probes import PROBES, longer, refilled, shorter
from tfdistil.exporting.verify import Drift, check_probes, check_same_labels, labels_of
from tfdistil.tasks import Tags
from tfdistil.text.featurizer import Window

LENGTH = 16


def texts(count, words, second=None):
    return [Example(tuple(f"{n}.{w}" for w in range(words)), second=second) for n in range(count)]


def test_shorter_texts_are_mostly_padding():
    found = shorter(texts(500, 40), LENGTH)
    assert len(found) == PROBES
    assert {len(text.words) for text in found} == {1, 2, 3, 4}
    assert found[0].words == ("0.0",)
    assert found[-1].words[0] == "499.0"
    assert [len(t.words) for t in shorter(texts(2, 40), 3)] == [1, 1]


def test_longer_texts_need_several_windows():
    found = longer([*texts(3, 5), Example(())], LENGTH)
    assert [len(text.words) for text in found] == [20, 20, 20]
    assert [text.words[0] for text in found] == ["0.0", "1.0", "2.0"]
    assert found[2].words[5] == "0.0"
    assert len(longer(texts(500, 40), LENGTH)) == PROBES
    assert longer([Example(())], LENGTH) == []


def test_pairs_stay_pairs():
    pairs = texts(3, 10, second=("a", "b", "c"))
    assert [t.second for t in shorter(pairs, 8)] == [("a",), ("a", "b"), ("a",)]
    assert all(t.second == ("a", "b", "c") * 2 for t in longer(pairs, LENGTH))
    assert all(t.second is None for t in shorter(texts(3, 10), 8) + longer(texts(3, 10), 8))


def test_refilled_windows_differ_behind_the_text_alone():
    tokens = np.arange(2, dtype=np.int32)
    ids, bytes_ = np.array([5, 6, 7], np.int32), np.arange(6, dtype=np.uint8).reshape(3, 2)
    window = Window({"input_ids": ids, "fingerprint": bytes_}, tokens, tokens, (0, 2))
    found = refilled(window, 5).inputs
    assert found["input_ids"].tolist() == [5, 6, 7, 5, 6]
    assert found["fingerprint"].tolist() == [[0, 1], [2, 3], [4, 5], [0, 1], [2, 3]]
    assert found["attention_mask"].tolist() == [1, 1, 1, 0, 0]
    assert found["fingerprint"].dtype == np.uint8


def test_labels_that_depend_on_padding_are_counted():
    task = Tags(["O", "B-X"])
    found = [{"tags": np.array([[0.0, 1.0], [2.0, 0.0]])}, {"tags": np.array([[0.0, 1.0]])}]
    other = [{"tags": np.array([[0.0, 3.0], [2.0, 4.0]])}, found[1]]
    found, other = (labels_of(task, [task.decode(one) for one in of]) for of in (found, other))
    check_same_labels(found, found)
    check_same_labels(labels_of(task, []), labels_of(task, []))
    with pytest.raises(ExportError, match="1 of 3 labels of 'tags' change with what"):
        check_same_labels(found, other)


@pytest.mark.parametrize(
    ("agreement", "mean", "max_drop", "fine"),
    [
        (0.99, 0.1, 0.5, True),  # labels are kept, whatever the logits do
        (0.95, 0.1, 0.5, False),
        (0.95, 0.1, 5.0, True),
        (0.95, 0.02, 0.5, True),  # no more than rounding does
        (0.99, 0.02, 0.5, True),
    ],
)
def test_other_lengths_keep_labels_as_the_dev_examples_do(agreement, mean, max_drop, fine):
    dev = {"tags": Drift(0.1, 0.01, 2.0, 0.99)}
    probes = {"longer": dev, "shorter": {"tags": Drift(0.5, mean, 2.0, agreement)}}
    if fine:
        check_probes(dev, probes, max_drop)
    else:
        with pytest.raises(ExportError, match=r"shorter than a row .* 95.0 % .* 99.0 %; logits"):
            check_probes(dev, probes, max_drop)


class Leaking:
    """A student whose graph takes padding for text."""

    def __init__(self, student, blank):
        self.student, self.blank = student, blank

    def __getattr__(self, name):
        return getattr(self.student, name)

    def __call__(self, inputs, training=False):
        return self.student(inputs, training=training)

    def export_function(self, length, batch, head="labels", word_mask=None):
        function, specs = self.student.export_function(length, batch, head, word_mask)
        ones = np.ones((batch, length), np.int32)
        return lambda ids, mask: function(ids * mask if self.blank else ids, mask * 0 + ones), specs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("blank", "text"),
    [
        (False, r"labels of '\w+' change with what the positions behind a text hold"),
        (True, r"on texts shorter than a row of the file, .* % of the labels of '\w+' equal"),
    ],
)
def test_a_graph_that_reads_padding_is_refused(trained, tmp_path, monkeypatch, blank, text):
    """Though it is right on every dev example: documents, whose windows are full."""
    from tfdistil.exporting import exporter

    leaking = Leaking(trained.student, blank)
    convert = exporter.convert
    monkeypatch.setattr(exporter, "convert", lambda _, *rest: convert(trained.student, *rest))
    rng = np.random.default_rng(1)
    with pytest.raises(ExportError, match=text):
        export_student(
            leaking,
            trained.task,
            trained.featurizer,
            trained.splitter,
            examples=[document(rng, 40) for _ in range(24)],
            out=tmp_path / "never.tflite",
            quantize="none",
            length=LENGTH,
            batch=8,
        )
    assert list(tmp_path.iterdir()) == []


def test_drifts_of_other_lengths_are_json(trained, tmp_path):
    result = export_student(
        trained.student,
        trained.task,
        trained.featurizer,
        trained.splitter,
        examples=trained.dev[:20],
        out=tmp_path / "a.tflite",
        quantize="none",
        length=LENGTH,
        batch=8,
    )
    data = json.loads(json.dumps(result.to_json()))["probes"]
    assert {kind: set(outputs) for kind, outputs in data.items()} == {
        kind: {"slots", "intent"} for kind in ("shorter", "longer")
    }
    assert all(one["max"] < 1e-4 for outputs in data.values() for one in outputs.values())
