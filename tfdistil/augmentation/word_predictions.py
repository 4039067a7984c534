"""Words swapped for those that a masked language model expects in their places.

As TinyBERT (Jiao et al. 2020, section 4.3, algorithm 1) takes them for words of one piece; words of
several pieces, for which it has GloVe's neighbours, become words of one piece here, too.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfdistil.augmentation.parts import made_of, parts_of
from tfdistil.augmentation.registry import AugmentationContext, augmentation
from tfdistil.augmentation.stored_answers import StoredAnswers
from tfdistil.augmentation.whole_words import cased_like, whole_words
from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.files import beside, sha256
from tfdistil.padding import padded_lengths
from tfdistil.text.subwords import SubwordFeaturizer

Words = tuple[str, ...]
Filling = list[list[Any]]
"""For each hidden place ``[words, weights]``; a place beyond what the model reads has none."""

_LONGEST = 128
"""Positions of a window at the most; the words beyond it stay."""
_READ = ("config.json", "tokenizer.json", "vocab.txt", "vocab.json", "*.model", "*.safetensors")
"""The files of a checkpoint that predictions depend on."""
_PLACES = 64
"""The number of hidden words in a batch is rounded up to a multiple of it, for few shapes."""


@augmentation("word_predictions")
def word_predictions(
    examples: Sequence[Example],
    count: int,
    generator: random.Random,
    context: AugmentationContext,
    model: str = "",
    share: float = 0.15,
    candidates: int = 15,
    batch: int = 32,
    store: str = "fillings",
) -> list[Example]:
    """Sentences with some words swapped for what a masked language model expects there.

    The words that are drawn of a text, one at least, are hidden together. What the model expects is
    kept, and no text with the same words hidden is asked about twice.

    Args:
        examples: with or without labels; they take turns.
        count: sentences to make.
        generator: of the choices.
        context: its ``checkpoint`` is the model where none is given.
        model: folder or hub id of a checkpoint with a masked-language head.
        share: probability of each word to be swapped.
        candidates: how many of the likeliest whole words one is drawn from, by their probability;
            the word itself is none of them.
        batch: texts at once.
        store: folder of what was expected, relative to the recipe.

    Raises:
        DataError: no model, one without a masked-language head or a mask piece, a share outside
            ``(0, 1]``, or fewer than one candidate or text at once.
    """
    source = model or context.checkpoint
    if source is None:
        raise DataError(
            "word_predictions reads the teacher's checkpoint, but this teacher is made from "
            "scratch; give model: FOLDER of one with a masked-language head"
        )
    if not 0 < share <= 1 or candidates < 1 or batch < 1:
        raise DataError(
            "word_predictions: share is above 0 and at most 1, candidates and batch at least 1; "
            f"got {share}, {candidates} and {batch}"
        )
    drafts = _drafts(examples, count, generator, share)
    texts = [text for example, hidden in drafts for text in _texts(example, hidden)]
    filler = _Filler(beside(context.base, source), candidates)
    file = context.base / store / f"{filler.key()}.jsonl"
    counter = context.counter("predicted words", len(set(texts)))
    fillings = iter(StoredAnswers(file, batch, _is_filling)(texts, filler, counter))
    made = []
    for example, hidden in drafts:
        parts = [
            _filled(words, places, next(fillings), generator)
            for words, places in zip(parts_of(example), hidden, strict=True)
        ]
        made.append(made_of(parts, example))
    return made


def _drafts(
    examples: Sequence[Example], count: int, generator: random.Random, share: float
) -> list[tuple[Example, list[list[int]]]]:
    """Which words of which examples are to be swapped, for each of an example's texts."""
    sources = [e for e in examples if any(_swappable(words) for words in parts_of(e))]
    drafts: list[tuple[Example, list[list[int]]]] = []
    while sources and len(drafts) < count:
        generator.shuffle(sources)
        for example in sources[: count - len(drafts)]:
            hidden = []
            for words in parts_of(example):
                places = _swappable(words)
                drawn = [place for place in places if generator.random() < share]
                hidden.append(drawn or ([generator.choice(places)] if places else []))
            drafts.append((example, hidden))
    return drafts


def _swappable(words: Words) -> list[int]:
    return [place for place, word in enumerate(words) if any(map(str.isalpha, word))]


def _texts(example: Example, hidden: Sequence[Sequence[int]]) -> list[str]:
    """What is asked about, as text: words and hidden places."""
    return [
        json.dumps([words, places], ensure_ascii=False)
        for words, places in zip(parts_of(example), hidden, strict=True)
    ]


def _is_filling(text: str, answer: Any) -> bool:
    """Whether a line of the file is what `_Filler` would have written."""
    try:
        _, places = json.loads(text)
        return len(answer) == len(places) and all(
            len(words) == len(weights)
            and all(isinstance(word, str) and word for word in words)
            and all(0 <= weight <= 1 for weight in weights)
            and (not words or weights[0] > 0)
            for words, weights in answer
        )
    except (ValueError, TypeError):
        return False


def _filled(
    words: Words, places: Sequence[int], filling: Filling, generator: random.Random
) -> Words:
    found = list(words)
    for place, (expected, weights) in zip(places, filling, strict=True):
        if expected:
            (word,) = generator.choices(expected, weights)
            found[place] = cased_like(word, words[place])
    return tuple(found)


