"""Words swapped for their neighbours among the teacher's word embeddings: needs no other model.

A student that hashes words knows nothing of one it has not seen, while the teacher's table holds
which words are alike. Sentences with such words in the places of others, labelled by the teacher,
hand that over. (TinyBERT, Jiao et al. 2020, section 4.3, takes a masked language model's and
GloVe's words instead.)
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np

from tfdistil.augmentation.parts import made_of, parts_of
from tfdistil.augmentation.registry import AugmentationContext, augmentation
from tfdistil.augmentation.whole_words import cased_like, whole_words
from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.files import beside
from tfdistil.text.subwords import SubwordFeaturizer

Neighbours = dict[str, list[str]]

_BLOCK = 512
"""Words whose cosines are held at once: 512 x 30,000 take 60 MB."""


@augmentation("word_neighbours")
def word_neighbours(
    examples: Sequence[Example],
    count: int,
    generator: random.Random,
    context: AugmentationContext,
    share: float = 0.3,
    neighbours: int = 15,
) -> list[Example]:
    """Sentences with some words swapped for neighbours of theirs.

    Words that are one piece of the teacher's vocabulary are swapped; others stay.

    Args:
        examples: with or without labels; they take turns.
        count: sentences to make.
        generator: of the choices.
        context: its ``checkpoint`` has the word embeddings.
        share: probability of each word to be swapped.
        neighbours: how many of the nearest words, by cosine, are as likely as one another.

    Raises:
        DataError: a teacher without a checkpoint, a share outside ``(0, 1]``, or fewer than one
            neighbour.
    """
    if context.checkpoint is None:
        raise DataError(
            "word_neighbours reads the word embeddings of the teacher's checkpoint, but this "
            "teacher is made from scratch; slot_substitution needs none"
        )
    if not 0 < share <= 1 or neighbours < 1:
        raise DataError(
            f"word_neighbours: share is above 0 and at most 1, and neighbours at least 1; got "
            f"{share} and {neighbours}"
        )
    words = {word for e in examples for word in (*e.words, *(e.second or ()))}
    near = _neighbours(beside(context.base, context.checkpoint), words, neighbours)

    def swapped(text: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            cased_like(generator.choice(near[word]), word)
            if word in near and generator.random() < share
            else word
            for word in text
        )

    made: list[Example] = []
    sources = list(examples)
    while sources and len(made) < count:
        generator.shuffle(sources)
        made += [
            made_of([swapped(words) for words in parts_of(example)], example)
            for example in sources[: count - len(made)]
        ]
    return made


def _neighbours(checkpoint: str, words: Iterable[str], count: int) -> Neighbours:
    """The nearest whole words of each word that is one piece, itself left out; none of marks."""
    from tfdistil.encoders import load_tokenizer, word_embeddings
    from tfdistil.encoders.checkpoint_info import resolve_checkpoint
    from tfdistil.text.pretrained import special_token_names

    folder = resolve_checkpoint(checkpoint)
    table = word_embeddings(folder)
    featurizer = SubwordFeaturizer.from_tokenizer(
        load_tokenizer(folder), 512, names=special_token_names(folder)
    )
    whole = sorted(whole_words(featurizer).items(), key=lambda item: item[1])
    names = np.array([word for _, word in whole])
    candidates = np.array([i for i, _ in whole])
    special = {*featurizer.tokenizer.get_added_tokens_decoder(), *featurizer.special_ids()}
    pieces = featurizer.pieces(sorted(set(words)))
    ids = {
        word: pieces[word][0]
        for word in sorted(set(words))
        if len(pieces[word]) == 1
        and pieces[word][0] not in special
        and any(map(str.isalnum, word))  # the nearest words of a full stop are "and" and "the"
    }
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
    count = min(count, len(candidates) - 1)
    if count < 1:
        return {}
    near: Neighbours = {}
    spelled = list(ids)
    for start in range(0, len(spelled), _BLOCK):
        block = spelled[start : start + _BLOCK]
        own = np.array([ids[word] for word in block])
        cosine = unit[own] @ unit[candidates].T
        cosine[own[:, None] == candidates] = -np.inf
        best = np.argpartition(-cosine, count, axis=1)[:, :count]
        near |= {word: names[row].tolist() for word, row in zip(block, best, strict=True)}
    return near
