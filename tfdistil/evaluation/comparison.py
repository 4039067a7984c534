"""``metrics.json``: every system of a run beside its teacher, from what the steps left behind."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.data.example import Example
from tfdistil.evaluation.concerns import Roles, beside_anchor, concerns, unmoved
from tfdistil.evaluation.evaluate import errors
from tfdistil.evaluation.span_fates import seen_in, span_errors_of
from tfdistil.files import write_text
from tfdistil.metrics.bootstrap import paired_bootstrap, retention
from tfdistil.metrics.span_errors import Seen
from tfdistil.metrics.tables import language_table
from tfdistil.recipe.systems import SystemId, baseline_of, main_of, name_of, role_of, teacher_of
from tfdistil.runs.folder import ANCHOR, BENCHMARK, EVALUATIONS, export_step, model_step, versions
from tfdistil.runs.run_metrics import (
    ROLES,
    AnchorScores,
    Export,
    Latency,
    Metrics,
    Mistake,
    Phase,
    Ratio,
    Reference,
    Scores,
    System,
)
from tfdistil.tasks import Prediction, Task

if TYPE_CHECKING:
    from tfdistil.recipe.recipe import Recipe
    from tfdistil.runs.run import Run

Predictions = dict[str, list[Prediction]]
ANCHOR_ID = "anchor.scores"
"""What the answers of the anchor are kept as; no model can have that name."""


def compare(work: Run) -> Metrics:
    """Everything the report shows."""
    corpus, folder, recipe = work.corpus, work.folder, work.recipe
    task, sets = corpus.task, corpus.score_sets()
    evaluated = [SystemId.parse(id) for s in EVALUATIONS for id in folder.facts(s)["systems"]]
    evaluated.sort(key=lambda system: ROLES.index(role_of(system, recipe)))
    found = {str(system): stored_predictions(work, system) for system in evaluated}
    scores = {
        id: {name: task.score(sets[name], rows) for name, rows in of_sets.items()}
        for id, of_sets in found.items()
    }
    main, last = main_of(recipe), "test" if "test" in sets else "dev"
    phases = {name: tuple(Phase(**phase) for phase in work.phases(name)) for name in recipe.plan()}
    timed = folder.facts(BENCHMARK)
    anchor = _anchor(work, found[str(main)], sets)
    seen = seen_in(task, corpus.train)
    return Metrics(
        name=recipe.name,
        task=recipe.task.kind,
        metric=task.metric,
        seed=recipe.seed,
        main=str(main),
        systems=tuple(
            _system(work, one, found, scores, sets, last, timed, seen) for one in evaluated
        ),
        reference=_reference(timed),
        anchor=anchor,
        concerns=(
            *unmoved(phases),
            *concerns(task, sets, found, last, _roles(main, found, recipe)),
            *beside_anchor(str(main), anchor, last),
        ),
        examples=tuple(_text(e) for e in (corpus.test or corpus.dev)[:3]),
        errors=tuple(Mistake(**one) for one in errors(sets[last], found[str(main)][last])),
        data=corpus.counts,
        drawn=corpus.drawn,
        corpus={
            name: counts
            for name in recipe.plan()
            if (counts := folder.facts(model_step(name)).get("corpus"))
        },
        unknown_labels=corpus.unknown_labels,
        phases=phases,
        monitors={
            "pretrain": "loss",
            **{stage.name: stage.stop.monitor for stage in recipe.distill},
        },
        languages=tuple(corpus.languages),
        wall_clock_s={
            step.removeprefix(model_step("")): facts["seconds"]
            for step, facts in folder.manifest["steps"].items()
        },
        environment=environment(),
        command=f"tfdistil run recipe.yaml --out {folder.path.name}",
    )


def _anchor(
    work: Run, main: Mapping[str, Sequence[Prediction]], sets: Mapping[str, Sequence[Example]]
) -> AnchorScores | None:
    if work.recipe.anchor is None:
        return None
    task, found = work.corpus.task, stored_predictions(work, ANCHOR_ID)
    own = {name: task.statistics(sets[name], rows) for name, rows in found.items()}
    return AnchorScores(
        **work.folder.facts(ANCHOR),
        scores={name: task.score(sets[name], rows) for name, rows in found.items()},
        gain={
            name: paired_bootstrap(statistics, task.statistics(sets[name], main[name]))
            for name, statistics in own.items()
        },
    )


def _roles(main: SystemId, found: Mapping[str, Predictions], recipe: Recipe) -> Roles:
    first = recipe.members_of(main.model)[0]
    teacher, baseline = teacher_of(main, recipe), baseline_of(first, recipe)
    return Roles(
        tuple(dict.fromkeys([main.model, str(main)])),
        teacher if teacher in found else None,
        baseline if baseline in found else None,
    )


def _system(
    work: Run,
    system: SystemId,
    found: Mapping[str, Predictions],
    scores: Mapping[str, Mapping[str, Scores]],
    sets: Mapping[str, tuple[Example, ...]],
    last: str,
    timed: Mapping[str, Any],
    seen: Seen | None,
) -> System:
    """One row: its scores, beside its teacher and beside the baseline."""
    recipe, folder, task = work.recipe, work.folder, work.corpus.task
    id, own, teacher = str(system), found[str(system)], teacher_of(system, recipe)
    latency = timed["models"].get(id)
    export = folder.facts(export_step(system.model)) if system.is_file else None
    baseline = None if system.is_file else baseline_of(system.model, recipe)
    shown = (str(main_of(recipe)), teacher_of(main_of(recipe), recipe))
    return System(
        id=id,
        name=name_of(system, recipe),
        role=role_of(system, recipe),
        model=system.model,
        teacher=teacher,
        parameters=folder.facts(model_step(system.model))["parameters"],
        bytes=latency["bytes"] if latency else export["bytes"] if export else None,
        scores=scores[id],
        retention={}
        if teacher is None or teacher not in scores
        else {
            key: retention(*(scores[one][key][task.metric] for one in (id, teacher)))
            for key in sets
        },
        languages=_by_language(task, sets[last], own[last]),
        labels=task.label_scores(sets[last], own[last]) if id in shown else {},
        spans=span_errors_of(task, sets[last], own[last], seen) if id in shown else {},
        gain={}
        if baseline is None or baseline not in found
        else {
            key: paired_bootstrap(
                task.statistics(examples, found[baseline][key]),
                task.statistics(examples, own[key]),
            )
            for key, examples in sets.items()
        },
        latency=_latency(latency),
        ratios={name: Ratio(**one) for name, one in timed["ratios"].get(id, {}).items()},
        export=None if export is None else Export(**export),
    )


def _latency(measured: Mapping[str, Any] | None) -> Latency | None:
    if measured is None:
        return None
    return Latency(**{key: measured.get(key) for key in Latency.model_fields})


def _reference(timed: Mapping[str, Any]) -> Reference | None:
    found = timed["reference"]
    return None if found is None else Reference(**{**found, "latency": _latency(found["latency"])})


def _text(example: Example) -> str:
    """A text as ``tfdistil predict`` takes it: the two of a pair with a tab between them."""
    return "\t".join(" ".join(words) for words in (example.words, example.second) if words)


def store_predictions(
    work: Run,
    system: SystemId | str,
    predict: Callable[[Sequence[Example]], Sequence[Prediction]],
) -> dict[str, Sequence[Prediction]]:
    """Keep, and return, a system's predictions on dev and test, where there are any."""
    sets = work.corpus.sets()
    found = {name: predict(sets[name]) for name in ("dev", "test") if sets.get(name)}
    for name, rows in found.items():
        text = write_predictions(rows, work.corpus.task.keeps_scores)
        write_text(_predictions_of(work, system, name), text)
    return found


