"""The engine of TensorFlow's Model Optimization toolkit: its quantizers on Keras 3 tensors."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any

from keras import ops

from tfdistil.quantization.engines import magnitude


class TfmotEngine:
    """Rounds with the quantizer objects of ``tensorflow-model-optimization``.

    That package (0.8.1) refuses every Keras 3 model, but its quantizers work on tensors. They round
    in ranges that are given: their own moving averages begin at 6 and keep 0.999 of themselves,
    which short trainings never leave. TensorFlow backend only.
    """

    quantizes = True

    def activation(self, x: Any, low: Any, high: Any) -> Any:
        """See `tfdistil.quantization.engines.Engine.activation`.

        Raises:
            ImportError: the package is not installed.
        """
        quantizer = _quantizers().MovingAverageQuantizer(
            num_bits=8, per_axis=False, symmetric=False, narrow_range=False
        )
        return _apply(quantizer, x, low, high)

    def kernel(self, w: Any, per_channel: bool = True, part_of: Any = None) -> Any:
        """See `tfdistil.quantization.engines.Engine.kernel`.

        Raises:
            ImportError: the package is not installed.
        """
        w = ops.convert_to_tensor(w)
        limit = magnitude(w if part_of is None else part_of, per_channel)
        quantizer = _quantizers().LastValueQuantizer(
            num_bits=8, per_axis=per_channel, symmetric=True, narrow_range=True
        )
        return _apply(quantizer, w, -limit, limit)


def _apply(quantizer: Any, x: Any, low: Any, high: Any) -> Any:
    import tensorflow as tf

    # TensorFlow's own conversion: that of Keras leaves its variables what they are.
    low, high = (tf.convert_to_tensor(limit, tf.float32) for limit in (low, high))
    weights = {"min_var": low, "max_var": high}
    return quantizer(tf.convert_to_tensor(x), training=False, weights=weights)


@cache
def _quantizers() -> Any:
    """The package's quantizers, imported without its traces.

    It asks for the legacy Keras in an environment variable, which processes started later, such as
    the converter's, would follow.
    """
    name = "TF_USE_LEGACY_KERAS"
    before = os.environ.get(name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import tensorflow_model_optimization as tfmot
    except ImportError as error:
        raise ImportError(
            "the quantization engine 'tfmot' needs tensorflow-model-optimization; install it, or "
            "use the engine 'keras'"
        ) from error
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
    return tfmot.quantization.keras.quantizers
