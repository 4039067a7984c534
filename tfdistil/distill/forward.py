"""Running a model for its signals: only those wanted, gathered at the scored tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import keras
import numpy as np
from keras import ops

from tfdistil.distill.compiled import compiled
from tfdistil.distill.rows import TextRows, bucketed_batches, rows_by_example, tokens_of
from tfdistil.errors import RecipeError
from tfdistil.printable import listed


class SignalModel(Protocol):
    """What distillation needs of a teacher or a student.

    ``model(batch)`` returns named signals; `level` says what each has rows for:

    - ``subword``: ``[B, T, ...]``, one per piece, gathered at the scored tokens where needed;
    - ``token``: ``[B, U, ...]``, one per scored token already (a CRF's paths, say; such a model
      reads ``tokens`` and ``token_mask`` of the batch itself);
    - ``sequence``: ``[B, ...]``, one per text;
    - ``model``: no batch axis, the same for every text (a CRF's transitions);
    - ``window``: anything else, such as attention maps; for terms that align on subwords alone;
    - ``derived``: not returned, but made of others once the windows of a text are joined; for
      teachers alone. ``derivations(names)`` of the model gives what makes them, for each a
      `tfdistil.heads.derivation.Derivation`.

    A text longer than a window has a signal from each, which are joined as `JOINS` says for the
    level. A model of which that is not true for all signals has a method ``join(signal)``: it gives
    another `Join`, or None for one that cannot be joined. The best paths of two halves are not
    those of the whole, so a CRF's are derived.
    """

    def __call__(self, inputs: Mapping[str, Any], training: bool = False) -> dict[str, Any]:
        """All signals by name."""
        ...

    def level(self, signal: str) -> str:
        """What a signal has rows for, see the class."""
        ...


Join = Callable[[Sequence[np.ndarray]], np.ndarray]
"""A signal's arrays in the windows of one text, in order, to that of the whole text."""


JOINS: dict[str, Join] = {
    "subword": np.concatenate,
    "token": np.concatenate,
    "sequence": lambda parts: np.mean(parts, axis=0),
}
"""How the windows of a text are joined, by the level of the signal."""


def join_of(model: SignalModel, signal: str) -> Join | None:
    """How a signal of a model is joined, see `SignalModel`; None where it cannot be."""
    declared: Callable[[str], Join | None] | None = getattr(model, "join", None)
    return JOINS[model.level(signal)] if declared is None else declared(signal)


def at_tokens(signal: Any, tokens: Any) -> Any:
    """Rows of a per-piece signal at the scored tokens.

    Args:
        signal: ``[B, T, ...]``.
        tokens: positions, int ``[B, U]``.

    Returns:
        ``[B, U, ...]``.
    """
    shape = (*ops.shape(tokens), *([1] * (len(signal.shape) - 2)))
    return ops.take_along_axis(signal, ops.reshape(tokens, shape), axis=1)


class SignalReader:
    """Reads named signals off a model; compiled once, used for every batch and every epoch.

    Args:
        model: a teacher or student.
        names: the signals; those of level ``subword`` are gathered at the scored tokens.

    Attributes:
        per_token: for each signal of a text, whether its first axis is tokens.
        of_model: the signals of level ``model``.
    """

    def __init__(self, model: SignalModel, names: Sequence[str]):
        self.model, self.names = model, tuple(names)
        self._levels = {name: model.level(name) for name in names}
        self.per_token = {
            name: level in ("subword", "token")
            for name, level in self._levels.items()
            if level != "model"
        }
        self.of_model = tuple(name for name, level in self._levels.items() if level == "model")
        self._joins = {name: join_of(model, name) for name in self.per_token}
        self._compiled: Callable[[Any], dict[str, Any]] | None = None

    def batch(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Signals of one padded batch: ``[B, U, ...]``, ``[B, ...]``; of the model: ``[...]``."""
        if self._compiled is None:
            self._compiled = self._compile(inputs)
        return {name: np.asarray(array) for name, array in self._compiled(dict(inputs)).items()}

    def _compile(self, inputs: Mapping[str, np.ndarray]) -> Callable[[Any], dict[str, Any]]:
        def run(batch: Mapping[str, Any]) -> dict[str, Any]:
            signals = self.model(batch, training=False)
            return {
                name: at_tokens(signals[name], batch["tokens"])
                if level == "subword"
                else signals[name]
                for name, level in self._levels.items()
            }

        sizes = {
            name: keras.KerasTensor((None, None, *array.shape[2:]), str(array.dtype))
            for name, array in inputs.items()
        }
        return compiled(run, getattr(self.model, "variables", ()), [sizes])

    def examples(
        self, rows: TextRows, batch_size: int = 64
    ) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """Signals of every example, its windows put back together.

        Args:
            rows: encoded with the model's own featurizer.
            batch_size: rows at a time.

        Yields:
            ``(example index, {name: [tokens, ...] or [...]})`` in no particular order, without the
            signals of the model itself.

        Raises:
            RecipeError: a text in several windows with a signal that cannot be joined; before the
                model has run.
        """
        rows_of = rows_by_example(rows)
        self.check_windows(rows_of)
        pending = [len(parts) for parts in rows_of]
        found: dict[int, dict[str, np.ndarray]] = {}
        for batch_rows in bucketed_batches(rows.lengths, batch_size, None):
            signals = self.batch(rows.inputs(batch_rows))
            for i, row in enumerate(batch_rows):
                found[row] = self.row(signals, i, tokens_of(rows, row))
                example = int(rows.example[row])
                pending[example] -= 1
                if pending[example] == 0:
                    yield example, self.join([found.pop(r) for r in rows_of[example]])

    def row(self, signals: Mapping[str, np.ndarray], i: int, tokens: int) -> dict[str, np.ndarray]:
        """One row of a batch of signals, without its padding."""
        return {
            name: signals[name][i, :tokens] if per_token else signals[name][i]
            for name, per_token in self.per_token.items()
        }

    def check_windows(self, rows_of: Sequence[Sequence[int]]) -> None:
        """Find texts whose signals cannot be joined.

        Args:
            rows_of: the rows of each text.

        Raises:
            RecipeError: a text in several windows, and a signal that cannot be joined.
        """
        long = sum(len(rows) > 1 for rows in rows_of)
        refused = [name for name, join in self._joins.items() if join is None]
        if long and refused:
            raise RecipeError(
                f"{long} of {len(rows_of)} texts are longer than a window, and of several windows "
                f"the signals {listed(refused)} make none of the whole text; give the model that "
                "they are read off a larger max_length, or leave these texts out"
            )

    def join(self, parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """The windows of one text put together, which `check_windows` has let pass."""
        if len(parts) == 1:
            return dict(parts[0])
        joins = {name: join for name, join in self._joins.items() if join is not None}
        return {name: join([part[name] for part in parts]) for name, join in joins.items()}
