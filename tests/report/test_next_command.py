"""The command that is offered is what a shell hands on, whatever the text."""

from __future__ import annotations

import subprocess

import pytest

from tfdistil.report.next_command import example_of, in_python, in_shell
from tfdistil.runtime.runtime import Runtime

TEXTS = [
    "wake me up",
    'en " jernnæve " .',
    "it's $HOME `ls` \\n !",
    "it's\tin a pair \\t",
    "one\ttwo",
    "-- what",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_shell_hands_the_text_on(text):
    command = in_shell("my runs/student.tflite", example_of([text]))
    said = subprocess.run(
        ["bash", "-c", f"set -- {command}; printf '%s\\0' \"$@\""], capture_output=True, check=True
    )
    words = said.stdout.decode().split("\0")[:-1]
    dashes = ["--"] if text.startswith("-") else []
    assert words == ["tfdistil", "predict", "my runs/student.tflite", *dashes, text]


@pytest.mark.parametrize("text", TEXTS)
def test_python_gets_the_text_or_the_pair(text, monkeypatch):
    monkeypatch.setattr(Runtime, "__init__", lambda self, path: None)
    monkeypatch.setattr(Runtime, "predict", lambda self, texts: texts)
    monkeypatch.setattr(Runtime, "predict_pairs", lambda self, pairs: ["\t".join(*pairs)])
    code = in_python("student.tflite", example_of([text]))
    assert eval(code, {"Runtime": Runtime}) == [text]


def test_line_breaks_become_spaces_and_none_is_no_error():
    assert example_of(["wake\nme  up", "b"]) == ["wake me up"]
    assert example_of([]) == ["your text"]
