"""A tokenizer with only those pieces that some texts need."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tfdistil.errors import CheckpointError
from tfdistil.text.subwords import SubwordFeaturizer

_BEGINNING = "▁"
_BYTE = re.compile("<0x[0-9A-F]{2}>")


def occurring_pieces(
    featurizer: SubwordFeaturizer, sentences: Iterable[Sequence[str]], least: int = 1
) -> set[int]:
    """Ids of the pieces that at least so many of the sentences' words are made of."""
    read = [*sentences]
    if least == 1:  # needs no counts, and sentences have words in common
        every = {*chain.from_iterable(read)}
        known = featurizer.pieces(every)  # may hold other words too
        return {piece for word in every for piece in known[word]}
    counts = _sentences_of_pieces(featurizer, read)
    return {piece for piece, count in counts.items() if count >= least}


def most_frequent_pieces(
    featurizer: SubwordFeaturizer, sentences: Iterable[Sequence[str]], number: int, least: int = 1
) -> tuple[set[int], set[str]]:
    """What `prune_tokenizer` needs to keep the pieces that most sentences have.

    Args:
        featurizer: whose pieces.
        sentences: lists of words.
        number: of pieces to keep, the special ones and single characters counted. A byte-pair
            vocabulary may need more, to merge them from.
        least: number of sentences that a piece is in, or goes.

    Returns:
        Ids, and the characters that stay: those that occur and, while there is room, others in the
        order of their ids. Of pieces in equally many sentences those of the lower ids stay.

    Raises:
        ValueError: as `needed_pieces`.
    """
    read = [*sentences]
    always, seen = needed_pieces(featurizer, chain.from_iterable(read), number)
    counts = _sentences_of_pieces(featurizer, read)
    often = sorted(
        (-count, piece) for piece, count in counts.items() if count >= least and piece not in always
    )
    kept = always | {piece for _, piece in often[: number - len(always)]}
    return kept, seen | _further_characters(featurizer.tokenizer, seen, number - len(kept))


def needed_pieces(
    featurizer: SubwordFeaturizer, words: Iterable[str], number: int
) -> tuple[set[int], set[str]]:
    """The pieces that no limit takes away: special ones and the characters of all words.

    Returns:
        Their ids, and the characters.

    Raises:
        ValueError: they are more than ``number``.
    """
    seen = characters(featurizer.tokenizer, words)
    always = {*prune_tokenizer(featurizer.tokenizer, featurizer.special_ids(), seen)[1].tolist()}
    if len(always) > number:
        raise ValueError(
            f"the text has characters of {len(always):,} pieces, with the special ones, "
            f"which is more than {number:,}; give a larger number"
        )
    return always, seen


def _further_characters(tokenizer: Tokenizer, seen: Collection[str], room: int) -> set[str]:
    """Characters that are not seen, those with the lowest ids, whose pieces have room."""
    model = json.loads(tokenizer.to_str())["model"]
    if model["type"] == "BPE":
        return set()  # all of its characters stay
    single = _single_characters(model, tokenizer.get_vocab(with_added_tokens=False))
    pieces = Counter(single[i] for i in sorted(single) if single[i] not in {*seen, _BEGINNING})
    found = set()
    for character, count in pieces.items():
        if count > room:
            break
        room -= count
        found.add(character)
    return found


def _sentences_of_pieces(
    featurizer: SubwordFeaturizer, read: Sequence[Sequence[str]]
) -> Counter[int]:
    known = featurizer.pieces(chain.from_iterable(read))  # may hold other words too
    counts: Counter[int] = Counter()
    for words in read:
        counts.update({piece for word in words for piece in known[word]})
    return counts


def characters(tokenizer: Tokenizer, words: Iterable[str]) -> set[str]:
    """The characters that a tokenizer finds in words, after its normalizer."""
    found: set[str] = set()
    normalizer = tokenizer.normalizer
    for word in dict.fromkeys(words):
        found.update(word if normalizer is None else normalizer.normalize_str(word))
    return found


