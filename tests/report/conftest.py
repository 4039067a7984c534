"""Invented numbers of an invented run; nothing here was measured."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest

from tfdistil.metrics.bootstrap import BootstrapResult

LANGUAGES = ["de", "en", "es", "hi", "ja"]


TEACHER = {"dev": 77.2, "test": 76.1, "test_unseen": 74.0}


def _scores(dev: float, test: float, unseen: float) -> dict[str, dict[str, float]]:
    return {
        name: {
            "span_f1": value,
            "span_precision": value + 0.9,
            "span_recall": value - 0.9,
            "conll_f1": value + 0.2,
        }
        for name, value in (("dev", dev), ("test", test), ("test_unseen", unseen))
    }


def _latency(p50: float) -> dict[str, Any]:
    return {
        "online_ms": {"p50": p50, "p90": p50 * 1.08, "p99": p50 * 1.6},
        "batch_ms": {"p50": p50 * 20, "p90": p50 * 22, "p99": p50 * 30},
        "queries_per_second": 32_000 / (p50 * 20),
        "peak_rss_bytes": int(6e7 + p50 * 1e7),
    }


def _spans(found: int) -> dict[str, dict[str, int]]:
    row = dict.fromkeys(("label", "boundary", "both", "missed", "invented"), 3)
    return {"all": {"right": found} | row, "a word that train lacks": {"right": found // 2} | row}


def _labels(shift: float) -> dict[str, dict[str, float]]:
    rows = {"PER": (88.0, 412), "LOC": (81.0, 377), "ORG": (63.0, 290), "DATE": (90.5, 18)}
    return {
        label: {"precision": f1 + 1, "recall": f1 - 1, "f1": f1 + shift, "support": support}
        for label, (f1, support) in rows.items()
    }


def _gain(difference: float, low: float, high: float) -> dict[str, Any]:
    """`BootstrapResult` as plain data; what the pages do not show is 0."""
    shown = {"difference": difference, "low": low, "high": high}
    return (
        dict.fromkeys(BootstrapResult.__dataclass_fields__, 0)
        | shown
        | {
            "confidence": 95.0,
            "resamples": 1000,
        }
    )


def _system(id: str, role: str, parameters: int, scores: dict[str, Any]) -> dict[str, Any]:
    own = {name: values["span_f1"] for name, values in scores.items()}
    return {
        "id": id,
        "role": role,
        "model": id.removesuffix(".tflite"),
        "parameters": parameters,
        "scores": scores,
        "teacher": None if role == "teacher" else "teacher",
        "retention": {}
        if role == "teacher"
        else {name: 100 * value / TEACHER[name] for name, value in own.items()},
    }


def _export() -> dict[str, Any]:
    return {
        "ops": {
            name: {"FULLY_CONNECTED": 66, "MUL": 130, "ADD": 128, "LOGISTIC": 96, "GATHER": 1}
            for name in ("online", "batch")
        },
        "flex": 0,
        "custom": 0,
        "float_ops": 12,
        "float_operators": {"online": {"DEQUANTIZE": 6}, "batch": {"DEQUANTIZE": 6}},
        "constants": {"int8": 1_800_000, "int32": 4_096},
        "parts": {"pieces": 1_400_000, "body": 404_096, "operators": 45_904},
        "signatures": {
            "online": {"batch": 1, "length": 32},
            "batch": {"batch": 32, "length": 32},
        },
        "min_runtime": "2.0.0",
        "quantize": "int8",
        "path": "student.tflite",
        "bytes": 1_930_000,
        "model_bytes": 1_850_000,
        "scores": {
            "keras": {"span_f1": 74.5, "conll_f1": 74.7},
            "file": {"span_f1": 74.3, "conll_f1": 74.5},
        },
        "drop": 0.2,
        "drop_low": -0.1,
        "drop_high": 0.5,
        "metric": "span_f1",
        "parameters": 1_912_345,
        "examples": 1000,
        "windowed": 3,
        "seconds": 41.2,
        "drift": {"tags": {"max": 0.31, "mean": 0.02, "spread": 4.1, "agreement": 0.9991}},
        "agreement": 0.9991,
        "probes": {
            "shorter": {"tags": {"max": 0.27, "mean": 0.03, "spread": 3.9, "agreement": 0.998}},
            "longer": {"tags": {"max": 0.33, "mean": 0.02, "spread": 4.0, "agreement": 0.9987}},
        },
        "paths": {"tags": {"words": 812, "keras": 0.9994, "runtime": 1.0}},
    }


@pytest.fixture
def metrics() -> dict[str, Any]:
    """Every key a report reads, filled in; a fresh copy for each test."""
    teacher = _system("teacher", "teacher", 22_713_216, _scores(*TEACHER.values()))
    teacher |= {
        "bytes": 90_900_000,
        "latency": _latency(39.5),
        "languages": dict(zip(LANGUAGES, (80.1, 84.2, 79.0, 70.3, 66.9), strict=True)),
        "labels": _labels(2.0),
        "spans": _spans(88),
    }
    baseline = _system("baseline", "baseline", 1_912_345, _scores(62, 61.4, 58.0))
    student = _system("student", "student", 1_912_345, _scores(74.5, 74.1, 71.0))
    student["gain"] = {"dev": _gain(12.5, 10.9, 14.0), "test": _gain(12.7, 11.1, 14.2)}
    file = _system("student.tflite", "file", 1_912_345, _scores(74.3, 73.9, 70.8))
    file |= {
        "bytes": 1_930_000,
        "latency": _latency(0.26),
        "languages": dict(zip(LANGUAGES, (78.0, 82.9, 77.1, 67.5, 63.9), strict=True)),
        "labels": _labels(0.0),
        "spans": _spans(68),
        "export": _export(),
    }
    names = ("teacher", "student (no distillation)", "student (distilled)", "student int8")
    systems = [teacher, baseline, student, file]
    return {
        "name": "demo-tags",
        "task": "tags",
        "metric": "span_f1",
        "seed": 13,
        "languages": LANGUAGES,
        "main": "student.tflite",
        "systems": [one | {"name": name} for one, name in zip(systems, names, strict=True)],
        "reference": {
            "name": "mbert-shape",
            "parameters": 177_000_000,
            "bytes": 708_000_000,
            "latency": _latency(57.7),
        },
        "unknown_labels": {
            "dev": {"tags": {"PERIOD": 2}},
            "test": {"tags": {"PERIOD": 1, "DAY": 17}},
        },
        "errors": [
            {
                "text": f"Anna flew to New York on day {day}",
                "words": f"Anna flew to New York on day {day}".split(),
                "gold": ["B-PER", "O", "O", "B-LOC", "I-LOC", "O", "B-DATE", "I-DATE"],
                "predicted": ["B-PER", "O", "O", "B-ORG", "I-ORG", "O", "B-DATE", "I-DATE"],
                "language": "en",
            }
            for day in range(12)
        ],
        "data": {
            "train": 6000,
            "dev": 1000,
            "test": 1000,
            "transfer": 40_000,
            "transfer_dropped": 312,
            "test_seen_in_train": 21,
            "lengths": {
                "train": {"median": 9, "p95": 21, "maximum": 48},
                "test": {"median": 9, "p95": 20, "maximum": 37},
            },
        },
        "monitors": {"fine_tune": "metric", "representation": "loss", "labels": "metric"},
        "wall_clock_s": {"teacher": 612.3, "student": 1380.0, "baseline": 845.1, "export": 41.2},
        "environment": {
            "cpu": "Example CPU @ 2.0 GHz",
            "cores": 2,
            "python": "3.11.2",
            "tensorflow": "2.21.0",
            "keras": "3.15.1",
            "litert": "2.3.0",
        },
        "examples": ["Anna doesn't fly to New York"],
        "command": "tfdistil run demo.yaml --out runs/demo",
    }


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A history.csv as a run writes it."""
    path = tmp_path / "history.csv"
    plan = [
        ("teacher", "fine_tune", 4, 190, 20.0, 77.0),
        ("student", "representation", 6, 400, 0.9, 0.2),
        ("student", "labels.labels", 4, 400, 0.0, 55.0),
        ("student", "labels.encoder", 4, 400, 55.0, 71.0),
        ("student", "labels.embedding", 4, 400, 71.0, 74.5),
        ("baseline", "labels_only", 12, 600, 0.0, 62.0),
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "phase", "epoch", "updates", "name", "value"])
        for model, phase, epochs, every, first, last in plan:
            for epoch in range(epochs + 1):
                value = last - (last - first) * math.exp(-1.1 * epoch)
                writer.writerow([model, phase, epoch, epoch * every, "monitored", f"{value:.6g}"])
                if epoch:
                    loss = 2.1 * math.exp(-0.4 * epoch) + 0.05
                    writer.writerow([model, phase, epoch, epoch * every, "loss", f"{loss:.6g}"])
    return path
