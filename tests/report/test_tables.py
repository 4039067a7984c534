from __future__ import annotations

import copy
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfdistil.errors import DataError
from tfdistil.report import answer, tables
from tfdistil.report.export_tables import export_tables
from tfdistil.report.html import render_html
from tfdistil.report.mistakes import mistakes
from tfdistil.report.model_card import render_model_card
from tfdistil.report.span_table import spans_table
from tfdistil.report.table import nested_tables
from tfdistil.runs.run_metrics import Metrics, faster, smaller


def test_the_delivered_model_is_compared_with_its_own_teacher(metrics):
    results = Metrics.from_json(metrics)
    assert results.delivered.name == "student int8"
    assert results.main_set == "test"
    assert smaller(results.delivered, results.teacher) == pytest.approx(90.9 / 1.93)
    assert faster(results.delivered, results.teacher) == pytest.approx(39.5 / 0.26)
    assert faster(results.delivered, results.reference) == pytest.approx(57.7 / 0.26)


def test_what_is_written_is_what_is_read(metrics, tmp_path):
    written = Metrics.from_json(metrics)
    written.save(tmp_path)
    assert Metrics.load(tmp_path) == written
    with pytest.raises(FileNotFoundError):
        Metrics.load(tmp_path / "nowhere")


def test_the_reference_shape_has_no_score_and_stands_beside_none(metrics):
    results = Metrics.from_json(metrics)
    assert not any("mbert" in row[0] for row in tables.systems_table(results).rows)
    speed = tables.speed_table(results)
    assert [row[0] for row in speed.rows] == [
        "teacher",
        "student int8",
        "mbert-shape (random weights)",
    ]
    assert not any("F1" in name or "retention" in name for name in speed.flat_head)


def test_the_sentence_is_the_answer(metrics):
    assert answer.sentence(Metrics.from_json(metrics)) == (
        "The exported file keeps 97.1 % of its teacher's span F1 on test, is 47 times smaller "
        "and is 152 times faster."
    )


def test_what_is_larger_and_slower_is_called_so(metrics):
    (file,) = (system for system in metrics["systems"] if system["role"] == "file")
    file["bytes"] *= 1000
    file["latency"]["online_ms"]["p50"] *= 1000
    assert answer.sentence(Metrics.from_json(metrics)).endswith(
        "is 21 times larger and is 6.6 times slower."
    )
    values = [figure.value for figure in answer.figures(Metrics.from_json(metrics))]
    assert values[1:3] == ["21× larger", "6.6× slower"]


def test_flex_or_custom_operators_are_a_no(metrics):
    metrics["systems"][-1]["export"]["custom"] = 2
    stock = answer.figures(Metrics.from_json(metrics))[3]
    assert (stock.value, stock.state) == ("No", "bad")
    assert "0 Flex and 2 custom" in stock.detail
    assert answer.sentence(Metrics.from_json(metrics)).endswith(
        "but does not run on the stock runtime."
    )


def test_a_gain_that_may_be_none_is_called_so(metrics):
    metrics["systems"][2]["gain"]["test"] |= {"difference": 0.3, "low": -0.4, "high": 1.1}
    lines = answer.gain(Metrics.from_json(metrics))
    assert "by +0.3 points (95 % interval −0.4 to +1.1, paired bootstrap of 1,000" in lines[1]
    assert lines[1].endswith("too small to tell it from no change.")
    assert len(lines) == 2


def test_tables_have_a_cell_for_every_column(metrics):
    results = Metrics.from_json(metrics)
    made = [
        tables.systems_table(results),
        tables.metrics_table(results),
        tables.speed_table(results),
        tables.languages_table(results),
        tables.labels_table(results),
        spans_table(results),
        *export_tables(results),
        tables.clock_table(results),
        *nested_tables(metrics["data"]),
    ]
    for table in made:
        assert {len(row) for row in table.rows} == {len(table.head)}
        if table.groups:
            assert sum(columns for _, columns in table.groups) == len(table.head)


def test_what_spans_became_stands_beside_what_the_teacher_finds(metrics):
    table = spans_table(Metrics.from_json(metrics))
    assert table.rows[0] == ("all", "80", "85.0", "88.0", "3", "3", "3", "3", "3")
    assert [row[0] for row in table.rows] == ["all", "a word that train lacks"]
    for system in metrics["systems"]:
        system.pop("spans", None)  # a page of before it was counted, or of a task without spans
    assert spans_table(Metrics.from_json(metrics)) is None


