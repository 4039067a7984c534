"""A linear-chain CRF on top of the scores of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from keras import ops

from tfdistil.crf.chain import constrained
from tfdistil.crf.constraints import IMPOSSIBLE, legal_steps
from tfdistil.crf.graph import graph_viterbi
from tfdistil.heads.best_paths import PARTS, BestPathSignals, best_paths
from tfdistil.heads.kinds import Head, Mean, MeanHead, PathFinder, head_kind, mean_scores
from tfdistil.tasks.iob2 import allowed_transitions


class LabelPaths(Head):
    """Scores of words and of steps between them: a distribution over label paths.

    The signal ``potentials``, float32 ``[L + 2, L]``, is the same for every text (see
    `tfdistil.crf`). Paths are over the words of a text: Zhou et al. 2021, Section 3. The K best of
    them are derived signals, see `BestPathSignals`.

    Attributes:
        steps: scores of steps before any is forbidden, float32 ``[L + 2, L]``.
        allowed: what the scheme allows, bool of that shape; None: labels without a scheme.
        legal: what the model allows; None: all.
    """

    levels = frozenset({"word"})
    extra = MappingProxyType({"potentials": "model"})
    loss = "crf_nll"
    derived = frozenset(PARTS)

    steps: Any
    allowed: np.ndarray | None
    legal: np.ndarray | None

    @property
    def potentials(self) -> Any:
        """Scores of steps, float32 ``[L + 2, L]``."""
        steps = ops.convert_to_tensor(self.steps)
        return steps if self.legal is None else constrained(steps, self.legal)

    def signals(self, scores: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The potentials."""
        del scores, inputs
        return {"potentials": self.potentials}

    def unlike(self, teacher: Head) -> str | None:
        """One that forbids other steps has paths that this one has not."""
        if not isinstance(teacher, LabelPaths) or np.array_equal(self._table(), teacher._table()):
            return None
        return "the teacher's CRF allows other steps; give both the same `constrained`"

    def _table(self) -> np.ndarray:
        return np.ones((self.size + 2, self.size), bool) if self.legal is None else self.legal

    def derivation(self, signal: str, names: Sequence[str]) -> BestPathSignals | None:
        """The K best paths."""
        return best_paths(signal, names, self.size)

    def constants(self) -> dict[str, np.ndarray]:
        """The potentials."""
        return {"potentials": np.asarray(self.potentials)}

    def path_finder(self) -> PathFinder:
        """Viterbi. As in `tfdistil.tasks.decoders`, forbidden tags are impossible in any case."""
        potentials = np.asarray(self.potentials)
        if self.allowed is not None:
            potentials = np.where(self.allowed, potentials, IMPOSSIBLE)
        return partial(graph_viterbi, potentials)


@head_kind("crf")
class CrfHead(LabelPaths):
    """Scores of words and of steps between them: a distribution over label paths.

    Args:
        size: L.
        name: of the layer.
        constrained: forbid what IOB2, or IOBES, forbids, in training and in decoding.
        labels: their names, in the order of scores; the task's.
    """

    reads_labels = True

    def __init__(
        self,
        size: int,
        name: str,
        constrained: bool = True,
        labels: Sequence[str] = (),
    ):
        super().__init__(size, name)
        if labels and len(labels) != size:
            raise ValueError(f"{len(labels)} labels for {size} scores")
        # At 0 a new head says what a linear one says.
        self.steps = self.add_weight((size + 2, size), "zeros", name="potentials")
        self.allowed = legal_steps(*allowed_transitions(labels)) if labels else None
        self.legal = self.allowed if constrained else None

    @classmethod
    def mean_of(cls, heads: Sequence[CrfHead], mean: Mean) -> MeanHead:
        """The mean of emissions and potentials, which is a CRF: see `MeanOfCrfs`."""
        del mean  # an arithmetic one of distributions over paths is not a CRF
        return MeanHead(MeanOfCrfs(heads), mean_scores)


class MeanOfCrfs(LabelPaths):
    """The logarithmic opinion pool of several CRFs (Smith, Cohn & Osborne 2005), equally weighted.

    A path's probability is proportional to the geometric mean of those that the members give it. A
    member's is exponential in the sum of its scores, so the mean of emissions and of steps are the
    scores of the pool, and the members' partition functions drop out.

    Args:
        heads: of the members, which allow the same steps.
    """

    def __init__(self, heads: Sequence[CrfHead]):
        first = heads[0]
        super().__init__(first.size, first.name)
        self.heads = list(heads)
        self.allowed, self.legal = first.allowed, first.legal

    @property
    def steps(self) -> Any:
        """The mean of the members' as they are now."""
        return mean_scores([head.steps for head in self.heads])
