"""Which decoder an output has, and what a file may not say of it."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.tasks import Classes, IntentSlots, Tags
from tfdistil.tasks.decoders import DECODERS, CrfDecoder, Decoder, decoder, read_decoders

TAGS = ("O", "B-a", "I-a")


class Biased(Decoder):
    """Adds a constant to the scores of each label."""

    def __init__(self, labels, bias):
        super().__init__(labels)
        if bias.shape != (labels,):
            raise ValueError(f"bias has shape {bias.shape}, expected ({labels},)")
        self.bias = bias

    def words(self, scores, start, follow):
        return super().words(scores + self.bias, start, follow)

    def text(self, scores):
        return super().text(scores + self.bias)


@pytest.fixture(autouse=True)
def biased():
    decoder("biased")(Biased)
    yield
    del DECODERS["biased"]


def test_each_output_has_the_decoder_of_its_head():
    task = IntentSlots(TAGS, ("buy", "sell"))
    logits = {"slots": np.array([[1.0, 0.5, 0.0]]), "intent": np.array([0.2, 0.1])}
    data = {"intent": {"kind": "biased", "constants": {"bias": [0, 5]}}}
    found = task.with_decoders(read_decoders(data, task.outputs)).decode(logits)
    assert (found.tags, found.label) == (("O",), "sell")
    data = {"slots": {"kind": "biased", "constants": {"bias": [0, 1, 9]}}}
    found = task.with_decoders(read_decoders(data, task.outputs)).decode(logits)
    assert (found.tags, found.label) == (("B-a",), "buy")  # legal: no text begins with I-a
    assert task.decode(logits).tags == ("O",)  # the task itself is as it was


def test_no_word_of_a_head_is_a_linear_one():
    rng, task = np.random.default_rng(0), Tags(TAGS)
    same = task.with_decoders(read_decoders({}, task.outputs))
    for _ in range(50):
        logits = {"tags": rng.normal(size=(rng.integers(0, 6), 3))}
        assert same.decode(logits) == task.decode(logits)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            {"intent": {"kind": "linear"}},
            "head of an output 'intent', which the task does not have",
        ),
        ({"tags": {"kind": "x"}}, "'tags' is of the unknown kind 'x'; this version knows linear"),
        ({"tags": {}}, "of the unknown kind None"),
        ({"tags": {"kind": ["linear"]}}, "of the unknown kind"),
        ({"tags": "linear"}, "is no object with a kind and constants"),
        ({"tags": {"kind": "biased", "constants": [1]}}, "is no object with a kind and constants"),
        ({"tags": {"kind": "biased"}}, "'tags' of the kind biased: .*bias"),
        ({"tags": {"kind": "linear", "constants": {"x": [1]}}}, "of the kind linear: .*'x'"),
        (
            {"tags": {"kind": "biased", "constants": {"bias": [1, 2]}}},
            r"kind biased: bias has shape \(2,\), expected \(3,\)",
        ),
        *(
            (
                {"tags": {"kind": "biased", "constants": {"bias": value}}},
                "constant 'bias' of a head is no array of finite numbers",
            )
            for value in (
                [1, 2, float("nan")],
                [1, [2], 3],
                ["a", 1, 2],
                {"a": 1},
                [1, 2, 1e999],
                [1, 2, 10**400],
            )
        ),
    ],
)
def test_what_does_not_fit(data, says):
    with pytest.raises(ValueError, match=says):
        read_decoders(data, Tags(TAGS).outputs)


def test_a_kind_has_one_decoder():
    with pytest.raises(ValueError, match="'linear' is registered already"):
        decoder("linear")(Biased)


def crf_tags(rng) -> Tags:
    potentials = rng.normal(size=(5, 3)).tolist()
    data = {"tags": {"kind": "crf", "constants": {"potentials": potentials}}}
    task = Tags(TAGS)
    return task.with_decoders(read_decoders(data, task.outputs))


@pytest.mark.parametrize("head", ["linear", "crf"])
def test_a_path_found_elsewhere_is_taken_if_it_is_legal(head):
    rng = np.random.default_rng(1)
    task = Tags(TAGS) if head == "linear" else crf_tags(rng)
    logits = {"tags": rng.normal(size=(3, 3))}
    own = task.decode(logits)
    for path in ([2, 0, 0], [0, 2, 0], [-1, 0, 0], [0, 0, 3]):
        assert task.decode(logits, {"tags": np.array(path)}) == own
    for path in product(range(3), repeat=3):
        tags = tuple(TAGS[i] for i in path)
        if all(b != "I-a" or a != "O" for a, b in pairwise(("O", *tags))):
            found = task.decode(logits, {"tags": np.array(path)})
            assert found.tags == tags
            assert len(found.tag_scores) == 3


def test_scores_are_computed_when_they_are_read(monkeypatch):
    task = crf_tags(np.random.default_rng(2))
    called = []
    compute = CrfDecoder.probabilities
    monkeypatch.setattr(
        CrfDecoder, "probabilities", lambda *given: called.append(1) or compute(*given)
    )
    prediction = task.decode({"tags": np.array([[0.0, 9.0, 0.0], [0.0, 0.0, 9.0]])})
    assert prediction.tags == ("B-a", "I-a")
    assert called == []
    assert all(0.9 < score < 1 for score in prediction.tag_scores)
    assert [*prediction.tag_scores] == [prediction.tag_scores[0], *prediction.tag_scores[1:]]
    assert called == [1]


@given(st.integers(0, 4), st.integers(1, 40), st.integers(0, 10**6))
def test_the_k_best_are_those_of_all_legal_sequences(words, k, seed):
    rng = np.random.default_rng(seed)
    task = crf_tags(rng)
    potentials = task.decoders["tags"].potentials
    logits = rng.normal(size=(words, 3), scale=2)
    scores = {}
    for path in product(range(3), repeat=words):
        if all(b != 2 or a in (1, 2) for a, b in pairwise((3, *path))):
            steps = sum(potentials[a, b] for a, b in pairwise((3, *path)))
            end = potentials[4, path[-1]] if path else 0.0
            scores[path] = steps + end + sum(logits[n, tag] for n, tag in enumerate(path))
    total = np.logaddexp.reduce([*scores.values()])
    expected = sorted(scores, key=lambda path: -scores[path])[:k]
    found = task.k_best({"tags": logits}, k)
    assert [path.tags for path in found] == [tuple(TAGS[i] for i in path) for path in expected]
    np.testing.assert_allclose(
        [path.probability for path in found], [np.exp(scores[p] - total) for p in expected]
    )
    assert found[0].tags == task.decode({"tags": logits}).tags
    for path in expected[: words and 1]:
        assert task.decoders["tags"].score(logits, np.array(path)) == pytest.approx(scores[path])


@pytest.mark.parametrize("k", [0, -1, 1001, 2.0, True, "2"])
def test_numbers_of_sequences(k):
    with pytest.raises(ValueError, match="expected 1 to 1000"):
        crf_tags(np.random.default_rng(0)).k_best({"tags": np.zeros((1, 3))}, k)


def test_heads_and_tasks_without_sequences():
    with pytest.raises(
        ValueError, match="one word at a time; k sequences need one of the kind crf"
    ):
        Tags(TAGS).k_best({"tags": np.zeros((1, 3))}, 2)
    with pytest.raises(ValueError, match="a model for 'classes' has no sequences of tags"):
        Classes(("a", "b")).k_best({"class": np.zeros(2)}, 2)
