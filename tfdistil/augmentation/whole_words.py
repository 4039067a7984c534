"""Which pieces of a vocabulary are whole words, and words with the capitals of others."""

from __future__ import annotations

from tfdistil.text.subwords import SubwordFeaturizer

_SPACES = "\u2581\u0120"
"""In pieces of SentencePiece and of byte pairs; a word that begins with one is not in the texts."""


def whole_words(featurizer: SubwordFeaturizer) -> dict[int, str]:
    """The pieces that are words by themselves: id to word, in order of the words.

    A word has letters alone, in ASCII at least two, and is tokenized into that one piece.

    Args:
        featurizer: of any kind of pieces.
    """
    tokenizer = featurizer.tokenizer
    special = set(tokenizer.get_added_tokens_decoder())
    ids = sorted(set(tokenizer.get_vocab().values()) - special)
    decoded = tokenizer.decode_batch([[i] for i in ids], skip_special_tokens=False)
    # A tokenizer without a decoder leaves the sign that stands for a space.
    read = (text.strip().lstrip(_SPACES) for text in decoded)
    written = {
        i: word
        for i, word in zip(ids, read, strict=True)
        if word.isalpha() and (len(word) > 1 or not word.isascii())
    }
    # Several pieces may read alike, of which one is the word and others stand within one.
    known = featurizer.pieces(written.values())
    by_word = sorted((word, i) for i, word in written.items() if known[word] == (i,))
    found = {i: word for word, i in by_word}
    featurizer.forget()  # all words of a vocabulary, which no text has
    return found


def cased_like(word: str, other: str) -> str:
    """A word with the capitals of the one it takes the place of, where it has none itself.

    Args:
        word: of an uncased vocabulary, maybe.
        other: whose place it takes.
    """
    if word != word.lower():
        return word
    if len(other) > 1 and other.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if other[:1].isupper() else word
