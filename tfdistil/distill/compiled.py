"""Functions of a model's batches, compiled by the backend in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras


def compiled(
    run: Callable[..., Any], variables: Sequence[Any] = (), inputs: Any = None
) -> Callable[..., Any]:
    """A function of arrays as the backend runs it fastest.

    Args:
        run: of nested arrays, to nested arrays. It changes no variables.
        variables: all that it reads; JAX would keep their values of the first call.
        inputs: what it is called with, `keras.KerasTensor` for arrays. TensorFlow then traces it
            once for all sizes that are None; without them it finds out itself. JAX compiles it for
            every shape.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        if inputs is None:
            return tf.function(run, reduce_retracing=True)
        signature = keras.tree.map_structure(lambda x: tf.TensorSpec(x.shape, x.dtype), inputs)
        return tf.function(run, input_signature=signature)
    import jax

    @jax.jit
    def stateless(values: Any, arguments: Any) -> Any:
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return run(*arguments)

    return lambda *arguments: stateless([variable.value for variable in variables], arguments)
