"""The step that scores what needs no teacher, before anything is trained."""

from __future__ import annotations

import time
from typing import Any

from tfdistil.anchors.kinds import train_anchor
from tfdistil.evaluation.comparison import ANCHOR_ID, store_predictions
from tfdistil.runs.run import Run


def score_anchor(work: Run, name: str) -> dict[str, Any]:
    """Train an anchor on the labels of train, and keep its answers on dev and test.

    Raises:
        RunError: see `train_anchor`.
    """
    corpus, start = work.corpus, time.perf_counter()
    anchor = train_anchor(name, corpus.task, corpus.train, work.recipe.seed)
    work.screen.line(f"{name}: {anchor}")
    for set_name, found in store_predictions(work, ANCHOR_ID, anchor.predict).items():
        score = corpus.task.score(corpus.sets()[set_name], found)[corpus.task.metric]
        work.screen.line(f"  {set_name} {score:.2f}")
    return {
        "name": name,
        "title": str(anchor),
        "bytes": getattr(anchor, "bytes", None),
        "seconds": round(time.perf_counter() - start, 1),
    }
