"""A model file to labels, with numpy, LiteRT and the featurizer's own library alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np

from tfdistil.errors import ModelFileError
from tfdistil.runtime.config import read_task
from tfdistil.runtime.graph import Graph, check_threads
from tfdistil.runtime.model_file import ModelFile, file_errors
from tfdistil.runtime.result import Result
from tfdistil.tasks import Task
from tfdistil.text.featurizer import Featurizer, Text, Window
from tfdistil.text.registry import featurizer_from_assets
from tfdistil.text.words import WordSplitter


class Answer(NamedTuple):
    """What a graph gives for one text, before decoding.

    Attributes:
        logits: the task's output to ``[words, labels]`` or ``[labels]``, float32; of a text in
            several windows the words of all, or the mean over them.
        paths: for outputs that the graph decodes, label ids int32 ``[words]``; without any if the
            text is several windows.
    """

    logits: dict[str, np.ndarray]
    paths: dict[str, np.ndarray]


class Runtime:
    """A model, ready to answer. Threads may share it; they take turns.

    Args:
        path: a ``.tflite`` file made by ``tfdistil-export``.
        threads: threads of the interpreter.

    Attributes:
        file: what the file says of itself.
        task: labels and decoder.
        splitter: text to words.
        featurizer: words to the graph's inputs.

    Raises:
        ModelFileError: a file that is damaged, too new, or not made by tfdistil.
        ValueError: threads that are not 1 to `tfdistil.runtime.graph.MOST_THREADS`.
    """

    def __init__(self, path: str | Path, threads: int = 1):
        check_threads(threads)
        self.file = ModelFile.open(path)
        with file_errors(self.file.path, "cannot be loaded"):
            self._load(threads)
        self._lock = Lock()

    def _load(self, threads: int) -> None:
        config, assets = self.file.config, self.file.assets
        self.task = read_task(config)
        self.splitter = WordSplitter.from_json(config["splitter"])
        self.featurizer: Featurizer = featurizer_from_assets(config["featurizer"], assets)
        (example,) = self.featurizer.encode(["a"])
        signatures, padding = config["signatures"], self.featurizer.padding
        self._graph = Graph(self.file.model, signatures, padding, example, threads)
        self._tensors = _tensors(self.task, config["outputs"], self._graph)
        self._paths = _paths(self._tensors, config.get("paths", {}), self._graph)
        for name, shape in signatures.items():
            if shape["length"] < self.featurizer.max_length:
                raise ModelFileError(
                    f"signature {name!r} has {shape['length']} positions, but the "
                    f"featurizer makes windows of up to {self.featurizer.max_length}"
                )

    def predict(self, texts: Sequence[str], k: int | None = None) -> list[Result]:
        """Answers for texts, which the model's own splitter cuts into words.

        Args:
            texts: any number.
            k: also give the k most probable sequences of tags of each (`Result.k_best`).

        Raises:
            TypeError: a single string instead of a list of them.
            ValueError: the model wants pairs of texts; or k, and it has no CRF, or k is not 1 to
                `tfdistil.tasks.base.MOST_PATHS`.
        """
        self._expect(pairs=False)
        texts = _strings(texts, "predict")
        splits = [self.splitter.split(text) for text in texts]
        answers = self.answers([([word for word, _, _ in words], None) for words in splits])
        return [
            self._result(text, words, one, k)
            for text, words, one in zip(texts, splits, answers, strict=True)
        ]

    def predict_words(self, texts: Sequence[Sequence[str]], k: int | None = None) -> list[Result]:
        """Answers for texts that are already split into words.

        The text of a result is the words joined by single spaces; its offsets refer to that.

        Args:
            texts: any number.
            k: as of `predict`.

        Raises:
            TypeError: a string where a list of words is expected.
            ValueError: as of `predict`.
        """
        self._expect(pairs=False)
        texts = [_strings(words, "predict_words") for words in texts]
        answers = self.answers([(words, None) for words in texts])
        return [
            self._result(" ".join(words), _places(words), one, k)
            for words, one in zip(texts, answers, strict=True)
        ]

    def predict_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Result]:
        """Answers for pairs of texts; a result has the words of the first one.

        Raises:
            TypeError: something else than two strings.
            ValueError: the model wants single texts.
        """
        self._expect(pairs=True)
        checked = [_strings(pair, "predict_pairs") for pair in pairs]
        if any(len(pair) != 2 for pair in checked):
            raise TypeError(
                "predict_pairs takes a list of pairs of strings, [(first, second), ...]"
            )
        splits = [[self.splitter.split(text) for text in pair] for pair in checked]
        answers = self.answers(
            [([w for w, _, _ in one], [w for w, _, _ in two]) for one, two in splits]
        )
        return [
            Result.build(pair[0], split[0], self.task.decode(*one), second=pair[1])
            for pair, split, one in zip(checked, splits, answers, strict=True)
        ]

    def logits(self, texts: Sequence[Text]) -> list[dict[str, np.ndarray]]:
        """Float logits of texts, before decoding.

        Args:
            texts: the words of each text, and of the second one of a pair or None.

        Returns:
            Per text, the task's output to ``[words, labels]`` or ``[labels]``, float32. Those of a
            text in several windows are, at sequence level, the mean over the windows.

        Raises:
            ModelFileError: the featurizer or the graph fails on them.
        """
        return [answer.logits for answer in self.answers(texts)]

    def answers(self, texts: Sequence[Text]) -> list[Answer]:
        """What the graph gives for texts: `logits`, and the paths that it finds itself.

        Args:
            texts: as of `logits`.

        Raises:
            ModelFileError: the featurizer or the graph fails on them.
        """
        texts = [(words, second) for words, second in texts]
        with file_errors(self.file.path, "cannot answer"):
            encoded = self.featurizer.encode_batch(texts)
        return self.answers_of_windows(encoded)

    def answers_of_windows(self, encoded: Sequence[list[Window]]) -> list[Answer]:
        """What the graph gives for texts that are cut into windows already.

        Args:
            encoded: the windows of each text, as the featurizer makes them.

        Raises:
            ModelFileError: the graph fails on them.
        """
        windows = [window for text in encoded for window in text]
        tensors = dict(self._tensors.values())
        with file_errors(self.file.path, "cannot answer"), self._lock:
            values = iter(self._graph.run(windows, tensors, self._paths.values()))
        return [self._join([next(values) for _ in text]) for text in encoded]

    def _join(self, windows: list[dict[str, np.ndarray]]) -> Answer:
        if len(windows) == 1:
            (values,) = windows
            return Answer(
                {name: values[tensor] for name, (tensor, _) in self._tensors.items()},
                {name: values[tensor] for name, tensor in self._paths.items()},
            )
        logits = {
            name: np.concatenate([v[tensor] for v in windows])
            if words
            else np.mean([v[tensor] for v in windows], axis=0)
            for name, (tensor, words) in self._tensors.items()
        }
        return Answer(logits, {})  # paths of windows do not join to the best one of the text

    def _result(
        self, text: str, words: Sequence[tuple[str, int, int]], answer: Answer, k: int | None
    ) -> Result:
        if k is None:
            return Result.build(text, words, self.task.decode(*answer))
        # The graph knows scores to 1 / 16384, and of equal ones may have taken another.
        prediction = self.task.decode(answer.logits)
        k_best = self.task.k_best(answer.logits, k)
        return Result.build(text, words, prediction, k_best=k_best)

    def _expect(self, pairs: bool) -> None:
        if pairs != (self.task.kind == "pair"):
            right = "predict_pairs" if self.task.kind == "pair" else "predict or predict_words"
            raise ValueError(f"the model's task is {self.task.kind!r}; use {right}")


def _tensors(task: Task, outputs: Mapping[str, str], graph: Graph) -> dict[str, tuple[str, bool]]:
    """The task's outputs to the graph's, and whether each is word level."""
    found = {}
    for output in task.outputs:
        if output.name not in outputs:
            raise ModelFileError(f"no output of the graph is named for the task's {output.name!r}")
        tensor, words = outputs[output.name], output.level == "word"
        graph.check_output(tensor, words, len(output.labels))
        found[output.name] = (tensor, words)
    return found


def _paths(
    tensors: Mapping[str, tuple[str, bool]], paths: Mapping[str, str], graph: Graph
) -> dict[str, str]:
    """The task's outputs that the graph decodes to the graph's outputs of paths."""
    for output, tensor in paths.items():
        if output not in tensors or not tensors[output][1]:
            raise ModelFileError(f"has the path {tensor!r:.40} of {output!r:.40}, no word output")
        graph.check_path(tensor)
    return dict(paths)


def _strings(values: Iterable[str], caller: str) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{caller} takes a list, not the single string {values[:40]!r}")
    values = list(values)
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{caller} takes strings; one is a {type(value).__name__}")
    return values


def _places(words: Sequence[str]) -> list[tuple[str, int, int]]:
    """The words' places when they are joined by single spaces."""
    places, start = [], 0
    for word in words:
        places.append((word, start, start + len(word)))
        start += len(word) + 1
    return places
