"""An encoder's body under a masked-language head, for pre-training."""

from __future__ import annotations

from typing import Any

from tfdistil.distill.weights import copy_groups
from tfdistil.encoders import Encoder
from tfdistil.models.record import ModelRecord
from tfdistil.variables import copy_values


def with_mlm_head(record: ModelRecord, seed: int) -> ModelRecord:
    """An encoder with the same body, and a masked-language head instead of the task's.

    Where the encoder has such a head among its own, it is that one.
    """
    encoder = Encoder(record.model.config, heads={"logits": "mlm"}, seed=seed)
    copy_body(record.model, encoder)
    featurizer: Any = record.featurizer  # hashes would tell which word is masked
    return ModelRecord(encoder, featurizer.subwords, record.arguments)


def copy_body(source: Encoder, target: Encoder) -> None:
    """Copy all weights but those of the task's heads."""
    names = [name for name, _ in target.layer_groups() if name != "heads"]
    copy_groups(source, target, dict(zip(names, names, strict=True)))
    if source.mlm is not None and target.mlm is not None:
        copy_values(target.mlm.weights, source.mlm.weights)
