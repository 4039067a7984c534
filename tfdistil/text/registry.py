"""Featurizers by the kind a model file names. A new one is one class and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from tfdistil.errors import ModelFileError
from tfdistil.text.featurizer import Featurizer

# Module and class as text: a model loads only the library its own featurizer needs.
FEATURIZERS = {
    "subwords": "tfdistil.text.subwords:SubwordFeaturizer",
    "projection": "tfdistil.text.projection.featurizer:ProjectionFeaturizer",
    "subwords+projection": "tfdistil.text.hashed_subwords:HashedSubwordFeaturizer",
}


def featurizer_from_assets(settings: Mapping[str, Any], assets: Mapping[str, bytes]) -> Featurizer:
    """Rebuild a featurizer from its ``to_json`` and ``to_assets``.

    Raises:
        ModelFileError: a kind this version does not know, or settings that do not fit it.
    """
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in FEATURIZERS:
        raise ModelFileError(
            f"unknown featurizer {kind!r}; this version knows {', '.join(FEATURIZERS)}. "
            "Upgrade tfdistil"
        )
    module, name = FEATURIZERS[kind].split(":")
    try:
        return getattr(import_module(module), name).from_assets(settings, assets)
    except (TypeError, KeyError, ValueError) as error:
        raise ModelFileError(f"settings {settings!s:.200} do not fit {kind!r}: {error}") from error
