"""Token projection of pQRNN: a word's hash bits as ternary features. No vocabulary, numpy only."""

from __future__ import annotations

from tfdistil.text.projection.featurizer import ProjectionFeaturizer
from tfdistil.text.projection.fingerprints import FingerprintCache, fingerprint_tokens, fingerprints
from tfdistil.text.projection.spec import ProjectionSpec
from tfdistil.text.projection.ternary import expand, ternary_table

__all__ = [
    "FingerprintCache",
    "ProjectionFeaturizer",
    "ProjectionSpec",
    "expand",
    "fingerprint_tokens",
    "fingerprints",
    "ternary_table",
]
