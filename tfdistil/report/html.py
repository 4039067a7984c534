"""The page of a run: one file, no network, no script."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from tfdistil.report import answer, tables
from tfdistil.report.export_tables import export_tables
from tfdistil.report.history import History, read_history
from tfdistil.report.mistakes import mistakes
from tfdistil.report.plots import all_plots
from tfdistil.report.span_table import spans_table
from tfdistil.report.table import Table, facts_table, nested_tables
from tfdistil.runs.run_metrics import Metrics, set_name

_TASKS = {
    "tags": "sequence tagging",
    "intent_slots": "intent and slots",
    "classes": "classification",
    "pair": "classification of sentence pairs",
    "text": "masked language modelling",
}
_DATA_ORDER = ("train", "dev", "test", "transfer", "transfer_dropped", "test_seen_in_train")
MISTAKES_AT_ONCE = 8
"""Examples shown before the reader asks for the rest."""


def known_languages(results: Metrics) -> list[str]:
    """Language codes of the run, without ``und``."""
    return sorted(code for code in results.languages if code != "und")


def task_name(task: str) -> str:
    """``tags`` as ``sequence tagging``."""
    return _TASKS.get(task, task.replace("_", " "))


@cache
def environment() -> Any:
    """The templates; HTML is escaped unless it is marked as safe, and unknown names are errors."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(enabled_extensions=("html.j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_html(metrics: Metrics, history: Path | None = None) -> str:
    """The report of a run as one HTML page.

    The same input gives the same text.

    Args:
        metrics: of the run.
        history: ``history.csv``, or None.

    Raises:
        DataError: a history that is not of its shape.
    """
    curves = read_history(history)
    return environment().get_template("report.html.j2").render(**_view(metrics, curves))


def _view(results: Metrics, history: History) -> dict[str, Any]:
    """All that the template shows."""
    data = results.data
    return {
        "name": results.name,
        "subtitle": _subtitle(results),
        "sentence": answer.sentence(results),
        "concerns": results.concerns,
        "figures": answer.figures(results),
        "systems": tables.systems_table(results),
        "anchor": results.anchor,
        "baseline": results.baseline,
        "gain": answer.gain(results),
        "plots": all_plots(results, history),
        "phases": _present(tables.phases_table(results)),
        "unreadable": history.unreadable,
        "reference": results.reference,
        "quality": _present(tables.metrics_table(results)),
        "speed": _present(tables.speed_table(results)),
        "breakdown": _present(
            tables.languages_table(results),
            tables.labels_table(results),
            spans_table(results),
            tables.unknown_table(results),
        ),
        "mistakes": mistakes(results),
        "main_set": set_name(results.main_set),
        "at_once": MISTAKES_AT_ONCE,
        "export": export_tables(results),
        "data": _present(
            facts_table("Sentences", data, _DATA_ORDER),
            tables.drawn_table(results),
            tables.corpus_table(results),
            *nested_tables(data),
        ),
        "circumstances": _present(
            tables.clock_table(results),
            facts_table("Environment", results.environment),
        ),
        "command": results.command,
    }


def _present(*found: Table | None) -> list[Table]:
    return [table for table in found if table is not None]


def _subtitle(results: Metrics) -> str:
    parts = [task_name(results.task)]
    if known := known_languages(results):
        parts.append(", ".join(known))
    return " · ".join([*parts, f"seed {results.seed}"])
