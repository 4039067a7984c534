"""A small BERT that starts from scratch, for jobs without a pretrained checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.encoder import Encoder
from tfdistil.heads.spec import Level


def scratch_encoder(
    vocabulary: int,
    hidden_dim: int = 128,
    layers: int = 2,
    attention_heads: int | None = None,
    intermediate_dim: int | None = None,
    max_positions: int = 128,
    outputs: Mapping[str, tuple[Level, int]] | None = None,
    seed: int | None = None,
    *,
    pad_id: int = 0,
    dropout: float = 0.1,
    pooling: str = "cls",
    **kwargs: Any,
) -> Encoder:
    """A BERT with fresh weights.

    BERT's standard deviation of 0.02 belongs to a width of 768 (it is 0.55 / sqrt(768)); a narrow
    encoder that starts with it hardly learns for its first hundreds of updates, so here it grows
    as the width shrinks.

    Args:
        vocabulary: pieces of its tokenizer.
        hidden_dim: of the hidden states.
        layers: transformer layers.
        attention_heads: None: one for every 32 columns of ``hidden_dim``, as in MiniLM.
        intermediate_dim: width of the feed-forward network. None: four times ``hidden_dim``.
        max_positions: the longest sequence in tokens.
        outputs: output name to ``(level, labels)``.
        seed: for weights and dropout.
        pad_id: id of the padding token.
        dropout: rate of all dropouts.
        pooling: see `EncoderConfig.classifier_pooling`.
        **kwargs: of `Encoder`, such as ``heads``.

    Raises:
        CheckpointError: sizes that do not fit together.
    """
    config = EncoderConfig(
        vocabulary=vocabulary,
        hidden_dim=hidden_dim,
        layers=layers,
        attention_heads=max(1, hidden_dim // 32) if attention_heads is None else attention_heads,
        intermediate_dim=4 * hidden_dim if intermediate_dim is None else intermediate_dim,
        max_positions=max_positions,
        pad_id=pad_id,
        dropout=dropout,
        attention_dropout=dropout,
        initializer_range=round(0.55 * hidden_dim**-0.5, 4),
        classifier_pooling=pooling,
    )
    return Encoder(config, outputs, seed=seed, **kwargs)
