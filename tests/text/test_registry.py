"""Featurizers rebuilt by their kind."""

from __future__ import annotations

import pytest

from tfdistil.errors import ModelFileError
from tfdistil.text.registry import FEATURIZERS, featurizer_from_assets
from tfdistil.text.subwords import SubwordFeaturizer


def test_subwords(wordpiece):
    made = SubwordFeaturizer.from_tokenizer(wordpiece, 16)
    again = featurizer_from_assets(made.to_json(), made.to_assets())
    assert isinstance(again, SubwordFeaturizer)
    assert again.to_json() == made.to_json()
    assert made.kind in FEATURIZERS


def test_unknown_kind():
    with pytest.raises(ModelFileError, match="unknown featurizer 'bytes'"):
        featurizer_from_assets({"kind": "bytes"}, {})


@pytest.mark.parametrize("change", [{"cls": None, "shape": 1}, {"max_length": "long"}])
def test_settings_that_do_not_fit(wordpiece, change):
    made = SubwordFeaturizer.from_tokenizer(wordpiece, 16)
    with pytest.raises(ModelFileError, match="do not fit 'subwords'"):
        featurizer_from_assets({**made.to_json(), **change}, made.to_assets())
