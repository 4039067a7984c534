"""The fields of ``tfdistil.json`` and what each may hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tfdistil.errors import ModelFileError
from tfdistil.tasks import Task, task_from_json
from tfdistil.tasks.decoders import read_decoders


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _texts_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _signatures(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(shape, dict) and all(_count(shape.get(key)) for key in ("batch", "length"))
        for shape in value.values()
    )


def _count(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**31


def _text(value: Any) -> bool:
    return isinstance(value, str)


_NEEDED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "task": (_mapping, "an object"),
    "featurizer": (_mapping, "an object"),
    "splitter": (_mapping, "an object"),
    "signatures": (_signatures, "names, each with a batch and a length of at least 1"),
    "outputs": (_texts_by_name, "names, each with the name of an output"),
    "checksums": (_texts_by_name, "names, each with a checksum"),
}
_OPTIONAL: dict[str, tuple[Callable[[Any], bool], str]] = {
    "min_runtime": (_text, "a text"),
    "quantize": (_text, "a text"),
    "languages": (_texts, "a list of texts"),
    "created_with": (_texts_by_name, "names, each with a version"),
    "thresholds": (_mapping, "an object"),
    "heads": (_mapping, "an object"),
    "paths": (_texts_by_name, "names, each with the name of an output"),
}


def check_config(config: Mapping[str, Any]) -> None:
    """Check the fields that every file has, and those that it may have. Others are let through.

    What is inside of task, splitter and featurizer is checked where they are made (`read_task`).

    Raises:
        ValueError: a field that is missing or of another form.
    """
    for key, (fits, form) in (_NEEDED | _OPTIONAL).items():
        if key not in config:
            if key in _NEEDED:
                raise ValueError(f"without {key!r}")
        elif not fits(config[key]):
            raise ValueError(f"whose {key!r} is not {form}")
    try:
        json.dumps(config, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("with a lone surrogate, which is no text") from error


def read_task(config: Mapping[str, Any]) -> Task:
    """The task that a file is for, which decodes as the heads of the file need it.

    Raises:
        ModelFileError: a kind of task or head this version does not know, or settings or constants
            that do not fit it.
    """
    task = config["task"]
    try:
        found = task_from_json(task)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"unknown task {task.get('kind')!r:.40} or unfit settings ({error}); upgrade tfdistil"
        ) from error
    try:
        return found.with_decoders(read_decoders(config.get("heads", {}), found.outputs))
    except ValueError as error:
        raise ModelFileError(f"{error}; upgrade tfdistil, or export the model again") from error
