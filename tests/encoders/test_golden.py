"""Every hidden state, attention map and logit against what PyTorch gave for the same checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from keras import ops
from safetensors import safe_open

from tfdistil.encoders import load_encoder, save_encoder

LABELS = tuple(f"LABEL_{i}" for i in range(5))
CHECKPOINTS = {
    "bert-mlm": {"heads": {"logits": "mlm"}},
    "bert-token-classification": {"outputs": {"tags": ("word", 5)}, "labels": {"tags": LABELS}},
    "bert-sequence-classification": {
        "outputs": {"class": ("sequence", 5)},
        "labels": {"class": LABELS},
    },
    "distilbert-mlm": {"heads": {"logits": "mlm"}},
    "xlm-roberta-mlm": {"heads": {"logits": "mlm"}},
}
TOLERANCE = 1e-4


def tensor_table(path: Path) -> dict[str, tuple[list[int], str]]:
    with safe_open(path, "np") as file:
        assert file.metadata() == {"format": "pt"}
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {name: (s.get_shape(), s.get_dtype()) for name, s in slices.items()}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_parity_with_pytorch(golden: Path, name: str) -> None:
    encoder = load_encoder(golden / name, attention=True, **CHECKPOINTS[name])
    with np.load(golden / name / "golden.npz") as expected:
        inputs = {k: expected[k] for k in encoder.input_names}
        real = inputs["attention_mask"].astype(bool)
        signals = {k: ops.convert_to_numpy(v) for k, v in encoder(inputs, training=False).items()}
        assert len(expected["hidden_states"]) == encoder.config.layers + 1
        for layer, states in enumerate(expected["hidden_states"]):
            assert np.abs(signals[f"hidden/{layer}"] - states)[real].max() <= TOLERANCE
        for layer, maps in enumerate(expected["attentions"], 1):
            difference = np.abs(signals[f"attention/{layer}"] - maps).transpose(0, 2, 1, 3)
            assert difference[real].max() <= TOLERANCE  # rows of real queries, all keys
        (logits,) = (v for k, v in signals.items() if k.startswith("logits/"))
        difference = np.abs(logits - expected["logits"])
        assert (difference[real] if logits.ndim == 3 else difference).max() <= TOLERANCE


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_saved_again_it_is_the_same_checkpoint(golden: Path, tmp_path: Path, name: str) -> None:
    options = CHECKPOINTS[name]
    encoder = load_encoder(golden / name, **options)
    save_encoder(encoder, tmp_path, options.get("labels"))
    assert tensor_table(tmp_path / "model.safetensors") == tensor_table(
        golden / name / "model.safetensors"
    )
    with (
        safe_open(tmp_path / "model.safetensors", "np") as ours,
        safe_open(golden / name / "model.safetensors", "np") as theirs,
    ):
        for tensor in theirs.keys():  # noqa: SIM118
            np.testing.assert_array_equal(ours.get_tensor(tensor), theirs.get_tensor(tensor))
    configs = [
        json.loads((f / "config.json").read_text("utf-8")) for f in (tmp_path, golden / name)
    ]
    for config in configs:
        assert config.pop("transformers_version")
    assert configs[0] == configs[1]
    again = load_encoder(tmp_path, **options)
    for a, b in zip(encoder.weights, again.weights, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b))
