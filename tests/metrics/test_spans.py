"""Span scores against seqeval, the implementation everybody quotes."""

from __future__ import annotations

import random
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score, sequence_labeling, v1
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB2, Entities
from sklearn.exceptions import UndefinedMetricWarning

from tfdistil.errors import DataError
from tfdistil.metrics.spans import conll_spans, span_counts, span_scores, strict_spans

NER_SETS = {
    "uner_en_ewt/en_ewt-ud-dev.iob2": 2,
    "uner_en_ewt/en_ewt-ud-test.iob2": 2,
    "uner_en_ewt_pre2022train/en_ewt-ud-train.iob2": 2,
    "uner_sv_talbanken/sv_talbanken-ud-dev.iob2": 2,
    "uner_sv_talbanken/sv_talbanken-ud-test.iob2": 2,
    "uner_sv_talbanken/sv_talbanken-ud-train.iob2": 2,
    "weibo_ner_zh/weiboNER_2nd_conll.dev": -1,
    "weibo_ner_zh/weiboNER_2nd_conll.test": -1,
    "weibo_ner_zh/weiboNER_2nd_conll.train": -1,
    "wnut17/emerging.dev.conll": -1,
    "wnut17/emerging.test.annotated": -1,
    "wnut17/wnut17train.conll": -1,
    "ner_transfer_corpora/da/train.txt": -1,
    "ner_transfer_corpora/da/dev.txt": -1,
    "ner_transfer_corpora/da/test.txt": -1,
    "indonlu/nergrit_ner-grit/train_preprocess.txt": -1,
    "indonlu/nergrit_ner-grit/valid_preprocess.txt": -1,
    "indonlu/nergrit_ner-grit/test_preprocess.txt": -1,
}
SLOT_SETS = ["snips_en_slotgated/train/seq.out", "snips_en_slotgated/test/seq.out"]

tag = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-a-b", "I-a-b", "B-O", "I-O"])
sentence_pairs = st.lists(st.lists(st.tuples(tag, tag), max_size=12), min_size=1, max_size=6)


def column(path: Path, index: int) -> list[list[str]]:
    """The tags of a column file, sentence by sentence, without what a reader would check."""
    sentences: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split("\t" if "\t" in line else None)
        if not line.strip():
            sentences.append([])
        elif not line.startswith("# ") and cells[index][:2] in ("O", "B-", "I-"):
            sentences[-1].append(cells[index])
    return [tags for tags in sentences if tags]


def corrupt(sentences: list[list[str]], rate: float, seed: int) -> list[list[str]]:
    """Replace a share of the tags by others, legal or not."""
    chance = random.Random(seed)
    tags = sorted({tag for tags in sentences for tag in tags} | {"O"})
    tags += [f"I-{tag[2:]}" for tag in tags if tag[0] == "B"]
    return [[chance.choice(tags) if chance.random() < rate else t for t in ts] for ts in sentences]


