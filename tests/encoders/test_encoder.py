from __future__ import annotations

import ast
from pathlib import Path

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keras import ops

import tfdistil.encoders
from tfdistil.encoders import Encoder, EncoderConfig
from tfdistil.errors import CheckpointError

FAMILIES = ("bert", "distilbert", "roberta", "xlm-roberta")
BOTH = {"logits": "linear", "pieces": "mlm"}
JOINT = {"slots": ("word", 5), "intent": ("sequence", 3)}


def numpy(signals):
    return {name: ops.convert_to_numpy(value) for name, value in signals.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_signals_have_the_shapes_and_levels_they_say(tiny, batch, family: str) -> None:
    pooler = None if family == "distilbert" else True
    encoder = tiny(family, JOINT, heads=BOTH, attention=True, pooler=pooler)
    signals = numpy(encoder(batch))
    assert tuple(signals) == encoder.signals()
    shapes = {
        "hidden": (3, 6, 8),
        "sentence": (3, 8),
        "attention": (3, 2, 6, 6),
        "pooled": (3, 8),
        "pieces/mlm": (3, 6, 23),
        "logits/slots": (3, 6, 5),
        "logits/intent": (3, 3),
    }
    for name, value in signals.items():
        assert value.shape == shapes.get(name, shapes.get(name.partition("/")[0])), name
        assert value.dtype == np.float32
        # What has rows for pieces is gathered along the first axis after the batch.
        rows = {(6,): "subword", (2,): "window"}
        sequence = name in ("pooled", "logits/intent") or name.startswith("sentence")
        assert encoder.level(name) == ("sequence" if sequence else rows[value.shape[1:2]])
    for name in ("hidden/3", "hidden/-1", "attention/0", "logits/none", "pool", "logits", ""):
        with pytest.raises(KeyError, match="this model gives hidden/0, sentence/0, hidden/1"):
            encoder.level(name)
    with pytest.raises(KeyError):
        tiny(family).level("attention/1")


@pytest.mark.parametrize("family", FAMILIES)
def test_groups_cover_every_weight_once_top_to_bottom(tiny, family: str) -> None:
    encoder = tiny(family, JOINT, heads=BOTH)
    groups = encoder.layer_groups()
    assert [name for name, _ in groups] == ["heads", "layer_2", "layer_1", "embeddings"]
    covered = [id(weight) for _, weights in groups for weight in weights]
    assert sorted(covered) == sorted(id(weight) for weight in encoder.weights)
    assert next(name for name, _ in tiny(family).layer_groups()) == "layer_2"
    paths = [weight.path for weight in encoder.weights]
    assert len(set(paths)) == len(paths)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    family=st.sampled_from(FAMILIES),
    pooling=st.sampled_from(["cls", "mean"]),
    lengths=st.lists(st.integers(2, 6), min_size=1, max_size=4),
    padding=st.integers(0, 4),
    seed=st.integers(0, 1000),
)
def test_neither_padding_nor_neighbours_change_a_text(
    family, pooling, lengths, padding, seed
) -> None:
    """Each text alone and without padding gives what it gives in a padded batch."""
    encoder = _encoder(family, pooling)
    rng = np.random.default_rng(seed)
    ids = rng.integers(5, 23, (len(lengths), 6 + padding)).astype("int32")
    mask = (np.arange(6 + padding) < np.array(lengths)[:, None]).astype("int32")
    together = numpy(encoder({"input_ids": ids, "attention_mask": mask}))
    for row, length in enumerate(lengths):
        alone = numpy(encoder({"input_ids": ids[row : row + 1, :length]}))
        for name, value in alone.items():
            other = together[name][row]
            if name.startswith("attention/"):
                assert not other[:, :length, length:].any()
                other = other[:, :length, :length]
            elif encoder.level(name) == "subword":
                other = other[:length]
            np.testing.assert_allclose(value[0], other, atol=1e-5, err_msg=name)


