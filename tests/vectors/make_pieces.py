"""Writes the conformance vectors of the pieces that checkpoints of XLM-R and RoBERTa bring along.

``python -m tests.vectors.make_pieces``

docs/runtime.md explains the files.
"""

from __future__ import annotations

import base64
import io
import json
import math
import random
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sentencepiece import SentencePieceTrainer, sentencepiece_model_pb2
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from tests.vectors.make_projection import lines, texts
from tests.vectors.make_subwords import FOLDER, SEED, words
from tfdistil.text.subwords import SubwordFeaturizer

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = 2500
LONGEST = 6  # characters of a piece
PART = 900  # items in a file

_BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
_META = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
_SPLIT = {"type": "WhitespaceSplit"}
_RULES = {"type": "Precompiled", "precompiled_charsmap": None}
_BLANKS = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
_TEXT = {"type": "Replace", "pattern": {"String": "aa"}, "content": "ba"}

VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "unigram": {
        "xlmr": {
            "normalizer": _RULES,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [_SPLIT, _META]},
        },
        "first": {"pre_tokenizer": {**_META, "prepend_scheme": "first"}},
        "never": {
            "normalizer": {"type": "Sequence", "normalizers": [_RULES, _BLANKS, _TEXT]},
            "pre_tokenizer": {**_META, "prepend_scheme": "never", "split": False},
        },
        "bytes": {
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": _META,
            "model": {"byte_fallback": True},
        },
        "bare": {},
    },
    "bytes": {
        "roberta": {"pre_tokenizer": _BYTES},
        "gpt2": {"pre_tokenizer": {**_BYTES, "add_prefix_space": False}},
        "whole": {
            "pre_tokenizer": {**_BYTES, "use_regex": False},
            "model": {"ignore_merges": True},
        },
        "unknown": {"pre_tokenizer": _SPLIT, "model": {"unk_token": "<unk>"}},
        "fused": {
            "normalizer": _TEXT,
            "pre_tokenizer": _SPLIT,
            "model": {"unk_token": "<unk>", "fuse_unk": True},
        },
        "dropped": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [_SPLIT, _BYTES]}},
    },
}
"""What each variant has in place of the tokenizer's; None stands for the map of rules."""

ODD = [
    *("", " ", "  ", "▁", "▁▁a", "a▁b", "a b", " a  b ", "a   b\t\tc\n", "\u3000", "a\u00a0b"),
    *("<unk>", "a<unk>b", "<s>", "</s><pad>", "<0x41>", "<mask>", "\u00ad", "\u200b", "\u200bx"),
    *("ﬁ", "①", "ｶﾞ", "ｶﾞｷﾞ", "Ａ１", "e\u0301", "e\u0301\u0302", "Å", "\u212b\u0301", "½", "…"),
    *("\r\n", "\r\u0301", "\n\u0301", "\u0600a", "\u0600\n", "\u0600\u0601\u0301", "\u06dd١"),
    *("ﬁ\u0301", "ª\u0301", "ª\u0301\u0301", "ª\u200d", "¼\u0308a", "\u00a8\u0301", "\u00a0\u0301"),
    *(
        "👍🏽",
        "👨‍👩‍👧‍👦",
        "🇩🇪🇫🇷",
        "©\u200d❤",
        "각",
        "\u1100\u1161\u11a8",
        "한국어",
        "नमस्ते",
        "क्ष",
        "ไทย",
    ),
    *("\ud800", "a\udc00b", "\x00", "a\x00b", "\ufeff", "\ufffd", "\U0010ffff", "\U000e0067"),
    *("don't", "we'll've", "'s", "''s", "I'M", "'re", "'r", "it'sx", "'", " 's", "x'd1", "a1b2"),
    *("a.b", "!?", " !", "1 2", "१२", "a²", "a\u0301b", "  x", "\t x", "\t\tx", "x \t", "\u0085a"),
    *("x" * 5000, "aa" * 300, "aaa" * 41, "東京" * 900, "ab" * 64 + "a", "ć" * 50, "🎵" * 40),
]

_CHARACTERS = (
    "aeiouxyzAE  \t'`.,1290²½éñßøＡｶﾞﬁªº¨´\u0301\u0302\u0308\u0323\u200d\u200c\u200b\u00ad\u0600"
    "\u06dd\u3000\u00a0▁ıİσςदे्ักあ東한\u1100\u1161👍🏽❤©\ufe0f\r\n"
)


