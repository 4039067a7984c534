"""Specs: what is refused, and what a model file keeps."""

from __future__ import annotations

import json

import pytest

from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.text.projection.spec import SPEC_ID, ProjectionSpec

SPECS = [
    ProjectionSpec(),
    ProjectionSpec((("ngram", 4), ("murmur", 12)), "paper", "none", False, True, True),
    ProjectionSpec((("affix8", 8), ("affix16", 8), ("affix32", 4080)), "unbalanced"),
    ProjectionSpec((("murmur", 4084),), shape=True),
]


def test_defaults():
    spec = ProjectionSpec()
    assert (spec.features, spec.token_bytes, spec.padding) == (1024, 256, 0)
    assert SPECS[1].padding == 0x55


def test_a_shape_is_further_features():
    spec = SPECS[3]
    assert (spec.hashed, spec.features, spec.token_bytes) == (4084, 4096, 1024)
    assert spec.to_json()["shape"] is True


def test_a_file_without_a_shape_is_as_it_always_was():
    """Versions that do not know shapes read it."""
    assert SPECS[2].to_bytes() == (
        b'{\n "spec": "tfdistil-projection-1",\n "families": [\n  [\n   "affix8",\n   8\n  ],'
        b'\n  [\n   "affix16",\n   8\n  ],\n  [\n   "affix32",\n   4080\n  ]\n ],'
        b'\n "map": "unbalanced",\n "normalization": "nfc",\n "lowercase": true,'
        b'\n "capitalization": false,\n "eos": false\n}\n'
    )


@pytest.mark.parametrize("spec", SPECS)
def test_round_trip(spec):
    assert ProjectionSpec.from_bytes(spec.to_bytes()) == spec
    assert json.loads(spec.to_bytes())["spec"] == SPEC_ID == "tfdistil-projection-1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"families": (("md5", 4),)}, "unknown hash family 'md5'; expected one of murmur, affix8"),
        ({"families": (("murmur", 6),)}, "'murmur' has 6 features; expected a multiple of 4"),
        ({"families": (("murmur", 0),)}, "'murmur' has 0 features"),
        ({"families": (("murmur", 8.0),)}, "'murmur' has 8.0 features"),
        ({"families": (("murmur", 4), ("murmur", 8))}, "each may occur once"),
        ({"families": ()}, "have 0 features; expected 4 to 4096"),
        ({"families": (("murmur", 4096), ("ngram", 4))}, "have 4100 features"),
        ({"map": "binary"}, "unknown ternary map 'binary'"),
        ({"normalization": "nfkc"}, "normalization is 'nfkc'; expected 'nfc' or 'none'"),
        ({"lowercase": "yes"}, "lowercase is 'yes'; expected true or false"),
        ({"capitalization": 1}, "capitalization is 1"),
        ({"eos": None}, "eos is None"),
        ({"shape": 1}, "shape is 1; expected true or false"),
        ({"families": (), "shape": True}, "have 0 features; expected 4 to 4084 beside the 12 of"),
        (
            {"families": (("murmur", 4088),), "shape": True},
            "have 4088 features; expected 4 to 4084",
        ),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(RecipeError, match=message):
        ProjectionSpec(**change)
    with pytest.raises(ModelFileError, match="do not fit 'tfdistil-projection-1'"):
        ProjectionSpec.from_json({**ProjectionSpec().to_json(), **change})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "cannot be read as JSON"),
        (b"[1]", "holds a JSON list"),
        (b'{"spec": "tfdistil-projection-2"}', "'tfdistil-projection-2' is unknown.*Upgrade"),
        (b'{"spec": "tfdistil-projection-1"}', "do not fit.*families"),
        (b'{"spec": "tfdistil-projection-1", "families": [["murmur"]]}', "do not fit"),
        (b'{"spec": "tfdistil-projection-1", "families": [["murmur", 4]], "seed": 1}', "seed"),
    ],
)
def test_broken_files(data, message):
    with pytest.raises(ModelFileError, match=message):
        ProjectionSpec.from_bytes(data)
