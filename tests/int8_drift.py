"""How far the logits of an int8 file are from those of its model."""

from __future__ import annotations

import numpy as np
from ai_edge_litert.interpreter import Interpreter

TEXTS = 24


def int8_drift(model, head, content, rows):
    """Mean distance at real positions by output, in standard deviations of the model's logits.

    Args:
        model: in Keras.
        head: whose logits the file gives.
        content: the file's graph, with a signature ``online`` of one row.
        rows: inputs of at least `TEXTS` rows.
    """
    runner = Interpreter(model_content=content).get_signature_runner("online")
    expected, drift = model(rows), {}
    found = [runner(**{k: v[n : n + 1] for k, v in rows.items()}) for n in range(TEXTS)]
    for output, details in runner.get_output_details().items():
        scale, zero = details["quantization"]
        values = (np.concatenate([one[output] for one in found]) - np.float32(zero)) * scale
        logits = np.asarray(expected[f"{head}/{output}"])[:TEXTS]
        if values.ndim == 3:
            real = rows["attention_mask"][:TEXTS] == 1
            values, logits = values[real], logits[real]
        drift[output] = np.abs(values - logits).mean() / logits.std()
    return drift
