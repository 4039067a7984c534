"""What a text is worth to a student, by its teacher's predictions; and rows drawn by it.

A new measure is a function under `worth`, from a prediction to a number from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfdistil.distill.rows import Rows
from tfdistil.errors import RecipeError
from tfdistil.printable import listed
from tfdistil.recipe.schema.stages import DrawSpec
from tfdistil.registry import entering
from tfdistil.tasks import Prediction, Task
from tfdistil.tasks.base import Level
from tfdistil.tasks.decoders import read_decoders


@dataclass(frozen=True)
class Worth:
    """A measure of texts.

    Attributes:
        function: of the teacher's prediction on a text.
        levels: of outputs; a task without any of these cannot be measured so.
    """

    function: Callable[[Prediction], float]
    levels: frozenset[Level]


WORTHS: dict[str, Worth] = {}
"""By the name that ``draw.by`` has in a recipe."""


def worth(
    name: str, *levels: Level
) -> Callable[[Callable[[Prediction], float]], Callable[[Prediction], float]]:
    """Register a measure for tasks with outputs of these levels, see `Worth`.

    Raises:
        ValueError: there is one of that name.
    """

    def register(function: Callable[[Prediction], float]) -> Callable[[Prediction], float]:
        entering(WORTHS, name)(Worth(function, frozenset(levels)))
        return function

    return register


@worth("entities", "word")
def entities(said: Prediction) -> float:
    """The share of the words that the teacher finds in entities or slots."""
    tags = said.tags or ()
    return sum(tag != "O" for tag in tags) / max(1, len(tags))


@worth("uncertainty", "word", "sequence")
def uncertainty(said: Prediction) -> float:
    """1 - the probability of the teacher's labels: of the text, and in the mean of its words."""
    sure = [] if said.label is None else [said.label_score]
    if said.tag_scores:
        sure.append(float(np.mean(said.tag_scores)))
    return 1.0 - float(np.mean(sure)) if sure else 0.0


@dataclass(frozen=True)
class BoundDraw:
    """How a stage draws texts, with all that it names looked up.

    Attributes:
        by: the name of the measure.
        measure: of the teacher's prediction on a text.
        head: the teacher's, which predicts.
        sets: of which texts.
        even: see `draw_weights`.
    """

    by: str
    measure: Callable[[Prediction], float]
    head: str
    sets: tuple[str, ...]
    even: float


def bind_draw(
    spec: DrawSpec,
    teacher: Any,
    head: str,
    named: Sequence[str],
    in_memory: Mapping[str, bool],
    task: Task,
) -> BoundDraw:
    """Look up what a stage draws by.

    Args:
        spec: the recipe's.
        teacher: the model that says what a text is worth.
        head: its head where the recipe names none.
        named: the sets that terms of the stage name.
        in_memory: those of them that are not empty, each with whether it is in memory.
        task: decodes.

    Raises:
        RecipeError: an unknown measure or one of other tasks, a set that the stage does not draw
            from or that is not in memory, or a head that is not there or does not score the task.
    """
    if spec.by not in WORTHS:
        raise RecipeError(f"by: unknown {spec.by!r}; there are {', '.join(WORTHS)}")
    levels = WORTHS[spec.by].levels
    if not any(output.level in levels for output in task.outputs):
        raise RecipeError(f"by: {spec.by} is for labels of {listed(levels)}s, which are none here")
    for name in spec.sets:
        if name not in named:
            raise RecipeError(
                f"sets: the stage does not draw from {name!r}, but from {listed(named)}"
            )
        if not in_memory.get(name, True):
            raise RecipeError(f"sets: {name!r} is kept in shards; balance says how that is drawn")
    head = spec.head or head
    try:
        scored = teacher.outputs_of(head)
    except ValueError as error:
        raise RecipeError(f"head: {error}") from None
    if set(scored) != {output.name for output in task.outputs}:
        raise RecipeError(f"head: {head!r} of the teacher does not score what the task has")
    sets = tuple(dict.fromkeys(spec.sets))
    return BoundDraw(spec.by, WORTHS[spec.by].function, head, sets, spec.even)


def predictions_of(
    task: Task,
    decoding: Mapping[str, Any],
    rows: Rows,
    scores: Callable[[str, int], np.ndarray],
) -> Iterator[Prediction]:
    """A model's prediction on each text, from its stored scores.

    Args:
        task: decodes.
        decoding: of the model's head, see `tfdistil.heads.model.HeadedModel.decoding`.
        rows: the texts, as any model with the same scored tokens reads them.
        scores: output and number of the text to ``[tokens, labels]`` or ``[labels]``.
    """
    decoder = task.with_decoders(read_decoders(decoding, task.outputs))
    for text, parts in enumerate(rows.rows_of()):
        starts = rows.word_starts(parts)
        of_text = {output: scores(output.name, text) for output in task.outputs}
        yield decoder.decode(
            {
                output.name: array[starts] if output.level == "word" else array
                for output, array in of_text.items()
            }
        )


def draw_weights(values: np.ndarray, even: float) -> np.ndarray:
    """How often each row of a set is drawn in a pass; 1 in the mean.

    Args:
        values: what each is worth, >= 0, ``[rows]``.
        even: the share of a pass that is drawn without a look at it, 0 to 1.

    Returns:
        even + (1 - even) · value / mean, ``[rows]``; 1 where nothing is worth anything.
    """
    mean = values.mean() if len(values) else 0.0
    return even + (1.0 - even) * values / mean if mean > 0 else np.ones(len(values))


def draw_weighted(weights: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The rows of one pass, as many as there are, each about as often as its weight says.

    Systematic sampling in a random order: a row with a weight of 2.3 comes two or three times, 2.3
    times in the mean of many passes.

    Args:
        weights: >= 0, not all 0, ``[rows]``.
        generator: of what is drawn.

    Returns:
        Row numbers, int64 ``[rows]``.
    """
    rows = len(weights)
    order = generator.permutation(rows)
    # Rounded, so that sums a hair below a whole number in float arithmetic do not lose a row.
    reached = np.round(np.cumsum(weights[order]) / weights.sum() * rows, 9)
    reached[-1:] = rows
    times = np.diff(np.floor(reached + generator.random()).astype(np.int64), prepend=0)
    return np.repeat(order, times)
