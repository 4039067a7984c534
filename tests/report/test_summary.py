"""The end of a run: a table that fits a terminal, and what to type next."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tfdistil.report.summary import print_summary, summary_table
from tfdistil.runs.run_metrics import Metrics

EXPORT = {
    **dict.fromkeys(
        ("bytes", "model_bytes", "parameters", "flex", "custom", "float_ops", "examples"), 1
    ),
    "ops": {"online": {"ADD": 1}},
    **{key: {} for key in ("signatures", "float_operators", "constants")},
    **{key: {} for key in ("drift", "probes", "scores")},
    **dict.fromkeys(("agreement", "drop", "drop_low", "drop_high", "windowed", "seconds"), 1),
    **{"path": "student.tflite", "quantize": "int8", "metric": "span_f1", "min_runtime": None},
}
QUANTILES = ("p50", "p90", "p99")
TIMES = {"batch_ms": {"p50": 1.0}, "queries_per_second": 1.0, "peak_rss_bytes": 1}


@pytest.fixture
def metrics():
    def system(id, name, role, score, size=None, p50=None, kept=None):
        scores = {part: {"span_f1": score} for part in ("dev", "test", "test_unseen")}
        return {
            "id": id,
            "name": name,
            "role": role,
            "model": id.removesuffix(".tflite"),
            "scores": scores,
            "teacher": None if kept is None else "teacher",
            "retention": {} if kept is None else dict.fromkeys(scores, kept),
            "parameters": 1_500_000,
            "bytes": size,
            "latency": None
            if p50 is None
            else {"online_ms": dict.fromkeys(QUANTILES, p50), **TIMES},
        }

    file = system("student.tflite", "student int8", "file", 85.5, 1_600, 0.25, kept=95.0)
    ratio = {"bytes": 25.0, "online": {"median": 50}, "batch": {"median": 9}}
    return {
        "name": "mine",
        "task": "tags",
        "metric": "span_f1",
        "seed": 1,
        "main": "student.tflite",
        "systems": [
            system("teacher", "teacher", "teacher", 90.0, 40_000_000, 12.5),
            system("student", "student (distilled)", "student", 87.3, kept=97.0),
            file | {"ratios": {"teacher": ratio}, "export": EXPORT},
        ],
        "examples": ["wake me [red]up[/red]"],
    }


def cells(metrics) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=200)
    console.print(summary_table(Metrics.from_json(metrics)))
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
        for key in ("scores", "retention"):
            system[key] = {name: of for name, of in system[key].items() if name == "dev"}
    assert cells(metrics)[1][:3] == ["student (distilled)", "87.30", "97.0 %"]


def test_the_reference_has_no_score(metrics):
    metrics["reference"] = {
        "name": "mbert-shape",
        "parameters": 177_000_000,
        "bytes": 708_000_000,
        "latency": {"online_ms": dict.fromkeys(QUANTILES, 57.7), **TIMES},
    }
    assert cells(metrics)[-1] == [
        *["mbert-shape (no score)", "", "", "", ""],
        *["177 M", "708 MB", "57.700"],
    ]


def test_what_comes_next_is_on_standard_output(metrics, tmp_path, capsys):
    print_summary(Metrics.from_json(metrics), tmp_path)
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "25× smaller, 50× faster online, 9.0× faster in batches" in captured.out
    assert f"report:  {tmp_path / 'report.html'}\n" in captured.out  # not broken by the width
    command = f"tfdistil predict {tmp_path / 'student.tflite'} 'wake me [red]up[/red]'"
    assert command in captured.out
