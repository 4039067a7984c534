"""Changes of a stream's batches by the names that a stage's ``noise`` has for them.

Each is a function ``(featurizer, texts, **options)`` that gives a `Transform`. A new one is a
function under `noise`, or a line in `NOISE`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfdistil.distill.masking import Texts, masking
from tfdistil.distill.spelling import spelling
from tfdistil.distill.streams import Transform
from tfdistil.distill.word_dropout import word_dropout
from tfdistil.errors import RecipeError
from tfdistil.options import wrong_call
from tfdistil.recipe.schema.stages import NoiseSpec
from tfdistil.registry import add_once


@dataclass(frozen=True)
class Noise:
    """A way to change batches.

    Attributes:
        function: of the student's featurizer, the words of the texts that the stage draws from, and
            its options; raises ValueError where they do not fit. The texts are gone through, if
            they are, when the first batch is drawn.
        held_out: whether it is a part of the task, which what a loss is taken on has too, drawn the
            same at every check. Otherwise it makes training harder, and nothing else.
        targets: names of the ids for every piece that it adds to a batch, as ``target/NAME``.
        reads_words: whether it needs the words of a row, which packed rows do not have.
    """

    function: Callable[..., Transform]
    held_out: bool = False
    targets: tuple[str, ...] = ()
    reads_words: bool = False


NOISE: dict[str, Noise] = {
    "masking": Noise(masking, held_out=True, targets=("mlm",)),
    "spelling": Noise(spelling, reads_words=True),
    "word_dropout": Noise(word_dropout, reads_words=True),
}
"""By the name that ``noise`` has in a recipe."""


def noise(
    name: str, *, held_out: bool = False, targets: Sequence[str] = ()
) -> Callable[[Callable[..., Transform]], Callable[..., Transform]]:
    """Register a function ``(featurizer, texts, **options) -> transform``; see `Noise`.

    Raises:
        ValueError: there is noise of that name.
    """

    def register(function: Callable[..., Transform]) -> Callable[..., Transform]:
        add_once(NOISE, name, Noise(function, held_out, tuple(targets)))
        return function

    return register


@dataclass(frozen=True)
class BoundNoise:
    """What a stage's noise comes to for its student: transforms, and the targets they make."""

    training: tuple[Transform, ...]
    held_out: tuple[Transform, ...]
    targets: tuple[str, ...]


def bind_noise(specs: Sequence[NoiseSpec], featurizer: Any, texts: Texts) -> BoundNoise:
    """The transforms of a stage, in the order in which they are applied.

    Raises:
        RecipeError: an unknown kind, options that it does not have, or a featurizer that it cannot
            change the inputs of.
    """
    functions = {name: kind.function for name, kind in NOISE.items()}
    training: list[Transform] = []
    held_out: list[Transform] = []
    targets: list[str] = []
    for spec in specs:
        if (wrong := wrong_call(functions, "noise", spec.kind, spec.options, given=2)) is not None:
            raise RecipeError(wrong)
        try:
            transform = functions[spec.kind](featurizer, texts, **spec.options)
        except ValueError as error:
            raise RecipeError(f"{spec.kind}: {error}") from None
        training.append(transform)
        held_out += [transform] * NOISE[spec.kind].held_out
        targets += NOISE[spec.kind].targets
    return BoundNoise(tuple(training), tuple(held_out), tuple(targets))
