from __future__ import annotations

import keras
import numpy as np
from keras import ops

from tfdistil.encoders import scratch_encoder


def test_sizes_and_seed() -> None:
    encoder = scratch_encoder(50, 64, 3, max_positions=40, outputs={"tags": ("word", 5)}, seed=3)
    config = encoder.config
    assert (config.attention_heads, config.intermediate_dim, config.max_length) == (2, 256, 40)
    again = scratch_encoder(50, 64, 3, max_positions=40, outputs={"tags": ("word", 5)}, seed=3)
    for a, b in zip(encoder.weights, again.weights, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b))


def test_no_two_weights_start_alike() -> None:
    encoder = scratch_encoder(
        64, 64, 2, intermediate_dim=64, outputs={"a": ("word", 64), "b": ("sequence", 64)}
    )
    seeded = scratch_encoder(
        64,
        64,
        2,
        intermediate_dim=64,
        max_positions=64,
        outputs={"a": ("word", 64), "b": ("sequence", 64)},
        seed=0,
    )
    for model in (encoder, seeded):
        starts = [np.array(w).ravel()[:8] for w in model.weights if len(w.shape) == 2]
        assert len({start.tobytes() for start in starts}) == len(starts)


def test_it_learns_which_word_comes_first() -> None:
    """A task that needs attention to the right position, from scratch, in a hundred updates."""
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 25, (512, 8)).astype("int32")
    ids[:, 0] = 2
    encoder = scratch_encoder(
        25, 32, 2, outputs={"class": ("sequence", 2)}, max_positions=8, seed=1
    )
    inputs = {"input_ids": keras.Input((8,), dtype="int32", name="input_ids")}
    model = keras.Model(inputs, encoder(inputs)["logits/class"])
    model.compile(
        keras.optimizers.Adam(2e-3),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=False,
    )
    target = (ids[:, 1] >= 15).astype("int32")
    history = model.fit({"input_ids": ids}, target, batch_size=64, epochs=15, verbose=0)
    assert history.history["accuracy"][-1] > 0.95
