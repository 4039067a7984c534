"""How well pieces of one's own begin: the words they spell, against a checkpoint's embeddings.

``python -m tfdistil.benchmarks.own_pieces FOLDER TEXT ...`` makes pieces of the text and their
vectors (`tfdistil.students.own_pieces`), by spelling alone and fitted to nine tenths of the
different words, and prints how much of the variance of the others they leave: of words in several
pieces, 100 % is what one vector for all words would leave.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfdistil.students.own_pieces import fitted_to_words, parts_of, vectors_of_pieces
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import train_wordpiece

LENGTH = 128
HEAD = "| pieces | words in several | by spelling | fitted to words |"


def left(
    vectors: np.ndarray,
    table: np.ndarray,
    source: SubwordFeaturizer,
    target: SubwordFeaturizer,
    words: Sequence[str],
) -> float:
    """Percent of the variance of words in several pieces that their pieces' mean leaves.

    Args:
        vectors: ``[V', D]``, a row per piece of ``target``.
        table: ``[V, D]``, a row per piece of ``source``.
        source, target: make word pieces.
        words: those with one piece of ``target`` are left out.
    """
    unlike = whole = 0.0
    mean = table.mean(axis=0)
    old, new = source.pieces(words), target.pieces(words)
    for text in words:
        if len(new[text]) > 1:
            word = table[[*old[text]]].mean(axis=0)
            unlike += float(((vectors[[*new[text]]].mean(axis=0) - word) ** 2).sum())
            whole += float(((word - mean) ** 2).sum())
    return 100 * unlike / whole


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(
        prog="python -m tfdistil.benchmarks.own_pieces", description=__doc__
    )
    parser.add_argument("checkpoint", type=Path, help="Hugging Face folder")
    parser.add_argument("text", type=Path, nargs="+", help="in UTF-8")
    parser.add_argument("--pieces", type=int, nargs="+", default=[4000, 8000, 16000])
    given = parser.parse_args(arguments)
    from tfdistil.encoders import load_tokenizer, word_embeddings

    source = SubwordFeaturizer.from_tokenizer(load_tokenizer(given.checkpoint), LENGTH)
    table = np.asarray(word_embeddings(given.checkpoint), np.float32)
    lines = [line for path in given.text for line in path.read_text("utf-8").splitlines()]
    print(HEAD, "|---:|---:|---:|---:|", sep="\n")
    for size in given.pieces:
        target = SubwordFeaturizer.from_tokenizer(train_wordpiece(lines, size), LENGTH)
        counts = Counter(part for line in lines for part in parts_of(target, line))
        words = sorted(counts)
        np.random.default_rng(0).shuffle(words)
        fit, held = words[len(words) // 10 :], words[: len(words) // 10]
        guess = vectors_of_pieces(table, source, target)
        fitted = fitted_to_words(guess, table, source, target, {w: counts[w] for w in fit})
        pieces = target.pieces(words)
        several = [len(pieces[word]) > 1 for word in words]
        shares = [left(x, table, source, target, held) for x in (guess, fitted)]
        cells = [f"{size:,}", *(f"{share:.0f} %" for share in (100 * np.mean(several), *shares))]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
