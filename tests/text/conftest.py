"""Small tokenizers of each family."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from tfdistil.text.train_tokenizer import train_wordpiece

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "play some jazz in the living room at 10:30, please",
    "unbelievable weather in berlin and munich tomorrow",
    "was kostet die reise nach münchen",
    "東京へ行く",
    "ไปกรุงเทพ",
]


@pytest.fixture(scope="session")
def wordpiece() -> Tokenizer:
    return train_wordpiece(TEXTS * 3, 200)


@pytest.fixture(scope="session")
def unigram() -> Tokenizer:
    """SentencePiece as XLM-RoBERTa has it: Metaspace, ``<s> A </s></s> B </s>``."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return tokenizer


@pytest.fixture(scope="session")
def byte_level() -> Tokenizer:
    """Byte-pair encoding as RoBERTa has it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer
