"""A run's own teacher as a ``.tflite``, to be timed beside its student in the same runtime."""

from __future__ import annotations

from typing import Any

import keras


def teacher_model(
    encoder: Any, *, length: int = 32, batch: int = 32, quantize: str = "none"
) -> bytes:
    """Convert a teacher with its task heads to a flatbuffer.

    Args:
        encoder: a `tfdistil.encoders.encoder.Encoder`; the logits of its task heads become the
            outputs.
        length: positions per call, at most the encoder's maximum.
        batch: rows of the signature ``batch``.
        quantize: ``none`` (float32), ``float16`` or ``dynamic``.

    Raises:
        ExportError: a conversion that failed.
    """
    from tfdistil.exporting.convert import Entry, convert

    heads = list(encoder.head_specs)

    def entry(rows: int) -> Entry:
        def function(*inputs: Any) -> dict[str, Any]:
            signals = encoder(dict(zip(encoder.input_names, inputs, strict=True)), training=False)
            return {name: signals[f"logits/{name}"] for name in heads}

        specs = [
            keras.InputSpec(shape=(rows, length), dtype="int32", name=name)
            for name in encoder.input_names
        ]
        return Entry(function, specs)

    return convert(encoder, {"online": entry(1), "batch": entry(batch)}, quantize)
