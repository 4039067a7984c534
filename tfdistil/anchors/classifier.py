"""TF-IDF and a linear classifier (scikit-learn): the light model for intents and classes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC

from tfdistil.data.example import Example


class Classifier:
    """Trained on words, pairs of words and up to five characters within words.

    Args:
        examples: labelled, without a second text.
        seed: of the solver.

    Attributes:
        bytes: of the pickled model, which is made to be weighed and never read.
    """

    def __init__(self, examples: Sequence[Example], seed: int):
        labelled = [e for e in examples if e.label is not None]
        self._model = make_pipeline(
            make_union(
                TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+"),
                TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
            ),
            LinearSVC(random_state=seed),
        )
        self._model.fit(list(map(_text, labelled)), [e.label for e in labelled])
        self.bytes = len(pickle.dumps(self._model))

    def predict(self, examples: Sequence[Example]) -> list[str]:
        """The label of each example."""
        if not examples:
            return []
        return self._model.predict(list(map(_text, examples))).tolist()


def _text(example: Example) -> str:
    return " ".join(example.words)
