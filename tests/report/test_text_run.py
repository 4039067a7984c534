"""Page and card of a run on text: no word of labels, and none of a file that is not there."""

from __future__ import annotations

import pytest

from tfdistil.report.answer import figures
from tfdistil.report.html import render_html
from tfdistil.report.model_card import render_model_card
from tfdistil.report.tables import corpus_table, systems_table
from tfdistil.runs.run_metrics import Metrics


@pytest.fixture
def of_text(metrics) -> Metrics:
    """Two masked language models, a teacher and its student, and a checkpoint of the latter."""
    scores = {"words_guessed": 40.0, "bits_per_byte": 1.5}
    plain = {"scores": {"dev": scores, "test": scores}, "labels": {}, "bytes": None}
    teacher = metrics["systems"][0] | plain | {"latency": None}
    student = metrics["systems"][2] | plain | {"gain": {}, "retention": {"dev": 93.0, "test": 93.0}}
    return Metrics.from_json(
        {
            "name": "slovene",
            "task": "text",
            "metric": "words_guessed",
            "seed": 13,
            "main": "student",
            "systems": [teacher, student],
            "data": {"train": 0, "dev": 91, "test": 90, "transfer": 0},
            "command": "tfdistil run recipe.yaml --out sl",
        }
    )


def test_the_card_speaks_of_no_file_and_no_labels(of_text):
    card = render_model_card(of_text)
    assert "keeps 93.0 % of its teacher's words guessed on test" in card
    for word in ("litert", "tflite", "device", "labelled sentences", "| file |", "ms per text"):
        assert word not in card, word
    assert "trained on text without labels, and on the outputs of its teacher" in card
    assert 'pipeline_tag: "fill-mask"' in card
    assert "- `checkpoints/student/`" in card


def test_a_model_without_a_teacher_is_not_said_to_have_learnt_from_one(of_text):
    alone = of_text.delivered.model_copy(update={"teacher": None, "retention": {}})
    card = render_model_card(of_text.model_copy(update={"systems": (alone,)}))
    assert "It was trained on text without labels.\n" in card
    assert "knowledge-distillation" not in card


def test_the_page_asks_no_questions_about_a_file(of_text):
    page = render_html(of_text)
    for word in ("Not exported", "Not benchmarked", "Not measured"):
        assert word not in page
    kept, small = figures(of_text)
    assert kept.value == "93.0 %"
    assert small.detail == "1.9 M parameters, teacher 22.7 M."
    table = systems_table(of_text)
    assert table.head[-1] == "parameters"
    assert sum(columns for _, columns in table.groups) == len(table.head) == len(table.rows[0])


def counts(lines, share):
    numbers = {"lines": lines, "bytes": 40 * lines, "words": 8 * lines, "pieces": 10 * lines}
    return numbers | {"unknown": 3, "rows": lines // 5, "share": share}


def test_text_is_shown_by_language_and_models_alike_once(of_text):
    text = {"sl": counts(1000, 0.75), "sw": counts(50, 0.25)}
    alike = of_text.model_copy(update={"corpus": {"teacher": text, "student": text}})
    table = corpus_table(alike)
    assert [row[0] for row in table.rows] == ["sl", "sw"]
    assert table.rows[0][1:] == (
        "1,000", "40,000", "8,000", "10,000", "200", "1.25", "3", "75 %"
    )  # fmt: skip
    assert len(table.head) == len(table.rows[0])
    apart = {"teacher": text, "student": {"sl": counts(1000, 1.0)}}
    other = corpus_table(of_text.model_copy(update={"corpus": apart}))
    assert [row[0] for row in other.rows] == ["teacher: sl", "teacher: sw", "student: sl"]
    for written in (render_html(alike), render_model_card(alike)):
        assert "share drawn" in written
        assert "40,000" in written
    assert corpus_table(of_text) is None
    assert "share drawn" not in render_model_card(of_text)
