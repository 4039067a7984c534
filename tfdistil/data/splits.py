"""Splits without leaks: equal sentences stay together, transfer text holds no dev or test sentence.

Two sentences are the same when their characters without white space are, so that a transfer text
split at white space matches the tokenized test sentence it is (``Is it?`` and ``Is it ?``). Equal
words (`Example.key`) are always the same sentence.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from tfdistil.data.example import Example
from tfdistil.data.shares import shares
from tfdistil.errors import DataError

SentenceKey = tuple[str, str]
Stratum = tuple[str, str]
"""A language and a file."""


def sentence_key(example: Example) -> SentenceKey:
    """The characters of the sentence, and of the second one of a pair."""
    return _characters(example.words), _characters(example.second or ())


def stratum(example: Example) -> Stratum:
    """What an example is drawn in proportion with: its language and its file."""
    return example.language, example.source.rpartition(":")[0]


def split_dev(
    examples: Sequence[Example], fraction: float, seed: int = 0
) -> tuple[list[Example], list[Example]]:
    """Set aside about ``fraction`` of the examples as dev set, in file order.

    Deterministic in the sentences and the seed, whatever their order; equal sentences are on the
    same side. Both sides get at least one sentence.

    Returns:
        Train and dev examples.

    Raises:
        DataError: a fraction outside (0, 1), or fewer than two different sentences.
    """
    if not 0 < fraction < 1:
        raise DataError(f"dev fraction is {fraction}, expected between 0 and 1")
    return _cut(examples, round(fraction * len(examples)), seed, "dev")


def split_train(
    sets: Mapping[str, Sequence[Example]], dev: float, test: float, seed: int = 0
) -> dict[str, list[Example]]:
    """The sets of a recipe, with those cut off train that no file gives.

    Dev is that of `split_dev`, with or without a test set; test is cut off what is left in the same
    way. So equal sentences are in one of the three, and no sentence of a given dev set is cut off
    as test.

    Args:
        sets: ``train``, ``dev``, ``test`` and others; dev and test may be empty.
        dev: share of train for dev, used where that is empty.
        test: share of train, as it was given, for test; 0: none is cut off.
        seed: of the draw.

    Raises:
        DataError: fewer different sentences than sets.
    """
    found = {name: list(examples) for name, examples in sets.items()}
    wanted = round(test * len(found["train"]))
    if not found["dev"]:
        found["train"], found["dev"] = split_dev(found["train"], dev, seed)
    if test:
        found["train"], found["test"] = _cut(found["train"], wanted, seed, "test", found["dev"])
    return found


def _cut(
    examples: Sequence[Example],
    wanted: int,
    seed: int,
    name: str,
    elsewhere: Iterable[Example] = (),
) -> tuple[list[Example], list[Example]]:
    """What stays of train and about ``wanted`` examples for the set ``name``, see `split_dev`.

    Args:
        elsewhere: examples of another set; their sentences stay where they are.
    """
    keys = [sentence_key(example) for example in examples]
    sizes: dict[SentenceKey, int] = {}
    for key in keys:
        sizes[key] = sizes.get(key, 0) + 1
    fixed = {sentence_key(example) for example in elsewhere} & sizes.keys()
    order = sorted(sizes.keys() - fixed, key=lambda key: _digest(key, seed))
    most = len(order) - (not fixed)  # something stays in train
    if most < 1:
        which = "different sentences" + ("" if name == "dev" else " that dev_fraction leaves")
        others = f", {len(fixed)} of them in dev," if fixed else ""
        raise DataError(
            f"cannot split {len(sizes)} {which}{others} into train and {name}; give more, or "
            f"data.{name}"
        )
    held: set[SentenceKey] = set()
    count = 0
    for key in order[:most]:
        if held and count + sizes[key] > wanted:
            break
        held.add(key)
        count += sizes[key]
    kept = [e for e, key in zip(examples, keys, strict=True) if key not in held]
    return kept, [e for e, key in zip(examples, keys, strict=True) if key in held]


def sample_per(
    examples: Sequence[Example], key: Callable[[Example], str | None], samples: int, seed: int = 0
) -> list[Example]:
    """At most ``samples`` examples of each value of ``key``, in file order.

    Deterministic in the sentences and the seed, whatever their order.
    """
    of_value: dict[str | None, list[int]] = {}
    for index, example in enumerate(examples):
        of_value.setdefault(key(example), []).append(index)
    kept: list[int] = []
    for indices in of_value.values():
        kept += sorted(indices, key=lambda i: _digest(sentence_key(examples[i]), seed))[:samples]
    return [examples[index] for index in sorted(kept)]


def sample_in_proportion(
    examples: Sequence[Example],
    count: int,
    seed: int = 0,
    weight: Callable[[str], float] = lambda file: 1.0,
) -> list[Example]:
    """``count`` of the examples, of every file and language in proportion, in file order.

    Each gives in proportion to how many it has times their weight, which is at most all of them
    (`shares`); in the order of `hold_out`, so that a language, too, has its share, give or take
    less than one. Which ones is up to chance; a sentence that a file has twice is taken twice only
    where all its others are taken. Deterministic in the sentences and the seed, whatever their
    order. A greater count takes what a smaller one does, but for one of a file and language at the
    most.

    Args:
        examples: whose `Example.source` names their file.
        count: how many; all where there are fewer.
        seed: of the draw.
        weight: of each example of a file, above 0.
    """
    of_stratum: dict[Stratum, list[tuple[int, bytes, int]]] = {}
    copies: Counter[tuple[Stratum, SentenceKey]] = Counter()
    for index, example in enumerate(examples):
        own, key = stratum(example), sentence_key(example)
        of_stratum.setdefault(own, []).append((copies[own, key], _digest(key, seed), index))
        copies[own, key] += 1
    order = sorted(of_stratum)
    sizes = [len(of_stratum[own]) for own in order]
    given = shares(sizes, [weight(file) for _, file in order], count)
    kept: list[int] = []
    for own, number in zip(order, given, strict=True):
        kept += [index for _, _, index in sorted(of_stratum[own])[:number]]
    return [examples[index] for index in sorted(kept)]


def hold_out(
    examples: Sequence[Example],
    share: float,
    most: int,
    seed: int = 0,
    seen: Iterable[Example] = (),
) -> tuple[list[Example], list[Example]]:
    """Set aside some examples to take a loss on, of every file and language in proportion.

    The files of a corpus stand one after another, so its head or its tail is a file or two. Here
    the sentences are ordered by language, file and, within a file, chance, and every n-th one is
    taken: each language and file has its share, give or take less than a sentence. Deterministic in
    the sentences and the seed, whatever their order. Equal sentences are on the same side.

    Args:
        examples: whose `Example.source` names their file.
        share: of the different sentences that may be set aside; one at the least.
        most: sentences at the most.
        seed: of the draw.
        seen: what is trained on beside them; none of these is set aside.

    Returns:
        The examples that stay and those set aside, both in file order.

    Raises:
        DataError: fewer than two different sentences, or none that is not in ``seen``.
    """
    keys = [sentence_key(example) for example in examples]
    different = len(set(keys))
    if different < 2:
        raise DataError(f"to hold a sentence out takes 2 different ones, got {different}")
    trained = {sentence_key(example) for example in seen}
    place: dict[SentenceKey, Stratum] = {}
    for example, key in zip(examples, keys, strict=True):
        if key not in trained:
            own = stratum(example)
            place[key] = min(own, place.get(key, own))
    if not place:
        raise DataError(f"none can be held out: all {different} different ones are in train too")
    order = sorted(place, key=lambda key: (place[key], _digest(key, seed)))
    count = max(1, min(most, round(share * len(order))))
    held = {order[(2 * i + 1) * len(order) // (2 * count)] for i in range(count)}
    kept = [e for e, key in zip(examples, keys, strict=True) if key not in held]
    return kept, [e for e, key in zip(examples, keys, strict=True) if key in held]


def drop_overlap(
    transfer: Sequence[Example], held_out: Iterable[Example]
) -> tuple[list[Example], int]:
    """Take out of the transfer text what occurs in dev or test.

    Returns:
        The examples that stay, and how many were dropped.
    """
    held = {sentence_key(example) for example in held_out}
    kept = [example for example in transfer if sentence_key(example) not in held]
    return kept, len(transfer) - len(kept)


def overlap(train: Iterable[Example], test: Sequence[Example]) -> list[int]:
    """Indices of the test examples whose sentence occurs in train."""
    seen = {sentence_key(example) for example in train}
    return [index for index, example in enumerate(test) if sentence_key(example) in seen]


def _characters(words: Iterable[str]) -> str:
    # words of some files hold white space of their own, so joining alone is not enough
    return "".join("".join(words).split())


def _digest(key: SentenceKey, seed: int) -> bytes:
    text = "\0".join((str(seed), *key))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