def test_errors_show_spans_and_what_is_not_shared(metrics):
    first = mistakes(Metrics.from_json(metrics))[0]
    gold = [(item.label, item.text, item.agrees) for item in first.gold]
    assert gold == [("PER", "Anna", True), ("LOC", "New York", False), ("DATE", "day 0", True)]
    assert [item.agrees for item in first.predicted] == [True, False, True]


def test_the_intent_of_an_error_stands_after_its_slots(metrics):
    error = {
        "text": "play jazz",
        "words": ["play", "jazz"],
        "language": None,
        "gold": ["O", "B-genre", "PlayMusic"],
        "predicted": ["O", "B-genre", "Rate"],
    }
    changes = {"task": "intent_slots", "errors": [error]}
    (found,) = mistakes(Metrics.from_json(metrics | changes))
    gold = [(item.label, item.text, item.agrees) for item in found.gold]
    assert gold == [("genre", "jazz", True), ("PlayMusic", "", False)]


def test_errors_of_a_text_are_its_label(metrics):
    example = {"words": ["play", "it"], "text": "play it", "language": "en"}
    labels = {"gold": ["PlayMusic"], "predicted": ["AddToPlaylist"]}
    (found,) = mistakes(Metrics.from_json(metrics | {"errors": [example | labels]}))
    assert [(i.label, i.text, i.agrees) for i in found.gold] == [("PlayMusic", "", False)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"systems": None}, "systems: Input should be a valid tuple"),
        ({"systems": [{"name": "x"}]}, r"systems\.0\.id: Field required"),
        ({"errors": [{"text": "x"}]}, r"errors\.0\.gold: Field required"),
        ({"colour": "red"}, "colour: Extra inputs"),
    ],
)
def test_another_shape_is_refused_by_name(metrics, change, message):
    with pytest.raises(DataError, match=message):
        Metrics.from_json(metrics | change)


def _paths(value, prefix=()):
    """Every key of nested mappings and every item of lists of mappings."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*prefix, key)
            yield from _paths(inner, (*prefix, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for i, inner in enumerate(value):
            yield (*prefix, i)
            yield from _paths(inner, (*prefix, i))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_what_is_missing_is_an_error_or_is_shown_as_missing(metrics, data):
    changed = copy.deepcopy(metrics)
    chosen = data.draw(st.lists(st.sampled_from(list(_paths(changed))), max_size=4))
    nothing = data.draw(st.booleans())
    for path in sorted(chosen, key=str, reverse=True):
        node = changed
        try:
            for key in path[:-1]:
                node = node[key]
            if nothing and isinstance(node, dict):
                node[path[-1]] = None
            else:
                del node[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # a part above it is gone already
    try:
        results = Metrics.from_json(changed)
    except DataError:
        return
    assert len(answer.figures(results)) == (2 if results.delivered.export is None else 5)
    assert render_model_card(results).startswith("---\n")


def test_labels_unseen_in_train_have_a_table(metrics, history):
    table = tables.unknown_table(Metrics.from_json(metrics))
    assert table.head == ("label", "kind", "dev", "test")
    assert table.rows == (("PERIOD", "tags", "2", "1"), ("DAY", "tags", "0", "17"))
    row = re.compile(r"DAY</th>\s*<td[^>]*>tags</td>\s*<td[^>]*>0</td>\s*<td[^>]*>17</td>")
    assert row.search(render_html(Metrics.from_json(metrics), history))
    card = render_model_card(Metrics.from_json(metrics))
    assert "Labels that train does not have: each is a miss in every score." in card
    assert "| DAY | tags | 0 | 17 |" in card
    del metrics["unknown_labels"]
    assert tables.unknown_table(Metrics.from_json(metrics)) is None
    assert "train does not have" not in render_model_card(Metrics.from_json(metrics)) + render_html(
        Metrics.from_json(metrics), history
    )


def test_a_row_for_each_stage_and_unfrozen_group(metrics):
    metrics["monitors"] = {"logits": "loss", "labels": "metric"}
    phases = [
        {"name": "logits.heads", "best": 0.51234, "updates": 40, "score": 0.0},
        {"name": "labels", "best": 71.26, "updates": 1200, "score": 71.26},
    ]
    metrics["phases"] = {"student": phases, "teacher": phases[:1]}
    table = tables.phases_table(Metrics.from_json(metrics))
    assert table.rows == (
        ("logits", "heads", "40", "0.5123", "0.0"),
        ("labels", "all at once", "1,200", "–", "71.3"),
    )
    metrics["phases"] = {"student": phases[:1]}
    assert tables.phases_table(Metrics.from_json(metrics)) is None
