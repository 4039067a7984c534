"""Damage to ``config.json``, to safetensors files and to their index."""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.checkpoints.bases import TENSORS, joined, split
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


def model_cases() -> Iterator[Case]:
    """All cases of this file."""
    yield from (*_config(), *_config_text(), *_header(), *_values(), *_shards())


_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
_RATES = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "classifier_dropout",
    "initializer_range",
)
_NO_NUMBERS = (float("nan"), float("inf"), -1, "3", True, [], {}, 10**15, 10**400)


def _config() -> Iterator[Case]:
    """Values in ``config.json``."""

    def case(name: str, expected: Expectation = "refused", base: str = "bert", **keys: Any) -> Case:
        return Case(f"config-{name}", base, expected, with_keys("config.json", **keys))

    for key in (*_SIZES, *_RATES, "layer_norm_eps", "pad_token_id"):
        for number, value in enumerate(_NO_NUMBERS):
            yield case(f"{key}-{number}", **{key: value})
    for key in _SIZES:
        yield case(f"{key}-zero", **{key: 0})
        yield case(f"{key}-fraction", **{key: 2.0})
        yield case(f"{key}-missing", **{key: None})
        yield case(f"{key}-three", **{key: 3})
    for key in _RATES:
        yield case(f"{key}-zero", "exact", **{key: 0})
        yield case(f"{key}-one", **{key: 1})
    yield case("layer_norm_eps-zero", layer_norm_eps=0)
    yield case("layer_norm_eps-large", "exact", layer_norm_eps=0.5)
    yield case("heads-four", "exact", num_attention_heads=4)
    yield case("unknown-keys", "same", chunk_size_feed_forward=7, x={"y": [1, None]})
    kinds = (
        None,
        "",
        "BERT",
        "gpt2",
        "roberta",
        "distilbert",
        "albert",
        7,
        [],
        ["bert"],
        "be\x1b[31m",
    )
    for number, kind in enumerate(kinds):
        yield case(f"model_type-{number}", model_type=kind)
    for depth in (50, 300, 600, 900):
        deep: Any = 1
        for _ in range(depth):
            deep = [deep]
        for key in ("model_type", "vocab_size", "architectures", "id2label"):
            yield case(f"{key}-deep-{depth}", **{key: deep})
    for number, name in enumerate((None, 3, {}, [], "mish", "x" * 100_000)):
        yield case(f"hidden_act-{number}", hidden_act=name)
    classes = (
        None,
        [],
        "",
        ["BertModel"],
        ["BertForMaskedLM"],
        "BertForTokenClassification",
        [7],
        ["RobertaForTokenClassification"],
        ["BertForQuestionAnswering"],
        {},
        1,
    )
    for number, name in enumerate(classes):
        yield case(f"architectures-{number}", architectures=name)
    tables = (
        {},
        [],
        "abc",
        3,
        {"0": "a"},
        {"0": "a", "1": "b", "3": "c"},
        {"0": None, "1": "b", "2": "c"},
        {"0": "a", "1": "a", "2": "c"},
        {"a": "0", "b": "1", "c": "2"},
        {"0": [], "1": "b", "2": "c"},
        {"0": "a", "1": "b", "2": "x\x1b[31m"},
        {str(i): str(i) for i in range(50_000)},
    )
    for number, table in enumerate(tables):
        yield case(f"id2label-{number}", id2label=table)
    yield case("id2label-turned", "exact", id2label={"0": "c", "1": "b", "2": "a"})
    for number, count in enumerate((0, -3, 10**12, "3", None, 2.0)):
        yield case(f"num_labels-{number}", id2label=None, num_labels=count)
    joint = (
        7,
        [],
        {},
        {"heads": 1},
        {"heads": {}},
        {"heads": {"tags": {"level": "word"}}},
        {"heads": {"tags": {"level": [], "labels": ["a", "b", "c"]}}},
        {"heads": {"tags": {"level": "word", "labels": ["a", "b", "c"]}}},
        {"heads": {"intent": {"level": "sequence", "labels": "de"}}},
    )
    for number, value in enumerate(joint):
        yield case(f"joint-{number}", base="joint", tfdistil=value)
    for key, value in (
        ("is_decoder", True),
        ("position_embedding_type", "relative_key"),
        ("add_cross_attention", True),
        ("tie_word_embeddings", False),
    ):
        yield case(f"other-model-{key}", **{key: value})


