"""Keys of recipes that an earlier version had, and what to write now."""

from __future__ import annotations

RENAMED = {
    "twin": "write baseline: true or false",
    "quantized": "write from: NAME and apply: [quantize]",
    "distortion": "write noise: [{kind: spelling, probability: NUMBER}]",
    "engine": "it is an option: apply: [{kind: quantize, engine: NAME}]",
    "high": "it is learning_rate now",
    "low": "it is final_learning_rate now",
    "width": "it is hidden_dim now, of an embedding dim",
    "inner": "it is intermediate_dim now",
}
