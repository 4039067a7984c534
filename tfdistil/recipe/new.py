"""A first recipe for someone's own data, with comments that say what to change."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from tfdistil.errors import CheckpointError, RecipeError
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.new_data import dev_share, find_data
from tfdistil.recipe.new_heads import with_crf
from tfdistil.recipe.new_students import STUDENTS
from tfdistil.recipe.schema.tuning import FineTuneSpec
from tfdistil.text.checkpoint_files import read_json

TEACHER = "bert-base-multilingual-cased"
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
    tell: Callable[[str], None] = lambda line: None,
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
        tell: called with a line about each file, how it will be read.

    Raises:
        DataError: a file whose format or columns cannot be told, or that has not what the task
            learns from.
        RecipeError: a CRF for a task without labels of words, or a teacher's folder that there is
            not.
    """
    folder = out.resolve().parent
    paths = {"train": train, "dev": dev, "test": test, "transfer": transfer}
    found = {n: find_data(n, path, task) for n, path in paths.items() if path is not None}
    for one in found.values():
        tell(one.told())
    data = CommentedMap({name: [one.line(folder)] for name, one in found.items()})
    sentences = len(found["train"].examples)
    if dev is None:
        data["dev_fraction"] = dev_share(found["train"])
    if not teacher:
        raise RecipeError(
            "--teacher is empty: give a Hugging Face folder or hub id, or leave it out"
        )
    checkpoint, width = Path(teacher), None
    if checkpoint.is_dir():
        width = _width_of(checkpoint)
        teacher = os.path.relpath(checkpoint.resolve(), folder)
    elif teacher.startswith((".", "/", "~")):
        raise RecipeError(f"--teacher {teacher}: there is no such folder")
    pool = ["train"]
    labels_words = task == "tags" and found["train"].labels_words
    if task in ("tags", "intent_slots") and not labels_words:
        data["augment"] = {"kind": "slot_substitution", "times": 2}
        sentences *= 3
        pool.append("augmented")
    if transfer is not None:
        pool.append("transfer")
        sentences += len(found["transfer"].examples)
    tuning = FineTuneSpec()
    models: dict[str, Any] = {
        "teacher": {
            "checkpoint": teacher,
            "fine_tune": tuning.model_dump(include={"learning_rate", "updates", "patience"}),
        },
        **STUDENTS[student].models(task, width),
    }
    stages = STUDENTS[student].stages(pool, sentences)
    if head == "crf" or (head is None and task in STUDENTS[student].crf_in):
        models, stages = with_crf(task, models, stages)
    tree = CommentedMap(
        name=out.stem,
        task={"kind": "tags", "scheme": "words"} if labels_words else task,
        data=data,
        models=models,
        distill=stages,
        export={"quantize": "int8", "max_drop": 0.5, **STUDENTS[student].export},
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


def _width_of(checkpoint: Path) -> int | None:
    """The width of a checkpoint's word vectors, None where `tfdistil run` will refuse it."""
    try:
        content = read_json(checkpoint / "config.json")
    except CheckpointError:
        return None
    width = content.get("hidden_size", content.get("dim"))  # the latter of DistilBERT
    return width if isinstance(width, int) and width > 0 else None
