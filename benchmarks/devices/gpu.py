"""An accelerator, by way of Keras: on TensorFlow, or on JAX with ``KERAS_BACKEND=jax``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.benchmarks.devices.device import Device, Job, Screen, check_free
from tfdistil.errors import DeviceError, RecipeError

if TYPE_CHECKING:
    import numpy as np

BATCHES = {"online_ms": 1, "batch_ms": 32, "large_batch_ms": 256}
"""Rows of a call, by the key of its times."""

INPUTS = 16
"""Different random inputs a model is called with, in turn."""


class Gpu(Device):
    """The trained models of runs in Keras, compiled, each call waited for."""

    about = "an accelerator that Keras sees; takes folders of runs and of their models"

    def measure(self, job: Job, screen: Screen) -> dict[str, Any]:
        """See `Device.measure`; a model has ``large_batch_ms``, too.

        Raises:
            DeviceError: no accelerator.
            RecipeError: no folder of a run or model, or texts.
        """
        if job.texts:
            raise RecipeError("--texts does not go with --device gpu, which times models alone")
        folders = model_folders(job.models)
        return measure_keras(folders, job, BACKENDS[_backend()].accelerator(), screen)


def model_folders(paths: Any) -> dict[str, Path]:
    """The models of run folders by name, students before teachers.

    Raises:
        RecipeError: a path that is no run and no model.
    """
    found: dict[str, Path] = {}
    for path in paths:
        inside = [p.parent for p in sorted((path / "models").glob("*/model.json"))]
        if (path / "model.json").is_file():
            inside = [path]
        if not path.exists():
            raise RecipeError(f"{path}: no such folder; give one of a run or of a model")
        if not inside:
            raise RecipeError(f"{path} is no folder of a run or model, which --device gpu takes")
        for folder in sorted(inside, key=lambda p: "teacher" in p.name):
            several = len(paths) > 1 and folder != path
            found[f"{path.name}/{folder.name}" if several else folder.name] = folder
    return found


def measure_keras(
    folders: Mapping[str, Path], job: Job, device: Any, screen: Screen
) -> dict[str, Any]:
    """Time saved models, and shapes with random weights, on a device of the backend.

    Args:
        folders: see `tfdistil.models.record.load_model`.
        job: its protocol, references and length.
        device: as the backend names it.
        screen: told what is going on.
    """
    import numpy as np

    from tfdistil.benchmarks.latency import Benchmark, Measurement
    from tfdistil.benchmarks.model import Shape, random_inputs
    from tfdistil.benchmarks.timing import cycle, time_interleaved

    protocol, generator = job.protocol, np.random.default_rng(job.protocol.seed)
    backend = BACKENDS[_backend()]
    calls: dict[str, dict[str, Callable[[int], Any]]] = {key: {} for key in BATCHES}
    shapes: dict[str, dict[str, Shape]] = {}
    parameters: dict[str, int] = {}
    with backend.placed(device):
        models = {name: _saved(folder) for name, folder in folders.items()}
        for name in job.references:
            check_free(name, dict(folders))
            models[name] = _reference(name)
        for name, (model, specs, vocabulary) in models.items():
            screen(f"  compiling {name}")
            parameters[name] = sum(math.prod(v.shape) for v in model.variables)
            compiled = backend.compiled(model)
            shapes[name] = {}
            for key, size in BATCHES.items():
                inputs = {
                    s.name: (tuple(s.shape), np.dtype(s.dtype)) for s in specs(job.length, size)
                }
                shape = shapes[name][key] = Shape(key, size, job.length, inputs)
                fed = [
                    backend.fed(random_inputs(shape, vocabulary, generator)) for _ in range(INPUTS)
                ]
                calls[key][name] = cycle(fed, compiled)
        times = {}
        for key, by_model in calls.items():
            screen(f"  {BATCHES[key]} rows")
            count = protocol.queries if key == "online_ms" else protocol.batches
            times[key] = time_interleaved(by_model, count, protocol.rounds, protocol.warm_up)
    found = Benchmark(
        tuple(
            Measurement(
                name=name,
                path=folders.get(name, Path(name)),
                bytes=4 * parameters[name],
                parameters=parameters[name],
                online=times["online_ms"][name],
                online_shape=shapes[name]["online_ms"],
                batch=times["batch_ms"][name],
                batch_shape=shapes[name]["batch_ms"],
                text=None,
                cold_text=None,
            )
            for name in models
        ),
        protocol,
    ).to_json()
    for model in found["models"]:
        rows = {"batch": BATCHES["large_batch_ms"], "length": job.length}
        model["large_batch_ms"] = times["large_batch_ms"][model["name"]].to_json() | rows
    found["environment"] |= {"accelerator": backend.describe(device), "backend": _backend()}
    return found


def _backend() -> str:
    from tfdistil.console.silence import import_backend

    import_backend()
    import keras

    return keras.backend.backend()


def _saved(folder: Path) -> tuple[Any, Callable[[int, int], Any], int]:
    """A model, its inputs, and the rows of its table."""
    from tfdistil.models.record import load_model

    record = load_model(folder)
    model = record.model
    if record.is_encoder:
        return model, model.input_specs, model.config.vocabulary
    return model, model.input_specs, record.arguments.get("vocabulary", 256)


def _reference(name: str) -> tuple[Any, Callable[[int, int], Any], int]:
    import keras

    from tfdistil.benchmarks.shapes import REFERENCES, TransformerShape

    if name not in REFERENCES:
        raise RecipeError(f"unknown reference {name!r}; there is {', '.join(REFERENCES)}")

    def specs(length: int, rows: int) -> list[Any]:
        return [keras.InputSpec(shape=(rows, length), dtype="int32", name="input_ids")]

    return TransformerShape(REFERENCES[name]), specs, REFERENCES[name].vocabulary


def _outputs(model: Any, found: Any) -> Any:
    """What is asked of a model: the scores of its heads."""
    return {name: found[name] for name in model.head_specs} if isinstance(found, dict) else found


def _given(model: Any, inputs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of the model's call: a shape takes its ids, any other model inputs by name."""
    if hasattr(model, "head_specs"):
        return [inputs], {"training": False}
    return [inputs["input_ids"]], {}


