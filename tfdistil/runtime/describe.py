"""What is inside a model file, for people."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tfdistil.runtime.model_file import ModelFile


def describe(path: str | Path) -> dict[str, Any]:
    """The contents of a verified model file, as plain JSON data.

    Returns:
        ``path``, ``file_bytes``, ``model_bytes``, ``assets`` (name to bytes), ``operators`` (per
        signature, name to count; custom operators as ``custom:NAME``), ``constants`` (element type
        to bytes), and of ``tfdistil.json`` all but the checksums.

    Raises:
        ModelFileError: see `ModelFile.open`.
    """
    file = ModelFile.open(path)
    with file.path.open("rb") as stream:
        flatbuffer = stream.read(file.model_bytes)
    return {
        "path": str(file.path),
        "file_bytes": file.file_bytes,
        "model_bytes": file.model_bytes,
        "assets": {name: len(content) for name, content in sorted(file.assets.items())},
        **_graph(flatbuffer),
        **{key: value for key, value in file.config.items() if key != "checksums"},
    }


def _graph(flatbuffer: bytes) -> dict[str, Any]:
    """Operators per signature, and the bytes of constants per element type."""
    # Half a megabyte of generated code, which only this command needs.
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(flatbuffer, 0))
    builtin = {code: name for name, code in vars(schema.BuiltinOperator).items() if name.isupper()}
    types = {code: name.lower() for name, code in vars(schema.TensorType).items() if name.isupper()}
    names = []
    for code in model.operatorCodes:
        name = builtin[max(code.builtinCode, code.deprecatedBuiltinCode)]
        if name == "CUSTOM":
            name = f"custom:{(code.customCode or b'').decode(errors='replace')}"
        names.append(name)
    operators = {}
    for signature in model.signatureDefs or []:
        graph = model.subgraphs[signature.subgraphIndex]
        counts = Counter(names[operator.opcodeIndex] for operator in graph.operators)
        operators[signature.signatureKey.decode()] = dict(counts.most_common())
    constants: Counter[str] = Counter()
    # Signatures share buffers: each counts once.
    kinds = {t.buffer: types[t.type] for graph in model.subgraphs for t in graph.tensors}
    for index, kind in kinds.items():
        data = model.buffers[index].data
        if data is not None:
            constants[kind] += int(np.size(data))
    return {"operators": operators, "constants": dict(constants.most_common())}


def format_description(data: dict[str, Any]) -> str:
    """The description as lines of text."""
    task = data["task"]
    lines = [
        f"file        {data['path']}",
        f"size        {_size(data['file_bytes'])} (graph {_size(data['model_bytes'])}, assets "
        f"{_size(sum(data['assets'].values()))})",
        f"task        {task['kind']}",
    ]
    for name, value in task.items():
        if isinstance(value, list):
            lines.append(f"  {name:<9} {len(value)}: {' '.join(value)}")
    lines += [
        f"languages   {' '.join(data.get('languages') or ['unknown'])}",
        f"words       {data['splitter'].get('kind')}",
        f"featurizer  {data['featurizer'].get('kind')}, at most "
        f"{data['featurizer'].get('max_length')} positions",
        f"quantized   {data.get('quantize', 'unknown')}",
        f"runtime     {data.get('min_runtime') or 'unknown'} or later",
        "constants   "
        + ", ".join(f"{kind} {_size(size)}" for kind, size in data["constants"].items()),
    ]
    for name, shape in data["signatures"].items():
        operators = data["operators"].get(name, {})
        lines.append(
            f"signature   {name}: batch {shape['batch']}, length {shape['length']}, "
            f"{sum(operators.values())} operators"
        )
        lines.append("  " + ", ".join(f"{op} {count}" for op, count in operators.items()))
    lines += [f"asset       {name} ({_size(size)})" for name, size in data["assets"].items()]
    made = data.get("created_with") or {}
    lines.append("made with   " + ", ".join(f"{name} {v}" for name, v in sorted(made.items())))
    return "\n".join(line.rstrip() for line in lines)


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.2f} MB"
