from __future__ import annotations

import copy
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfdistil.errors import DataError
from tfdistil.report import answer, tables
from tfdistil.report.html import render_html
from tfdistil.report.mistakes import mistakes
from tfdistil.report.model_card import render_model_card
from tfdistil.report.results import Results


def test_the_delivered_model_is_compared_with_its_own_teacher(metrics):
    results = Results(metrics)
    assert results.delivered.name == "student int8"
    assert results.main_set == "test"
    assert results.smaller(results.teacher) == pytest.approx(90.9 / 1.93)
    assert results.faster(results.teacher) == pytest.approx(39.5 / 0.26)
    assert results.faster(results.reference) == pytest.approx(57.7 / 0.26)


def test_retention_is_taken_as_given_or_worked_out(metrics):
    results = Results(metrics)
    assert results.retention(results.delivered, "test") == 97.109
    assert results.retention(results.twin, "test") == pytest.approx(100 * 61.4 / 76.1)
    assert results.retention(results.delivered, "dev") == pytest.approx(100 * 74.3 / 77.2)


def test_the_reference_shape_has_no_score_and_stands_beside_none(metrics):
    results = Results(metrics)
    assert results.reference.scores == {}
    assert not any("mbert" in row[0] for row in tables.systems_table(results).rows)
    speed = tables.speed_table(results)
    assert [row[0] for row in speed.rows] == [
        "teacher",
        "student int8",
        "mbert-shape (random weights)",
    ]
    assert not any("F1" in name or "retention" in name for name in speed.flat_head)


def test_the_sentence_is_the_answer(metrics):
    assert answer.sentence(Results(metrics)) == (
        "The exported file keeps 97.1 % of its teacher's span F1 on test, is 47 times smaller "
        "and is 152 times faster."
    )


def test_what_is_larger_and_slower_is_called_so(metrics):
    (file,) = (system for system in metrics["systems"] if system["kind"] == "tflite")
    file["bytes"] *= 1000
    file["latency"]["online_ms"]["p50"] *= 1000
    assert answer.sentence(Results(metrics)).endswith("is 21 times larger and is 6.6 times slower.")
    values = [figure.value for figure in answer.figures(Results(metrics))]
    assert values[1:3] == ["21× larger", "6.6× slower"]


def test_flex_or_custom_operators_are_a_no(metrics):
    metrics["export"]["custom"] = 2
    stock = answer.figures(Results(metrics))[3]
    assert (stock.value, stock.state) == ("No", "bad")
    assert "0 Flex and 2 custom" in stock.detail
    assert answer.sentence(Results(metrics)).endswith("but does not run on the stock runtime.")


def test_a_gain_that_may_be_none_is_called_so(metrics):
    metrics["significance"]["test"] |= {"difference": 0.3, "low": -0.4, "high": 1.1}
    lines = answer.gain(Results(metrics))
    assert "by +0.3 points (95 % interval −0.4 to +1.1, paired bootstrap of 1,000" in lines[1]
    assert lines[1].endswith("too small to tell it from no change.")
    assert lines[2] == "On test, unseen, distillation changes span F1 by +13.0 points."


def test_language_tables_may_carry_all_scores(metrics):
    plain = Results(metrics).per_language("test")["student int8"]
    wrapped = {"languages": {code: {"span_f1": value} for code, value in plain.items()}}
    metrics["per_language"]["test"]["student int8"] = wrapped | {"mean": {"span_f1": 1.0}}
    assert Results(metrics).per_language("test")["student int8"] == plain


def test_tables_have_a_cell_for_every_column(metrics):
    results = Results(metrics)
    made = [
        tables.systems_table(results),
        tables.metrics_table(results),
        tables.speed_table(results),
        tables.languages_table(results),
        tables.labels_table(results),
        *tables.export_tables(results),
        tables.clock_table(results),
        *tables.nested_tables(metrics["data"]),
    ]
    for table in made:
        assert {len(row) for row in table.rows} == {len(table.head)}
        if table.groups:
            assert sum(columns for _, columns in table.groups) == len(table.head)


def test_errors_show_spans_and_what_is_not_shared(metrics):
    first = mistakes(Results(metrics), "test")[0]
    gold = [(item.label, item.text, item.agrees) for item in first.gold]
    assert gold == [("PER", "Anna", True), ("LOC", "New York", False), ("DATE", "day 0", True)]
    assert [item.agrees for item in first.predicted] == [True, False, True]


