"""What can be done to a model before it is trained on: round, leave out layers, drop pieces.

A transform is a function of a record, the corpus and its options that gives a new record and leaves
the old one alone. A new one is a function with `transform` above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
from keras import ops

from tfdistil.corpus.loading import Corpus
from tfdistil.data.example import Example
from tfdistil.distill.weights import copy_groups
from tfdistil.encoders import Encoder
from tfdistil.models.inputs import sentences, wordpieces_of
from tfdistil.models.record import ModelRecord
from tfdistil.options import wrong_call
from tfdistil.registry import entering
from tfdistil.shards.writing import line_pieces
from tfdistil.students import STUDENTS
from tfdistil.students.own_pieces import vectors_of_pieces
from tfdistil.text.prune import characters, prune_tokenizer
from tfdistil.variables import copy_values

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
            f"the model has {count} layers, so layers are different numbers of 1 to {count} in "
            f"rising order; got {kept}"
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
            are trained on are counted, each whole, however much of it fits into a row.
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
    reads: Any = record.featurizer
    featurizer = reads.subwords
    in_memory = chain(corpus.train, corpus.transfer, corpus.augmented)
    words, lines = (
        (e for e in of if language in (None, e.language)) for of in (in_memory, corpus.unlabelled)
    )
    texts = chain(_of_words(featurizer, words), _of_lines(featurizer, lines))
    found = _occurring(featurizer, texts, min_share, min_sentences)
    if found is None:
        of = "" if language is None else f" of the language {language!r}"
        raise ValueError(f"there are no sentences{of} to count pieces in")
    kept, seen = found
    tokenizer, old = prune_tokenizer(
        featurizer.tokenizer, kept | _special(before, featurizer), seen
    )
    moved = int(np.searchsorted(old, featurizer.pad))
    pad = before.config.pad_id if before.config.position_offset else moved
    after = _like(before, vocabulary=len(old), pad_id=pad)
    _copy_all_but_vocabulary(after, before)
    for mine, theirs in zip(after.vocabulary_weights, before.vocabulary_weights, strict=True):
        mine.assign(ops.convert_to_numpy(theirs)[old])
    feeds = reads.with_tokenizer(tokenizer, featurizer.special_names())
    facts = {"pieces": len(old), "teacher_pieces": before.config.vocabulary}
    return replace(record, model=after, featurizer=feeds, facts=facts)


@transform("new_vocabulary")
def new_vocabulary(
    record: ModelRecord, corpus: Corpus, vocabulary: int = 16000, lowercase: bool = False
) -> ModelRecord:
    """The same layers over a WordPiece vocabulary of their own text, to be trained on from there.

    A piece that both vocabularies have keeps its vector; another one begins as the mean of the old
    pieces that spell it, or at random where none does, see `vectors_of_pieces`; what scores it
    begins without a bias. Layers know more of context than any text at hand may teach them, in
    other languages, too.

    Args:
        record: an encoder that reads pieces, without RoBERTa's offset of positions.
        corpus: the pieces are made of its train, transfer and augmented sentences and the lines of
            ``data.corpus`` that are trained on.
        vocabulary: word pieces, special ones included.
        lowercase: fold case.
    """
    before = _encoder(record, "new_vocabulary")
    if before.config.position_offset:
        raise ValueError(
            "new_vocabulary cannot move the padding of a model whose positions are counted from it "
            "(RoBERTa, XLM-R); reduce_vocabulary keeps it in its place"
        )
    read = (corpus.train, corpus.transfer, corpus.augmented, corpus.unlabelled)
    tokenizer = wordpieces_of(vocabulary, lowercase, *read)
    reads: Any = record.featurizer
    old, after_it = reads.subwords, reads.with_tokenizer(tokenizer, names={})
    featurizer = after_it.subwords
    table = np.asarray(before.word_embeddings)
    vectors = vectors_of_pieces(table, old, featurizer)
    after = _like(before, vocabulary=len(vectors), pad_id=featurizer.pad)
    _copy_all_but_vocabulary(after, before)
    after.word_embeddings.assign(vectors)
    facts = {"pieces": len(vectors), "teacher_pieces": len(table)}
    return replace(record, model=after, featurizer=after_it, facts=facts)


def _copy_all_but_vocabulary(after: Encoder, before: Encoder) -> None:
    """All weights of an encoder that have no row for each piece, from one to the other."""
    to, of = (
        [one for one in model.weights if all(one is not row for row in model.vocabulary_weights)]
        for model in (after, before)
    )
    copy_values(to, of)


_WORDS_AT_ONCE = 1_000_000
"""Different words whose characters are found together, so that memory does not grow with text."""


_LINES_AT_ONCE = 1024

_Spelt = tuple[Sequence[str], set[int]]
"""The words of a text, and the pieces that a model reads of it."""


def _of_words(featurizer: Any, examples: Iterable[Example]) -> Iterator[_Spelt]:
    """Sentences in memory are read word by word."""
    for words in sentences(examples):
        known = featurizer.pieces(words)
        yield words, {piece for word in words for piece in known[word]}


def _of_lines(featurizer: Any, examples: Iterable[Example]) -> Iterator[_Spelt]:
    """Lines of a corpus are trained on as they stand in the file, and scored word by word.

    A tokenizer other than WordPiece may spell a word otherwise where no space is in front of it.
    """
    left = iter(examples)
    while batch := list(islice(left, _LINES_AT_ONCE)):
        texts = [" ".join(e.words) if e.text is None else e.text for e in batch]
        for example, pieces in zip(batch, line_pieces(featurizer, texts), strict=True):
            known = featurizer.pieces(example.words)
            by_word = chain.from_iterable(known[word] for word in example.words)
            yield example.words, {*pieces, *by_word}


def _occurring(
    featurizer: Any, texts: Iterable[_Spelt], min_share: float, min_sentences: int
) -> tuple[set[int], set[str]] | None:
    """Pieces that occur in enough of the texts, and the characters of all; None without texts."""
    counts: Counter[int] = Counter()
    seen: set[str] = set()
    fresh: set[str] = set()
    number = 0
    for words, pieces in texts:
        number += 1
        counts.update(pieces)
        fresh.update(words)
        if len(fresh) > _WORDS_AT_ONCE:
            seen |= characters(featurizer.tokenizer, fresh)
            fresh.clear()
    if not number:
        return None
    # Rounded, since 0.07 * 100 is a little more than 7.
    least = max(round(min_share * number, 6), min_sentences)
    pieces = {piece for piece, count in counts.items() if count >= least}
    return pieces, seen | characters(featurizer.tokenizer, fresh)


def _special(encoder: Encoder, featurizer: Any) -> set[int]:
    """Pieces that stay: those of the featurizer and the mask, and all before the first position.

    RoBERTa's positions begin behind the id of its padding, which therefore must stay where it is.
    """
    below = range(encoder.config.position_offset)
    masks = [] if featurizer.mask is None else [featurizer.mask]
    return {*featurizer.special_ids(), *below, *masks}


def _encoder(record: ModelRecord, name: str) -> Encoder:
    if not record.is_encoder:
        raise ValueError(f"{name} needs an encoder, but this is a {record.arguments['kind']}")
    return record.model


def _like(encoder: Encoder, **changes: Any) -> Encoder:
    """A new encoder with the same heads and another size."""
    settings = encoder.get_config()
    settings["config"] = settings["config"] | changes
    return Encoder.from_config(settings)
