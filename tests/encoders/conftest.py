"""Tiny encoders and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfdistil.encoders import Encoder, EncoderConfig, save_encoder

TINY = {
    "vocabulary": 23,
    "hidden_dim": 8,
    "layers": 2,
    "attention_heads": 2,
    "intermediate_dim": 12,
}
FAMILIES = {
    "bert": {"max_positions": 10},
    "distilbert": {"max_positions": 10, "type_vocabulary": 0},
    "roberta": {"max_positions": 12, "type_vocabulary": 1, "pad_id": 1},
    "xlm-roberta": {"max_positions": 12, "type_vocabulary": 1, "pad_id": 1},
}


@pytest.fixture
def tiny() -> Callable[..., Encoder]:
    """Builds a two-layer encoder of a family."""

    def build(family: str = "bert", outputs: Any = None, **options: Any) -> Encoder:
        config = EncoderConfig(family=family, **TINY, **FAMILIES[family])
        return Encoder(config, outputs, **{"seed": 7, **options})

    return build


@pytest.fixture
def saved(tmp_path: Path, tiny: Callable[..., Encoder]) -> Callable[..., Path]:
    """Saves a two-layer encoder with one word or sequence head and gives its folder."""

    def save(family: str = "bert", level: str | None = "word", labels: str = "abc", **more: Any):
        outputs = {"out": (level, len(labels))} if level else None
        folder = tmp_path / f"{family}-{level}-{labels}"
        encoder = tiny(family, outputs, **more)
        save_encoder(encoder, folder, {"out": labels} if level else None)
        return folder

    return save


@pytest.fixture
def batch() -> dict[str, np.ndarray]:
    """Three texts of 6, 3 and 4 tokens, padded to 6."""
    ids = np.random.default_rng(0).integers(5, 23, (3, 6)).astype("int32")
    mask = np.array([[1] * 6, [1] * 3 + [0] * 3, [1] * 4 + [0] * 2], "int32")
    types = np.array([[0] * 4 + [1] * 2, [0] * 6, [0, 0, 1, 1, 0, 0]], "int32")
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": types}