def test_the_intent_of_an_error_stands_after_its_slots(metrics):
    error = {
        "text": "play jazz",
        "gold": ["O", "B-genre", "PlayMusic"],
        "predicted": ["O", "B-genre", "Rate"],
    }
    changes = {"task": "intent_slots", "errors": {"test": [error]}}
    (found,) = mistakes(Results(metrics | changes), "test")
    gold = [(item.label, item.text, item.agrees) for item in found.gold]
    assert gold == [("genre", "jazz", True), ("PlayMusic", "", False)]


def test_operators_may_come_without_signatures(metrics):
    metrics["export"]["ops"] = {"ADD": 3, "MUL": 5}
    results = Results(metrics)
    assert tables.ops_table(results).rows == (("MUL", "5"), ("ADD", "3"), ("all", "8"))
    assert "among 8." in answer.figures(results)[3].detail


def test_errors_may_be_labels_or_spans_with_text(metrics):
    metrics["errors"] = {
        "test": [
            {"text": "play it", "gold": ["PlayMusic"], "predicted": ["AddToPlaylist"]},
            {
                "text": "a b",
                "gold": [{"label": "X", "text": "a"}],
                "predicted": [{"label": "X", "text": "a"}, {"label": "X", "text": "b"}],
            },
            {"text": "x", "gold": "yes", "predicted": "no"},
        ]
    }
    label, spans, bare = mistakes(Results(metrics), "test")
    assert [(i.label, i.text, i.agrees) for i in label.gold] == [("PlayMusic", "", False)]
    assert [i.agrees for i in spans.predicted] == [True, False]
    assert bare.gold[0].label == "yes"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"systems": None}, "expected a list at `systems`"),
        ({"systems": [{"name": "x"}]}, r"`systems\[0\]` has no `kind`"),
        ({"export": [1]}, "expected a mapping or nothing at `export`, got list"),
        ({"errors": {"test": [{"text": "x"}]}}, r"`errors\.test\[0\]` has no `gold`"),
    ],
)
def test_another_shape_is_refused_by_name(metrics, change, message):
    def read():
        results = Results(metrics | change)
        answer.figures(results)
        mistakes(results, "test")

    with pytest.raises(DataError, match=message):
        read()


def test_the_required_keys_are_named():
    with pytest.raises(DataError, match="`systems` is missing"):
        Results({"metric": "span_f1"})


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


REQUIRED = ("metric", "systems", "name", "kind", "text", "gold", "predicted")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_optional_part_may_be_missing(metrics, data):
    changed = copy.deepcopy(metrics)
    optional = [path for path in _paths(changed) if path[-1] not in REQUIRED]
    chosen = data.draw(st.lists(st.sampled_from(optional), max_size=8))
    nothing = data.draw(st.booleans())
    for path in sorted(chosen, key=lambda path: str(path), reverse=True):
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
    results = Results(changed)
    answer.sentence(results)
    assert len(answer.figures(results)) == 5
    for where in results.part("errors"):
        mistakes(results, where)
    tables.nested_tables(results.part("data"))
    tables.export_tables(results)
    assert render_model_card(changed).startswith("---\n")


def test_labels_unseen_in_train_have_a_table(metrics, history):
    table = tables.unknown_table(Results(metrics))
    assert table.head == ("label", "kind", "dev", "test")
    assert table.rows == (("PERIOD", "tags", "2", "1"), ("DAY", "tags", "0", "17"))
    row = re.compile(r"DAY</th>\s*<td[^>]*>tags</td>\s*<td[^>]*>0</td>\s*<td[^>]*>17</td>")
    assert row.search(render_html(metrics, history))
    card = render_model_card(metrics)
    assert "Labels that train does not have: each is a miss in every score." in card
    assert "| DAY | tags | 0 | 17 |" in card
    del metrics["unknown_labels"]
    assert tables.unknown_table(Results(metrics)) is None
    assert "train does not have" not in render_model_card(metrics) + render_html(metrics, history)


def test_a_row_for_each_stage_and_unfrozen_group(metrics):
    metrics["monitors"] = {"logits": "loss", "labels": "metric"}
    metrics["phases"] = [
        {"name": "logits.heads", "best": 0.51234, "updates": 40, "score": 0.0},
        {"name": "labels", "best": 71.26, "updates": 1200, "score": 71.26},
    ]
    table = tables.phases_table(Results(metrics))
    assert table.rows == (
        ("logits", "heads", "40", "0.5123", "0.0"),
        ("labels", "all at once", "1,200", "–", "71.3"),
    )
    metrics["phases"] = metrics["phases"][:1]
    assert tables.phases_table(Results(metrics)) is None
