"""The end of a run: a table that fits a terminal, and what to type next."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tfdistil.summary import print_summary, summary_table


@pytest.fixture
def metrics():
    def system(name, kind, score, size=None, p50=None):
        scores = {part: {"span_f1": score} for part in ("dev", "test", "test_unseen")}
        latency = None if p50 is None else {"online_ms": {"p50": p50}}
        return {
            "name": name,
            "kind": kind,
            "scores": scores,
            "parameters": 1_500_000,
            "bytes": size,
            "latency": latency,
        }

    return {
        "name": "mine",
        "metric": "span_f1",
        "systems": [
            system("teacher", "teacher", 90.0, 40_000_000, 12.5),
            system("student (distilled)", "student", 87.3),
            system("student int8", "tflite", 85.5, 1_600, 0.25),
        ],
        "retention": {"test": {"student (distilled)": 97.0, "student int8": 95.0}},
        "reference": None,
        "ratios": {"teacher": {"bytes": 25.0, "online": {"median": 50}, "batch": {"median": 9}}},
        "examples": ["wake me [red]up[/red]"],
    }


def cells(metrics) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=200)
    console.print(summary_table(metrics))
    lines = console.file.getvalue().splitlines()
    return [[part.strip() for part in line.strip("│┃").split("│")] for line in lines if "│" in line]


def test_a_row_for_every_system(metrics):
    assert cells(metrics) == [
        ["teacher", *["90.00"] * 3, "100 %", "1.50 M", "40.0 MB", "12.500"],
        ["student (distilled)", *["87.30"] * 3, "97.0 %", "1.50 M", "–", "–"],
        ["student int8", *["85.50"] * 3, "95.0 %", "1.50 M", "1.6 kB", "0.250"],
    ]


def test_without_a_test_set_dev_is_compared(metrics):
    for system in metrics["systems"]:
        system["scores"] = {"dev": system["scores"]["dev"]}
    metrics["retention"] = {"dev": {"student (distilled)": 97.0}}
    assert cells(metrics)[1][:3] == ["student (distilled)", "87.30", "97.0 %"]


def test_the_reference_has_no_score(metrics):
    metrics["reference"] = {
        "name": "mbert-shape",
        "parameters": 177_000_000,
        "bytes": 708_000_000,
        "latency": {"online_ms": {"p50": 57.7}},
    }
    assert cells(metrics)[-1] == [
        *["mbert-shape (no score)", "", "", "", ""],
        *["177 M", "708 MB", "57.700"],
    ]


def test_what_comes_next_is_on_standard_output(metrics, tmp_path, capsys):
    print_summary(metrics, tmp_path)
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "25× smaller, 50× faster online, 9.0× faster in batches" in captured.out
    assert f"report:  {tmp_path / 'report.html'}\n" in captured.out  # not broken by the width
    command = f"tfdistil predict {tmp_path / 'student.tflite'} 'wake me [red]up[/red]'"
    assert command in captured.out