def oracle(gold: list[list[str]], predicted: list[list[str]], mode: str, average: str | None):
    """Precision, recall, F1 and support by seqeval; 0 / 0 is 0, with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        score = (v1 if mode == "strict" else sequence_labeling).precision_recall_fscore_support
        options = {"scheme": IOB2} if mode == "strict" else {}
        return score(gold, predicted, average=average, **options)


def oracle_labels(gold: list[list[str]], predicted: list[list[str]], mode: str) -> list[str]:
    if mode == "strict":
        return sorted(Entities(gold, IOB2).unique_tags | Entities(predicted, IOB2).unique_tags)
    return sorted({entity[0] for entity in get_entities(gold) + get_entities(predicted)})


def assert_equal_to_seqeval(gold: list[list[str]], predicted: list[list[str]]) -> None:
    for mode in ("strict", "conll"):
        scores = span_scores(gold, predicted, mode)
        micro = oracle(gold, predicted, mode, "micro")
        assert (scores.precision, scores.recall, scores.f1) == pytest.approx(
            [100 * x for x in micro[:3]]
        )
        assert list(scores.per_label) == oracle_labels(gold, predicted, mode)
        columns = oracle(gold, predicted, mode, None)
        assert scores.support == sum(columns[3])
        for row, p, r, f, n in zip(scores.per_label.values(), *columns, strict=True):
            assert (row.precision, row.recall, row.f1) == pytest.approx([100 * p, 100 * r, 100 * f])
            assert row.support == n


@pytest.mark.parametrize("name", NER_SETS)
def test_real_ner_sets_score_as_in_seqeval(shared_data, name):
    gold = column(shared_data / name, NER_SETS[name])
    assert sum(map(len, gold)) > 1000
    assert_equal_to_seqeval(gold, corrupt(gold, 0.15, seed=3))


@pytest.mark.parametrize("name", SLOT_SETS)
def test_real_slots_score_as_in_seqeval(shared_data, name):
    gold = [line.split() for line in (shared_data / name).read_text().splitlines()[:1500]]
    assert_equal_to_seqeval(gold, corrupt(gold, 0.1, seed=5))


@given(sentence_pairs)
def test_any_tags_score_as_in_seqeval(pairs):
    gold = [[left for left, _ in sentence] for sentence in pairs]
    predicted = [[right for _, right in sentence] for sentence in pairs]
    assert_equal_to_seqeval(gold, predicted)


@given(st.lists(tag, max_size=15))
def test_spans_of_a_sentence_are_those_of_seqeval(tags):
    entities = get_entities(tags) if tags else []
    expected = [(start, end + 1, label) for label, start, end in entities]
    assert conll_spans(tags) == expected
    strict = [(e.start, e.end, e.tag) for e in Entities([tags], IOB2).entities[0]]
    assert strict_spans(tags) == strict


@given(st.lists(tag, max_size=15))
def test_both_modes_agree_on_legal_tags(tags):
    legal = ["O"]
    for tag in tags:
        legal.append("O" if tag[0] == "I" and legal[-1][1:] != tag[1:] else tag)
    assert strict_spans(legal) == conll_spans(legal)


def test_named_as_in_seqeval():
    gold = [["B-A", "I-A", "O"], ["B-B", "I-B"]]
    predicted = [["B-A", "I-A", "O"], ["I-B", "I-B"]]
    strict = 100 * f1_score(gold, predicted, mode="strict", scheme=IOB2)
    assert span_scores(gold, predicted).f1 == pytest.approx(strict)
    assert span_scores(gold, predicted, "conll").f1 == pytest.approx(
        100 * f1_score(gold, predicted)
    )


def test_the_two_modes_differ_on_an_orphan():
    gold, predicted = [["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]]
    assert span_scores(gold, predicted, "conll").f1 == 100
    strict = span_scores(gold, predicted, "strict")
    assert (strict.f1, strict.predicted, strict.support) == (0, 0, 1)


def test_spans_end_with_their_sentence():
    assert span_scores([["B-A"], ["I-A"]], [["B-A"], ["I-A"]]).support == 1
    assert span_scores([["B-A"], ["I-A"]], [["B-A"], ["I-A"]], "conll").support == 2


@pytest.mark.parametrize("sentences", [[], [[]], [["O", "O"], []]])
def test_without_spans_every_score_is_zero(sentences):
    scores = span_scores(sentences, sentences)
    assert (scores.precision, scores.recall, scores.f1) == (0, 0, 0)
    assert (scores.support, scores.predicted, scores.correct, dict(scores.per_label)) == (
        (0, 0, 0, {})
    )


def test_counts_per_sentence_add_up():
    gold = [["B-A", "O"], ["B-B", "I-B"], ["O"]]
    predicted = [["B-A", "B-B"], ["B-B", "O"], ["O"]]
    counts = span_counts(gold, predicted)
    assert counts.labels == ("A", "B")
    assert counts.correct.tolist() == [[1, 0], [0, 0], [0, 0]]
    assert counts.predicted.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert counts.gold.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_a_hundred_thousand_words_take_less_than_half_a_second():
    chance = random.Random(1)
    tags = ["O"] * 8 + ["B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
    gold = [[chance.choice(tags) for _ in range(20)] for _ in range(5000)]
    predicted = corrupt(gold, 0.2, seed=2)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        span_scores(gold, predicted)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.5


@pytest.mark.parametrize(
    ("gold", "predicted", "mode", "message"),
    [
        ([["O"]], [], "strict", "1 gold sentences but 0 predicted"),
        ([["O"], ["O"]], [["O"], ["O", "O"]], "strict", "sentence 2 has 1 gold tags but 2"),
        ([["PER"]], [["O"]], "strict", "'PER' is not IOB2"),
        ([["O"]], [["B-"]], "conll", "'B-' is not IOB2"),
        ([["O"]], [["O"]], "loose", "unknown span mode 'loose'"),
    ],
)
def test_bad_input_is_named(gold, predicted, mode, message):
    with pytest.raises(DataError, match=message):
        span_scores(gold, predicted, mode)
