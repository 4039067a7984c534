"""A first recipe for someone's own data, with comments that say what to change."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from tfdistil.data.source import Source, load
from tfdistil.data.suggest import suggest
from tfdistil.recipe.loading import find_recipe, parse_recipe
from tfdistil.recipe.new_heads import with_crf
from tfdistil.recipe.schema.models import FineTuneSpec

TEACHER = "bert-base-multilingual-cased"
BATCH = 64
PASSES = 10
DEV, MOST_DEV = 200, 0.25
"""Sentences to select on where there is no dev file, and the share of train they may be at most: a
few dozen cannot tell a better model from luck."""
FEWEST_UPDATES = 2000
"""Of a small set, ten passes would be over before a BiLSTM has learnt anything."""

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


@dataclass(frozen=True)
class _Student:
    """What a student adds to a recipe: its models and stages, and what the comments say of them.

    Its head is a CRF in tasks where that has been measured to be better.
    """

    models: Callable[[str], dict[str, Any]]
    stages: Callable[[list[str], int], list[dict[str, Any]]]
    comments: Mapping[str, str]
    crf_in: frozenset[str] = frozenset()


def _bilstm(task: str) -> dict[str, Any]:
    student: dict[str, Any] = {
        "kind": "bilstm",
        "hidden_dim": 200,
        "prune_vocabulary": True,
        "embedding": {"dim": 128, "init": "svd"},
        "dropout": 0.2,
    }
    if task == "tags":  # names have capitals: 3 points on UNER English (docs/pqrnn.md)
        student |= {
            "hashed_dim": 64,
            "hashing": {"families": {"affix16": 256, "ngram": 256}, "capitalization": True},
        }
    return {"student": student}


def _one_stage(pool: list[str], sentences: int) -> list[dict[str, Any]]:
    steps = -(-sentences // BATCH)
    return [
        {
            "name": "joint",
            "groups": ["heads", "encoder"],
            "terms": [
                {"loss": "cross_entropy", "stream": "train"},
                {"loss": "soft_cross_entropy", "stream": _drawn(pool)},
            ],
            "optimizer": {
                "learning_rate": 3.0e-3,
                "final_learning_rate": 1.0e-8,
                "schedule": "cosine",
            },
            "batch_size": BATCH,
            # No patience: five checks would save two fifths of the updates (1,000 sentences of UNER
            # English, seeds 13 to 15), and cost one seed in three 0.4 points on dev.
            "stop": {
                "updates": max(FEWEST_UPDATES, PASSES * steps),
                "every": min(max(50, steps), 500),
            },
        }
    ]


def _shipped_models(base: str, task: str) -> dict[str, Any]:
    del task
    return {**_shipped(base)["models"]}


def _shipped_stages(base: str, pool: list[str], sentences: int) -> list[dict[str, Any]]:
    del sentences  # the shipped recipes count updates
    stages = []
    for stage in _shipped(base)["distill"]:
        terms = [
            {**term, "stream": _drawn([name for name in term["stream"] if name in pool])}
            for term in stage["terms"]
        ]
        stages.append({**stage, "terms": terms})
    return stages


def _shipped(base: str) -> dict[str, Any]:
    """The models and stages of a shipped recipe, without its comments."""
    return YAML(typ="safe").load(find_recipe(base).read_text("utf-8"))


def _drawn(pool: list[str]) -> str | list[str]:
    return [*pool] if pool[1:] else pool[0]


STUDENTS = {
    "bilstm": _Student(
        _bilstm,
        _one_stage,
        {
            "models": "prune_vocabulary keeps only the pieces that train and transfer need: a "
            "smaller file,\nfor half a point to a point on words that are in neither; hashed_dim, "
            "for tags:\ncapitals and endings of whole words, which an uncased vocabulary hides",
            "distill": "groups leaves the embeddings out: they stay the teacher's",
        },
        frozenset({"intent_slots"}),  # 6 points of exact match on SNIPS (docs/crf.md)
    ),
    "mixer": _Student(
        partial(_shipped_models, "mixer"),
        partial(_shipped_stages, "mixer"),
        {
            "models": "a mixer hashes words and mixes positions by products: 1 MB (docs/mixer.md)",
            "distill": "first in float, then rounding as the file will",
        },
    ),
    "pqrnn": _Student(
        partial(_shipped_models, "pqrnn"),
        partial(_shipped_stages, "pqrnn"),
        {
            "models": "a pqrnn hashes words and has no vocabulary: 2 MB (docs/pqrnn.md)",
            "distill": "first in float, then rounding as the file will, at last with\n"
            "frozen batch-norm statistics, as on the device",
        },
    ),
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