class TensorFlowBackend:
    """Calls compiled by XLA."""

    @staticmethod
    def accelerator() -> str:
        """The first one.

        Raises:
            DeviceError: there is none.
        """
        import tensorflow as tf

        for device in tf.config.list_logical_devices():
            if device.device_type != "CPU":
                return device.name
        raise DeviceError("TensorFlow sees no accelerator; with JAX, set KERAS_BACKEND=jax")

    @staticmethod
    def placed(device: str) -> Any:
        """A context whose variables and calls are there."""
        import tensorflow as tf

        return tf.device(device)

    @staticmethod
    def describe(device: str) -> str:
        """What it is called."""
        import tensorflow as tf

        kind = device.rpartition("device:")[2].partition(":")[0]
        (physical, *_) = tf.config.list_physical_devices(kind)
        return tf.config.experimental.get_device_details(physical).get("device_name", kind)

    @staticmethod
    def fed(inputs: Mapping[str, np.ndarray]) -> Any:
        """Inputs that lie on the device."""
        import tensorflow as tf

        return {name: tf.constant(values) for name, values in inputs.items()}

    @staticmethod
    def compiled(model: Any) -> Callable[[Any], Any]:
        """A call that returns when its results are there."""
        import tensorflow as tf

        @tf.function(jit_compile=True, reduce_retracing=False)
        def forward(inputs: Any) -> Any:
            arguments, options = _given(model, inputs)
            return _outputs(model, model(*arguments, **options))

        def call(inputs: Any) -> Any:
            found = forward(inputs)
            tf.test.experimental.sync_devices()
            return found

        return call


class JaxBackend:
    """Calls compiled by XLA."""

    @staticmethod
    def accelerator() -> Any:
        """The first one.

        Raises:
            DeviceError: there is none.
        """
        import jax

        for device in jax.devices():
            if device.platform != "cpu":
                return device
        raise DeviceError("JAX sees no accelerator; NVIDIA's need `pip install 'tfdistil[jax]'`")

    @staticmethod
    def placed(device: Any) -> Any:
        """A context whose variables and calls are there."""
        import jax

        return jax.default_device(device)

    @staticmethod
    def describe(device: Any) -> str:
        """What it is called."""
        return str(device.device_kind)

    @staticmethod
    def fed(inputs: Mapping[str, np.ndarray]) -> Any:
        """Inputs that lie on the device."""
        import jax.numpy as jnp

        return {name: jnp.asarray(values) for name, values in inputs.items()}

    @staticmethod
    def compiled(model: Any) -> Callable[[Any], Any]:
        """A call that returns when its results are there."""
        import jax

        trained = [v.value for v in model.trainable_variables]
        others = [v.value for v in model.non_trainable_variables]

        @jax.jit
        def forward(trained: Any, others: Any, inputs: Any) -> Any:
            arguments, options = _given(model, inputs)
            found, _ = model.stateless_call(trained, others, *arguments, **options)
            return _outputs(model, found)

        return lambda inputs: jax.block_until_ready(forward(trained, others, inputs))


BACKENDS: dict[str, Any] = {"tensorflow": TensorFlowBackend, "jax": JaxBackend}
"""How each backend of Keras is used."""
