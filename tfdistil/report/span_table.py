"""What gold spans became, as a table of the page."""

from __future__ import annotations

from tfdistil.metrics.span_errors import FATES, INVENTED, found, support
from tfdistil.report import units
from tfdistil.report.table import Table
from tfdistil.runs.run_metrics import Metrics, set_name


def spans_table(results: Metrics) -> Table | None:
    """What gold spans became with the delivered model, beside what its teacher finds of them."""
    delivered, teacher = results.delivered, results.teacher
    other = teacher.spans if teacher else {}
    rows = []
    for kind, row in delivered.spans.items():
        of = [
            kind,
            units.plain(support(row)),
            *map(units.points, map(found, (row, other.get(kind)))),
        ]
        rows.append((*of, *(units.plain(row[fate]) for fate in (*FATES[1:], INVENTED))))
    head = ("gold spans", "of them", "found", "teacher finds", *FATES[1:], INVENTED)
    caption = f"What spans become with {delivered.name} on {set_name(results.main_set)}"
    return Table(caption, head, tuple(rows)) if rows else None
