"""Files of one's own from ``init`` to an answer: labels that train has not, data that changes.

The files are as ATIS is: dev and test have an intent and a type of slot that train has not.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tfdistil.cli.main import main
from tfdistil.data.demo import write_demo

pytestmark = pytest.mark.slow

SETS = [
    "models.teacher={scratch: "
    "{layers: 1, hidden_dim: 32, heads: 2, intermediate_dim: 64, vocabulary: 200}, "
    "fine_tune: {epochs: 8, learning_rate: 7.0e-3, batch_size: 16}, max_length: 32}",
    "models.student={kind: bilstm, hidden_dim: 16, embedding: {dim: 16}, max_length: 32}",
    "distill.joint.stop={epochs: 4, monitor: loss, on: dev}",
    "export={length: 16, max_drop: 100}",
    "benchmark.queries=100",
]
UNKNOWN = {"slots": {"period": 3}, "intent": {"day_name": 2}}


def rename(path: Path) -> None:
    """Give two texts an intent, and three of their spans a type, that no other text has."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    chosen = sorted(rows, key=lambda row: -len(row["spans"]))[:2]
    for row in chosen:
        row["intent"] = "day_name"
    for span in [span for row in chosen for span in row["spans"]][:3]:
        span["label"] = "period"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unseen")
    sizes = {"train": 300, "dev": 20, "test": 20, "transfer": 30}
    write_demo(folder, sizes=sizes, languages=["en"])
    for name in ("dev", "test"):
        rename(folder / "intent_slots" / f"{name}.jsonl")
    return folder


def ended_sets() -> list[str]:
    """The overrides of `ended` as the command takes them."""
    return [word for text in SETS for word in ("--set", text)]


@pytest.fixture(scope="module")
def ended(folder) -> tuple[Path, str]:
    """``init`` and ``run``, both with exit status 0: the run folder and what the run said."""
    files = [
        word
        for name in ("train", "dev", "test")
        for word in (f"--{name}", str(folder / "intent_slots" / f"{name}.jsonl"))
    ]
    recipe, out = str(folder / "mine.yaml"), folder / "run"
    options = ["--task", "intent_slots", "--student", "bilstm", "--head", "linear"]
    assert main(["init", *options, *files, recipe]) == 0
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        assert main(["run", recipe, "--out", str(out), *ended_sets()]) == 0
    return out, told.getvalue()


@pytest.fixture(scope="module")
def metrics(ended) -> dict[str, Any]:
    return json.loads((ended[0] / "metrics.json").read_text("utf-8"))


def test_the_labels_are_listed_once(ended, metrics):
    out, told = ended
    said = " ".join(told.split())
    for name in ("dev", "test"):
        listed = f"{name} has labels that train has not, each is a miss: slots period (3)"
        assert said.count(f"{listed}, intent day_name (2)") == 1
    assert metrics["unknown_labels"] == {"dev": UNKNOWN, "test": UNKNOWN}
    page, card = ((out / name).read_text("utf-8") for name in ("report.html", "MODEL_CARD.md"))
    assert page.count("<caption>Labels that train does not have") == 1
    assert card.count("\nLabels that train does not have") == 1
    assert card.count("| day\\_name | intent | 2 | 2 |") == 1


def test_they_are_misses_of_every_system(metrics):
    """No system can have more than 18 of 20 texts right."""
    for system in metrics["systems"]:
        for scores in system["scores"].values():
            assert scores["exact_match"] <= scores["intent_accuracy"] <= 90
    for table in (system["labels"] for system in metrics["systems"] if system["labels"]):
        assert (table["period"]["support"], table["period"]["f1"]) == (3, 0)
        assert (table["intent day_name"]["support"], table["intent day_name"]["f1"]) == (2, 0)
    # The check of the file counts them too: the two must not differ by what was left out.
    assert metrics["systems"][-1]["export"]["examples"] == 20


def test_the_file_answers_with_labels_of_train(ended, capsys):
    model = str(ended[0] / "student.tflite")
    assert main(["predict", model, "wake me up at seven", "--jsonl"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["label"] not in (None, "day_name")


def test_evaluate_lists_them_too(ended, capsys):
    assert main(["evaluate", str(ended[0]), "--model", "teacher", "--errors", "0"]) == 0
    text = capsys.readouterr().out
    assert text.count("each counted as a miss: slots period (3), intent day_name (2)") == 2


def test_they_are_an_error_on_request(folder, ended, capsys):
    recipe = str(folder / "mine.yaml")
    assert main(["data", "check", recipe]) == 0
    assert "each is a miss in every score: day_name, period" in capsys.readouterr().out
    strict = ["--set", "data.unknown_labels=error"]
    assert main(["data", "check", recipe, *strict]) == 1
    capsys.readouterr()
    out = folder / "strict"
    assert main(["run", recipe, "--out", str(out), *strict]) == 2
    error = capsys.readouterr().err
    assert "dev.jsonl:" in error
    assert "unknown tag 'B-period'" in error
    assert not (out / "models").exists()


@pytest.fixture
def edited(folder) -> Iterator[Path]:
    """The test file with one word changed, as long as a test runs."""
    path = folder / "intent_slots" / "test.jsonl"
    before = path.read_text("utf-8")
    row, *rest = before.splitlines()
    changed = json.loads(row)
    changed["intent"] = "night_name"
    path.write_text("\n".join([json.dumps(changed), *rest]) + "\n", "utf-8")
    yield path
    path.write_text(before, "utf-8")


def test_a_run_does_not_print_old_results_of_new_data(folder, ended, edited, tmp_path, capsys):
    from tfdistil.exporting.cli import main as export

    out = str(ended[0])
    commands = {
        "run": ["run", str(folder / "mine.yaml"), "--out", out, *ended_sets()],
        "evaluate": ["evaluate", out],
        "compare": ["compare", out, "--against", "teacher"],
        "export": [out, "--out", str(tmp_path / "file.tflite")],
    }
    before = (ended[0] / "metrics.json").read_bytes()
    for name, words in commands.items():
        assert (export if name == "export" else main)(words) == 2, name
        said = capsys.readouterr()
        assert said.out == ""
        assert f"{edited} (test) has other content" in said.err, name
        assert "Put the old files back" in said.err
    assert (ended[0] / "metrics.json").read_bytes() == before
    assert not (tmp_path / "file.tflite").exists()


def test_new_data_is_scored_by_the_labels_of_the_run(ended, edited, capsys):
    """The run's own files have changed; its models know what they learnt all the same."""
    words = ["evaluate", str(ended[0]), "--data", str(edited), "--errors", "0"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "intent night_name (1)" in said
    assert said.startswith("test.jsonl: 20 examples, exact_match ")


def test_the_old_files_put_back_are_the_old_run(folder, ended, capsys):
    assert main(["run", str(folder / "mine.yaml"), "--out", str(ended[0]), *ended_sets()]) == 0
    said = capsys.readouterr()
    assert "joint" not in said.err
    assert str(ended[0] / "report.html") in said.out
