"""The table, from figures that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tfdistil.benchmarks.latency import Benchmark, Measurement, Protocol
from tfdistil.benchmarks.model import Shape
from tfdistil.benchmarks.table import COLUMNS, format_table
from tfdistil.benchmarks.timing import Timing


def measurement(name: str, ms: float, size: int, batch: float | None, text: float | None = None):
    def timing(value: float) -> Timing:
        return Timing(np.full((2, 5), value))

    return Measurement(
        name=name,
        path=Path(f"{name}.tflite"),
        bytes=size,
        parameters=1_234_567,
        online=timing(ms),
        online_shape=Shape("online", 1, 8, {}),
        batch=None if batch is None else timing(batch),
        batch_shape=None if batch is None else Shape("batch", 16, 8, {}),
        text=None if text is None else timing(text),
        cold_text=None if text is None else timing(2 * text),
        memory={"load_ms": 12.0, "peak_rss_bytes": 50_000_000, "base_rss_bytes": 40_000_000},
    )


@pytest.fixture
def benchmark() -> Benchmark:
    student = measurement("student", 0.5, 2_000_000, batch=8.0, text=0.75)
    teacher = measurement("the-teacher", 20.0, 100_000_000, batch=400.0)
    return Benchmark((student, teacher, measurement("bare", 1.0, 1_000_000, None)), Protocol())


ELSEWHERE = ("256 rows ms", "memory")  # of accelerators alone, of phones alone
MEASURED = [name for name in COLUMNS if name not in ELSEWHERE]


def cells(line: str) -> dict[str, str]:
    return dict(zip(MEASURED, [cell for cell in line.split("  ") if cell.strip()], strict=True))


def test_every_figure_stands_in_its_column(benchmark):
    header, student, teacher, bare, *_ = format_table(benchmark.to_json()).splitlines()
    assert [cell.strip() for cell in header.split("  ") if cell.strip()] == MEASURED
    found = {name: cell.strip() for name, cell in cells(student).items()}
    assert found == {
        "model": "student",
        "parameters": "1,234,567",
        "file": "2.00 MB",
        "p50 ms": "0.500",
        "p90": "0.500",
        "p99": "0.500",
        "batch ms": "8.00",
        "queries/s": "2,000",
        "text ms": "0.750",
        "cold": "1.500",
        "load ms": "12.0",
        "peak RSS": "50 MB",
    }
    assert cells(teacher)["text ms"].strip() == "-"
    assert cells(bare)["batch ms"].strip() == cells(bare)["queries/s"].strip() == "-"
    assert len({len(line) for line in (header, student, teacher, bare)}) == 1


def test_ratios_are_to_the_first_model(benchmark):
    teacher, bare, where = format_table(benchmark.to_json()).splitlines()[4:]
    assert teacher == (
        "the-teacher against student: 50.0x the size, online 40.0x the time (40.0 to 40.0 over the "
        "rounds), batch 50.0x the time (50.0 to 50.0 over the rounds)"
    )
    assert bare.startswith("bare against student: 0.5x the size, online 2.0x the time")
    assert "batch" not in bare
    assert benchmark.to_json()["ratios"]["bare"]["batch"] is None
    environment = benchmark.to_json()["environment"]
    assert where.startswith(f"on {environment['cpu']}")
    assert where.endswith(f"ai-edge-litert {environment['ai-edge-litert']}")


def test_one_model_has_no_ratios(benchmark):
    alone = Benchmark(benchmark.models[:1], Protocol())
    assert len(format_table(alone.to_json()).splitlines()) == 3
    assert alone.to_json()["ratios"] == {}


def test_columns_without_a_figure_are_left_out(benchmark):
    data = benchmark.to_json()
    for model in data["models"]:
        model |= {"online_ms": None, "text_ms": None, "cold_text_ms": None}
        model["resident_bytes"] = 600_000
        del model["peak_rss_bytes"]
    header, student, *_ = format_table(data).splitlines()
    left_out = ("256 rows ms", "p50 ms", "p90", "p99", "text ms", "cold", "peak RSS")
    titles = [cell.strip() for cell in header.split("  ") if cell.strip()]
    assert titles == [title for title in COLUMNS if title not in left_out]
    assert student.endswith("  0.6 MB")
    assert len(student) == len(header)
