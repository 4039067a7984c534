"""What a run found, as a page to look at and a model card to ship with the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfdistil.report.sweep_table import Entry
    from tfdistil.runs.run_metrics import Metrics

__all__ = ["write_report", "write_sweep_report"]


def write_report(metrics: Metrics, history: Path | None, folder: Path) -> list[Path]:
    """Write ``report.html`` and ``MODEL_CARD.md`` into a run folder, each whole or not at all.

    Args:
        metrics: of the run.
        history: ``history.csv`` of the run; None, or a file that is not there, leaves out the
            learning curves.
        folder: the run folder.

    Returns:
        The two files.

    Raises:
        DataError: a history that is not of its shape.
    """
    from tfdistil.files import write_text
    from tfdistil.report.html import render_html
    from tfdistil.report.model_card import render_model_card

    folder = Path(folder)
    pages = {
        folder / "report.html": render_html(metrics, history),
        folder / "MODEL_CARD.md": render_model_card(metrics),
    }
    for path, text in pages.items():
        write_text(path, text)
    return list(pages)


def write_sweep_report(entries: Sequence[Entry], folder: Path) -> list[Path]:
    """Write ``sweep.csv`` and ``sweep.html`` into a sweep folder, each whole or not at all.

    Args:
        entries: the finished points.
        folder: of the sweep.

    Returns:
        The two files.
    """
    from tfdistil.files import write_text
    from tfdistil.report.sweep_page import render_sweep
    from tfdistil.report.sweep_table import to_csv

    pages = {
        folder / "sweep.csv": to_csv(entries),
        folder / "sweep.html": render_sweep(entries, folder.resolve().name),
    }
    for path, text in pages.items():
        write_text(path, text)
    return list(pages)
