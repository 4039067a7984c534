"""What turns words into model inputs: the same object in training and on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

WORD_MASK = "word_mask"
"""An input that every window has beside its own, see `Window.input`."""


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a text that fits into the model, without padding.

    A text that fits is one window. In a longer one each word is *owned* by exactly one window
    (the one where it has most context) and is scored there.

    Attributes:
        inputs: model inputs by name (``input_ids``, ...), each ``[length]`` or ``[length, n]``.
        tokens: positions in the sequence of the owned words' scored pieces, int32 ``[tokens]``.
        starts: index into ``tokens`` of each owned word's first piece, int32 ``[words]``.
        words: the range ``(first, last + 1)`` of owned words in the text.
        dropped: pieces cut off because they fit into no window: the tail of a word longer than a
            window, or of a pair longer than one. 0 almost always; worth a count where it is not.
    """

    inputs: dict[str, np.ndarray]
    tokens: np.ndarray
    starts: np.ndarray
    words: tuple[int, int]
    dropped: int = 0

    @property
    def length(self) -> int:
        """Positions of the sequence, special tokens included."""
        return len(next(iter(self.inputs.values())))

    def input(self, name: str) -> np.ndarray:
        """An input by its name: one of `inputs`, or `WORD_MASK`.

        The latter is 1 at the first piece of each owned word and 0 elsewhere, int32 ``[length]``.
        """
        if name != WORD_MASK:
            return self.inputs[name]
        mask = np.zeros(self.length, np.int32)
        mask[self.tokens.take(self.starts)] = 1
        return mask


Text = tuple[Sequence[str], Sequence[str] | None]
"""The words of a text, and those of the second one of a pair."""


class Featurizer(Protocol):
    """Words to windows.

    Attributes:
        kind: registered name, written into the model file.
        padding: input name to the value that fills a row up to the batch's length.
        max_length: the longest window, special tokens included.
        word_mask: the input that is 1 where a word of the text is scored and 0 elsewhere:
            `WORD_MASK`, or one of the featurizer's own that says the same.
    """

    kind: str
    padding: dict[str, int]
    max_length: int
    word_mask: str

    def encode(self, words: Sequence[str], second: Sequence[str] | None = None) -> list[Window]:
        """At least one window, also for no words at all."""
        ...

    def encode_batch(self, texts: Sequence[Text]) -> list[list[Window]]:
        """`encode` of many texts at once, which may be much faster."""
        ...

    def forget(self) -> None:
        """Drop what is kept of words already seen; the next text is as slow as the first."""
        ...

    def to_assets(self) -> dict[str, bytes]:
        """Files that `from_assets` rebuilds it from, packed into the model file."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Settings that are no files of their own (kind, max length, alignment)."""
        ...

    @classmethod
    def from_assets(cls, settings: Mapping[str, Any], assets: Mapping[str, bytes]) -> Featurizer:
        """The featurizer that wrote ``settings`` (`to_json`) and ``assets`` (`to_assets`)."""
        ...


def check_integers(settings: Mapping[str, Any], names: Sequence[str]) -> None:
    """Check settings that a file gives: numbers that a window's inputs can hold.

    Raises:
        ValueError: one that is there and no integer of 0 to 2³¹ - 1.
    """
    for name in names:
        value = settings.get(name, 0)
        if type(value) is not int or not 0 <= value < 2**31:
            raise ValueError(f"{name} is {value!r:.40}; expected an integer of 0 to 2147483647")
