"""What can be done to a model before it is trained on: round, leave out layers, drop pieces.

A transform is a function of a record, the corpus and its options that gives a new record and leaves
the old one alone. A new one is a function with `transform` above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from tfdistil.corpus.loading import Corpus
from tfdistil.distill.weights import copy_groups
from tfdistil.encoders import Encoder
from tfdistil.models.inputs import sentences
from tfdistil.models.record import ModelRecord
from tfdistil.options import wrong_call
from tfdistil.registry import entering
from tfdistil.students import STUDENTS
from tfdistil.text.pretrained import MASK_TOKENS
from tfdistil.text.prune import characters, prune_tokenizer

Transform = Callable[..., ModelRecord]
TRANSFORMS: dict[str, Transform] = {}
"""By the name that ``apply`` has."""


def transform(name: str) -> Callable[[Transform], Transform]:
    """Register a function ``(record, corpus, **options) -> record``.

    Raises:
        ValueError: there is a transform of that name.
    """
    return entering(TRANSFORMS, name)


def apply_transform(
    name: str, record: ModelRecord, corpus: Corpus, options: Mapping[str, Any]
) -> ModelRecord:
    """A new model made of one that stays as it is.

    Raises:
        ValueError: an unknown transform, options that it does not have, or a model that it cannot
            change.
    """
    if (wrong := wrong_call(TRANSFORMS, "transform", name, options, given=2)) is not None:
        raise ValueError(wrong)
    return TRANSFORMS[name](record, corpus, **options)


@transform("quantize")
def quantize(record: ModelRecord, corpus: Corpus, engine: str = "keras") -> ModelRecord:
    """The same weights in a model that rounds as its int8 file will.

    Args:
        record: a student that can be trained quantized.
        corpus: not read.
        engine: ``keras`` or ``tfmot``: who rounds.
    """
    del corpus
    if not hasattr(record.model, "quantized"):
        kinds = [name for name, kind in STUDENTS.items() if hasattr(kind, "quantized")]
        raise ValueError(
            f"a model of the kind {record.arguments['kind']} cannot be trained quantized; "
            f"{', '.join(kinds)} can. export: {{quantize: int8}} quantizes any student after "
            "training"
        )
    model = record.model.quantized(engine)
    return replace(record, model=model, arguments=record.arguments | {"quantize": engine})


@transform("keep_layers")
def keep_layers(
    record: ModelRecord, corpus: Corpus, layers: Sequence[int] | int | Literal["odd"] = "odd"
) -> ModelRecord:
    """An encoder with some of the layers; embeddings and heads are copied.

    Args:
        record: an encoder.
        corpus: not read.
        layers: numbers from 1 in rising order; ``odd``: every other one, the first among them, so
            that layer n is the teacher's 2n - 1, as DistilBERT and Eliquare begin; of an even
            number, so that the teacher has twice the layers. One number: the first so many, a
            negative one: the last.
    """
    del corpus
    before = _encoder(record, "keep_layers")
    count = before.config.layers
    if layers == "odd" and count % 2:
        raise ValueError(
            f"layers: odd keeps half of them, but there are {count}; say which, such as "
            f"layers: {list(range(1, count + 1, 2))}"
        )
    kept = _kept_layers(layers, count)
    if not kept or kept != sorted(set(kept) & set(range(1, count + 1))):
        raise ValueError(
            f"layers are different numbers of 1 to {count} in rising order; got {kept}"
        )
    after = _like(before, layers=len(kept))
    source = {name: name for name, _ in after.layer_groups()}
    source |= {f"layer_{new}": f"layer_{number}" for new, number in enumerate(kept, 1)}
    copy_groups(before, after, source)
    return replace(record, model=after)


def _kept_layers(layers: Sequence[int] | int | Literal["odd"], count: int) -> list[int]:
    """The numbers that are meant, of layers that there are or not."""
    if layers == "odd":
        return list(range(1, count + 1, 2))
    if isinstance(layers, int):
        first = 1 if layers > 0 else count + layers + 1
        return list(range(first, first + abs(layers)))
    return list(layers)


@transform("reduce_vocabulary")
def reduce_vocabulary(
    record: ModelRecord,
    corpus: Corpus,
    language: str | None = None,
    min_share: float = 0.0,
    min_sentences: int = 1,
) -> ModelRecord:
    """An encoder with fewer word pieces: a slice of its tables, and the tokenizer that has them.

    Eliquare's VocabReduce (Section 5). Special pieces stay in any case, and, beyond the paper, the
    single characters that occur, so that rare words are still spelt.

    Args:
        record: an encoder that reads pieces.
        corpus: its train, transfer and augmented sentences and the lines of ``data.corpus`` that
            are trained on are counted.
        language: only its sentences; None: all.
        min_share: least share of the sentences that a piece occurs in, 0 to 1; the paper has
            0.0005.
        min_sentences: least number of them, which decides where there are few.
    """
    if not 0 <= min_share <= 1:
        raise ValueError(f"min_share is a share of the sentences, 0 to 1, got {min_share}")
    if min_sentences < 1:
        raise ValueError(f"min_sentences is a number of sentences, at least 1, got {min_sentences}")
    before = _encoder(record, "reduce_vocabulary")
    featurizer: Any = record.featurizer
    examples = chain(corpus.train, corpus.transfer, corpus.augmented, corpus.unlabelled)
    chosen = (e for e in examples if language in (None, e.language))
    found = _occurring(featurizer, sentences(chosen), min_share, min_sentences)
    if found is None:
        raise ValueError(f"there are no sentences of the language {language!r} to count pieces in")
    kept, seen = found
    tokenizer, old = prune_tokenizer(
        featurizer.tokenizer, kept | _special(before, featurizer), seen
    )
    moved = int(np.searchsorted(old, featurizer.pad))
    pad = before.config.pad_id if before.config.position_offset else moved
    after = _like(before, vocabulary=len(old), pad_id=pad)
    rows = {id(variable): old for variable in before.vocabulary_weights}
    for mine, theirs in zip(after.weights, before.weights, strict=True):
        mine.assign(np.asarray(theirs)[rows[id(theirs)]] if id(theirs) in rows else theirs)
    feeds = type(featurizer).from_tokenizer(
        tokenizer,
        featurizer.max_length,
        names=featurizer.special_names(),
        alignment=featurizer.alignment,
        token_types=featurizer.token_types,
        overlap=featurizer.overlap,
    )
    facts = {"pieces": len(old), "teacher_pieces": before.config.vocabulary}
    return replace(record, model=after, featurizer=feeds, facts=facts)


_WORDS_AT_ONCE = 1_000_000
"""Different words whose characters are found together, so that memory does not grow with text."""


def _occurring(
    featurizer: Any, texts: Iterable[Sequence[str]], min_share: float, min_sentences: int
) -> tuple[set[int], set[str]] | None:
    """Pieces that occur in enough of the texts, and the characters of all; None without texts."""
    counts: Counter[int] = Counter()
    seen: set[str] = set()
    fresh: set[str] = set()
    number = 0
    for words in texts:
        number += 1
        known = featurizer.pieces(list(dict.fromkeys(words)))
        counts.update({piece for word in words for piece in known[word]})
        fresh.update(words)
        if len(fresh) > _WORDS_AT_ONCE:
            seen |= characters(featurizer.tokenizer, fresh)
            fresh.clear()
    if not number:
        return None
    least = max(min_share * number, min_sentences)
    pieces = {piece for piece, count in counts.items() if count >= least}
    return pieces, seen | characters(featurizer.tokenizer, fresh)


def _special(encoder: Encoder, featurizer: Any) -> set[int]:
    """Pieces that stay: those of the featurizer and the mask, and all before the first position.

    RoBERTa's positions begin behind the id of its padding, which therefore must stay where it is.
    """
    masks = map(featurizer.tokenizer.token_to_id, MASK_TOKENS)
    below = range(encoder.config.position_offset)
    return {*featurizer.special_ids(), *below, *(mask for mask in masks if mask is not None)}


def _encoder(record: ModelRecord, name: str) -> Encoder:
    if not record.is_encoder:
        raise ValueError(f"{name} needs an encoder, but this is a {record.arguments['kind']}")
    return record.model


def _like(encoder: Encoder, **changes: Any) -> Encoder:
    """A new encoder with the same heads and another size."""
    settings = encoder.get_config()
    settings["config"] = settings["config"] | changes
    return Encoder.from_config(settings)
