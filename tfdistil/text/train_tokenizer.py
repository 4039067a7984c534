"""A WordPiece vocabulary of one's own, the same from the same text every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tokenizers import Tokenizer, trainers

from tfdistil.errors import DataError
from tfdistil.text.pretrained import bert_tokenizer
from tfdistil.text.words import replace_surrogates

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def train_wordpiece(
    texts: Iterable[str],
    vocabulary_size: int,
    *,
    lowercase: bool = True,
    strip_accents: bool = False,
    min_frequency: int = 2,
    max_alphabet: int = 1000,
) -> Tokenizer:
    """Train BERT's tokenizer on texts or single words.

    The order of the vocabulary: ``[PAD]`` (id 0) ``[UNK]`` ``[CLS]`` ``[SEP]`` ``[MASK]``,
    characters, characters that continue words (``##x``), then merges, the most frequent first.

    The library's trainer numbers ``##x`` in the order of a hash table with a random seed, and
    breaks ties between merges by these numbers, so its vocabulary changes from run to run. Giving
    it the sorted characters as special tokens fixes the numbers, and with them the vocabulary.

    Args:
        texts: any number of strings; read once. Words that are too long to be read, see
            `_readable`, are left out.
        vocabulary_size: pieces, special tokens included; fewer if the text has no more.
        lowercase: whether text is lower-cased, here and later.
        strip_accents: whether combining marks are removed. BERT's uncased models do so, which
            destroys vowels and tones of Hindi or Thai: hence False.
        min_frequency: a pair of pieces seen less often is not merged.
        max_alphabet: characters kept, the most frequent ones; words with others are ``[UNK]``.

    Returns:
        A tokenizer with BERT's normalizer, pre-tokenizer and post-processor.

    Raises:
        DataError: no text, or a vocabulary too small for the alphabet.
    """
    tokenizer = _untrained(lowercase, strip_accents)
    texts, words = _readable(tokenizer, texts)
    characters, continuations = _alphabet(words, max_alphabet)
    fixed = [*SPECIAL_TOKENS, *characters, *continuations]
    if vocabulary_size < len(fixed):
        raise DataError(
            f"vocabulary_size is {vocabulary_size}, but special tokens and characters alone are "
            f"{len(fixed)}; give {len(fixed)} or more"
        )
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=min_frequency,
        special_tokens=fixed,
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    trained = sorted(tokenizer.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1])
    vocabulary = {piece: i for i, (piece, _) in enumerate(trained)}
    tokenizer = bert_tokenizer(vocabulary, lowercase=lowercase, strip_accents=strip_accents)
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return tokenizer


def fewest_pieces(
    texts: Iterable[str],
    *,
    lowercase: bool = True,
    strip_accents: bool = False,
    max_alphabet: int = 1000,
) -> int:
    """The smallest vocabulary that `train_wordpiece` makes of texts: special tokens and characters.

    Args:
        texts, lowercase, strip_accents, max_alphabet: as of `train_wordpiece`.

    Raises:
        DataError: no text.
    """
    _, words = _readable(_untrained(lowercase, strip_accents), texts)
    return len(SPECIAL_TOKENS) + sum(map(len, _alphabet(words, max_alphabet)))


def _untrained(lowercase: bool, strip_accents: bool) -> Tokenizer:
    specials = {token: i for i, token in enumerate(SPECIAL_TOKENS)}
    return bert_tokenizer(specials, lowercase=lowercase, strip_accents=strip_accents)


def _readable(tokenizer: Tokenizer, texts: Iterable[str]) -> tuple[list[str], Counter[str]]:
    """Texts without words of more characters than WordPiece reads, and how often each word occurs.

    Such a word, a line of base64 say, is ``[UNK]`` whatever the vocabulary, while the trainer would
    take pieces from it, and a time that grows with the square of its length.
    """
    longest = tokenizer.model.max_input_chars_per_word
    kept, counts = [], Counter[str]()
    for text in map(replace_surrogates, texts):
        normalized = tokenizer.normalizer.normalize_str(text)
        words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalized)]
        short = [word for word in words if len(word) <= longest]
        kept.append(text if len(short) == len(words) else " ".join(short))
        counts.update(short)
    return kept, counts


def _alphabet(words: Counter[str], limit: int) -> tuple[list[str], list[str]]:
    """The characters to keep and the ``##`` ones that continue words, both sorted.

    Raises:
        DataError: there are none.
    """
    if not words:
        raise DataError("no text to train a tokenizer on; every text is empty")
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    kept = set(sorted(counts, key=lambda c: (-counts[c], c))[:limit])
    inner = {character for word in words for character in word[1:]} & kept
    return sorted(kept), sorted(f"##{character}" for character in inner)
