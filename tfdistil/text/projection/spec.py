"""What a token projection computes, as plain data that travels in the model file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.text.projection.ternary import map_values, padding_byte

SPEC_ID = "tfdistil-projection-1"
"""The version of docs/projection.md. It changes if any byte of any token does."""

FAMILIES = ("murmur", "affix8", "affix16", "affix32", "ngram")
MOST_FEATURES = 4096

SHAPE_FEATURES = 12
"""Features that ``shape`` appends, a multiple of 4: see `tfdistil.text.projection.shape`."""


@dataclass(frozen=True)
class ProjectionSpec:
    """Everything that decides about the bytes of a token. docs/projection.md has the details.

    Attributes:
        families: hash families in the order of their features, each with the number of features it
            fills, a multiple of 4. Together 4 to 4096.
        map: bit pairs to ternary values: ``operator``, ``paper`` or ``unbalanced``.
        normalization: ``nfc``, or ``none`` for the code points as they come.
        lowercase: whether code points are mapped to their lower case.
        capitalization: whether the last two hashed features tell if the first letter is a capital
            and if all letters are; they are +1 or -1 and replace what is hashed.
        eos: whether a token ``<EOS>`` follows the words. It has no label.
        shape: whether 12 features more, +1 or -1, tell what the word looks like: its capitals,
            digits, punctuation and length.

    Raises:
        RecipeError: a value that is none of these.
    """

    families: tuple[tuple[str, int], ...] = (("murmur", 1024),)
    map: str = "operator"
    normalization: Literal["nfc", "none"] = "nfc"
    lowercase: bool = True
    capitalization: bool = False
    eos: bool = False
    shape: bool = False

    def __post_init__(self) -> None:
        map_values(self.map)
        if self.normalization not in ("nfc", "none"):
            raise RecipeError(f"normalization is {self.normalization!r}; expected 'nfc' or 'none'")
        for name in ("lowercase", "capitalization", "eos", "shape"):
            if not isinstance(getattr(self, name), bool):
                raise RecipeError(f"{name} is {getattr(self, name)!r}; expected true or false")
        names = [name for name, _ in self.families]
        for name, features in self.families:
            if name not in FAMILIES:
                raise RecipeError(
                    f"unknown hash family {name!r}; expected one of {', '.join(FAMILIES)}"
                )
            if type(features) is not int or features < 4 or features % 4:
                raise RecipeError(
                    f"the hash family {name!r} has {features!r} features; expected a multiple of 4"
                )
        if len({*names}) < len(names):
            raise RecipeError(f"hash families {', '.join(names)}: each may occur once")
        most = MOST_FEATURES - SHAPE_FEATURES * self.shape
        if not 4 <= self.hashed <= most:
            beside = f" beside the {SHAPE_FEATURES} of shape" if self.shape else ""
            raise RecipeError(
                f"the hash families have {self.hashed} features; expected 4 to {most}{beside}"
            )

    @property
    def hashed(self) -> int:
        """How many of the features are those of hash families: all but the last, of ``shape``."""
        return sum(features for _, features in self.families)

    @property
    def features(self) -> int:
        """N: ternary features of a token."""
        return self.hashed + SHAPE_FEATURES * self.shape

    @property
    def token_bytes(self) -> int:
        """Bytes of a token's fingerprint: N / 4."""
        return self.features // 4

    @property
    def padding(self) -> int:
        """The byte of positions without a token: four features that are 0."""
        return padding_byte(self.map)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data, with the spec id.

        ``shape`` is there where it is true: versions that do not know it read all other specs.
        """
        return {
            "spec": SPEC_ID,
            "families": [[name, features] for name, features in self.families],
            "map": self.map,
            "normalization": self.normalization,
            "lowercase": self.lowercase,
            "capitalization": self.capitalization,
            "eos": self.eos,
            **({"shape": True} if self.shape else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ProjectionSpec:
        """What `to_json` wrote.

        Raises:
            ModelFileError: another spec id, or settings that this one does not have.
        """
        if data.get("spec") != SPEC_ID:
            raise ModelFileError(
                f"projection {data.get('spec')!r} is unknown; this version knows {SPEC_ID!r}. "
                "Upgrade tfdistil"
            )
        settings = {name: value for name, value in data.items() if name != "spec"}
        try:
            families = tuple((name, features) for name, features in settings.pop("families"))
            return cls(families, **settings)
        except (KeyError, TypeError, ValueError, RecipeError) as error:
            raise ModelFileError(
                f"settings {settings!s:.200} do not fit {SPEC_ID!r}: {error}"
            ) from error

    def to_bytes(self) -> bytes:
        """``projection.json``."""
        return (json.dumps(self.to_json(), indent=1) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> ProjectionSpec:
        """What `to_bytes` wrote.

        Raises:
            ModelFileError: no JSON object, or see `from_json`.
        """
        try:
            read = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"projection.json cannot be read as JSON: {error}") from error
        if not isinstance(read, dict):
            raise ModelFileError(
                f"projection.json holds a JSON {type(read).__name__}; expected an object"
            )
        return cls.from_json(read)
