"""An encoder's body under a masked-language head, for pre-training."""

from __future__ import annotations

from typing import Any

from tfdistil.distill.masking import mask_pieces
from tfdistil.distill.streams import Transform
from tfdistil.distill.weights import copy_groups
from tfdistil.encoders import Encoder
from tfdistil.errors import CheckpointError
from tfdistil.models.record import ModelRecord


def with_mlm_head(record: ModelRecord, seed: int) -> ModelRecord:
    """An encoder with the same body, and a masked-language head instead of the task's.

    Where the encoder has such a head among its own, it is that one.
    """
    encoder = Encoder(record.model.config, heads={"logits": "mlm"}, seed=seed)
    copy_body(record.model, encoder)
    return ModelRecord(encoder, record.featurizer, record.arguments)


def copy_body(source: Encoder, target: Encoder) -> None:
    """Copy all weights but those of the task's heads."""
    names = [name for name, _ in target.layer_groups() if name != "heads"]
    copy_groups(source, target, dict(zip(names, names, strict=True)))
    if source.mlm is not None and target.mlm is not None:
        for mine, theirs in zip(target.mlm.weights, source.mlm.weights, strict=True):
            mine.assign(theirs)


def masking_for(record: ModelRecord, probability: float) -> Transform:
    """Masking with the encoder's own special pieces.

    Raises:
        CheckpointError: a tokenizer without ``[MASK]``.
    """
    featurizer: Any = record.featurizer
    mask = featurizer.tokenizer.token_to_id("[MASK]")
    if mask is None:
        raise CheckpointError("pre-training needs a tokenizer with the piece [MASK]")
    special = (featurizer.cls, featurizer.sep, featurizer.pad, featurizer.unk)
    return mask_pieces(mask, record.model.config.vocabulary, frozenset(special), probability)