def test_padding_changes_no_comparison_of_two_texts() -> None:
    encoder = _encoder("bert", "compare")
    ids = np.random.default_rng(2).integers(5, 23, (1, 7)).astype("int32")
    second = np.array([[0, 0, 0, 1, 1, 1, 1]], "int32")
    for length in (2, 3, 5, 7):
        cut = {"input_ids": ids[:, :length], "token_type_ids": second[:, :length]}
        alone = numpy(encoder(cut))["logits/intent"]
        padded = {
            "input_ids": ids,
            "attention_mask": (np.arange(7) < length).astype("int32")[None],
            "token_type_ids": second,
        }
        np.testing.assert_allclose(numpy(encoder(padded))["logits/intent"], alone, atol=1e-5)


_ENCODERS: dict[tuple[str, str], Encoder] = {}


def _encoder(family: str, pooling: str = "cls") -> Encoder:
    if (family, pooling) not in _ENCODERS:
        config = EncoderConfig(
            family=family,
            vocabulary=23,
            hidden_dim=8,
            layers=2,
            attention_heads=2,
            intermediate_dim=12,
            max_positions=12,
            pad_id=1 if "roberta" in family else 0,
            type_vocabulary={"bert": 2, "distilbert": 0}.get(family, 1),
            initializer_range=0.5,
            classifier_pooling=pooling,
        )
        _ENCODERS[family, pooling] = Encoder(config, JOINT, attention=True, seed=3)
    return _ENCODERS[family, pooling]


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_of_a_text_from_the_mean_of_its_pieces(family: str) -> None:
    """The same weights, so what differs from the first piece's label is the pooling alone."""
    mean, first = _encoder(family, "mean"), _encoder(family)
    ids = np.random.default_rng(5).integers(5, 23, (2, 6)).astype("int32")
    batch = {"input_ids": ids, "attention_mask": np.array([[1] * 6, [1] * 4 + [0] * 2], "int32")}
    found, of_first = numpy(mean(batch)), numpy(first(batch))
    np.testing.assert_array_equal(found["logits/slots"], of_first["logits/slots"])
    states = np.stack([found["hidden"][0].mean(0), found["hidden"][1, :4].mean(0)])
    if family == "bert":
        states = np.array(mean.pooler.dense(states))
        np.testing.assert_allclose(found["pooled"], states, atol=1e-5)
    expected = np.array(mean.head_layers["logits/intent"](states))
    np.testing.assert_allclose(found["logits/intent"], expected, atol=1e-5)
    assert not np.allclose(found["logits/intent"], of_first["logits/intent"], atol=1e-3)


def test_segments_matter_only_where_the_family_has_them(tiny, batch) -> None:
    for family, matters in {"bert": True, "distilbert": False, "xlm-roberta": False}.items():
        encoder = tiny(family)
        plain = {k: v for k, v in batch.items() if k != "token_type_ids"}
        same = np.array_equal(encoder(batch)["hidden/2"], encoder(plain)["hidden/2"])
        assert same is not matters
        assert ("token_type_ids" in encoder.input_names) is matters


def test_config_round_trip_and_same_seed_same_weights(tiny, batch) -> None:
    encoder = tiny("bert", JOINT, heads=BOTH, attention=True)
    again = Encoder.from_config(encoder.get_config())
    assert again.get_config() == encoder.get_config()
    for name, value in numpy(encoder(batch)).items():
        np.testing.assert_array_equal(value, numpy(again(batch))[name])
    other = tiny("bert", JOINT, heads=BOTH, seed=8)
    assert not np.array_equal(encoder.word_embeddings, other.word_embeddings)
    kernels = [np.array(layer.query.kernel) for layer in encoder.layer_stack]
    assert not np.array_equal(*kernels)


@pytest.mark.parametrize("suffix", ["weights.h5", "keras"])
def test_keras_files(tiny, batch, tmp_path: Path, suffix: str) -> None:
    encoder, path = tiny("roberta", JOINT, heads=BOTH, seed=1), tmp_path / f"model.{suffix}"
    if suffix == "keras":
        encoder.save(path)
        again = keras.saving.load_model(path)
    else:
        encoder.save_weights(path)
        again = tiny("roberta", JOINT, heads=BOTH, seed=2)
        again.load_weights(path)
    for name, value in numpy(encoder(batch)).items():
        np.testing.assert_array_equal(value, numpy(again(batch))[name])


