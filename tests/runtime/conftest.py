"""Real model files: tiny Keras models, converted, packed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

LENGTH = 16
BATCH = 4
TEXTS = [
    "play jazz in the kitchen",
    "play some rock by the beatles in the living room",
    "wake me up at 7:30 tomorrow",
    "what's the weather in berlin, please?",
    "turn off the lights in the kitchen",
]


@dataclass(frozen=True)
class Tiny:
    """A model file and the parts it was made of."""

    path: Path
    keras: Any
    task: Any
    featurizer: Any
    flatbuffer: bytes


def build(task, quantize: str, path: Path, kind: str = "unicode") -> Tiny:
    """Embedding, one convolution, a dense layer per output; signatures `online` and `batch`."""
    import keras
    import tensorflow as tf

    from tfdistil.exporting.pack import config_bytes, pack
    from tfdistil.text.subwords import SubwordFeaturizer
    from tfdistil.text.train_tokenizer import train_wordpiece
    from tfdistil.text.words import WordSplitter

    featurizer = SubwordFeaturizer.from_tokenizer(train_wordpiece(TEXTS * 2, 120), LENGTH)
    keras.utils.set_random_seed(7)
    ids = keras.Input((LENGTH,), dtype="int32", name="input_ids")
    mask = keras.Input((LENGTH,), dtype="int32", name="attention_mask")
    real = keras.ops.expand_dims(keras.ops.cast(mask, "float32"), -1)
    hidden = keras.layers.Embedding(120, 8, embeddings_initializer="normal")(ids) * real
    hidden = keras.layers.Conv1D(8, 3, padding="same", activation="tanh")(hidden) * real
    outputs = {}
    for output in task.outputs:
        dense = keras.layers.Dense(len(output.labels), kernel_initializer="random_normal")
        pooled = hidden if output.level == "word" else keras.ops.mean(hidden, axis=1)
        outputs[f"labels/{output.name}"] = dense(pooled) * 20.0
    model = keras.Model({"input_ids": ids, "attention_mask": mask}, outputs)

    archive = keras.export.ExportArchive()
    archive.track(model)
    names = {o.name: o.name for o in task.outputs}
    for name, batch in (("online", 1), ("batch", BATCH)):
        archive.add_endpoint(
            name,
            lambda input_ids, attention_mask: {
                n: model({"input_ids": input_ids, "attention_mask": attention_mask})[f"labels/{n}"]
                for n in names
            },
            [tf.TensorSpec((batch, LENGTH), tf.int32, name=k) for k in model.input],
        )
    folder = path.parent / f"{path.stem}_saved_model"
    archive.write_out(str(folder), verbose=False)
    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(folder), signature_keys=["online", "batch"]
    )
    if quantize == "int8":

        def samples():
            for text in TEXTS:
                (window,) = featurizer.encode(text.split())
                row = {k: np.zeros((1, LENGTH), np.int32) for k in window.inputs}
                for key, values in window.inputs.items():
                    row[key][0, : len(values)] = values
                for name, batch in (("online", 1), ("batch", BATCH)):
                    yield name, {k: np.repeat(v, batch, axis=0) for k, v in row.items()}

        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_output_type = tf.int8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the converter's own interpreter calls itself deprecated
        flatbuffer = converter.convert()
    config = {
        "format": 1,
        "task": task.to_json(),
        "featurizer": featurizer.to_json(),
        "splitter": WordSplitter(kind).to_json(),
        "signatures": {
            "online": {"batch": 1, "length": LENGTH},
            "batch": {"batch": BATCH, "length": LENGTH},
        },
        "outputs": names,
        "min_runtime": "2.3.0",
        "quantize": quantize,
        "languages": ["en"],
        "created_with": {"tensorflow": tf.__version__},
        "thresholds": {},
    }
    labels = "\n".join(label for o in task.outputs for label in o.labels) + "\n"
    assets = {
        "tfdistil.json": config_bytes(config),
        "labels.txt": labels.encode(),
        **featurizer.to_assets(),
    }
    path.write_bytes(pack(flatbuffer, assets))
    return Tiny(path, model, task, featurizer, flatbuffer)


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="session")
def intent_slots(folder) -> Tiny:
    from tfdistil.tasks import IntentSlots

    task = IntentSlots(["O", "B-genre", "I-genre", "B-room", "I-room"], ["music", "weather"])
    return build(task, "none", folder / "intent_slots.tflite")


@pytest.fixture(scope="session")
def tags_int8(folder) -> Tiny:
    from tfdistil.tasks import Tags

    return build(Tags(["O", "B-genre", "I-genre", "B-x", "I-x"]), "int8", folder / "tags.tflite")


@pytest.fixture(scope="session")
def parts_of_speech(folder) -> Tiny:
    """Labels of single words."""
    from tfdistil.tasks import Tags

    return build(Tags(["O", "B-DET", "B-NOUN"]), "int8", folder / "words.tflite")


@pytest.fixture(scope="session")
def pair(folder) -> Tiny:
    from tfdistil.tasks import Pair

    return build(Pair(["contradiction", "entailment", "neutral"]), "none", folder / "pair.tflite")
