"""Measurements as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COLUMNS = (
    "model",
    "parameters",
    "file",
    "p50 ms",
    "p90",
    "p99",
    "batch ms",
    "256 rows ms",
    "queries/s",
    "text ms",
    "cold",
    "load ms",
    "memory",
    "peak RSS",
)


def format_table(measured: Mapping[str, Any]) -> str:
    """A row per model, the ratios of all to the first one, and where it was measured.

    Args:
        measured: what `tfdistil.benchmarks.latency.Benchmark.to_json` gives. Columns that no model
            has a figure for are left out.
    """
    models = measured["models"]
    rows = [COLUMNS, *(_row(model) for model in models)]
    kept = [n for n in range(len(COLUMNS)) if any(row[n] != "-" for row in rows[1:])]
    widths = {n: max(len(row[n]) for row in rows) for n in kept}
    lines = [
        "  ".join(
            row[n].ljust(widths[n]) if n == 0 else row[n].rjust(widths[n]) for n in kept
        ).rstrip()
        for row in rows
    ]
    first = models[0]["name"]
    lines += [_against(name, first, ratio) for name, ratio in measured["ratios"].items()]
    lines += [_agrees(model) for model in models if model.get("agreement")]
    return "\n".join([*lines, *_where(measured["environment"])])


def _row(model: Mapping[str, Any]) -> tuple[str, ...]:
    def figure(key: str, part: str | None, form: str) -> str:
        value = model.get(key)
        if value is not None and part is not None:
            value = value[part]
        return "-" if value is None else form.format(value)

    def megabytes(key: str, form: str) -> str:
        return "-" if model.get(key) is None else f"{model[key] / 1e6:{form}} MB"

    return (
        model["name"],
        figure("parameters", None, "{:,}"),
        megabytes("bytes", ".2f"),
        figure("online_ms", "p50", "{:.3f}"),
        figure("online_ms", "p90", "{:.3f}"),
        figure("online_ms", "p99", "{:.3f}"),
        figure("batch_ms", "p50", "{:.2f}"),
        figure("large_batch_ms", "p50", "{:.2f}"),
        figure("queries_per_second", None, "{:,.0f}"),
        figure("text_ms", "p50", "{:.3f}"),
        figure("cold_text_ms", "p50", "{:.3f}"),
        figure("load_ms", None, "{:.1f}"),
        megabytes("resident_bytes", ".1f"),
        megabytes("peak_rss_bytes", ".0f"),
    )


def _against(name: str, first: str, ratio: Mapping[str, Any]) -> str:
    parts = [f"{ratio['bytes']:.1f}x the size"]
    for what in ("online", "batch"):
        if ratio[what] is not None:
            r = ratio[what]
            parts.append(
                f"{what} {r['median']:.1f}x the time ({r['low']:.1f} to {r['high']:.1f} over "
                "the rounds)"
            )
    return f"{name} against {first}: {', '.join(parts)}"


def _agrees(model: Mapping[str, Any]) -> str:
    found = model["agreement"]
    parts = [
        f"{100 * found['same']:.2f} % of {found['labels']:,} labels as on this machine "
        f"({found['other_texts']:,} of {found['texts']:,} texts have another one)"
    ]
    if found["most_quanta"] is not None:
        parts.append(f"logits within {found['most_quanta']:g} quanta")
    if found["most_difference"] is not None:
        parts.append(f"float logits within {found['most_difference']:.2g}")
    return f"{model['name']}: {', '.join(parts)}"


def _where(environment: Mapping[str, Any]) -> list[str]:
    """The processor and the runtime, on which every ratio depends."""
    known = [environment.get(key) for key in ("accelerator", "backend", "cpu", "instructions")]
    known += [
        f"{key} {environment[key]}"
        for key in ("ai-edge-litert", "tflite-runtime", "tensorflow-lite")
        if key in environment
    ]
    if environment.get("emulated"):
        known.append("emulated: ratios are the emulator's, and no time is told")
    said = ", ".join(str(value) for value in known if value)
    return [f"on {said}"] if said else []
