"""An evaluation as text or JSON, for the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from tfdistil.evaluation.evaluate import Evaluation
from tfdistil.metrics.span_errors import FATES, INVENTED, found, support
from tfdistil.printable import one_line
from tfdistil.tasks import describe_unknown


def print_evaluation(evaluations: dict[str, Evaluation], as_json: bool) -> None:
    """Write an evaluation to standard output."""
    if as_json:
        rows = {name: asdict(part) for name, part in evaluations.items()}
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    for name, part in evaluations.items():
        scores = ", ".join(f"{key} {value:.2f}" for key, value in part.scores.items())
        print(f"{name}: {part.examples} examples, {scores} ({part.model})")
        low, high = part.interval
        print(f"  {next(iter(part.scores))}, 95 % interval {low:.2f} to {high:.2f}")
        if part.unknown_labels:
            listed = describe_unknown(part.unknown_labels)
            print(f"  labels the model does not have, each counted as a miss: {listed}")
        width = max((len(label) for label in part.labels), default=0)
        for label, row in part.labels.items():
            columns = "  ".join(f"{key} {row[key]:6.2f}" for key in ("precision", "recall", "f1"))
            print(f"  {one_line(label):<{width}}  {columns}  support {row['support']:g}")
        for line in _span_table(part.span_errors):
            print(f"  {line}")
        for error in part.errors:
            print(f"  - {one_line(error['text'])}")
            print(f"    gold      {one_line(' '.join(error['gold']))}")
            print(f"    predicted {one_line(' '.join(error['predicted']))}")


def _span_table(rows: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """What gold spans came to, a line for each kind of them."""
    if not rows:
        return
    width = max(len("what spans became"), *map(len, rows))
    heads = ("spans", *FATES, INVENTED, "found")
    yield f"{'what spans became':<{width}}  {'  '.join(f'{head:>8}' for head in heads)}"
    for kind, row in rows.items():
        share = found(row)
        shown = f"{'-':>8}" if share is None else f"{share:8.2f}"
        counts = "  ".join(f"{n:8d}" for n in (support(row), *(row[head] for head in heads[1:-1])))
        yield f"{kind:<{width}}  {counts}  {shown}"
