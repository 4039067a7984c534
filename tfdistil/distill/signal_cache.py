"""What teachers give for sets, kept on disk by all that it depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tfdistil.console.progress import Counter
from tfdistil.data.example import Example
from tfdistil.distill.bound_stage import BoundStage
from tfdistil.distill.derived import signals_read, split
from tfdistil.distill.rows import TextRows
from tfdistil.distill.signals import StoredSignals, load_signals, store_signals
from tfdistil.distill.stage_checks import FeaturizedModel


class SignalCache:
    """Folders of signals; what is there is not made again.

    Args:
        folder: where they go.
        sets: examples by name.
        rows: gives the set of a name encoded for the model of a name.
        counter: shows how far a teacher is.
    """

    def __init__(
        self,
        folder: Path,
        sets: Mapping[str, Sequence[Example]],
        rows: Callable[[str, str], TextRows],
        counter: Counter,
    ):
        self.folder, self.sets, self.rows, self.counter = folder, sets, rows, counter

    def load(
        self, stage: BoundStage, name: str, signals: Sequence[str], later: Iterable[BoundStage] = ()
    ) -> tuple[StoredSignals, Path]:
        """Signals of a stage's teacher on a set, and the folder they lie in.

        Args:
            stage: what its texts are drawn by is stored beside what its terms read.
            name: of the set.
            signals: that the model itself gives.
            later: stages with the same teacher. What they will read of the set is made too where
                the teacher has to run, since that is what takes the time.

        Raises:
            RunError: see `load_signals`.
            OSError, RecipeError: see `store_signals`.
        """
        teacher = stage.spec.teacher
        assert stage.teacher is not None
        assert teacher is not None
        wanted = _with_draw(stage, name, signals)
        folder = self.folder_of(stage.teacher, name, wanted)
        if not folder.exists():
            lists = [names for other in later for names in _read(other, name)]
            folders = {self.folder_of(stage.teacher, name, names): names for names in lists}
            missing = {path: names for path, names in folders.items() if not path.exists()}
            rows = self.rows(teacher, name)
            counter = self.counter(f"{teacher} on {name}", len(rows.token_counts))
            store_signals(stage.teacher.model, rows, {**missing, folder: wanted}, counter)
        return load_signals(folder, self.rows(stage.spec.student, name)), folder

    def folder_of(self, teacher: FeaturizedModel, name: str, signals: Sequence[str]) -> Path:
        """Where signals of a model on a set lie.

        The name depends on all that they do: weights, heads, tokenizer, sentences, windows.
        """
        digest = hashlib.sha256()
        for weight in teacher.model.get_weights():
            digest.update(np.ascontiguousarray(weight).tobytes())
        for _, data in sorted(teacher.featurizer.to_assets().items()):
            digest.update(data)
        heads = getattr(teacher.model, "head_kinds", None)  # constraints, and the order of labels
        settings = [teacher.featurizer.to_json(), heads, list(signals), "float32"]
        mean = getattr(teacher.model, "mean", "arithmetic")
        if mean != "arithmetic":  # of the same members, and so of the same weights
            settings.append(mean)
        digest.update(json.dumps(settings, sort_keys=True).encode())
        for example in self.sets[name]:
            digest.update("\x1f".join((*example.words, "\x1e", *(example.second or ()))).encode())
        return self.folder / f"{name}-{digest.hexdigest()[:16]}"


def _read(stage: BoundStage, name: str) -> Iterator[list[str]]:
    """The lists of signals that a stage keeps of its teacher on a set, see `Schedule`."""
    if stage.teacher is None or stage.spec.signals != "cached":
        return
    uses = [[key] for key, pool in stage.pools.items() if name in pool]
    if stage.spec.stop.monitor == "loss" and stage.spec.stop.on == name:
        uses.append([*stage.pools])
    for keys in uses:
        if read := signals_read(*split(stage.teacher.model, stage.teacher_signals(keys))):
            yield _with_draw(stage, name, read)


def _with_draw(stage: BoundStage, name: str, signals: Sequence[str]) -> list[str]:
    """Signals on a set, and those by which its texts are drawn."""
    drawn_by = stage.drawn_by if stage.draw is not None and name in stage.draw.sets else []
    return sorted({*signals, *drawn_by})
