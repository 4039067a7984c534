"""The model card: Markdown with YAML front matter, to ship beside the file."""

from __future__ import annotations

import json
import re
from typing import Any

from tfdistil.report import answer, tables, units
from tfdistil.report.html import environment, known_languages, task_name
from tfdistil.report.next_command import example_of, in_python, in_shell
from tfdistil.report.table import Table, facts_table
from tfdistil.runs.run_metrics import Metrics, metric_name, set_name

_PIPELINES = {
    "tags": "token-classification",
    "intent_slots": "token-classification",
    "classes": "text-classification",
    "pair": "text-classification",
    "text": "fill-mask",
}
_METRIC_TYPES = {"span_f1": "f1", "accuracy": "accuracy", "exact_match": "exact_match"}
_USES = {
    "tags": "Finding labelled spans of words (names, slots) in short texts.",
    "intent_slots": "Understanding short commands: one intent per text, and the slots in it.",
    "classes": "Putting short texts into one of a fixed set of classes.",
    "pair": "Putting pairs of short texts into one of a fixed set of classes.",
    "text": "Guessing hidden words; a beginning for models that are fine-tuned on labels.",
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def escape(text: Any) -> str:
    """Any text as plain Markdown on one line: no markup, no HTML, no table cell can come of it."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def code(text: Any) -> str:
    """Any text as Markdown code on one line; the fence is longer than any run of backticks."""
    line = " ".join(str(text).split())
    ticks = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (ticks + 1)
    return f"{fence} {line} {fence}" if ticks else f"{fence}{line}{fence}"


def markdown_table(table: Table) -> str:
    """A table as Markdown."""
    head = [escape(name) for name in table.flat_head]
    rules = ["---"] + ["---" if column in table.text else "---:" for column in range(1, len(head))]
    rows = [[escape(cell) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rules, *rows])


def render_model_card(results: Metrics) -> str:
    """The model card of a run. The same input gives the same text.

    Args:
        results: the run in numbers.
    """
    file, example = results.delivered, example_of(results.examples)
    return (
        environment()
        .get_template("MODEL_CARD.md.j2")
        .render(
            escape=escape,
            code=code,
            table=markdown_table,
            front_matter=front_matter(results),
            name=results.name,
            task=task_name(results.task),
            use=_USES.get(results.task, f"The task {results.task}."),
            sentence=answer.sentence(results),
            concerns=results.concerns,
            languages=known_languages(results),
            data=facts_table("Sentences", results.data),
            drawn=tables.drawn_table(results),
            corpus=tables.corpus_table(results),
            unknown=tables.unknown_table(results),
            taught=results.teacher is not None,
            labelled=results.task != "text",
            anchor=results.anchor,
            baseline=results.baseline,
            gain=answer.gain(results),
            systems=tables.systems_table(results),
            speed=tables.speed_table(results),
            reference=results.reference,
            limits=limitations(results),
            file=file.export.path if file.export else None,
            file_size=units.size(file.bytes),
            model=file.model,
            environment=", ".join(
                f"{key} {units.plain(value)}" for key, value in results.environment.items()
            ),
            seed=results.seed,
            command=results.command,
            in_shell=in_shell(file.id, example),
            in_python=in_python(file.id, example),
        )
    )


def front_matter(results: Metrics) -> str:
    """Facts for programs that collect model cards.

    Every text is written as JSON, which is YAML too: a language such as ``no`` stays a text.
    """
    lines = []
    if languages := known_languages(results):
        lines += ["language:", *(f"- {json.dumps(code)}" for code in languages)]
    exported = results.delivered.export is not None
    lines.append(f'library_name: "{"litert" if exported else "transformers"}"')
    pipeline = _PIPELINES.get(results.task)
    if pipeline:
        lines.append(f"pipeline_tag: {json.dumps(pipeline)}")
    kind = _METRIC_TYPES.get(results.metric, results.metric)
    lines += ["metrics:", f"- {json.dumps(kind)}", "tags:"]
    tags = ["tfdistil", "tflite"] if exported else ["tfdistil"]
    tags += ["knowledge-distillation"] if results.teacher is not None else []
    lines += [f"- {json.dumps(tag)}" for tag in tags]
    scores = [
        (name, score)
        for name in results.sets
        if (score := results.score(results.delivered, name)) is not None
    ]
    if scores:
        lines += ["model-index:", f"- name: {json.dumps(results.name)}", "  results:"]
        for name, score in scores:
            lines += [
                "  - task:",
                f"      type: {json.dumps(pipeline or results.task)}",
                "    dataset:",
                f"      name: {json.dumps(results.name)}",
                '      type: "custom"',
                f"      split: {json.dumps(name)}",
                "    metrics:",
                f"    - type: {json.dumps(kind)}",
                f"      name: {json.dumps(metric_name(results.metric))}",
                f"      value: {score:.2f}",
            ]
    return "\n".join(lines)


def limitations(results: Metrics) -> list[str]:
    """What the measurements say against the model; only what was measured."""
    found: list[str] = []
    metric, where, system = metric_name(results.metric), results.main_set, results.delivered
    on = set_name(where)
    kept = system.retention.get(where)
    if kept is not None and kept < 100:
        found.append(f"{units.points(100 - kept)} % of the teacher's {metric} on {on} is lost.")
    drop = answer.quantization_drop(results)
    if drop is not None:
        found.append(
            f"The exported file scores {units.signed(-drop)} points {metric} on {on} against the "
            "Keras student."
        )
    if system.export and system.export.agreement < 1:
        agreement = units.share(system.export.agreement)
        found.append(f"{agreement} of its labels equal those of the Keras student.")
    rows = system.languages
    if len(rows) > 1:
        worst, best = min(rows, key=lambda c: (rows[c], c)), max(rows, key=lambda c: (rows[c], c))
        found.append(
            f"Languages differ by {units.points(rows[best] - rows[worst])} points {metric}: "
            f"{worst} {units.points(rows[worst])}, {best} {units.points(rows[best])}."
        )
    labels = {
        label: scores
        for label, scores in system.labels.items()
        if scores.get("f1") is not None and scores.get("support")
    }
    if len(labels) > 1:
        worst = min(labels, key=lambda label: (labels[label]["f1"], label))
        found.append(
            f"The weakest label is {worst}: F1 {units.points(labels[worst]['f1'])} "
            f"on {units.count(labels[worst]['support'])} examples."
        )
    seen, unseen = results.score(system, "test"), results.score(system, "test_unseen")
    if seen is not None and unseen is not None:
        found.append(
            f"Without the test sentences that occur in train, {metric} is "
            f"{units.points(unseen)} instead of {units.points(seen)}."
        )
    return found
