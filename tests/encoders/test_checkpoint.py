"""Loading: everything that is needed, or an error that says what is wrong."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from keras import ops
from safetensors.numpy import load_file, save_file

from tfdistil.encoders import checkpoint_heads, load_encoder, save_encoder, word_embeddings
from tfdistil.errors import CheckpointError

FAMILIES = ("bert", "distilbert", "roberta", "xlm-roberta")
MLM = {"logits": "mlm"}
ABC = {"out": ("word", 3)}
EMBEDDINGS = "embeddings.word_embeddings.weight"


def change(folder: Path, edit) -> dict[str, np.ndarray]:
    """Rewrite the tensors of a folder."""
    tensors = load_file(folder / "model.safetensors")
    tensors = edit(tensors) or tensors
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return tensors


def configure(folder: Path, **keys) -> None:
    """Change keys of config.json; None removes one."""
    path = folder / "config.json"
    content = json.loads(path.read_text("utf-8")) | keys
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}), "utf-8")


def weights(encoder) -> list[np.ndarray]:
    return [ops.convert_to_numpy(weight) for weight in encoder.weights]


def assert_same(a, b) -> None:
    for one, other in zip(weights(a), weights(b), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("level", ["word", "sequence", None])
def test_what_is_saved_loads_bit_for_bit(tiny, saved, family: str, level: str | None) -> None:
    heads = {"out": (level, 3)} if level else None
    folder = saved(family, level)
    encoder = load_encoder(folder, heads, labels={"out": "abc"} if level else None, seed=99)
    assert_same(encoder, tiny(family, heads))
    report = encoder.load_report
    assert (report.fresh, report.ignored) == ((), ())
    assert report.heads == (("out",) if level else ())
    assert set(report.loaded) == set(load_file(folder / "model.safetensors"))


@pytest.mark.parametrize("family", FAMILIES)
def test_joint_heads(tiny, tmp_path: Path, family: str) -> None:
    heads = {"slots": ("word", 3), "intent": ("sequence", 2)}
    labels = {"slots": ("O", "B-x", "I-x"), "intent": ("buy", "sell")}
    encoder = tiny(family, heads)
    save_encoder(encoder, tmp_path, labels)
    assert_same(load_encoder(tmp_path, heads, labels=labels), encoder)
    assert checkpoint_heads(tmp_path) == {
        name: (level, labels[name]) for name, (level, _) in heads.items()
    }
    tensors = load_file(tmp_path / "model.safetensors")
    assert {"heads.slots.out.weight", "heads.intent.out.bias", EMBEDDINGS} <= set(tensors)
    turned = load_encoder(tmp_path, heads, labels=labels | {"intent": ("sell", "buy")})
    np.testing.assert_array_equal(
        turned.classifiers["intent"].out.bias,
        np.array(encoder.classifiers["intent"].out.bias)[::-1],
    )
    alone = load_encoder(tmp_path, {"intent": ("sequence", 2)}, labels={"intent": labels["intent"]})
    assert alone.load_report.heads == ("intent",)
    assert alone.load_report.ignored == ("heads.slots.out.bias", "heads.slots.out.weight")
    with pytest.raises(CheckpointError, match="'buy', 'sell'"):
        load_encoder(tmp_path, heads, labels=labels | {"intent": ("buy", "rent")})


def test_shards(tiny, saved) -> None:
    folder = saved("bert", "word")
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names, places = sorted(tensors), {}
    for number in range(3):
        place = f"model-0000{number + 1}-of-00003.safetensors"
        part = {name: tensors[name] for name in names[number::3]}
        save_file(part, folder / place, metadata={"format": "pt"})
        places |= dict.fromkeys(part, place)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    assert_same(load_encoder(folder, ABC, labels={"out": "abc"}), tiny(outputs=ABC))

    def broken(content, message: str) -> None:
        index.write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(CheckpointError, match=message):
            load_encoder(folder, ABC)

    broken("{", "cannot be read as JSON")
    broken({"weights": {}}, "expected JSON with a .weight_map.")
    broken({"weight_map": [1]}, "expected JSON with a .weight_map.")
    broken({"weight_map": places | {"x": "../y.safetensors"}}, "must lie beside the index")
    broken({"weight_map": places | {"x": "gone.safetensors"}}, "not there: gone.safetensors")
    moved = {EMBEDDINGS.join(["bert.", ""]): "model-00001-of-00003.safetensors"}
    wrong = {name: place for name, place in places.items() if name not in moved}
    broken({"weight_map": wrong}, "disagree on: bert.embeddings.word_embeddings.weight")


def test_labels_decide_the_order_of_the_rows(tiny, saved) -> None:
    folder = saved("bert", "word", "abc")
    encoder = load_encoder(folder, ABC, labels={"out": "cab"})
    head, old = encoder.classifiers["out"].out, tiny(outputs=ABC).classifiers["out"].out
    np.testing.assert_array_equal(head.kernel, np.array(old.kernel)[:, [2, 0, 1]])
    assert_same(load_encoder(folder, ABC), tiny(outputs=ABC))  # no labels: the file's order
    for labels in ("abd", "ab", "abcd"):
        with pytest.raises(CheckpointError) as error:
            load_encoder(folder, {"out": ("word", len(labels))}, labels={"out": labels})
        assert "['a', 'b', 'c']" in str(error.value)
        assert str(list(labels)) in str(error.value)
    fresh = load_encoder(folder, {"out": ("word", 4)}, fresh_heads=True)
    assert fresh.load_report.fresh == ("head out",)
    assert fresh.load_report.ignored == ("classifier.bias", "classifier.weight")
    with pytest.raises(ValueError, match="2 labels for output 'out'"):
        load_encoder(folder, ABC, labels={"out": "ab"})


def test_a_head_of_the_other_level_is_left_and_said_so(saved) -> None:
    encoder = load_encoder(saved("bert", "word"), {"class": ("sequence", 3)}, seed=1)
    report = encoder.load_report
    assert report.fresh == ("head class", "pooler")
    assert report.ignored == ("classifier.bias", "classifier.weight")
    for text in ("BertForTokenClassification", "new weights: head class, pooler", "ignored: class"):
        assert text in str(report)


def test_two_heads_of_one_level_take_none_from_a_file_with_one(saved) -> None:
    heads = {"a": ("word", 3), "b": ("word", 3)}
    assert load_encoder(saved("bert", "word"), heads).load_report.heads == ()


def test_made_up_labels_where_the_file_has_none(saved) -> None:
    folder = saved("bert", "sequence", "ab")
    configure(folder, id2label=None, label2id=None)
    heads = {"class": ("sequence", 2)}
    encoder = load_encoder(folder, heads, labels={"class": ("LABEL_0", "LABEL_1")})
    assert encoder.load_report.heads == ("class",)
    assert checkpoint_heads(folder) == {"class": ("sequence", ("LABEL_0", "LABEL_1"))}
    assert checkpoint_heads(saved("bert", None)) == {}


@pytest.mark.parametrize(
    "table",
    [{"0": "a", "2": "b"}, {"0": "a", "1": "a"}, {"x": "a"}, ["a"], {}, {"0": None, "1": []}],
)
def test_broken_id2label(saved, table) -> None:
    folder = saved("bert", "word", "ab")
    configure(folder, id2label=table)
    with pytest.raises(CheckpointError, match="id2label must"):
        load_encoder(folder, {"out": ("word", 2)})


def test_names_of_older_files(tiny, saved) -> None:
    """No base prefix, gamma/beta, buffers, a pooler and pre-training heads beside the encoder."""
    folder = saved("bert", None)

    def age(tensors):
        old = {
            n.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): a
            for n, a in tensors.items()
        }
        old["embeddings.position_ids"] = np.arange(10)[None]
        old["cls.seq_relationship.weight"] = np.zeros((2, 8), "float32")
        return old

    change(folder, age)
    encoder = load_encoder(folder)
    assert_same(encoder, tiny())
    assert encoder.load_report.ignored == ("cls.seq_relationship.weight", "embeddings.position_ids")

    change(folder, lambda tensors: {f"bert.{n}": a for n, a in tensors.items() if n[0] != "c"})
    assert_same(load_encoder(folder), tiny())
    change(folder, lambda tensors: tensors | {EMBEDDINGS: tensors[f"bert.{EMBEDDINGS}"]})
    with pytest.raises(CheckpointError, match=f"one tensor twice: .*{EMBEDDINGS}"):
        load_encoder(folder)


def test_the_pooler_of_a_base_model_is_kept(tiny, saved) -> None:
    folder = saved("bert", None, pooler=True)
    assert_same(load_encoder(folder), tiny(pooler=True))
    for_tags = load_encoder(folder, ABC)
    assert for_tags.pooler is None
    assert for_tags.load_report.ignored == ("pooler.dense.bias", "pooler.dense.weight")
    for_classes = load_encoder(folder, {"out": ("sequence", 2)})
    assert for_classes.load_report.fresh == ("head out",)
    np.testing.assert_array_equal(
        for_classes.pooler.dense.kernel, tiny(pooler=True).pooler.dense.kernel
    )


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_floats_become_float32(tiny, saved, kind) -> None:
    folder = saved("bert", None)
    change(folder, lambda tensors: {name: a.astype(kind) for name, a in tensors.items()})
    for ours, exact in zip(weights(load_encoder(folder)), weights(tiny()), strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_array_equal(ours, exact.astype(kind).astype(np.float32))


def test_integers_are_no_weights(saved) -> None:
    folder = saved("bert", None)
    change(folder, lambda tensors: tensors | {EMBEDDINGS: np.zeros((23, 8), np.int8)})
    with pytest.raises(CheckpointError, match=f"{EMBEDDINGS} holds I8; expected one of F64"):
        load_encoder(folder)


def test_all_problems_with_tensors_are_listed_at_once(saved) -> None:
    folder = saved("bert", None)

    def spoil(tensors):
        del tensors["encoder.layer.0.output.dense.bias"]
        del tensors["encoder.layer.1.attention.self.key.weight"]
        tensors["adapters.down"] = tensors["embeddings.LayerNorm.bias"]
        tensors["encoder.layer.2.output.dense.bias"] = tensors["embeddings.LayerNorm.bias"]
        tensors[EMBEDDINGS] = tensors[EMBEDDINGS][:20]
        tensors["encoder.layer.0.output.dense.weight"] = np.zeros((12, 8), "float32")

    change(folder, spoil)
    with pytest.raises(CheckpointError) as error:
        load_encoder(folder)
    for text in (
        "missing: encoder.layer.0.output.dense.bias, encoder.layer.1.attention.self.key.weight",
        "unexpected: adapters.down, encoder.layer.2.output.dense.bias",
        f"{EMBEDDINGS} is [20, 8], expected [23, 8]",
        "encoder.layer.0.output.dense.weight is [12, 8], expected [8, 12]",
    ):
        assert text in str(error.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_masked_language_head(tiny, saved, family: str) -> None:
    folder = saved(family, None, heads=MLM)
    assert_same(load_encoder(folder, heads=MLM), tiny(family, heads=MLM))
    assert len(load_encoder(folder).load_report.ignored) == 5
    bias = next(name for name in load_encoder(folder).load_report.ignored if "dense" not in name)
    change(folder, lambda tensors: {k: v for k, v in tensors.items() if k != bias})
    with pytest.raises(CheckpointError, match=f"missing: {re.escape(bias)}"):
        load_encoder(folder, heads=MLM)
    report = load_encoder(saved(family, "word"), heads=MLM).load_report
    assert report.fresh_heads == {"logits/mlm": "masked-language head logits/mlm"}


def test_tied_copies_must_be_copies(tiny, saved) -> None:
    folder = saved("bert", None, heads=MLM)
    head, table = "cls.predictions", f"bert.{EMBEDDINGS}"

    def untie(tensors):
        tensors[f"{head}.decoder.weight"] = tensors[table]
        tensors[f"{head}.decoder.bias"] = tensors.pop(f"{head}.bias")

    change(folder, untie)
    encoder = load_encoder(folder, heads=MLM)
    assert_same(encoder, tiny(heads=MLM))
    assert encoder.load_report.ignored == (f"{head}.decoder.weight",)
    change(folder, lambda t: t | {f"{head}.decoder.weight": t[table] + 1})
    with pytest.raises(CheckpointError, match=r"decoder.weight differs from bert"):
        load_encoder(folder, heads=MLM)


@pytest.mark.parametrize(
    "architectures",
    [["BertForQuestionAnswering"], ["BertModel", "X"], ["RobertaModel"], "BertModel"],
)
def test_unknown_architectures(saved, architectures) -> None:
    folder = saved("bert", None)
    configure(folder, architectures=architectures)
    with pytest.raises(CheckpointError, match="supported: BertModel, BertForPreTraining"):
        load_encoder(folder)


def test_a_file_without_architectures_is_a_base_model(tiny, saved) -> None:
    folder = saved("bert", None)
    configure(folder, architectures=None)
    assert_same(load_encoder(folder), tiny())


@pytest.mark.parametrize("level", ["word", "sequence"])
@pytest.mark.parametrize("architectures", [None, [], ["RobertaModel"]])
def test_a_classifier_is_not_dropped_where_config_json_is_silent(
    tiny, saved, level: str, architectures
) -> None:
    folder = saved("roberta", level)
    configure(folder, architectures=architectures)
    heads = {"out": (level, 3)}
    with pytest.raises(CheckpointError, match=r"has a classifier \(classifier.*RobertaForToken"):
        load_encoder(folder, heads)
    assert load_encoder(folder, heads, fresh_heads=True).load_report.fresh == ("head out",)
    assert load_encoder(folder).load_report.fresh == ()  # nobody asked for it


def test_a_joint_head_is_not_dropped_where_config_json_is_silent(tiny, tmp_path: Path) -> None:
    heads = {"slots": ("word", 3), "intent": ("sequence", 2)}
    save_encoder(tiny("bert", heads), tmp_path, {"slots": "abc", "intent": "de"})
    configure(tmp_path, tfdistil={"heads": {"slots": {"level": "word", "labels": [*"abc"]}}})
    with pytest.raises(CheckpointError, match=r"has a classifier \(heads.intent.out.bias"):
        load_encoder(tmp_path, heads)
    configure(tmp_path, tfdistil=None)
    with pytest.raises(CheckpointError, match=r"has a classifier \(heads.intent.out.bias"):
        load_encoder(tmp_path, heads)


@pytest.mark.parametrize(
    "joint",
    [
        {"heads": {"out": "word"}},
        {"heads": {"out": {"level": "word", "labels": "abc"}}},
        {"heads": {"out": {"level": "text", "labels": ["a", "b", "c"]}}},
        {"heads": {"out": {"level": "word", "labels": ["a", "a", "c"]}}},
        {"heads": ["out"]},
        7,
    ],
)
def test_broken_joint_labels(saved, joint) -> None:
    folder = saved("bert", "word")
    configure(folder, tfdistil=joint)
    with pytest.raises(CheckpointError, match=r".tfdistil. must hold heads, each with a level"):
        load_encoder(folder, ABC)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64])
def test_weights_that_are_not_finite_are_refused(saved, value: float, kind) -> None:
    folder = saved("bert", "word")
    name = "bert.encoder.layer.1.output.dense.weight"

    def spoil(tensors):
        tensors[name] = tensors[name].astype(kind)
        tensors[name][3, 5] = value

    change(folder, spoil)
    with pytest.raises(CheckpointError, match=f"{name} holds 1 of 96 values that are NaN or inf"):
        load_encoder(folder, ABC)


def test_weights_that_float32_cannot_hold_are_refused(saved) -> None:
    folder = saved("bert", None)
    change(folder, lambda tensors: tensors | {EMBEDDINGS: np.full((23, 8), 1e39)})
    for load in (load_encoder, word_embeddings):
        with pytest.raises(CheckpointError, match=f"{EMBEDDINGS} holds 184 of 184 values"):
            load(folder)


def test_weights_nobody_needs_may_be_anything(tiny, saved) -> None:
    folder = saved("bert", None)
    spare = {"cls.seq_relationship.weight": np.full((2, 8), np.nan, "float32")}
    change(folder, lambda tensors: tensors | spare)
    assert_same(load_encoder(folder), tiny())


@pytest.mark.parametrize(
    "key",
    ["vocab_size", "num_hidden_layers", "intermediate_size", "max_position_embeddings"],
)
@pytest.mark.parametrize("size", [10**7, 10**15, 10**40])
def test_sizes_that_the_file_cannot_fill_take_no_memory(saved, key: str, size: int) -> None:
    folder = saved("bert", "word")
    configure(folder, **{key: size})
    with pytest.raises(CheckpointError, match=r"describes an encoder of [\d,]+ weights"):
        load_encoder(folder, ABC)


@pytest.mark.parametrize("count", [0, -1, 10**12, "2", 1.5])
def test_nonsense_numbers_of_labels(saved, count) -> None:
    folder = saved("bert", "word")
    configure(folder, id2label=None, label2id=None, num_labels=count)
    with pytest.raises(CheckpointError, match="num_labels must be a whole number from 1 to"):
        load_encoder(folder, ABC)


def test_word_embeddings_have_the_rows_of_config_json(saved) -> None:
    folder = saved("bert", None)
    configure(folder, vocab_size=24)
    with pytest.raises(CheckpointError, match=r"is \[23, 8\], but config.json says \[24, 8\]"):
        word_embeddings(folder)


def test_a_pipe_or_a_device_is_no_file(saved) -> None:
    folder = saved("bert", None)
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    with pytest.raises(CheckpointError, match=r"config.json is not there, or is no plain"):
        load_encoder(folder)


def test_names_out_of_a_file_are_shown_short_and_printable(saved) -> None:
    folder = saved("bert", None)
    spare = {f"\x1b[31m{n}\n" + "x" * 500: np.zeros(1, "float32") for n in range(300)}
    change(folder, lambda tensors: tensors | spare)
    with pytest.raises(CheckpointError) as error:
        load_encoder(folder)
    message = str(error.value)
    assert len(message) < 4000
    assert "\x1b" not in message
    assert "\\x1b[31m" in message
    assert "(280 more)" in message


def test_folders_that_are_no_checkpoints(saved, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no folder /nowhere/at/all"):
        load_encoder("/nowhere/at/all")
    with pytest.raises(CheckpointError, match="there is no folder missing"):
        load_encoder(Path("missing"))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CheckpointError, match=r"no config.json; is it a checkpoint"):
        load_encoder(empty)
    for text, message in (("{", "cannot be read as JSON"), ("[]", "holds a JSON list")):
        (empty / "config.json").write_text(text)
        with pytest.raises(CheckpointError, match=message):
            load_encoder(empty)
    folder = saved("bert", None)
    (folder / "model.safetensors").write_bytes(b"\x00" * 40)
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        load_encoder(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"no model.safetensors .* is it a checkpoint"):
        load_encoder(folder)


def test_pickles_are_never_read(saved) -> None:
    folder = saved("bert", None)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(CheckpointError, match=r"only pytorch_model.bin.*save_pretrained"):
        load_encoder(folder)


def test_hub_ids_are_found_in_the_cache_or_explained(tiny, saved, tmp_path, monkeypatch) -> None:
    cache = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    with pytest.raises(CheckpointError, match="someone/absent is no folder here and could not be"):
        load_encoder("someone/absent")
    repository, revision = cache / "models--someone--tiny", "0" * 40
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(revision)
    (repository / "snapshots").mkdir()
    saved("bert", None).rename(repository / "snapshots" / revision)
    assert_same(load_encoder("someone/tiny"), tiny())


def test_options_reach_the_encoder(saved) -> None:
    folder = saved("bert", None)
    encoder = load_encoder(folder, attention=True, name="teacher", dtype="mixed_bfloat16")
    assert (encoder.attention, encoder.name, encoder.compute_dtype) == (True, "teacher", "bfloat16")
    assert load_encoder(folder, pooler=True, seed=1).load_report.fresh == ("pooler",)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_word_table_alone(saved, family: str) -> None:
    folder = saved(family, None)
    np.testing.assert_array_equal(
        word_embeddings(folder), ops.convert_to_numpy(load_encoder(folder).word_embeddings)
    )
    change(folder, lambda tensors: {k: v for k, v in tensors.items() if EMBEDDINGS not in k})
    with pytest.raises(CheckpointError, match="has no tensor embeddings"):
        word_embeddings(folder)
