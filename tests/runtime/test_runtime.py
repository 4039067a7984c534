"""Model files end to end: the runtime answers what Keras answers, in terms of the text."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import zipfile
from itertools import pairwise
from threading import Thread

import numpy as np
import pytest

from tfdistil.errors import ModelFileError
from tfdistil.exporting.pack import config_bytes, pack
from tfdistil.runtime import ModelFile, Runtime
from tfdistil.runtime.tflite import read_model
from tfdistil.tasks.iob2 import allowed_transitions

TEXTS = [
    "play jazz in the kitchen",
    "What's the weather in Berlin at 7:30, please?",
    "東京へ 👍🏽 unbelievable",
    "",
    " \t",
    "turn off the lights in the living room and play some rock by the beatles tomorrow please",
]


def keras_logits(tiny, windows) -> list[dict[str, np.ndarray]]:
    """Per window, float logits of every output, at the first pieces of its words."""
    rows = {k: np.full((len(windows), 16), tiny.featurizer.padding[k], np.int32)
            for k in ("input_ids", "attention_mask")}  # fmt: skip
    for row, window in enumerate(windows):
        for key, values in rows.items():
            values[row, : window.length] = window.inputs[key]
    outputs = {k: np.asarray(v) for k, v in tiny.keras(rows).items()}
    return [
        {
            o.name: outputs[f"labels/{o.name}"][row][window.tokens]
            if o.level == "word"
            else outputs[f"labels/{o.name}"][row]
            for o in tiny.task.outputs
        }
        for row, window in enumerate(windows)
    ]


def expected_logits(tiny, words, second=None) -> dict[str, np.ndarray]:
    parts = keras_logits(tiny, tiny.featurizer.encode(words, second))
    return {
        o.name: np.concatenate([p[o.name] for p in parts])
        if o.level == "word"
        else np.mean([p[o.name] for p in parts], axis=0)
        for o in tiny.task.outputs
    }


@pytest.mark.parametrize("copies", [1, 3], ids=["mostly online", "mostly batch"])
def test_float_logits_are_those_of_keras(intent_slots, copies):
    runtime = Runtime(intent_slots.path)
    splits = [[w for w, _, _ in runtime.splitter.split(text)] for text in TEXTS] * copies
    found = runtime.logits([(words, None) for words in splits])
    for words, logits in zip(splits, found, strict=True):
        expected = expected_logits(intent_slots, words)
        assert logits["slots"].shape == (len(words), 5)
        for name, values in expected.items():
            np.testing.assert_allclose(logits[name], values, atol=1e-4)
    assert any(len(runtime.featurizer.encode(words)) > 1 for words in splits)


def test_int8_logits_are_close_to_those_of_keras(tags_int8):
    runtime = Runtime(tags_int8.path)
    words = ["play", "some", "rock", "in", "the", "kitchen"]
    (found,) = runtime.logits([(words, None)])
    expected = expected_logits(tags_int8, words)
    assert found["tags"].dtype == np.float32
    spread = np.ptp(expected["tags"])
    np.testing.assert_allclose(found["tags"], expected["tags"], atol=0.1 * spread)


def test_results_in_terms_of_the_text(intent_slots):
    runtime = Runtime(intent_slots.path)
    for text, result in zip(TEXTS, runtime.predict(TEXTS), strict=True):
        assert result.text == text
        assert [(w.text, w.start, w.end) for w in result.words] == runtime.splitter.split(text)
        assert len(result.tags) == len(result.words)
        assert result.label in ("music", "weather")
        assert 0.5 <= result.label_score <= 1
        for span in result.spans:
            assert text[span.start : span.end] == span.text
            assert 0 < span.score <= 1
        assert len(result.spans) == sum(tag.startswith("B-") for tag in result.tags)
        assert json.loads(json.dumps(result.to_dict())) == json.loads(json.dumps(result.to_dict()))


def test_tags_are_always_legal(tags_int8):
    runtime = Runtime(tags_int8.path)
    dice = np.random.default_rng(13)
    words = ["play", "jazz", "rock", "in", "the", "kitchen", "7:30", ",", "berlin", "?", "zzz"]
    texts = [[*dice.choice(words, dice.integers(0, 40))] for _ in range(60)]
    texts = [[str(word) for word in text] for text in texts]
    labels = runtime.task.outputs[0].labels
    start, follow = allowed_transitions(labels)
    kinds = set()
    for words, result in zip(texts, runtime.predict_words(texts), strict=True):
        ids = [labels.index(tag) for tag in result.tags]
        assert len(ids) == len(words)
        kinds.update(result.tags)
        if ids:
            assert start[ids[0]]
            assert all(follow[a, b] for a, b in pairwise(ids))
    assert len(kinds) > 2  # random weights do give several tags


def test_batch_and_online_agree(intent_slots):
    runtime = Runtime(intent_slots.path)
    together = runtime.predict(TEXTS)
    for text, result in zip(TEXTS, together, strict=True):
        (alone,) = runtime.predict([text])
        assert alone.tags == result.tags
        assert alone.label == result.label
        assert alone.label_score == pytest.approx(result.label_score, abs=1e-5)


def test_words_are_kept_as_they_are(intent_slots):
    runtime = Runtime(intent_slots.path)
    (result,) = runtime.predict_words([["don't", "stop", "10:30.", ""]])
    assert result.text == "don't stop 10:30. "
    assert [w.text for w in result.words] == ["don't", "stop", "10:30.", ""]
    assert all(result.text[w.start : w.end] == w.text for w in result.words)
    assert runtime.predict_words([[]])[0].tags == ()


def test_pairs(pair):
    runtime = Runtime(pair.path)
    pairs = [("play jazz", "play rock"), ("", "what's the weather?"), ("a " * 30, "b " * 30)]
    for (first, second), result in zip(pairs, runtime.predict_pairs(pairs), strict=True):
        logits = expected_logits(pair, first.split(), runtime_words(runtime, second))["class"]
        assert result.label == pair.task.outputs[0].labels[int(logits.argmax())]
        assert (result.text, result.second) == (first, second)
        assert result.tags is None
        assert set(result.to_dict()) == {"text", "second", "words", "label", "label_score"}


def runtime_words(runtime, text):
    return [word for word, _, _ in runtime.splitter.split(text)]


def test_nothing_in_nothing_out(intent_slots):
    assert Runtime(intent_slots.path).predict([]) == []


def test_threads_share_a_runtime(intent_slots):
    runtime = Runtime(intent_slots.path, threads=2)
    expected = runtime.predict(TEXTS)
    found: list = [None] * 4

    def work(at):
        for _ in range(10):
            found[at] = runtime.predict(TEXTS)

    threads = [Thread(target=work, args=(at,)) for at in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in found:
        assert [r.tags for r in results] == [r.tags for r in expected]


def test_wrong_calls(intent_slots, pair):
    runtime = Runtime(intent_slots.path)
    with pytest.raises(TypeError, match="takes a list, not the single string 'play jazz'"):
        runtime.predict("play jazz")
    with pytest.raises(TypeError, match="takes a list, not the single string 'play'"):
        runtime.predict_words(["play", "jazz"])
    with pytest.raises(TypeError, match="one is a bytes"):
        runtime.predict([b"play"])
    with pytest.raises(ValueError, match="task is 'intent_slots'; use predict or predict_words"):
        runtime.predict_pairs([("a", "b")])
    with pytest.raises(ValueError, match="task is 'pair'; use predict_pairs"):
        Runtime(pair.path).predict(["a"])
    with pytest.raises(TypeError, match="pairs of strings"):
        Runtime(pair.path).predict_pairs([("a", "b", "c")])


def repacked(tiny, path, change):
    """A valid file around a configuration that says something else."""
    with zipfile.ZipFile(tiny.path) as archive:
        assets = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(assets["tfdistil.json"])
    change(config)
    path.write_bytes(pack(tiny.flatbuffer, {**assets, "tfdistil.json": config_bytes(config)}))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["task"].update(kind="parse"), "unknown task 'parse'"),
        (lambda c: c["task"].pop("slots"), "unfit settings"),
        (lambda c: c["featurizer"].update(kind="bytes"), "unknown featurizer 'bytes'"),
        (lambda c: c["splitter"].update(kind="moses"), "unknown word splitter"),
        (lambda c: c["splitter"].pop("kind"), "unknown word splitter ''"),
        (lambda c: c["outputs"].update(slots="tags"), "has only"),
        (
            lambda c: c["outputs"].pop("intent"),
            "no output of the graph is named for the task's 'intent'",
        ),
        (lambda c: c["signatures"].pop("online"), "no signature 'online'"),
        (lambda c: c["signatures"]["online"].update(length=32), r"expected one of .* \(1, 32\)"),
        (lambda c: c["featurizer"].update(max_length=17), "windows of up to 17"),
        (lambda c: c["task"]["intents"].append("third"), "3 labels"),
        (lambda c: c["task"].update(intents="ab"), "expected a list of texts"),
        (lambda c: c["task"].update(intents=["a", "a"]), "has a label twice"),
        (lambda c: c["task"].update(slots=["O", "B-a", "C-a", "D-a", "E-a"]), "no IOB2 tags"),
        (lambda c: c["task"].update(continuation="no"), "expected true or false"),
        (lambda c: c["task"].update(kind=["tags"]), "unknown task"),
        (lambda c: c["featurizer"].update(kind=["subwords"]), "unknown featurizer"),
        (lambda c: c["featurizer"].update(max_length=16.0), "expected an integer"),
        (lambda c: c["featurizer"].update(cls=2**40), "expected an integer"),
        (lambda c: c["featurizer"].update(separators=0), "at least one separator"),
        (lambda c: c["featurizer"].update(token_types=1), "token_types true or false"),
        (lambda c: c["splitter"].update(kind=["x" * 10_000]), "unknown word splitter"),
        (lambda c: c["outputs"].update(slots="intent"), "shape"),
    ],
)
def test_configurations_that_do_not_fit_the_graph(intent_slots, tmp_path, change, message):
    path = repacked(intent_slots, tmp_path / "m.tflite", change)
    with pytest.raises(ModelFileError, match=message):
        Runtime(path)


def test_a_batch_signature_that_is_not_there(intent_slots, tmp_path):
    def only_online(config):
        config["signatures"] = {"online": config["signatures"]["online"]}

    runtime = Runtime(repacked(intent_slots, tmp_path / "m.tflite", only_online))
    expected = Runtime(intent_slots.path).predict(TEXTS * 2)
    assert [r.tags for r in runtime.predict(TEXTS * 2)] == [r.tags for r in expected]


def test_a_graph_the_interpreter_refuses(tmp_path, intent_slots):
    with zipfile.ZipFile(intent_slots.path) as archive:
        assets = {name: archive.read(name) for name in archive.namelist()}
    path = tmp_path / "m.tflite"
    # A version of the schema that no interpreter reads: the number after the layout of the root.
    model = bytearray(intent_slots.flatbuffer)
    (root,) = struct.unpack_from("<I", model, 0)
    layout = root - struct.unpack_from("<i", model, root)[0]
    model[root + struct.unpack_from("<H", model, layout + 4)[0]] = 99
    path.write_bytes(pack(bytes(model), assets))
    with pytest.raises(ModelFileError, match="the interpreter cannot load the graph"):
        Runtime(path)


def test_a_damaged_file(intent_slots, tmp_path):
    path = tmp_path / "m.tflite"
    shutil.copy(intent_slots.path, path)
    damaged = bytearray(path.read_bytes())
    damaged[1000] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="is damaged: the checksum of 'model'"):
        Runtime(path)


LOADED_THEN_OVERWRITTEN = """
import sys
from pathlib import Path
from tfdistil import Runtime
path = Path(sys.argv[1])
runtime = Runtime(path)
path.write_bytes(b"")
results = runtime.predict(["play jazz in the kitchen"] * 9)
print(*{result.label for result in results})
"""


def test_a_file_may_change_once_it_is_loaded(intent_slots, tmp_path):
    path = tmp_path / "m.tflite"
    shutil.copy(intent_slots.path, path)
    found = subprocess.run(
        [sys.executable, "-c", LOADED_THEN_OVERWRITTEN, path], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    (expected,) = Runtime(intent_slots.path).predict(["play jazz in the kitchen"])
    assert found.stdout.strip() == expected.label


def test_what_runs_is_what_was_verified(intent_slots, tags_int8, tmp_path, monkeypatch):
    """Another model is put in the file's place right after its checksum was compared."""
    path = tmp_path / "m.tflite"
    shutil.copy(intent_slots.path, path)
    opened = ModelFile.open

    def swapped(path):
        file = opened(path)
        shutil.copy(tags_int8.path, path)
        return file

    monkeypatch.setattr(ModelFile, "open", swapped)
    assert Runtime(path).predict(TEXTS)[0].label in ("music", "weather")