def test_fit_moves_every_weight_a_loss_reaches(tiny, batch) -> None:
    encoder = tiny("bert", JOINT, heads=BOTH)
    before = [np.array(weight) for weight in encoder.weights]

    class Trained(keras.Model):
        def __init__(self):
            super().__init__()
            self.encoder = encoder

        def call(self, inputs, training=None):
            signals = self.encoder(inputs, training=training)
            return {k: v for k, v in signals.items() if k.startswith(("logits/", "pieces/"))}

    model = Trained()
    model.compile(
        keras.optimizers.Adam(0.02),
        jit_compile=False,
        loss={
            name: keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            for name in ("pieces/mlm", "logits/slots", "logits/intent")
        },
    )
    targets = {
        "pieces/mlm": batch["input_ids"],
        "logits/slots": batch["input_ids"] % 5,
        "logits/intent": np.array([0, 1, 2]),
    }
    losses = model.fit(batch, targets, epochs=12, verbose=0, shuffle=False).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    for weight, old in zip(encoder.weights, before, strict=True):
        assert not np.array_equal(np.array(weight), old), weight.path


def test_dropout_is_on_in_training_alone(tiny, batch) -> None:
    encoder = tiny("bert", JOINT)
    calm = [numpy(encoder(batch))["hidden/0"] for _ in range(2)]
    noisy = [numpy(encoder(batch, training=True))["hidden/0"] for _ in range(2)]
    np.testing.assert_array_equal(*calm)
    assert not np.array_equal(*noisy)
    zeros = np.mean([(signal == 0).mean() for signal in noisy])
    assert 0.03 < zeros < 0.2  # rate 0.1 over 288 values


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16"])
def test_low_precision_runs_close_to_float32(tiny, batch, policy: str) -> None:
    exact = numpy(tiny("bert", JOINT)(batch))
    encoder = tiny("bert", JOINT, dtype=policy)
    if policy == "mixed_bfloat16":
        assert encoder.word_embeddings.dtype == "float32"
    signals = encoder(batch)
    assert keras.backend.standardize_dtype(signals["hidden/2"].dtype) == "bfloat16"
    for name in ("logits/slots", "logits/intent"):
        assert keras.backend.standardize_dtype(signals[name].dtype) == "float32"
        np.testing.assert_allclose(ops.convert_to_numpy(signals[name]), exact[name], atol=0.02)


def test_too_long_sequences(tiny) -> None:
    with pytest.raises(ValueError, match="11 tokens; this encoder takes at most 10"):
        tiny()({"input_ids": np.ones((1, 11), "int32")})


def test_wrong_arguments(tiny) -> None:
    for heads, message in (
        ({"a": ("token", 3)}, "level 'token'"),
        ({"a": ("word", 0)}, "at least one label"),
        ({"a/b": ("word", 3)}, "output 'a/b': a name is not empty and has no '/'"),
    ):
        with pytest.raises(ValueError, match=message):
            tiny(outputs=heads)
    with pytest.raises(ValueError, match="one masked-language head at most"):
        tiny(heads={"a": "mlm", "b": "mlm"})
    with pytest.raises(
        ValueError, match="head 'a': unknown kind of head 'x'; there are linear, mlm"
    ):
        tiny(heads={"a": "x"})
    with pytest.raises(ValueError, match="head 'a': linear has no option depth; it has none"):
        tiny(heads={"a": {"kind": "linear", "depth": 2}})
    with pytest.raises(ValueError, match="what the pooler gives"):
        tiny(outputs=JOINT, pooler=False)
    with pytest.raises(ValueError, match="distilbert family has no pooler"):
        tiny("distilbert", pooler=True)
    with pytest.raises(CheckpointError, match="not a multiple"):
        Encoder(
            {
                "vocabulary": 5,
                "hidden_dim": 8,
                "layers": 1,
                "attention_heads": 3,
                "intermediate_dim": 8,
            }
        )


def test_no_backend_is_imported() -> None:
    """The encoder runs on every backend of Keras: none is named in its modules."""
    for path in Path(tfdistil.encoders.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {n.split(".")[0] for n in names} & {"tensorflow", "jax", "torch"}, path
