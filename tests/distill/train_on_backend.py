"""Twenty updates of Eliquare's losses; prints each step's losses.

Arguments: the backend and what the student computes in.
"""

from __future__ import annotations

import json
import sys

import keras
import numpy as np

from tfdistil.distill.distiller import Distiller
from tfdistil.distill.masking import mask_pieces
from tfdistil.distill.optimizer import make_optimizer
from tfdistil.distill.streams import StreamBatches
from tfdistil.distill.terms import bind_terms
from tfdistil.encoders import scratch_encoder
from tfdistil.recipe.schema.stages import OptimizerSpec, TermSpec

assert keras.backend.backend() == sys.argv[1]
STEPS, ROWS, TIME, VOCABULARY = 20, 8, 12, 50


def language_model(layers, **dropout):
    return scratch_encoder(
        vocabulary=VOCABULARY,
        hidden_dim=16,
        layers=layers,
        attention_heads=2,
        intermediate_dim=24,
        max_positions=16,
        outputs={},
        heads={"logits": "mlm"},
        **dropout,
    )


encoder = language_model(2, embedding_dropout=0.0, head_dropout=0.0)
teacher = language_model(4)
for number, model in enumerate((encoder, teacher)):
    for at, weight in enumerate(model.weights):
        draw = np.random.default_rng([number, at])
        if weight.ndim == 2:  # gains of norms stay 1
            weight.assign(draw.normal(0, 0.3, weight.shape))
for layer in encoder._flatten_layers():
    if isinstance(layer, keras.layers.Dropout):
        layer.rate = 0.0


class Text:
    """Random ids, masked afresh in each batch."""

    lengths = np.random.default_rng(7).integers(4, TIME + 1, STEPS * ROWS)
    ids = np.random.default_rng(8).integers(5, VOCABULARY, (STEPS * ROWS, TIME))
    mask = staticmethod(mask_pieces(4, VOCABULARY, frozenset(range(5)), 0.15))

    def epoch_rows(self, generator):
        return np.arange(STEPS * ROWS)

    def batch(self, chosen, generator):
        real = (np.arange(TIME) < self.lengths[chosen][:, None]).astype(np.int32)
        tokens = np.zeros((len(chosen), 1), np.int32)
        inputs = {
            "input_ids": (self.ids[chosen] * real).astype(np.int32),
            "attention_mask": real,
            "tokens": tokens,
            "token_mask": tokens + 1,
        }
        return self.mask(inputs, [], generator)


terms = bind_terms(
    [
        TermSpec(loss="softened_cross_entropy", weight=5),
        TermSpec(loss="hidden_cosine"),
        TermSpec(loss="masked_lm", weight=2),
    ],
    (),
    head="logits",
)
distiller = Distiller(encoder, terms, teacher=teacher, precision=sys.argv[2])
spec = OptimizerSpec(learning_rate=1e-3, schedule="linear", warmup=0.1, clip=1.0, epsilon=1e-6)
distiller.compile(optimizer=make_optimizer(spec, STEPS, encoder.layer_groups()), jit_compile=False)
losses = []


class Note(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        losses.append({name: float(value) for name, value in logs.items()})


# Logs are means over an epoch, so each step is one.
distiller.fit(
    StreamBatches({"train": Text()}, ROWS, seed=3).dataset(),
    steps_per_epoch=1,
    epochs=STEPS,
    shuffle=False,
    verbose=0,
    callbacks=[Note()],
)
print(json.dumps(losses))
