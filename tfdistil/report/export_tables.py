"""What is known of the exported files, as tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tfdistil.report import units
from tfdistil.report.table import Table, nested_tables
from tfdistil.runs.run_metrics import Export, Metrics

_EXPORT_FACTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "path": ("file", units.plain),
    "bytes": ("size", units.size),
    "model_bytes": ("size without labels and tokenizer", units.size),
    "parameters": ("parameters", units.count),
    "quantize": ("quantization", units.plain),
    "min_runtime": ("oldest runtime", units.plain),
    "float_ops": ("operators in float", units.plain),
    "examples": ("dev examples compared with Keras", units.plain),
    "windowed": ("of them longer than one call", units.plain),
    "drop": ("points lost on dev", units.points),
    "seconds": ("time to export", units.duration),
}
_EXPORT_TABLES = {
    "scores": "Scores on dev in Keras and in the file",
    "drift": "Logits of the file against those of Keras",
    "signatures": "Signatures",
    "float_operators": "Operators in float",
    "constants": "Bytes of the constants by type",
    "parts": "Bytes of the graph by what they are for",
}


def export_tables(results: Metrics) -> list[Table]:
    """The exported files: facts, drift, signatures, operators."""
    files = [system for system in results.systems if system.export]
    made = []
    for system in files:
        export = system.export
        assert export is not None
        facts = tuple(
            (title, text(value))
            for key, (title, text) in _EXPORT_FACTS.items()
            if (value := getattr(export, key)) is not None
        )
        own = [Table("The file", ("what", "value"), facts, text=(1,))]
        for key, caption in _EXPORT_TABLES.items():
            own += nested_tables({caption: getattr(export, key)})
        for kind, drifts in export.probes.items():
            own += nested_tables({f"Logits of the file on texts {kind} than its rows": drifts})
        own.append(ops_table(export))
        prefix = f"{system.name}: " if len(files) > 1 else ""
        made += [replace(table, caption=prefix + table.caption) for table in own]
    return made


def ops_table(export: Export) -> Table:
    """Operators of each signature of the exported file, most frequent first."""
    ops = export.ops
    names = {op for counts in ops.values() for op in counts}
    order = sorted(names, key=lambda op: (-max(c.get(op, 0) for c in ops.values()), op))
    rows = [(op, *(units.plain(counts.get(op, 0)) for counts in ops.values())) for op in order]
    rows.append(("all", *(units.plain(sum(counts.values())) for counts in ops.values())))
    return Table("Operators by signature", ("operator", *ops), tuple(rows))
