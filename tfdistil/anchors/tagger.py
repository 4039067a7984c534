"""A linear-chain CRF on features of words (python-crfsuite): the light model for tags and slots."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pycrfsuite

from tfdistil.anchors.word_features import word_features
from tfdistil.data.example import Example
from tfdistil.data.readers.tags import repair_iob2

_SETTINGS = {
    "c1": 0.1,
    "c2": 0.05,
    "max_iterations": 100,
    "feature.possible_transitions": True,
}
"""L-BFGS with both penalties; what crfsuite's own tutorial takes, less of the second."""


class Tagger:
    """Trained on the words and tags of examples.

    Args:
        examples: labelled.

    Attributes:
        bytes: of the model file.
    """

    def __init__(self, examples: Sequence[Example]):
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=_SETTINGS, verbose=False)
        for example in examples:
            if example.words and example.tags is not None:
                trainer.append(word_features(example.words), example.tags)
        with tempfile.TemporaryDirectory(prefix="tfdistil-anchor-") as folder:
            path = Path(folder) / "model.crfsuite"
            trainer.train(str(path))
            self._content = path.read_bytes()
        self.bytes = len(self._content)
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open_inmemory(self._content)  # reads it where it is, and does not keep it

    def predict(self, examples: Sequence[Example]) -> list[tuple[str, ...]]:
        """Legal IOB2 tags of each example's words."""
        found = (self._tagger.tag(word_features(e.words)) for e in examples)
        return [tuple(repair_iob2(tags)[0]) for tags in found]
