"""Updates of several batches whose losses are those of one large batch.

A term is a mean over what it selects: real pieces, masked ones, texts. Batches of an update select
different numbers of these, so that the mean of their means is not the mean over all. Their number
is known before a batch is computed, and so each mean comes with what it weighs in its update: the
sums of an update are divided by all that the update selects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from tfdistil.distill.streams import Batch, StreamBatches, as_dataset

Counts = Mapping[str, Mapping[str, float]]
"""By stream and by the label of a term: how many values the term is the mean of."""


def weight_key(label: str) -> str:
    """Where a batch has what the mean of a term weighs in its update."""
    return f"weight/{label}"


@dataclass(frozen=True)
class UpdateBatches:
    """Batches of `StreamBatches`, each with what its terms weigh among those of its update.

    The weight of a term is n · c / (c_1 + ... + c_n), of n batches that have c_1 to c_n values of
    it: the mean over the batches of weight times mean is the sum of all values over their number.
    So an optimizer that takes the mean of n gradients makes the update of all rows at once. What a
    student gathers of a batch itself, such as the statistics of a batch normalization, stays that
    of each batch.

    As many batches as an update has are held in memory, and one is made for each that is given.

    Attributes:
        batches: endless.
        accumulate: batches to an update, n; the first of an update has a number that n divides.
        count: says how many values the terms have in a batch.
    """

    batches: StreamBatches
    accumulate: int
    count: Callable[[Mapping[str, Batch]], Counts]

    def __iter__(self) -> Iterator[dict[str, Batch]]:
        within = self.batches.first % self.accumulate  # of an update that was interrupted
        begun = replace(self.batches, first=self.batches.first - within)
        return islice(self._from_an_update_on(begun), within, None)

    def _from_an_update_on(self, batches: StreamBatches) -> Iterator[dict[str, Batch]]:
        counted = ((batch, self.count(batch)) for batch in batches)
        ahead = deque(islice(counted, self.accumulate))
        while True:
            totals = _sums([counts for _, counts in ahead])
            for _ in range(self.accumulate):
                batch, counts = ahead.popleft()
                yield self._weighed(batch, counts, totals)
                ahead.append(next(counted))

    def _weighed(
        self, batch: Mapping[str, Batch], counts: Counts, totals: Counts
    ) -> dict[str, Batch]:
        weights: dict[str, dict[str, Any]] = {
            stream: {
                weight_key(label): np.float32(self.accumulate * own / max(1, totals[stream][label]))
                for label, own in terms.items()
            }
            for stream, terms in counts.items()
        }
        return {stream: {**rows, **weights.get(stream, {})} for stream, rows in batch.items()}

    def dataset(self) -> Any:
        """See `StreamBatches.dataset`."""
        return as_dataset(self)


def _sums(counts: list[Counts]) -> Counts:
    """Those of several batches together."""
    return {
        stream: {label: sum(one[stream][label] for one in counts) for label in terms}
        for stream, terms in counts[0].items()
    }
