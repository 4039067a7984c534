"""Measurements as a table."""

from __future__ import annotations

from tfdistil.benchmarks.latency import Benchmark, Measurement

COLUMNS = (
    "model",
    "parameters",
    "file",
    "p50 ms",
    "p90",
    "p99",
    "batch ms",
    "queries/s",
    "text ms",
    "cold",
    "load ms",
    "peak RSS",
)


def format_table(benchmark: Benchmark) -> str:
    """One row per model, and the ratios of all to the first one."""
    rows = [COLUMNS, *(_row(model) for model in benchmark.models)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(COLUMNS))]
    lines = [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    first = benchmark.models[0]
    for model in benchmark.models[1:]:
        ratio = benchmark.ratio(model.name, first.name)
        parts = [f"{ratio['bytes']:.1f}x the size"]
        for what in ("online", "batch"):
            if ratio[what] is not None:
                r = ratio[what]
                parts.append(
                    f"{what} {r['median']:.1f}x the time ({r['low']:.1f} to {r['high']:.1f} over "
                    "the rounds)"
                )
        lines.append(f"{model.name} against {first.name}: {', '.join(parts)}")
    return "\n".join(lines)


def _row(model: Measurement) -> tuple[str, ...]:
    online, batch = model.online, model.batch
    return (
        model.name,
        f"{model.parameters:,}",
        f"{model.bytes / 1e6:.2f} MB",
        f"{online.quantile(0.5):.3f}",
        f"{online.quantile(0.9):.3f}",
        f"{online.quantile(0.99):.3f}",
        "-" if batch is None else f"{batch.quantile(0.5):.2f}",
        "-" if model.queries_per_second is None else f"{model.queries_per_second:,.0f}",
        "-" if model.text is None else f"{model.text.quantile(0.5):.3f}",
        "-" if model.cold_text is None else f"{model.cold_text.quantile(0.5):.3f}",
        f"{model.memory['load_ms']:.1f}",
        f"{model.memory['peak_rss_bytes'] / 1e6:.0f} MB",
    )
