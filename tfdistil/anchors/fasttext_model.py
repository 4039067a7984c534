"""fastText's classifier (Joulin et al. 2016)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tfdistil.data.example import Example
from tfdistil.errors import RunError
from tfdistil.tasks import Prediction, Task

_LABEL = "\x1f"
"""Before the number of a label, where fastText has ``__label__``, which a text might hold."""
_TRAINING = {
    **{"lr": 0.5, "epoch": 100, "dim": 64, "loss": "softmax", "thread": 1},
    **{"wordNgrams": 2, "minn": 2, "maxn": 5, "bucket": 200_000},
}
"""Words, pairs of words and two to five characters of words, chosen on CLINC150's dev set."""
_TRAIN = """
import json, sys
import fasttext
fasttext.train_supervised(**json.loads(sys.argv[1])).save_model(sys.argv[2])
"""
_FRESH_PAGES = {"MALLOC_MMAP_THRESHOLD_": "65536"}
"""With one thread, which makes it repeatable, fastText 0.9.2 sets a tenth of its vectors only and
leaves the memory of the others as it finds it: NaN at times. In a process whose large blocks are
mapped they are zeros, which is not so here, where `tfdistil.allocator` keeps freed memory."""


class FastText:
    """fastText on labels of texts.

    Args:
        task: one with a label for each text and no tags.
        examples: its labelled train set, without second texts.
        seed: of the vectors it begins with.

    Attributes:
        bytes: of its file.
        seconds: that training took.

    Raises:
        RunError: a task with tags or on pairs of texts, fastText is not installed, or its training
            failed.
    """

    def __init__(self, task: Task, examples: Sequence[Example], seed: int):
        if any(output.level == "word" for output in task.outputs):
            raise RunError("fasttext is for labels of texts; for tags and slots there is light")
        if any(example.second is not None for example in examples):
            raise RunError("fasttext reads single texts; for pairs there are majority and second")
        try:
            import fasttext
        except ModuleNotFoundError:
            raise RunError(
                "the anchor fasttext needs fastText: pip install 'tfdistil[anchors]', or build "
                "it from its source where there is no wheel"
            ) from None
        start = time.perf_counter()
        labelled = [(e.label, _text(e)) for e in examples if e.label is not None]
        self._labels = sorted({label for label, _ in labelled})
        if not labelled:
            raise RunError("fasttext learns from labels, and train has none")
        ids = {label: number for number, label in enumerate(self._labels)}
        lines = [f"{_LABEL}{ids[label]} {text}" for label, text in labelled]
        with tempfile.TemporaryDirectory(prefix="tfdistil-anchor-") as folder:
            text, file = Path(folder) / "train.txt", Path(folder) / "model.bin"
            text.write_text("\n".join(lines) + "\n", "utf-8")
            _train(text, file, seed)
            self._model = fasttext.load_model(str(file))
            self.bytes = file.stat().st_size
        self.seconds = time.perf_counter() - start

    def __str__(self) -> str:
        """What it is, for the head of a table."""
        return f"fastText, {self.bytes / 1e6:.1f} MB, {self.seconds:.0f} s of training"

    def predict(self, examples: Sequence[Example]) -> list[Prediction]:
        """The label of each example."""
        found = self._model.predict([_text(example) for example in examples])[0]
        return [Prediction(label=self._labels[int(one.removeprefix(_LABEL))]) for (one,) in found]


def _train(text: Path, file: Path, seed: int) -> None:
    """Make the model in a process of its own, see `_FRESH_PAGES`."""
    given = {"input": str(text), "label": _LABEL, "seed": seed % 2**31, "verbose": 0}
    # Settings of the user's may fill new memory, which is to stay zeros.
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MALLOC_") and name not in ("GLIBC_TUNABLES", "LD_PRELOAD")
    }
    done = subprocess.run(
        [sys.executable, "-c", _TRAIN, json.dumps(given | _TRAINING), str(file)],
        cwd=text.parent,  # no module of the user's folder is imported
        env={**kept, **_FRESH_PAGES},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise RunError(f"fastText did not learn these labels: {said[-1]}")


def _text(example: Example) -> str:
    """In lower case, on one line, without what marks a label, ends a line or is no UTF-8."""
    text = " ".join(example.words).lower().replace(_LABEL, " ").replace("</s>", "< /s>")
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