@pytest.mark.parametrize("threads", [0, -1, 257, 10**6, 2.0, True, "2", None])
def test_numbers_of_threads(intent_slots, threads):
    with pytest.raises(ValueError, match="expected 1 to 256"):
        Runtime(intent_slots.path, threads=threads)


def test_both_signatures_are_ready_once_it_is_loaded(intent_slots, tmp_path):
    """A batch that cannot run is found while loading, not at the first long list of texts."""

    def larger(config):
        config["signatures"]["batch"]["batch"] = 5

    with pytest.raises(ModelFileError, match=r"expected one of .* of shape \(5, 16\)"):
        Runtime(repacked(intent_slots, tmp_path / "m.tflite", larger))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t["model"].update(unk_token="[GONE]"), "cannot (be loaded|answer)"),
        (lambda t: t["model"].update(vocab={}), "cannot (be loaded|answer)"),
        (lambda t: t["model"]["vocab"].update(play=2**31), "cannot answer"),
        (lambda t: t["model"]["vocab"].update(play=120), "cannot answer.*gather"),
        (lambda t: t.update(normalizer={"type": "Precompiled"}), "cannot be loaded"),  # a panic
        (lambda t: t.clear(), "tokenizer.json cannot be read"),
    ],
)
def test_tokenizers_that_do_not_fit(intent_slots, tmp_path, change, message):
    path = tmp_path / "m.tflite"
    with zipfile.ZipFile(intent_slots.path) as archive:
        assets = {name: archive.read(name) for name in archive.namelist()}
    tokenizer = json.loads(assets["tokenizer.json"])
    change(tokenizer)
    assets["tokenizer.json"] = json.dumps(tokenizer).encode()
    path.write_bytes(pack(intent_slots.flatbuffer, assets))
    with pytest.raises(ModelFileError, match=message) as error:
        Runtime(path).predict(["play jazz", "qqq zzz"])
    assert str(error.value).startswith(f"{path}: ")


def test_logits_that_are_no_numbers(intent_slots, tmp_path):
    """A weight of a float graph that is no number."""
    with zipfile.ZipFile(intent_slots.path) as archive:
        assets = {name: archive.read(name) for name in archive.namelist()}
    model = intent_slots.flatbuffer
    weights = max(read_model(model).buffers, key=len)
    at = model.index(bytes(weights))
    broken = model[:at] + struct.pack("<f", float("nan")) * (len(weights) // 4)
    path = tmp_path / "m.tflite"
    path.write_bytes(pack(broken + model[at + len(weights) :], assets))
    with pytest.raises(ModelFileError, match="are no finite numbers"):
        Runtime(path).predict(["play jazz"])
