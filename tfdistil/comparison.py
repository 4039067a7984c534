"""``metrics.json``: every system of a run beside the teacher, from what the steps left behind."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.concerns import concerns
from tfdistil.data.example import Example
from tfdistil.evaluation import errors
from tfdistil.metrics.bootstrap import paired_bootstrap, retention
from tfdistil.metrics.tables import language_table
from tfdistil.run_folder import model_step, versions
from tfdistil.tasks import Prediction, Task

if TYPE_CHECKING:
    from tfdistil.recipe import Recipe
    from tfdistil.runs import Run

KINDS = {
    "teacher": "teacher",
    "twin": "student (no distillation)",
    "student": "student ({source})",
    "tflite": "student {quantize}",
}
"""Kinds of systems in the order of the tables, and what they are called."""

MODELS = {kind: "student" if kind == "tflite" else kind for kind in KINDS}
"""The model that a kind of system is."""

EVALUATIONS = ("evaluate", "evaluate_file")
"""The steps that leave predictions: of what was trained, and of the file."""

Predictions = dict[str, list[Prediction]]


def system_name(kind: str, recipe: Recipe) -> str:
    """What a kind of system is called in tables."""
    lineage = recipe.lineage("student")
    taught = any(stage.teacher for stage in recipe.distill if stage.student in lineage)
    quantize = recipe.export.quantize
    return KINDS[kind].format(
        source="distilled" if taught else "labels only",
        quantize={"none": "float32"}.get(quantize, quantize),
    )


def compare(work: Run) -> dict[str, Any]:
    """Everything the report shows."""
    corpus, folder, recipe = work.corpus, work.folder, work.recipe
    task, sets = corpus.task, corpus.score_sets()
    evaluated = [kind for step in EVALUATIONS for kind in folder.facts(step)["systems"]]
    kinds = [kind for kind in KINDS if kind in evaluated]
    found = {kind: predictions_of(work, kind) for kind in kinds}
    name = {kind: system_name(kind, recipe) for kind in kinds}
    scores = {
        kind: {key: task.score(sets[key], rows) for key, rows in found[kind].items()}
        for kind in kinds
    }
    timed = folder.facts("benchmark")
    latency = {"teacher": timed["teacher"], "tflite": timed["student"]}
    last = "test" if "test" in sets else "dev"
    return {
        "name": recipe.name,
        "task": recipe.task.kind,
        "metric": task.metric,
        "seed": recipe.seed,
        "systems": [
            {
                "name": name[kind],
                "kind": kind,
                "parameters": folder.facts(model_step(MODELS[kind]))["parameters"],
                "bytes": latency[kind]["bytes"] if kind in latency else None,
                "scores": scores[kind],
                "latency": latency.get(kind),
            }
            for kind in kinds
        ],
        "reference": timed.get("reference"),
        "ratios": timed["ratios"],
        "retention": {
            key: {
                name[kind]: retention(
                    scores[kind][key][task.metric], scores["teacher"][key][task.metric]
                )
                for kind in kinds
                if kind != "teacher"
            }
            for key in sets
        },
        "concerns": concerns(task, sets, found, last),
        "significance": _gain(task, sets, found) if "twin" in found else {},
        "per_language": {
            last: {name[kind]: _by_language(task, sets[last], found[kind][last]) for kind in kinds}
        },
        "per_label": {
            last: {
                name[kind]: task.label_scores(sets[last], found[kind][last])
                for kind in ("teacher", "tflite")
            }
        },
        "errors": {last: errors(sets[last], found["tflite"][last])},
        "examples": [_text(e) for e in (corpus.test or corpus.dev)[:3]],
        "data": corpus.counts,
        "unknown_labels": corpus.unknown_labels,
        "phases": work.phases("student"),
        "languages": corpus.languages,
        "export": folder.facts("export"),
        "wall_clock_s": {
            step.removeprefix(model_step("")): facts["seconds"]
            for step, facts in folder.manifest["steps"].items()
        },
        "environment": environment(),
        "monitors": {"pretrain": "loss", **{s.name: s.stop.monitor for s in recipe.distill}},
        "command": f"tfdistil run recipe.yaml --out {folder.path.name}",
    }


def _text(example: Example) -> str:
    """A text as ``tfdistil predict`` takes it: the two of a pair with a tab between them."""
    return "\t".join(" ".join(words) for words in (example.words, example.second) if words)


def predictions_of(work: Run, kind: str) -> Predictions:
    """What `evaluate_step` wrote for a system, and the part of test that train has not seen.

    Args:
        work: a run.
        kind: one of `KINDS`.

    Raises:
        FileNotFoundError: the run has not come so far, or has no such system.
    """
    found: Predictions = {}
    for key in work.corpus.score_sets():
        if key == "test_unseen":
            seen = set(work.corpus.seen_in_train)
            found[key] = [p for i, p in enumerate(found["test"]) if i not in seen]
        else:
            path = work.folder.path / "predictions" / f"{kind}.{key}.jsonl"
            found[key] = read_predictions(path)
    return found


def write_predictions(predictions: Sequence[Prediction]) -> str:
    """Predictions as JSON lines: tags and label, without scores."""
    lines = []
    for prediction in predictions:
        row: dict[str, Any] = {}
        if prediction.tags is not None:
            row["tags"] = list(prediction.tags)
        if prediction.label is not None:
            row["label"] = prediction.label
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def read_predictions(path: Path) -> list[Prediction]:
    """What `write_predictions` wrote."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Prediction(tags=tuple(row["tags"]) if "tags" in row else None, label=row.get("label"))
        for row in rows
    ]


def _gain(
    task: Task, sets: dict[str, tuple[Example, ...]], found: dict[str, Predictions]
) -> dict[str, Any]:
    """The distilled student against its twin on the same sentences, with 95 % intervals."""
    return {
        key: asdict(
            paired_bootstrap(
                task.statistics(examples, found["twin"][key]),
                task.statistics(examples, found["student"][key]),
            )
        )
        for key, examples in sets.items()
    }


def _by_language(
    task: Task, examples: Sequence[Example], predictions: Sequence[Prediction]
) -> dict[str, float]:
    table = language_table(
        [e.language for e in examples],
        lambda rows: task.score([examples[i] for i in rows], [predictions[i] for i in rows]),
    )
    return {language: scores[task.metric] for language, scores in table.languages.items()}


def environment() -> dict[str, Any]:
    """The processor and the versions a figure was measured with."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    return {"cpu": model, "cores": os.cpu_count(), **versions()}