def _predictions_of(work: Run, system: SystemId | str, set_name: str) -> Path:
    return work.folder.path / "predictions" / f"{system}.{set_name}.jsonl"


def stored_predictions(work: Run, system: SystemId | str) -> Predictions:
    """What `store_predictions` wrote for a system, and the part of test that train has not seen.

    Raises:
        FileNotFoundError: the run has not come so far, or has no such system.
    """
    found: Predictions = {}
    for key in work.corpus.score_sets():
        if key == "test_unseen":
            seen = set(work.corpus.seen_in_train)
            found[key] = [p for i, p in enumerate(found["test"]) if i not in seen]
        else:
            found[key] = read_predictions(_predictions_of(work, system, key))
    return found


def write_predictions(predictions: Sequence[Prediction], scores: bool = False) -> str:
    """Predictions as JSON lines: tags and label, without scores unless they are asked for."""
    lines = []
    for prediction in predictions:
        row: dict[str, Any] = {}
        if prediction.tags is not None:
            row["tags"] = list(prediction.tags)
        if prediction.label is not None:
            row["label"] = prediction.label
        if scores:
            row["scores"] = list(prediction.tag_scores)
            if prediction.tag_bits:
                row["bits"] = list(prediction.tag_bits)
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    return "".join(lines)


def read_predictions(path: Path) -> list[Prediction]:
    """What `write_predictions` wrote."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Prediction(
            tags=tuple(row["tags"]) if "tags" in row else None,
            tag_scores=tuple(row.get("scores", ())),
            label=row.get("label"),
            tag_bits=tuple(row.get("bits", ())),
        )
        for row in rows
    ]


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
