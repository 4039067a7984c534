from __future__ import annotations

import ast
import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tfdistil.report.html import render_html
from tfdistil.report.model_card import code, escape
from tfdistil.report.model_card import render_model_card as render
from tfdistil.runs.run_metrics import Metrics


def render_model_card(metrics):
    """The card of plain data."""
    return render(Metrics.from_json(metrics))


def _split(text: str) -> tuple[dict, str]:
    _, head, body = text.split("---\n", 2)
    return YAML(typ="safe").load(head), body


def test_front_matter_is_yaml_that_programs_can_use(metrics):
    metrics["languages"] = ["no", "en", "und"]
    head, _ = _split(render_model_card(metrics))
    assert head["language"] == ["en", "no"]
    assert head["pipeline_tag"] == "token-classification"
    assert head["metrics"] == ["f1"]
    (model,) = head["model-index"]
    found = {row["dataset"]["split"]: row["metrics"][0]["value"] for row in model["results"]}
    assert found == {"dev": 74.3, "test": 73.9, "test_unseen": 70.8}


def test_tables_are_whole(metrics):
    _, body = _split(render_model_card(metrics))
    for block in re.findall(r"(?:^\|.*\n)+", body, flags=re.M):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1
    assert (
        "| student int8 | 74.3 | 73.9 | 70.8 | 96.2 % | 97.1 % | 95.7 % | 1.9 M | 1.9 MB |" in body
    )


def test_limitations_are_measurements(metrics):
    _, body = _split(render_model_card(metrics))
    limits = body.split("## Limitations measured")[1].split("##")[0]
    assert "scores −0.2 points span F1 on test against the Keras student" in limits
    assert "Languages differ by 19.0 points span F1: ja 63.9, en 82.9" in limits
    assert "The weakest label is ORG: F1 63.0 on 290 examples" in limits
    assert "span F1 is 70.8 instead of 73.9" in limits


def test_what_was_not_measured_is_not_claimed(metrics):
    student = metrics["systems"][2] | {"teacher": None, "retention": {}, "gain": {}, "scores": {}}
    alone = {key: metrics[key] for key in ("name", "task", "metric", "seed")}
    _, body = _split(render_model_card(alone | {"main": "student", "systems": [student]}))
    assert "None were measured." in body
    assert ".tflite" not in body
    assert "It was trained on the labelled sentences." in body


def test_it_says_how_to_run_the_file(metrics):
    text = render_model_card(metrics)
    (shell,) = re.findall(r"^tfdistil predict .*$", text, flags=re.M)
    example = "Anna doesn't fly to New York"
    assert shlex.split(shell) == ["tfdistil", "predict", "student.tflite", example]
    (python,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert example in [n.value for n in ast.walk(ast.parse(python)) if isinstance(n, ast.Constant)]
    del metrics["examples"]
    assert "tfdistil predict student.tflite 'your text'" in render_model_card(metrics)


def test_hostile_names_make_no_markup(metrics):
    hostile = "a|b\n# c <script> [x](y) `z`\n---"
    metrics["name"] = metrics["systems"][3]["name"] = metrics["command"] = hostile
    metrics["languages"] = ["en\n- x", "de: y"]
    text = render_model_card(metrics)
    head, body = _split(text)
    assert head["language"] == ["de: y", "en\n- x"]
    assert not re.search(r"(?<!\\)<script", body.replace(code(hostile), ""))
    assert "\n# c" not in body


@given(st.text())
def test_escaped_text_is_one_line_without_open_markup(text):
    out = escape(text)
    assert "\n" not in out
    assert not re.search(r"[|<`*\[]", re.sub(r"\\.", "", out))


@pytest.mark.parametrize("text", ["a", "a `b` c", "``", "`"])
def test_code_is_fenced_by_more_backticks_than_it_has(text):
    out = code(text)
    fence = re.match("`+", out).group()
    inner = out[len(fence) : -len(fence)].strip()
    assert inner == text
    assert fence not in re.findall("`+", inner)


def test_what_was_drawn_of_each_transfer_file_is_told(metrics):
    assert "drawn of each file" not in render_model_card(metrics)
    metrics["drawn"] = {"my_text/a.txt": {"sentences": 69235, "drawn": 2500}}
    assert re.search(r"\| my\S+a.txt \| 69,235 \| 2,500 \|", render_model_card(metrics))
    assert "my_text/a.txt" in render_html(Metrics.from_json(metrics))
