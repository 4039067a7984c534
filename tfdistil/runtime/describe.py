"""What is inside a model file, for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tfdistil.printable import byte_size
from tfdistil.runtime.config import read_task
from tfdistil.runtime.model_file import ModelFile, file_errors, printable
from tfdistil.runtime.parts import part_bytes
from tfdistil.runtime.tflite import read_model


def describe(path: str | Path) -> dict[str, Any]:
    """The contents of a verified model file, as plain JSON data.

    Returns:
        ``path``, ``file_bytes``, ``model_bytes``, ``settings_bytes`` (``tfdistil.json`` and what
        holds the file together), ``assets`` (name to bytes), ``operators`` (per
        signature, name to count; custom operators as ``custom:NAME``), ``constants`` (element type
        to bytes), ``parts`` (bytes of the graph by what they are for, see
        `tfdistil.runtime.parts`), and of ``tfdistil.json`` all but the checksums.

    Raises:
        ModelFileError: see `ModelFile.open`.
    """
    file = ModelFile.open(path)
    with file_errors(file.path, "cannot be read"):
        read_task(file.config)
        model = read_model(file.model)
        assets = {name: len(content) for name, content in sorted(file.assets.items())}
        return {
            # First, so that a file cannot say of itself what was measured.
            **{key: value for key, value in file.config.items() if key != "checksums"},
            "path": str(file.path),
            "file_bytes": file.file_bytes,
            "model_bytes": len(file.model),
            "settings_bytes": file.file_bytes - len(file.model) - sum(assets.values()),
            "assets": assets,
            "operators": {
                one.key: model.subgraphs[one.subgraph].operator_counts() for one in model.signatures
            },
            "constants": model.constant_bytes(),
            "parts": part_bytes(model, len(file.model)),
        }


def format_description(data: dict[str, Any]) -> str:
    """The description as lines of text."""
    task = data["task"]
    lines = [
        f"file        {data['path']}",
        f"size        {byte_size(data['file_bytes'])} (graph {byte_size(data['model_bytes'])}, "
        f"assets {byte_size(sum(data['assets'].values()))}, "
        f"settings {byte_size(data['settings_bytes'])})",
        f"task        {task['kind']}",
    ]
    for name, value in task.items():
        if isinstance(value, list):
            lines.append(f"  {name:<9} {len(value)}: {' '.join(map(str, value))}")
    lines += [
        f"languages   {' '.join(data.get('languages') or ['unknown'])}",
        f"words       {data['splitter'].get('kind')}",
        f"featurizer  {data['featurizer'].get('kind')}, at most "
        f"{data['featurizer'].get('max_length')} positions",
        f"quantized   {data.get('quantize', 'unknown')}",
        f"runtime     {data.get('min_runtime') or 'unknown'} or later",
        "constants   " + _sizes(data["constants"]),
        "parts       " + _sizes(data["parts"]),
    ]
    for name, shape in data["signatures"].items():
        operators = data["operators"].get(name, {})
        lines.append(
            f"signature   {name}: batch {shape['batch']}, length {shape['length']}, "
            f"{sum(operators.values())} operators"
        )
        lines.append("  " + ", ".join(f"{op} {count}" for op, count in operators.items()))
    lines += [
        f"head        {output}: {head.get('kind')}"
        for output, head in data.get("heads", {}).items()
    ]
    lines += [
        f"decodes     {output}: the graph's output {tensor} has the best path"
        for output, tensor in data.get("paths", {}).items()
    ]
    lines += [f"asset       {name} ({byte_size(size)})" for name, size in data["assets"].items()]
    made = data.get("created_with") or {}
    lines.append("made with   " + ", ".join(f"{name} {v}" for name, v in sorted(made.items())))
    return "\n".join(printable(line).rstrip() for line in lines)


def _sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} {byte_size(size)}" for name, size in sizes.items())
