"""A first recipe for someone's own data, with comments that say what to change."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from tfdistil.data.source import Source, load
from tfdistil.data.suggest import suggest
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.new_heads import with_crf
from tfdistil.recipe.new_students import STUDENTS
from tfdistil.recipe.schema.tuning import FineTuneSpec

TEACHER = "bert-base-multilingual-cased"
DEV, MOST_DEV = 200, 0.25
"""Sentences to select on where there is no dev file, and the share of train they may be at most: a
few dozen cannot tell a better model from luck."""

COMMENTS = {
    "name": "title of the report",
    "task": "tags | intent_slots | classes | pair",
    "data": "paths are relative to this file; formats and options: docs/data.md",
    "models": "the teacher may be a Hugging Face folder or hub id; the student is what you ship;\n"
    "fine_tune: both rates are tried, the better one is used; updates is the most, dev not\n"
    "rising for `patience` checks ends it; `minutes: 60` would end it by the clock;",
    "distill": "stages in order; they learn gold labels and the teacher's predictions;",
    "export": "int8 runs on every phone; max_drop is how many points it may cost",
    "benchmark": "times the file and the teacher in the same runtime",
    "seed": "same seed, same result on the same machine",
}


def _line(found: Source, recipe_folder: Path) -> dict[str, Any]:
    path = os.path.relpath(found.path, recipe_folder)
    line: dict[str, Any] = {"path": path, "format": found.format}
    if found.options:
        line["options"] = dict(found.options)
    if found.scheme != "iob2":
        line["scheme"] = found.scheme
    if found.repair:
        line["repair"] = found.repair
    return line


def _suggested(path: Path, labelled: bool) -> Source:
    """What is most likely meant by a file; ``labelled``: texts have labels that are wanted."""
    found = suggest(path.resolve())
    if labelled:
        return found
    options = {name: at for name, at in found.options.items() if name != "label_comment"}
    return replace(found, options=options)


def _mended(source: Source) -> tuple[Source, int]:
    """The source, with a repair of its tags where that makes sentences readable, and how many."""
    found = load([source], errors="collect")
    if found.problems:
        repaired = replace(source, repair="iob2")
        again = load([repaired], errors="collect")
        if len(again.problems) < len(found.problems):
            return repaired, len(again.examples)
    return source, len(found.examples)


def new_recipe(
    task: str,
    out: Path,
    train: Path,
    dev: Path | None = None,
    test: Path | None = None,
    transfer: Path | None = None,
    teacher: str = TEACHER,
    student: str = "bilstm",
    head: str | None = None,
) -> str:
    """The text of a recipe for these files, checked to be valid.

    Args:
        task: ``tags``, ``intent_slots``, ``classes`` or ``pair``.
        out: where it will be written; paths in it are relative to that.
        train, dev, test: labelled files; without dev a tenth of train is set aside, of
            small sets up to a quarter.
        transfer: unlabelled text for the teacher to label; without it distillation has only
            the training sentences.
        teacher: a Hugging Face folder or hub id.
        student: one of `STUDENTS`.
        head: ``linear`` or ``crf``; None: what the student is best with in this task.

    Raises:
        DataError: a file whose format or columns cannot be told.
        RecipeError: a CRF for a task without labels of words.
    """
    folder = out.resolve().parent
    paths = {"train": train, "dev": dev, "test": test, "transfer": transfer}
    found = {
        name: _mended(_suggested(path, labelled=task != "tags" and name != "transfer"))
        for name, path in paths.items()
        if path is not None
    }
    data = CommentedMap({name: [_line(source, folder)] for name, (source, _) in found.items()})
    sentences = found["train"][1]
    if dev is None:
        data["dev_fraction"] = round(min(max(0.1, DEV / max(1, sentences)), MOST_DEV), 2)
    checkpoint = Path(teacher)
    if checkpoint.is_dir():
        teacher = os.path.relpath(checkpoint.resolve(), folder)
    pool = ["train"]
    if task in ("tags", "intent_slots"):
        data["augment"] = {"kind": "slot_substitution", "times": 2}
        sentences *= 3
        pool.append("augmented")
    if transfer is not None:
        pool.append("transfer")
        sentences += found["transfer"][1]
    tuning = FineTuneSpec()
    models: dict[str, Any] = {
        "teacher": {
            "checkpoint": teacher,
            "fine_tune": tuning.model_dump(include={"learning_rate", "updates", "patience"}),
        },
        **STUDENTS[student].models(task),
    }
    stages = STUDENTS[student].stages(pool, sentences)
    if head == "crf" or (head is None and task in STUDENTS[student].crf_in):
        models, stages = with_crf(task, models, stages)
    tree = CommentedMap(
        name=out.stem,
        task=task,
        data=data,
        models=models,
        distill=stages,
        export={"quantize": "int8", "max_drop": 0.5},
        benchmark={"queries": 1000},
        seed=13,
    )
    for key, text in COMMENTS.items():
        text = "\n".join(filter(None, [text, STUDENTS[student].comments.get(key)]))
        tree.yaml_set_comment_before_after_key(key, before=text)
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 100
    stream_out = io.StringIO()
    yaml.dump(tree, stream_out)
    text = stream_out.getvalue()
    parse_recipe(YAML().load(text), str(out))
    return text
