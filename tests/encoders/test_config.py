from __future__ import annotations

import math

import pytest

from tfdistil.encoders import EncoderConfig
from tfdistil.errors import CheckpointError

BERT = {
    "model_type": "bert",
    "vocab_size": 97,
    "hidden_size": 24,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "intermediate_size": 52,
    "max_position_embeddings": 20,
}
SIZES = {
    "vocabulary": 97,
    "hidden_dim": 24,
    "layers": 4,
    "attention_heads": 3,
    "intermediate_dim": 52,
}


def auto_config(config: dict):
    from transformers import AutoConfig

    return AutoConfig.for_model(**config).to_dict()


def test_left_out_keys_take_the_values_transformers_gives_them() -> None:
    config = EncoderConfig.from_huggingface(BERT)
    full = auto_config(BERT)
    assert EncoderConfig.from_huggingface(full) == config
    assert (config.dropout, config.layer_norm_epsilon, config.activation) == (0.1, 1e-12, "gelu")


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "xlm-roberta"])
def test_round_trip_through_transformers(family: str) -> None:
    distil = family == "distilbert"
    config = EncoderConfig(
        family=family,
        **SIZES,
        max_positions=33,
        type_vocabulary=0 if distil else 1,
        pad_id=3,
        layer_norm_epsilon=1e-12 if distil else 1e-5,
        activation="gelu_tanh",
        dropout=0.2,
        attention_dropout=0.3,
        classifier_dropout=0.4,
        initializer_range=0.05,
    )
    assert EncoderConfig.from_huggingface(auto_config(config.to_huggingface())) == config
    assert EncoderConfig(**config.to_json()) == config


def test_roberta_positions_start_after_the_pad_id() -> None:
    config = EncoderConfig(family="roberta", **SIZES, max_positions=514, pad_id=1)
    assert (config.position_offset, config.max_length) == (2, 512)
    assert EncoderConfig(**SIZES, max_positions=512, pad_id=1).max_length == 512


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "albert"}, "'albert' is not supported; supported: bert, distilbert, rob"),
        ({"model_type": None}, "None is not supported"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type: 'relative_key'"),
        ({"is_decoder": True}, "is_decoder: True"),
        ({"hidden_act": "mish"}, "'mish'; supported: gelu"),
        ({"num_attention_heads": 5}, "hidden_size 24 is not a multiple of 5"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be a positive whole number, got 0"),
        ({"hidden_size": "wide"}, "hidden_size must be a positive whole number, got 'wide'"),
        ({"max_position_embeddings": 0}, "max_position_embeddings must be a positive"),
        ({"auto_map": {"AutoModel": "code.Model"}}, "auto_map: .*code.Model.*is not supported"),
    ],
)
def test_unsupported_configurations(change: dict, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        EncoderConfig.from_huggingface(BERT | change)


NAN, INF = float("nan"), float("inf")
RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout")
NONSENSE: dict[str, list] = {
    **{key: [-1, 0, 1.5, "9", True] for key in BERT if key != "model_type"},
    **{key: [NAN, INF, -0.1, 1.0, 7, "0.1", True] for key in RATES},
    "type_vocab_size": [-1, 0.5, "2", True, NAN],
    "pad_token_id": [-1, 97, "0", True, 0.0],
    "layer_norm_eps": [NAN, INF, -1e-12, 0, 1e-40, 1.0, "1e-12", None, True, []],
    "initializer_range": [NAN, -0.02, INF, "0.02", None],
    "hidden_act": [None, 3, {}, ["gelu"]],
    "classifier_pooling": [None, "max", 1, ["mean"]],
}


@pytest.mark.parametrize(("key", "value"), [(k, v) for k in NONSENSE for v in NONSENSE[k]])
def test_numbers_that_make_no_sense_are_refused_by_their_key(key: str, value) -> None:
    with pytest.raises(CheckpointError) as error:
        EncoderConfig.from_huggingface(BERT | {key: value})
    assert key in str(error.value) or key == "hidden_act"
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "xlm-roberta"])
def test_weights_are_counted(tiny, family: str) -> None:
    from tfdistil.encoders.tensor_names import base_tensors

    encoder = tiny(family)
    count = sum(math.prod(weight.shape) for weight in base_tensors(encoder).values())
    assert encoder.config.weights == count


def test_all_missing_keys_are_listed() -> None:
    config = {k: v for k, v in BERT.items() if k not in ("vocab_size", "hidden_size")}
    with pytest.raises(CheckpointError, match="no hidden_size, vocab_size, which bert needs"):
        EncoderConfig.from_huggingface(config)


def test_unknown_family_or_activation() -> None:
    with pytest.raises(CheckpointError, match="unknown model family 'gpt'"):
        EncoderConfig(family="gpt", **SIZES)
    with pytest.raises(CheckpointError, match="unknown activation 'step'"):
        EncoderConfig(activation="step", **SIZES)


def test_pooling_is_spelled_as_modernbert_does() -> None:
    assert EncoderConfig.from_huggingface(BERT).classifier_pooling == "cls"
    config = EncoderConfig.from_huggingface(BERT | {"classifier_pooling": "mean"})
    assert config.to_huggingface()["classifier_pooling"] == "mean"
    assert EncoderConfig.from_huggingface(config.to_huggingface()) == config
    plain = EncoderConfig.from_huggingface(BERT).to_huggingface()
    assert "classifier_pooling" not in plain
