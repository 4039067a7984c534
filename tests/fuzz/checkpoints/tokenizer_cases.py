"""Damage to the files of tokenizers."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.checkpoints.changes import (
    TEXTS,
    Case,
    Edit,
    Expectation,
    cut,
    edited,
    flipped,
    replaced,
    with_keys,
)


def tokenizer_cases() -> Iterator[Case]:
    """All cases of this file."""
    yield from (*_tokenizer_json(), *_vocab_txt(), *_byte_level_files(), *_sentencepiece_files())


def _tokenizer_json() -> Iterator[Case]:
    """``tokenizer.json`` and what lies beside it."""
    file = "tokenizer.json"

    def part(name: str, edit: Callable[[dict], Any], expected: Expectation = "refused") -> Case:
        def whole(data: bytes, rng: random.Random) -> bytes:
            content = json.loads(data)
            edit(content)
            return json.dumps(content).encode()

        return Case(f"tokenizer-{name}", "bert", expected, edited(file, whole))

    for name, text in TEXTS.items():
        yield Case(
            f"tokenizer-text-{name}", "bert", "refused", edited(file, lambda _, r, t=text: t)
        )
    for number in range(12):
        yield Case(f"tokenizer-cut-{number}", "bert", "refused", edited(file, cut))
    for number in range(30):
        yield Case(f"tokenizer-flip-{number}", "bert", "exact", edited(file, flipped))
    unk = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    vocabularies: dict[str, Any] = {
        "five": unk,
        "one": {"[UNK]": 0},
        "none": {},
        "list": ["[UNK]"],
        "null": None,
        "fractions": {"[UNK]": 0.5},
        "negative": {"[UNK]": -1},
        "far": unk | {"x": 10**9},
        "too-far": unk | {"x": 2**40},
        "texts": {"[UNK]": "0"},
    }
    for name, vocabulary in vocabularies.items():
        yield part(f"vocabulary-{name}", lambda c, v=vocabulary: c["model"].update(vocab=v))
    yield part("without-unk", lambda c: c["model"].update(unk_token="nothing"))
    yield part("no-characters", lambda c: c["model"].update(max_input_chars_per_word=0), "exact")
    for name, kind in (("bpe", "BPE"), ("unigram", "Unigram"), ("none", None), ("new", "Words")):
        yield part(f"kind-{name}", lambda c, k=kind: c["model"].update(type=k))
    far = {"id": "[CLS]", "ids": [10**6], "tokens": ["[CLS]"]}
    yield part(
        "template-far", lambda c: c["post_processor"]["special_tokens"].update({"[CLS]": far})
    )
    yield part("template-none", lambda c: c["post_processor"].update(special_tokens={}))
    yield part("template-other", lambda c: c.update(post_processor={"type": "New"}))
    padding = {
        "strategy": {"Fixed": 10**15},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    yield part("padding", lambda c: c.update(padding=padding), "same")
    one = {"max_length": 1, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    yield part("truncation", lambda c: c.update(truncation=one), "same")
    splitters: dict[str, Any] = {
        "number": 3,
        "list": [],
        "new": {"type": "New"},
        "parts": {"type": "Sequence", "pretokenizers": 7},
        "regex": {
            "type": "Split",
            "pattern": {"Regex": "("},
            "behavior": "Isolated",
            "invert": False,
        },
    }
    for name, splitter in splitters.items():
        yield part(f"splitter-{name}", lambda c, s=splitter: c.update(pre_tokenizer=s))
    slow = {
        "type": "Split",
        "pattern": {"Regex": "(a+)+$"},
        "behavior": "Isolated",
        "invert": False,
    }
    yield part("splitter-slow", lambda c: c.update(pre_tokenizer=slow), "exact")
    normalizers: dict[str, Any] = {
        "new": {"type": "New"},
        "charsmap": {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
        "charsmap-long": {"type": "Precompiled", "precompiled_charsmap": "AAAAQAAA" * 50},
    }
    for name, normalizer in normalizers.items():
        yield part(f"normalizer-{name}", lambda c, n=normalizer: c.update(normalizer=n))
    for name, pattern in (("empty", {"String": ""}), ("regex", {"Regex": "(|x)*"})):
        replace = {"type": "Replace", "pattern": pattern, "content": "xx"}
        yield part(f"normalizer-{name}", lambda c, n=replace: c.update(normalizer=n), "exact")
    added = {
        "content": "new",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    for number, i in enumerate((10**6, 2**32, -1, "0", None)):
        yield part(f"added-{number}", lambda c, i=i: c["added_tokens"].append(added | {"id": i}))

    def config(name: str, expected: Expectation, **keys: Any) -> Case:
        return Case(
            f"tokenizer_config-{name}", "bert", expected, with_keys("tokenizer_config.json", **keys)
        )

    for name, text in TEXTS.items():
        if name not in ("surrogate", "escape", "long-number", "long-text"):
            yield Case(
                f"tokenizer_config-text-{name}",
                "bert",
                "refused",
                edited("tokenizer_config.json", lambda _, r, t=text: t),
            )
    for number, name in enumerate((7, [], "X", "LlamaTokenizer", "os.system", "../x")):
        yield config(f"class-{number}", "same", tokenizer_class=name)


def _vocab_txt() -> Iterator[Case]:
    """``vocab.txt``."""

    def case(name: str, expected: Expectation, edit: Edit) -> Case:
        return Case(f"vocab_txt-{name}", "vocab_txt", expected, edited("vocab.txt", edit))

    for share in (0, 10, 25, 35):
        yield case(f"cut-{share}", "refused", lambda d, r, s=share: d[: len(d) * s // 100])
    for share in (50, 75, 90):
        yield case(f"cut-{share}", "doubted", lambda d, r, s=share: d[: len(d) * s // 100])
    yield case("noise", "refused", lambda d, r: r.randbytes(len(d)))
    yield case("nul", "refused", lambda d, r: b"\0" * len(d))
    yield case("utf-16", "refused", lambda d, r: d.decode().encode("utf-16"))
    yield case("twice", "refused", lambda d, r: d + d)
    yield case("one-line", "refused", lambda d, r: d.replace(b"\n", b" "))
    yield case("windows", "same", lambda d, r: d.replace(b"\n", b"\r\n"))
    yield case("longer", "refused", lambda d, r: d + b"x\ny\nz\n")
    yield case("without-unk", "refused", lambda d, r: d.replace(b"[UNK]", b"[ANK]"))
    for number in range(12):
        yield case(f"flip-{number}", "exact", flipped)
    for key in ("do_lower_case", "strip_accents", "tokenize_chinese_chars"):
        for number, value in enumerate(("false", 3, [])):
            yield Case(
                f"vocab_txt-{key}-{number}",
                "vocab_txt",
                "refused",
                with_keys("tokenizer_config.json", **{key: value}),
            )
    for number, name in enumerate(("BertJapaneseTokenizer", "os.system", 7, "LlamaTokenizerFast")):
        yield Case(
            f"vocab_txt-class-{number}",
            "vocab_txt",
            "refused",
            with_keys("tokenizer_config.json", tokenizer_class=name),
        )


def _byte_level_files() -> Iterator[Case]:
    """``vocab.json`` and ``merges.txt``."""

    def case(
        name: str,
        expected: Expectation,
        edit: Edit,
        file: str = "vocab.json",
    ) -> Case:
        return Case(f"vocab_json-{name}", "vocab_json", expected, edited(file, edit))

    def table(name: str, edit: Callable[[dict], Any]) -> Case:
        return case(name, "refused", lambda d, r: json.dumps(edit(json.loads(d))).encode())

    for name, text in TEXTS.items():
        yield case(f"text-{name}", "refused", lambda _, r, t=text: t)
    for number in range(8):
        yield case(f"cut-{number}", "refused", cut)
        yield case(f"flip-{number}", "exact", flipped)
        yield case(f"merges-flip-{number}", "exact", flipped, "merges.txt")
    for share in (0, 30, 60, 95):
        yield case(
            f"merges-cut-{share}",
            "refused" if share < 50 else "doubted",
            lambda d, r, s=share: d[: len(d) * s // 100],
            "merges.txt",
        )
    yield case("merges-noise", "refused", lambda d, r: r.randbytes(len(d)), "merges.txt")
    yield table("five", lambda t: {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4})
    yield table("one", lambda t: {"a": 0})
    yield table("list", list)
    yield table("texts", lambda t: {piece: str(i) for piece, i in t.items()})
    yield table("hole", lambda t: {piece: i + (i > 99) for piece, i in t.items()})
    yield table("negative", lambda t: {piece: i - 1 for piece, i in t.items()})
    yield table("without-special", lambda t: {p.replace("<", "{"): i for p, i in t.items()})
    yield Case(
        "vocab_json-of-bert",
        "vocab_json",
        "refused",
        with_keys("tokenizer_config.json", tokenizer_class="BertTokenizer"),
    )
    yield Case(
        "vocab_json-no-merges", "vocab_json", "refused", replaced("merges.txt", lambda path: None)
    )


def _sentencepiece_files() -> Iterator[Case]:
    """A SentencePiece model."""
    file = "sentencepiece.bpe.model"

    def case(name: str, expected: Expectation, edit: Edit) -> Case:
        return Case(f"sentencepiece-{name}", "sentencepiece", expected, edited(file, edit))

    def part(name: str, edit: Callable[[Any], Any], expected: Expectation = "refused") -> Case:
        def whole(data: bytes, rng: random.Random) -> bytes:
            from sentencepiece import sentencepiece_model_pb2 as protocol

            model = protocol.ModelProto.FromString(data)
            edit(model)
            return model.SerializeToString()

        return case(name, expected, whole)

    yield case("empty", "refused", lambda d, r: b"")
    yield case("noise", "refused", lambda d, r: r.randbytes(len(d)))
    yield case("text", "refused", lambda d, r: b"a piece\n" * 50)
    # The pieces come first; what is cut off within them is a whole message of fewer pieces at best.
    for share in (5, 20, 40, 60, 75):
        yield case(f"cut-{share}", "refused", lambda d, r, s=share: d[: len(d) * s // 100])
    for number in range(20):
        yield case(f"flip-{number}", "exact", flipped)
    yield part("five", lambda m: m.pieces.__delitem__(slice(5, None)))
    yield part("bpe", lambda m: setattr(m.trainer_spec, "model_type", 2))
    yield part("bytes", lambda m: setattr(m.trainer_spec, "byte_fallback", True))
    yield part("nan", lambda m: setattr(m.pieces[7], "score", float("nan")))
    yield part("infinite", lambda m: setattr(m.pieces[7], "score", float("inf")))
    yield part("twice", lambda m: setattr(m.pieces[7], "piece", m.pieces[8].piece))
    yield part("no-text", lambda m: setattr(m.pieces[7], "piece", ""))
    yield part("mask", lambda m: setattr(m.pieces[7], "piece", "<mask>"))
    yield part("control", lambda m: setattr(m.pieces[7], "type", 3))
    yield part("order", lambda m: setattr(m.pieces[0], "piece", "<pad>"))
    yield part(
        "charsmap", lambda m: setattr(m.normalizer_spec, "precompiled_charsmap", b"\1\0\0\0x")
    )
    yield part("no-space", lambda m: setattr(m.normalizer_spec, "add_dummy_prefix", False))
    yield part("suffix", lambda m: setattr(m.trainer_spec, "treat_whitespace_as_suffix", True))
    yield part(
        "no-charsmap", lambda m: m.normalizer_spec.ClearField("precompiled_charsmap"), "exact"
    )
    yield Case(
        "sentencepiece-renamed",
        "sentencepiece",
        "same",
        lambda f, r: (f / file).rename(f / "spm.model") and None,
    )
    yield Case(
        "sentencepiece-two",
        "sentencepiece",
        "refused",
        lambda f, r: shutil.copy(f / file, f / "spm.model") and None,
    )
    yield Case("sentencepiece-pipe", "sentencepiece", "refused", replaced(file, os.mkfifo))