class _Loaded(NamedTuple):
    """A masked language model with what feeds it and the words that it may give.

    Attributes:
        model: the encoder.
        featurizer: its own.
        mask: id of the piece that hides a word.
        ids: of the pieces that are whole words, ``[words]``.
        names: these words.
        forms: the word without case to its numbers among them.
    """

    model: Any
    featurizer: SubwordFeaturizer
    mask: int
    ids: np.ndarray
    names: list[str]
    forms: dict[str, list[int]]


class _Filler:
    """Asks a checkpoint, which is loaded when it is asked first.

    Args:
        source: folder or hub id.
        candidates: see `word_predictions`.
    """

    def __init__(self, source: str, candidates: int):
        self.source, self.candidates = source, candidates
        self._loaded: _Loaded | None = None

    def key(self) -> str:
        """What the answers depend on, beside the text."""
        folder = Path(self.source)
        files = sorted(path for name in _READ for path in folder.glob(name))
        content = [f"{path.name} {sha256(path)}" for path in files] or [self.source]
        identity = "\n".join([*content, f"{self.candidates} {_LONGEST}"])
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    def __call__(self, texts: Sequence[str]) -> list[Filling]:
        """What is expected in the places of some texts, see `_texts`."""
        if self._loaded is None:
            self._loaded = self._load()
        model, featurizer, mask, ids, names, forms = self._loaded
        asked = [json.loads(text) for text in texts]
        inputs, positions = _inputs(featurizer, mask, asked)
        fillings: list[Filling] = [[[[], []] for _ in places] for _, places in asked]
        if not positions:
            return fillings
        time = inputs["input_ids"].shape[1]
        scored = np.zeros(-(-len(positions) // _PLACES) * _PLACES, np.int32)
        scored[: len(positions)] = [text * time + at for text, _, at in positions]
        logits = np.asarray(model({**inputs, "scored": scored})["logits/mlm"], np.float64)[:, ids]
        for (text, number, _), row in zip(positions, logits, strict=False):
            words, places = asked[text]
            row[forms.get(words[places[number]].casefold(), [])] = -np.inf  # it is there already
            best = [i for i in _highest(row, self.candidates) if row[i] > -np.inf]
            weights = np.exp(row[best] - row[best[:1]]).round(6)
            fillings[text][number] = [[names[i] for i in best], weights.tolist()]
        return fillings

    def _load(self) -> _Loaded:
        from tfdistil.encoders import load_encoder, load_tokenizer
        from tfdistil.encoders.checkpoint_info import resolve_checkpoint
        from tfdistil.text.pretrained import special_token_names

        folder: Path = resolve_checkpoint(self.source)
        model = load_encoder(folder, heads={"logits": "mlm"})
        if model.load_report is not None and model.load_report.fresh_heads:
            raise DataError(
                f"word_predictions: {self.source} has no masked-language head; give model: FOLDER "
                "of a checkpoint that has one, such as that of bert-base-uncased"
            )
        featurizer = SubwordFeaturizer.from_tokenizer(
            load_tokenizer(folder),
            min(_LONGEST, model.config.max_length),
            names=special_token_names(folder),
        )
        if featurizer.mask is None:
            raise DataError(f"word_predictions: the tokenizer of {self.source} has no mask piece")
        words = whole_words(featurizer)
        if not words:
            raise DataError(f"word_predictions: no piece of {self.source} is a whole word")
        forms: dict[str, list[int]] = {}
        for number, word in enumerate(words.values()):
            forms.setdefault(word.casefold(), []).append(number)
        ids, names = np.array([*words], int), [*words.values()]
        return _Loaded(model, featurizer, featurizer.mask, ids, names, forms)


def _highest(values: np.ndarray, count: int) -> np.ndarray:
    """The places of the highest values, in order of value; equal ones in order of place."""
    if count < len(values):
        found = np.sort(np.argpartition(-values, count)[:count])
    else:
        found = np.arange(len(values))
    return found[np.argsort(-values[found], kind="stable")]


def _inputs(
    featurizer: SubwordFeaturizer, mask: int, asked: Sequence[tuple[list[str], list[int]]]
) -> tuple[dict[str, np.ndarray], list[tuple[int, int, int]]]:
    """The first windows of texts with one mask piece for each hidden word.

    Returns:
        Padded inputs, and text, number of the hidden place and position of each that is there.
    """
    spelled: list[list[int]] = []
    positions: list[tuple[int, int, int]] = []
    known = featurizer.pieces(word for words, _ in asked for word in words)
    for text, (words, places) in enumerate(asked):
        ids = [featurizer.cls]
        numbers = {place: number for number, place in enumerate(places)}
        for place, word in enumerate(words):
            pieces = (mask,) if place in numbers else known[word]
            if len(ids) + len(pieces) + 1 > featurizer.max_length:
                break
            if place in numbers:
                positions.append((text, numbers[place], len(ids)))
            ids += pieces
        spelled.append([*ids, featurizer.sep])
    longest = max(map(len, spelled))
    time, _ = padded_lengths(longest, longest, 8, featurizer.max_length)
    inputs = {
        name: np.full((len(spelled), time), value, np.int32)
        for name, value in featurizer.padding.items()
    }
    for row, ids in enumerate(spelled):
        inputs["input_ids"][row, : len(ids)] = ids
        inputs["attention_mask"][row, : len(ids)] = 1
    return inputs, positions
