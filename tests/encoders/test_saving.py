"""Saving: what `transformers` would have written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from keras import ops
from safetensors.numpy import load_file

from tfdistil.encoders import load_encoder, save_encoder
from tfdistil.errors import CheckpointError

FAMILIES = ("bert", "distilbert", "roberta", "xlm-roberta")


@pytest.mark.parametrize("family", FAMILIES)
def test_auto_config_reads_labels_and_sizes(saved, family: str) -> None:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(saved(family, "word", "abc"))
    assert config.model_type == family
    assert config.architectures[0].endswith("ForTokenClassification")
    assert config.id2label == {0: "a", 1: "b", 2: "c"}
    assert config.label2id == {"a": 0, "b": 1, "c": 2}
    assert (config.hidden_size, config.num_hidden_layers, config.vocab_size) == (8, 2, 23)


def test_files_are_replaced_whole_and_others_stay(tiny, tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text("{}")
    for seed in (1, 2):
        encoder = tiny(seed=seed)
        save_encoder(encoder, tmp_path)
        kept = sorted(path.name for path in tmp_path.iterdir())
        assert kept == ["config.json", "model.safetensors", "task.json"]
        table = load_file(tmp_path / "model.safetensors")["embeddings.word_embeddings.weight"]
        np.testing.assert_array_equal(table, ops.convert_to_numpy(encoder.word_embeddings))


def test_a_failed_save_leaves_what_was_there(tiny, tmp_path: Path) -> None:
    save_encoder(tiny(seed=1), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match="has no tokenizer"):
        save_encoder(tiny(seed=2), tmp_path, tokenizer=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_heads_need_their_labels(tiny, tmp_path: Path) -> None:
    encoder = tiny(outputs={"tags": ("word", 2)})
    for labels in (None, {"tags": ["a"]}, {"tags": ["a", "a"]}, {"other": ["a", "b"]}):
        with pytest.raises(CheckpointError, match="output 'tags' needs 2 different labels"):
            save_encoder(encoder, tmp_path, labels)
    with pytest.raises(CheckpointError, match=r"labels for \['more'\]"):
        save_encoder(encoder, tmp_path, {"tags": ["a", "b"], "more": ["c"]})


def test_joint_models_keep_their_labels_in_the_config(tiny, tmp_path: Path) -> None:
    from transformers import AutoConfig

    encoder = tiny(outputs={"slots": ("word", 2), "intent": ("sequence", 1)})
    save_encoder(encoder, tmp_path, {"slots": ["O", "B-x"], "intent": ["buy"]})
    content = json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert content["architectures"] == ["BertModel"]
    assert content["tfdistil"]["heads"] == {
        "intent": {"labels": ["buy"], "level": "sequence"},
        "slots": {"labels": ["O", "B-x"], "level": "word"},
    }
    assert AutoConfig.from_pretrained(tmp_path).tfdistil == content["tfdistil"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("level", ["word", "sequence"])
def test_pytorch_gives_the_same_logits(tiny, batch, tmp_path, family: str, level: str) -> None:
    """Our file in `transformers`' class, and its file back in ours."""
    torch = pytest.importorskip("torch", reason="needs PyTorch (an optional job)")
    import transformers

    kind = {"word": "TokenClassification", "sequence": "SequenceClassification"}[level]
    encoder = tiny(family, {"out": (level, 3)})
    save_encoder(encoder, tmp_path / "ours", {"out": "abc"})
    model, problems = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(
        tmp_path / "ours", output_loading_info=True
    )
    assert not any(problems.values()), problems
    inputs = {name: batch[name] for name in encoder.input_names}
    # PyTorch's RoBERTa counts positions from the padding ids, so these must be what it expects.
    inputs["input_ids"] = np.where(
        batch["attention_mask"], batch["input_ids"], encoder.config.pad_id
    )
    with torch.no_grad():
        expected = model.eval()(**{k: torch.tensor(v).long() for k, v in inputs.items()}).logits
    ours = ops.convert_to_numpy(encoder(inputs)["logits/out"])
    real = batch["attention_mask"].astype(bool) if level == "word" else slice(None)
    np.testing.assert_allclose(ours[real], expected.numpy()[real], atol=1e-4)
    model.save_pretrained(tmp_path / "theirs")
    again = load_encoder(tmp_path / "theirs", {"out": (level, 3)}, labels={"out": "abc"})
    for a, b in zip(encoder.weights, again.weights, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b))


def test_low_precision_weights_are_saved_as_float32(tiny, tmp_path: Path) -> None:
    encoder = tiny(dtype="bfloat16")
    save_encoder(encoder, tmp_path)
    assert {a.dtype for a in load_file(tmp_path / "model.safetensors").values()} == {np.dtype("f4")}
    for a, b in zip(encoder.weights, load_encoder(tmp_path, dtype="bfloat16").weights, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b))


def test_pooling_is_kept_and_can_be_chosen(tiny, batch, tmp_path: Path) -> None:
    encoder = tiny(outputs={"out": ("sequence", 3)})
    save_encoder(encoder, tmp_path / "first", {"out": "abc"})
    outputs = {"out": ("sequence", 3)}
    mean = load_encoder(tmp_path / "first", outputs, pooling="mean")
    logits = np.array(mean(batch)["logits/out"])
    assert not np.allclose(logits, encoder(batch)["logits/out"], atol=1e-4)
    save_encoder(mean, tmp_path / "mean", {"out": "abc"})
    again = load_encoder(tmp_path / "mean", outputs)
    np.testing.assert_allclose(again(batch)["logits/out"], logits, atol=1e-6)
    first = load_encoder(tmp_path / "mean", outputs, pooling="cls")
    np.testing.assert_allclose(first(batch)["logits/out"], encoder(batch)["logits/out"], atol=1e-6)


def test_a_pooler_that_compares_is_new_and_then_kept(tiny, batch, tmp_path: Path) -> None:
    save_encoder(tiny(pooler=True), tmp_path / "bare", None)
    outputs = {"out": ("sequence", 3)}
    compares = load_encoder(tmp_path / "bare", outputs, pooling="compare", seed=1)
    assert compares.load_report.fresh_pooler
    assert not load_encoder(tmp_path / "bare", outputs, pooling="mean").load_report.fresh_pooler
    logits = np.array(compares(batch)["logits/out"])
    save_encoder(compares, tmp_path / "own", {"out": "abc"})
    again = load_encoder(tmp_path / "own", outputs)
    assert not again.load_report.fresh_pooler
    np.testing.assert_allclose(again(batch)["logits/out"], logits, atol=1e-6)
    with pytest.raises(CheckpointError, match="trained with pooling: compare, and cls gives"):
        load_encoder(tmp_path / "own", outputs, pooling="cls")
    bare = load_encoder(tmp_path / "bare", pooling="compare")
    assert bare.pooler is None


@pytest.mark.parametrize("family", ["distilbert", "roberta"])
def test_texts_are_compared_by_bert_alone(saved, family: str) -> None:
    with pytest.raises(CheckpointError, match=f"got family {family}"):
        load_encoder(saved(family, None), pooling="compare")