def prune_tokenizer(
    tokenizer: Tokenizer, kept: Collection[int], seen: Collection[str] | None = None
) -> tuple[Tokenizer, np.ndarray]:
    """The same tokenizer with fewer pieces, renumbered in their old order.

    Words made of kept pieces alone are tokenized as before. Others are made of shorter pieces where
    these are kept, else they are the unknown token. To that end single characters, and special and
    added tokens, are kept in any case; of byte-pair vocabularies also the pieces that others are
    merged from.

    Args:
        tokenizer: WordPiece, Unigram or BPE.
        kept: ids of the pieces to keep.
        seen: the characters that stay, None: all. Those of BPE, which may be bytes, and the mark of
            a word's beginning in Unigram stay in any case.

    Returns:
        The tokenizer, and the old ids of its pieces, int64 ``[V']`` in the order of the new ones.

    Raises:
        CheckpointError: a vocabulary of another kind.
    """
    tree = json.loads(tokenizer.to_str())
    model = tree["model"]
    if model["type"] not in ("WordPiece", "Unigram", "BPE"):
        raise CheckpointError(
            f"a {model['type']} vocabulary cannot be pruned; set prune_vocabulary: false"
        )
    listed = model["type"] == "Unigram"
    pieces = {piece: i for i, (piece, _) in enumerate(model["vocab"])} if listed else model["vocab"]
    wanted = set(kept) | _always_kept(tree, pieces, seen)
    if model["type"] == "BPE":
        _keep_parts(model, pieces, wanted)
    added = {token["content"]: token["id"] for token in tree["added_tokens"]}
    old = np.array(sorted(wanted & {*pieces.values(), *added.values()}), np.int64)
    new = {int(i): at for at, i in enumerate(old)}
    if listed:
        model["vocab"] = [entry for i, entry in enumerate(model["vocab"]) if i in new]
        if model.get("unk_id") is not None:
            model["unk_id"] = new[model["unk_id"]]
    else:
        model["vocab"] = {p: new[i] for p, i in sorted(pieces.items(), key=_id) if i in new}
    for token in tree["added_tokens"]:
        token["id"] = new[token["id"]]
    _renumber_template(tree.get("post_processor"), new)
    return Tokenizer.from_str(json.dumps(tree)), old


def _id(item: tuple[str, int]) -> int:
    return item[1]


def _single_characters(model: dict[str, Any], pieces: dict[str, int]) -> dict[int, str]:
    """Ids of the pieces of one character, at the beginning of words or in them, to it."""
    prefix = model.get("continuing_subword_prefix") or ""
    spelt = ((i, piece.removeprefix(prefix)) for piece, i in pieces.items())
    return {i: character for i, character in spelt if len(character) == 1}


def _always_kept(
    tree: dict[str, Any], pieces: dict[str, int], seen: Collection[str] | None
) -> set[int]:
    model = tree["model"]
    single = _single_characters(model, pieces)
    every = None if seen is None or model["type"] == "BPE" else {*seen, _BEGINNING}
    ids = {i for i, character in single.items() if every is None or character in every}
    ids |= {token["id"] for token in tree["added_tokens"]}
    if model.get("byte_fallback"):
        ids |= {i for piece, i in pieces.items() if _BYTE.fullmatch(piece)}
    if model.get("unk_id") is not None:
        ids.add(model["unk_id"])
    if model.get("unk_token") in pieces:
        ids.add(pieces[model["unk_token"]])
    return ids | {i for _, i in _template_tokens(tree.get("post_processor"))}


def _keep_parts(model: dict[str, Any], pieces: dict[str, int], wanted: set[int]) -> None:
    """Of the merges keep those that make a kept piece, and the pieces they make it from."""
    prefix = model.get("continuing_subword_prefix") or ""
    kept = []
    # A piece is merged from pieces that an earlier merge made.
    for merge in reversed(model["merges"]):
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if pieces[left + right.removeprefix(prefix)] in wanted:
            wanted.update((pieces[left], pieces[right]))
            kept.append(merge)
    model["merges"] = kept[::-1]


def _template_tokens(processor: Any) -> list[tuple[str, int]]:
    """Special tokens, with their ids, of a post-processor as ``tokenizer.json`` has it."""
    if not processor:
        return []
    if processor["type"] == "Sequence":
        return [token for part in processor["processors"] for token in _template_tokens(part)]
    found = [tuple(processor[key]) for key in ("cls", "sep") if key in processor]
    for special in processor.get("special_tokens", {}).values():
        found += zip(special["tokens"], special["ids"], strict=True)
    return found


def _renumber_template(processor: Any, new: dict[int, int]) -> None:
    if not processor:
        return
    for part in processor.get("processors", ()):
        _renumber_template(part, new)
    for key in ("cls", "sep"):
        if key in processor:
            processor[key] = [processor[key][0], new[processor[key][1]]]
    for special in processor.get("special_tokens", {}).values():
        special["ids"] = [new[i] for i in special["ids"]]