def _config_text() -> Iterator[Case]:
    """Bytes of ``config.json``."""
    for name, text in TEXTS.items():
        yield Case(
            f"config-text-{name}", "bert", "refused", edited("config.json", lambda _, r, t=text: t)
        )
    for number in range(15):
        yield Case(f"config-cut-{number}", "bert", "refused", edited("config.json", cut))
        yield Case(f"config-flip-{number}", "bert", "exact", edited("config.json", flipped))
    for name, make in (("pipe", os.mkfifo), ("folder", Path.mkdir)):
        for file in ("config.json", "tokenizer.json", "tokenizer_config.json", TENSORS):
            yield Case(f"{name}-{file}", "bert", "refused", replaced(file, make))
    for file in ("config.json", "tokenizer.json", TENSORS):
        yield Case(f"gone-{file}", "bert", "refused", replaced(file, lambda path: None))
        yield Case(
            f"device-{file}",
            "bert",
            "refused",
            replaced(file, lambda path: path.symlink_to("/dev/zero")),
        )


def any_model(base: str) -> Iterator[Case]:
    """Damage by chance to the weights of any checkpoint."""

    def spoil(data: bytes, rng: random.Random) -> bytes:
        header, values = split(data)
        name = rng.choice(sorted(n for n in header if n.endswith("query.weight") or "q_lin" in n))
        start, stop = header[name]["data_offsets"]
        place = start + 4 * rng.randrange((stop - start) // 4)
        return joined(header, values[:place] + struct.pack("<f", np.nan) + values[place + 4 :])

    for number in range(10):
        yield Case(f"{base}-flip-{number}", base, "exact", edited(TENSORS, flipped))
        yield Case(f"{base}-cut-{number}", base, "refused", edited(TENSORS, cut))
    for number in range(3):
        yield Case(f"{base}-nan-{number}", base, "refused", edited(TENSORS, spoil))
        yield Case(f"{base}-config-{number}", base, "exact", edited("config.json", flipped))


_SOME = "bert.encoder.layer.0.attention.self.query.weight"
_TABLE = "bert.embeddings.word_embeddings.weight"


def _header() -> Iterator[Case]:
    """The header of a safetensors file."""

    def entry(
        name: str, expected: Expectation = "refused", tensor: str = _SOME, **keys: Any
    ) -> Case:
        def edit(data: bytes, rng: random.Random) -> bytes:
            header, values = split(data)
            header[tensor] |= keys
            return joined(header, values)

        return Case(f"header-{name}", "bert", expected, edited(TENSORS, edit))

    def header(
        name: str, edit: Callable[[dict, random.Random], Any], expected: Expectation = "refused"
    ):
        def whole(data: bytes, rng: random.Random) -> bytes:
            content, values = split(data)
            return joined(edit(content, rng) or content, values)

        return Case(f"header-{name}", "bert", expected, edited(TENSORS, whole))

    for kind in ("I32", "U8", "F16", "F64", "BOOL", "X1", "", None, 3):
        yield entry(f"dtype-{kind}", dtype=kind)
    shapes = (
        [64],
        [4, 16],
        [8, 8, 1],
        [],
        [-8, -8],
        [2**63, 2],
        [0],
        "8x8",
        None,
        [8.0, 8.0],
        [10**30],
    )
    for number, shape in enumerate(shapes):
        yield entry(f"shape-{number}", shape=shape)
    places = ([0, 0], [10, 5], [-1, 255], [0, 2**62], [0], None, [0.5, 256.5], "0-256", [0, 256])
    for number, offsets in enumerate(places):
        yield entry(f"offsets-{number}", data_offsets=offsets)
    yield entry("half-the-rows", tensor=_TABLE, shape=[3, 8])
    yield header("renamed", lambda h, r: h.update({"x": h.pop(_SOME)}))
    yield header("control", lambda h, r: h.update({"\x1b[31m": h.pop(_SOME)}))
    yield header(
        "same-name-bare", lambda h, r: h.update({_SOME.removeprefix("bert."): h.pop(_TABLE)})
    )
    yield header("list", lambda h, r: [1])
    yield header("deep", lambda h, r: h.update({"__metadata__": {"a": [[[[[[]]]]]]}}))
    yield header("metadata", lambda h, r: h.update({"__metadata__": {"x": "y" * 10_000}}), "same")

    def swapped(h: dict, r: random.Random) -> None:
        other = _SOME.replace("query", "value")
        h[_SOME], h[other] = h[other], h[_SOME]

    yield header("swapped", swapped, "exact")
    for number in range(30):

        def flip(data: bytes, rng: random.Random) -> bytes:
            (length,) = struct.unpack("<Q", data[:8])
            return data[:8] + flipped(data[8 : 8 + length], rng) + data[8 + length :]

        yield Case(f"header-flip-{number}", "bert", "exact", edited(TENSORS, flip))
    for number, length in enumerate((0, 1, 7, 2**31, 2**62, 2**64 - 1)):
        yield Case(
            f"header-length-{number}",
            "bert",
            "refused",
            edited(TENSORS, lambda d, r, n=length: struct.pack("<Q", n) + d[8:]),
        )


def _values() -> Iterator[Case]:
    """The values of a safetensors file."""

    def values(
        name: str,
        expected: Expectation,
        edit: Edit,
        base: str = "bert",
    ) -> Case:
        def whole(data: bytes, rng: random.Random) -> bytes:
            header, content = split(data)
            return joined(header, edit(content, rng))

        return Case(f"values-{name}", base, expected, edited(TENSORS, whole))

    for number, value in enumerate((np.nan, -np.nan, np.inf, -np.inf)):
        for base in ("bert", "joint", "vocab_txt"):

            def spoil(data: bytes, rng: random.Random, value: float = value) -> bytes:
                floats = np.frombuffer(data, np.float32).copy()
                floats[rng.randrange(len(floats))] = value
                return floats.tobytes()

            yield values(f"{base}-{number}", "refused", spoil, base)
    for number in range(20):
        yield values(f"flip-{number}", "exact", flipped)
    for number in range(20):
        yield Case(f"values-cut-{number}", "bert", "refused", edited(TENSORS, cut))
    yield values("longer", "refused", lambda d, r: d + b"\0" * 4)
    yield values("large", "exact", lambda d, r: np.full(len(d) // 4, 3e38, np.float32).tobytes())
    yield Case("values-empty", "bert", "refused", edited(TENSORS, lambda d, r: b""))
    yield Case("values-noise", "bert", "refused", edited(TENSORS, lambda d, r: r.randbytes(len(d))))

    def halves(data: bytes, rng: random.Random) -> bytes:
        header, content = split(data)
        for entry in header.values():
            if "data_offsets" in entry:
                entry["dtype"] = "F16"
                entry["data_offsets"] = [place // 2 for place in entry["data_offsets"]]
        return joined(header, np.frombuffer(content, np.float32).astype(np.float16).tobytes())

    yield Case("values-halves", "bert", "exact", edited(TENSORS, halves))


def _shards() -> Iterator[Case]:
    """An index of shards in the place of one file."""

    def case(
        name: str, places: Callable[[list[str]], Any], expected: Expectation = "refused"
    ) -> Case:
        def change(folder: Path, rng: random.Random) -> None:
            data = (folder / TENSORS).read_bytes()
            names = [tensor for tensor in split(data)[0] if tensor != "__metadata__"]
            (folder / TENSORS).rename(folder / "model-1.safetensors")
            os.mkfifo(folder / "pipe.safetensors")
            index = {"weight_map": places(names)}
            (folder / f"{TENSORS}.index.json").write_text(json.dumps(index))

        return Case(f"shards-{name}", "bert", expected, change)

    yield case("sound", lambda names: dict.fromkeys(names, "model-1.safetensors"), "same")
    for name, place in (
        ("above", "../bert/x"),
        ("absolute", "/etc/passwd"),
        ("gone", "x"),
        ("dot", "."),
        ("none", ""),
        ("nul", "a\0b"),
        ("pipe", "pipe.safetensors"),
        ("config", "config.json"),
        ("number", 3),
        ("long", "x" * 5000),
    ):
        yield case(name, lambda names, p=place: dict.fromkeys(names, p))
    yield case("some", lambda names: dict.fromkeys(names[1:], "model-1.safetensors"))
    yield case("more", lambda names: dict.fromkeys([*names, "x"], "model-1.safetensors"))
    for number, value in enumerate((None, 3, [], "x")):
        yield case(f"map-{number}", lambda names, v=value: v)