@cache
def rules() -> str:
    """The rules of XLM-R's ``nmt_nfkc`` that the words meet, in Base64; all have 240 kB."""
    every = normalizers.Precompiled(_character_map(normalization_rule_name="nmt_nfkc"))
    single, several = set(), set()
    for word in given_words():
        text = word.encode("utf-8", "replace").decode()
        single |= {*text}
        several |= {text[at : at + size] for size in (2, 3) for at in range(len(text) - size + 1)}
    met = {text: every.normalize_str(text) for text in single}
    met |= {
        text: whole
        for text in several
        if (whole := every.normalize_str(text)) != "".join(map(every.normalize_str, text))
    }
    entries = sorted((text, to) for text, to in met.items() if text != to)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rules.tsv")
        path.write_text("".join(f"{_hex(text)}\t{_hex(to)}\n" for text, to in entries), "utf-8")
        return base64.b64encode(_character_map(normalization_rule_tsv=str(path))).decode()


def _character_map(**rules: str) -> bytes:
    """Of rules that SentencePiece has, or a file of them."""
    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c"]),
        model_writer=written,
        vocab_size=8,
        hard_vocab_limit=False,
        minloglevel=2,
        **rules,
    )
    protocol: Any = sentencepiece_model_pb2  # its messages are made when it is imported
    model = protocol.ModelProto.FromString(written.getvalue())
    found: bytes = model.normalizer_spec.precompiled_charsmap
    return found


def _hex(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)


def unigram() -> Tokenizer:
    """Frequent parts of words, the logarithms of their shares as scores, and pieces of bytes.

    SentencePiece's own training depends on the processor in the last digits.
    """
    counts: Counter[str] = Counter()
    for _, text, _ in texts():
        for word in text.encode("utf-8", "replace").decode().split():
            marked = "▁" + word
            for size in range(1, LONGEST + 1):
                counts.update(marked[at : at + size] for at in range(len(marked) - size + 1))
    total = sum(counts.values())
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:PIECES]
    scores = [(piece, float(np.float32(math.log(n / total)))) for piece, n in frequent]
    lowest = scores[-1][1]
    of_bytes = [(f"<0x{byte:02X}>", lowest) for byte in range(256)]
    return Tokenizer(
        models.Unigram([*((name, 0.0) for name in SPECIAL), *scores, *of_bytes], unk_id=3)
    )


def byte_pairs() -> Tokenizer:
    """Trained on the texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    given = [text.encode("utf-8", "replace").decode() for _, text, _ in texts()]
    tokenizer.train_from_iterator(given, trainer)
    return tokenizer


def variant(base: Tokenizer, kind: str, name: str) -> dict[str, Any]:
    """The tokenizer with the parts of a variant, as ``tokenizer.json`` has it."""
    tree = json.loads(base.to_str())
    changes = json.loads(json.dumps(VARIANTS[kind][name]))
    tree["model"] |= changes.pop("model", {})
    tree["normalizer"] = tree["pre_tokenizer"] = None
    tree |= changes
    normalizer = tree["normalizer"] or {}
    for part in (normalizer, *normalizer.get("normalizers", ())):
        if "precompiled_charsmap" in part:
            part["precompiled_charsmap"] = rules()
    return tree


def featurizer(tree: dict[str, Any]) -> SubwordFeaturizer:
    """Of a variant."""
    tokenizer = Tokenizer.from_str(json.dumps(tree))
    return SubwordFeaturizer(tokenizer, 8, cls=0, pad=1, sep=2, unk=3)


def given_words() -> list[str]:
    """Words and whole texts of many languages, and what implementations tend to disagree about."""
    rng = random.Random(SEED)
    anything = [
        "".join(rng.choice(_CHARACTERS) for _ in range(1 + int(rng.random() * 12)))
        for _ in range(500)
    ]
    whole = [text for _, text, _ in texts()[::12]]
    return [*dict.fromkeys([*ODD, *words()[::4], *whole, *anything])]


def pieces(base: Tokenizer, kind: str) -> list[dict[str, Any]]:
    """Words with their ids under each variant."""
    given = given_words()
    known = [featurizer(variant(base, kind, name)).pieces(given) for name in VARIANTS[kind]]
    return [{"word": word, "ids": [[*ids[word]] for ids in known]} for word in given]


def files() -> dict[str, str]:
    """Name to content of every file."""
    found = {"pieces-rules.json": lines("rules", [rules()])}
    for kind, base in (("unigram", unigram()), ("bytes", byte_pairs())):
        shared = {"tokenizer": json.loads(base.to_str()), "variants": VARIANTS[kind]}
        found[f"pieces-{kind}.json"] = lines("tokenizers", [shared])
        every = pieces(base, kind)
        for at in range(0, len(every), PART):
            name = f"pieces-{kind}-{1 + at // PART}.json"
            found[name] = lines("pieces", every[at : at + PART])
    return found


if __name__ == "__main__":
    for file, content in files().items():
        (FOLDER / file).write_text(content, "utf-8", newline="\n")
        print(file, len(content.encode()))
