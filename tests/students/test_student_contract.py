"""What every student must do. A new student is one line in `MAKERS`."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tests.int8_drift import int8_drift
from tests.others_long import others_long
from tests.students.training import fifteen_steps
from tfdistil.exporting.convert import Entry, convert
from tfdistil.exporting.inspect import inspect_model
from tfdistil.students import STUDENTS, build_student
from tfdistil.students.word_vectors import KEY_BYTES
from tfdistil.text.pretrained import bert_tokenizer
from tfdistil.text.subwords import SubwordFeaturizer

VOCABULARY = 30
TASKS = {
    "tags": {"tags": ("word", 5)},
    "intent_slots": {"slots": ("word", 5), "intent": ("sequence", 3)},
    "classes": {"class": ("sequence", 4)},
}
MAKERS = {
    "bilstm": {"kind": "bilstm", "embedding": 6, "hidden_dim": 8},
    "bilstm-projection": {
        "kind": "bilstm",
        "embedding": 6,
        "hidden_dim": 8,
        "projection": 10,
        "head_input": "projection",
        "heads": ("labels", "logits"),
    },
    "bilstm-linear-projection": {
        "kind": "bilstm",
        "embedding": 6,
        "hidden_dim": 8,
        "projection": 10,
        "projection_activation": "linear",
        "head_input": "projection",
    },
    "bilstm-codes": {"kind": "bilstm", "embedding": 6, "hidden_dim": 8, "embedding_codes": 3},
    "bilstm-intent": {
        "kind": "bilstm",
        "embedding": 6,
        "hidden_dim": 12,
        "intent_condition": True,
        "heads": ("labels", "logits"),
    },
    "mixer": {
        "kind": "mixer",
        "features": 32,
        "hidden_dim": 12,
        "bottleneck": 16,
        "layers": 2,
        "max_positions": 16,
        "heads": ("labels", "logits"),
    },
    "piece_mixer": {
        "kind": "piece_mixer",
        "embedding": 6,
        "hidden_dim": 12,
        "bottleneck": 16,
        "layers": 1,
        "max_positions": 16,
        "heads": ("labels", "logits"),
    },
    "piece_qrnn": {
        "kind": "piece_qrnn",
        "embedding": 6,
        "bottleneck": 16,
        "layers": 2,
        "state": 12,
        "heads": ("labels", "logits"),
    },
    "piece_qrnn-codes": {
        "kind": "piece_qrnn",
        "embedding": 6,
        "embedding_codes": 3,
        "bottleneck": 16,
        "layers": 1,
        "state": 12,
        "projection": 10,
        "head_input": "projection",
    },
    "pqrnn": {
        "kind": "pqrnn",
        "features": 32,
        "bottleneck": 16,
        "layers": 1,
        "state": 12,
        "zoneout": 0.0,
        "projection_dropout": 0.0,
        "heads": ("labels", "logits"),
    },
    "transformer": {
        "kind": "transformer",
        "embedding": 6,
        "hidden_dim": 8,
        "layers": 2,
        "attention_heads": 2,
        "max_positions": 16,
    },
    "transformer-projection": {
        "kind": "transformer",
        "embedding": 6,
        "hidden_dim": 8,
        "layers": 1,
        "attention_heads": 2,
        "max_positions": 16,
        "projection": 10,
        "head_input": "projection",
        "heads": ("labels", "logits"),
    },
}
MAKERS |= {
    f"{kind}-hashes": MAKERS[kind] | {"hashed_dim": 5, "features": 32}
    for kind in ("bilstm", "piece_mixer", "piece_qrnn", "transformer")
}
TABLE = {"rows": 256, "dim": 4, "codes": 2}
MAKERS |= {
    f"{kind}-words": MAKERS[f"{kind}-hashes"] | {"words": TABLE}
    for kind in ("bilstm", "piece_mixer", "piece_qrnn", "transformer")
}
WORDS = np.random.default_rng(9).integers(0, 256, (12, 8)).astype(np.uint8)
"""Fingerprints, of which a table of words has the first half."""

READ_PIECES = [name for name, maker in MAKERS.items() if STUDENTS[maker["kind"]].reads == "pieces"]


def make(name: str, task: str, seed: int = 1):
    vocabulary = {"vocabulary": VOCABULARY} if name in READ_PIECES else {}
    maker = {key: v for key, v in MAKERS[name].items() if key != "intent_condition"}
    if task == "intent_slots" and "intent_condition" in MAKERS[name]:
        maker["intent_condition"] = True  # other tasks have no intent that words could depend on
    model = build_student(outputs=TASKS[task], seed=seed, **vocabulary, **maker)
    if "words" in maker:
        keys = WORDS[: len(WORDS) // 2, :KEY_BYTES]
        vectors = np.random.default_rng(seed).normal(size=(len(keys), maker["words"]["dim"]))
        assert model.word_vectors.assign(keys, vectors.astype(np.float32)) == len(keys)
    return model


def batch(name, lengths, time, seed=0):
    """Rows of what the student reads, padded with 0."""
    rng = np.random.default_rng(seed)
    mask = (np.arange(time) < np.array(lengths)[:, None]).astype(np.int32)
    inputs = {"attention_mask": mask}
    if name in READ_PIECES:
        inputs["input_ids"] = rng.integers(1, VOCABULARY, mask.shape).astype(np.int32) * mask
    if "features" in MAKERS[name]:
        size = (*mask.shape, MAKERS[name]["features"] // 4)
        bytes_ = rng.integers(0, 256, size).astype(np.uint8)
        if "words" in MAKERS[name]:
            bytes_ = WORDS[rng.integers(0, len(WORDS), mask.shape)]
        inputs["fingerprint"] = bytes_ * mask[..., None].astype(np.uint8)
    return inputs


every_student = pytest.mark.parametrize("name", MAKERS)
every_table_of_pieces = pytest.mark.parametrize(  # of codes, pieces share entries of the codebooks
    "name",
    [
        name
        for name in READ_PIECES
        if not {"features", "embedding_codes", "intent_condition"} & {*MAKERS[name]}
    ],
)
every_task = pytest.mark.parametrize("task", TASKS)


def test_every_kind_is_under_contract():
    assert {maker["kind"] for maker in MAKERS.values()} == set(STUDENTS)


@every_student
@every_task
def test_signals_have_the_declared_levels_and_shapes(name, task):
    model = make(name, task)
    signals = model(batch(name, [4, 2, 7], 7))
    assert tuple(signals) == model.signals()
    for signal, value in signals.items():
        assert value.shape[0] == 3
        assert (value.shape[1:2] == (7,) and value.ndim == 3) == (model.level(signal) == "subword")
    for head in MAKERS[name].get("heads", ("labels",)):
        for output, (_, size) in TASKS[task].items():
            assert signals[f"{head}/{output}"].shape[-1] == size
            assert signals[f"{head}/{output}"].dtype == tf.float32
    with pytest.raises(KeyError, match="no signal 'x'"):
        model.level("x")


@every_student
@every_task
def test_a_few_steps_lower_the_loss(name, task):
    model = make(name, task)
    inputs = batch(name, [5, 3, 8, 6], 8)
    gold = {
        o: np.random.default_rng(2).integers(0, n, (4, 8) if level == "word" else (4,))
        for o, (level, n) in TASKS[task].items()
    }
    each = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss_of(signals):
        return sum(
            each(gold[s.partition("/")[2]], v)
            for s, v in signals.items()
            if s.partition("/")[2] in gold
        )

    losses, _ = fifteen_steps(model, inputs, loss_of, rate=0.02)
    assert losses[-1] < 0.8 * losses[0]


@every_table_of_pieces
def test_reads_both_texts_of_a_pair(name):
    """There are no token types: the separator tells the texts apart."""
    pieces = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "sun", "wind")
    featurizer = SubwordFeaturizer.from_tokenizer(
        bert_tokenizer({piece: i for i, piece in enumerate(pieces)}, lowercase=True), 8
    )
    pairs = [(first, second) for first in pieces[4:] for second in pieces[4:]]
    windows = [featurizer.encode([first], [second])[0].inputs for first, second in pairs]
    inputs = {key: np.stack([window[key] for window in windows]) for key in windows[0]}
    assert set(inputs) == {"input_ids", "attention_mask"}
    assert list(inputs["input_ids"][1]) == [2, 4, 3, 5, 3]  # cls rain sep sun sep

    outputs = {"class": ("sequence", 2)}
    model = build_student(vocabulary=len(pieces), outputs=outputs, seed=1, **MAKERS[name])
    with tf.GradientTape() as tape:
        logits = model(inputs)["labels/class"]
        first = tf.reduce_sum(logits[1])  # of rain, sun
    # No two pairs score alike, in neither order.
    gaps = np.abs(np.asarray(logits)[:, None] - np.asarray(logits)).max(-1)
    assert (gaps[~np.eye(len(pairs), dtype=bool)] > 1e-4).all()
    gradient = tf.convert_to_tensor(tape.gradient(first, model.word_embeddings.value))
    moved = np.abs(np.asarray(gradient)).max(axis=-1) > 1e-6
    assert [piece for piece, yes in zip(pieces, moved, strict=True) if yes] == [
        "[CLS]",
        "[SEP]",
        "rain",
        "sun",
    ]
    # Segment ids, which a teacher's featurizer gives, are not looked at.
    typed = {**inputs, "token_type_ids": np.ones_like(inputs["input_ids"])}
    np.testing.assert_array_equal(model(typed)["labels/class"], logits)


ROUNDING = {"piece_mixer": 5e-6, "piece_mixer-hashes": 5e-6}
"""What products of another shape may round: its norms stretch small embeddings, and that too."""


@every_student
def test_padding_and_batch_invariance(name):
    model, atol = make(name, "intent_slots"), ROUNDING.get(name, 1e-6)
    lengths = [4, 2, 7]
    rows = batch(name, lengths, 7)
    together = model(rows)
    wide = {
        k: np.pad(v, ((0, 0), (0, 5), *((0, 0),) * (v.ndim - 2)), constant_values=9)
        for k, v in rows.items()
    }
    wide["attention_mask"][:, 7:] = 0
    padded = model(wide)
    for n, length in enumerate(lengths):
        alone = model({k: v[n : n + 1, :length] for k, v in rows.items()})
        for signal in model.signals():
            cut = slice(None, length) if model.level(signal) == "subword" else slice(None)
            expected = np.asarray(alone[signal])[0]
            np.testing.assert_allclose(together[signal][n][cut], expected, atol=atol)
            np.testing.assert_allclose(padded[signal][n][cut], expected, atol=atol)


@every_student
def test_without_a_mask_everything_is_real(name):
    model = make(name, "tags")
    rows = batch(name, [6, 6], 6)
    bare = model({k: v for k, v in rows.items() if k != "attention_mask"})
    np.testing.assert_array_equal(bare["labels/tags"], model(rows)["labels/tags"])


@every_student
def test_groups_hold_every_weight_once(name):
    model = make(name, "intent_slots")
    grouped = [w.path for _, group in model.layer_groups() for w in group]
    assert sorted(grouped) == sorted(w.path for w in model.weights)
    assert len(set(grouped)) == len(grouped)
    names = [n for n, _ in model.layer_groups()]
    assert names[0] == "heads"
    assert (names[-1] == "embedding") == (name in READ_PIECES)


@every_student
def test_same_seed_same_weights(name):
    first, again, other = (make(name, "tags", seed) for seed in (1, 1, 2))
    for a, b in zip(first.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    kernels = zip(first.get_weights(), other.get_weights(), strict=True)
    assert any(not np.array_equal(a, b) for a, b in kernels)


@every_student
def test_saves_and_loads(name, tmp_path):
    model = make(name, "intent_slots")
    rows = batch(name, [4, 6], 6)
    expected = model(rows)
    model.save(tmp_path / "whole.keras")
    model.save_weights(tmp_path / "w.weights.h5")
    rebuilt = make(name, "intent_slots", seed=5)
    rebuilt.load_weights(tmp_path / "w.weights.h5")
    for other in (keras.models.load_model(tmp_path / "whole.keras"), rebuilt):
        found = other(rows)
        assert set(found) == set(expected)
        for signal, value in expected.items():
            np.testing.assert_array_equal(found[signal], value)
    assert keras.models.load_model(tmp_path / "whole.keras").get_config() == model.get_config()


QUANTIZED = ("int8", "dynamic", "float16", "none")
FIRST_OF_KIND = {maker["kind"]: name for name, maker in reversed(MAKERS.items())}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "quantize"),
    [
        pytest.param(
            *(name, quantize),
            # int8 is what ships; its operators in another form are those of the kind.
            marks=() if quantize == "int8" or name in FIRST_OF_KIND.values() else pytest.mark.long,
        )
        for name, quantize in itertools.product(MAKERS, QUANTIZED)
    ],
)
def test_exports_and_the_interpreter_agrees(name, quantize):
    model = make(name, "intent_slots")
    rng = np.random.default_rng(0)
    for weight in model.weights:  # as spread out as trained ones
        weight.assign_add(rng.normal(scale=0.3, size=weight.shape).astype(np.float32))
    rows = batch(name, rng.integers(3, 7, 32), 6)
    entries = {
        signature: Entry(*model.export_function(6, size))
        for signature, size in (("online", 1), ("batch", 4))
    }
    flatbuffer = convert(model, entries, quantize, rows)
    graph = inspect_model(flatbuffer)
    assert (graph.flex, graph.custom) == ((), ())
    if quantize == "int8":
        assert graph.float_operator_count == 0
    expected = model(rows)
    bound = {"none": 1e-5, "float16": 5e-3, "dynamic": 0.05, "int8": 0.2}[quantize]
    interpreter = Interpreter(model_content=flatbuffer)
    for signature, size in (("online", 1), ("batch", 4)):
        runner = interpreter.get_signature_runner(signature)
        details = runner.get_output_details()
        for start in range(0, 16, size):
            found = runner(**{k: v[start : start + size] for k, v in rows.items()})
            for output, values in found.items():
                values = values.astype(np.float32)
                if details[output]["dtype"] == np.int8:
                    scale, zero = details[output]["quantization"]
                    values = (values - zero) * scale
                logits = np.asarray(expected[f"labels/{output}"])
                cut = logits[start : start + size]
                if values.ndim == 3:
                    real = rows["attention_mask"][start : start + size] == 1
                    values, cut = values[real], cut[real]
                assert np.abs(values - cut).mean() < bound * logits.std()


DRIFT_OF_SHORT_ROWS = dict.fromkeys(
    ("mixer", "piece_mixer", "piece_mixer-hashes", "piece_qrnn-codes"), 0.2
)
"""A mixer sums over positions, a projection reads means over them: short rows have ranges of their
own, and 0.06 and 0.03 once they are seen."""


@pytest.mark.slow
@pytest.mark.parametrize("name", others_long(MAKERS, FIRST_OF_KIND.values()))
def test_int8_calibrated_without_padding_leaves_padding_out(name):
    """Documents fill every window; a mask must not depend on having been seen."""
    model, time = make(name, "intent_slots"), 12
    rng = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign_add(rng.normal(scale=0.3, size=weight.shape).astype(np.float32))
    full, short = batch(name, [time] * 32, time), batch(name, [1, 2, 3] * 8, time, seed=1)
    entry = Entry(*model.export_function(time, 1))
    content = convert(model, {"online": entry}, "int8", full)
    of_full, of_short = (int8_drift(model, "labels", content, rows) for rows in (full, short))
    for output in TASKS["intent_slots"]:
        assert of_short[output] < max(DRIFT_OF_SHORT_ROWS.get(name, 0.1), 2 * of_full[output])


@every_student
def test_export_function_refuses_an_unknown_head(name):
    with pytest.raises(ValueError, match="no head 'x'; this model has labels"):
        make(name, "tags").export_function(8, 1, "x")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"kind": "gru"},
            "unknown student 'gru'; the kinds are bilstm, mixer, piece_mixer, piece_qrnn, pqrnn, "
            "transformer",
        ),
        ({"outputs": {}}, "at least one output"),
        ({"outputs": {"tags": ("token", 3)}}, "'token'; use 'word' or 'sequence'"),
        ({"outputs": {"tags": ("word", 0)}}, "at least one label"),
        ({"outputs": {"a/b": ("word", 2)}}, "no '/'"),
        ({"heads": "labels"}, "different names"),
        ({"heads": ("a", "a")}, "different names"),
        ({"hidden_dim": 0}, "hidden_dim is a whole number from 1 to 65,536, got 0"),
        ({"hidden_dim": "4"}, "hidden_dim is a whole number from 1 to 65,536, got '4'"),
        ({"hidden_dim": 2.0}, "hidden_dim is a whole number"),
        (
            {"hidden_dim": 65536},
            "make 34,360,786,954 parameters; a student has at most 536,870,912",
        ),
        ({"vocabulary": 0}, "vocabulary is a whole number from 1 to 10,000,000, got 0"),
        ({"embedding": -1}, "embedding is a whole number"),
        ({"dropout": 1.0}, "dropout is a number from 0 to below 1, got 1.0"),
        ({"dropout": True}, "dropout is a number"),
        ({"hashed_dim": 4}, "hashed_dim and features go together; got 4 and None"),
        ({"features": 8}, "hashed_dim and features go together; got None and 8"),
        ({"hashed_dim": 4, "features": 6}, "features is a multiple of 4"),
        ({"words": TABLE}, "by features of their hashes; got features None"),
        ({"words": TABLE, "features": 20}, "by 6 bytes from first_byte 0 on, .* 20 features has 5"),
        ({"words": TABLE | {"first_byte": -1}, "features": 32}, "from first_byte -1 on"),
        ({"hashed_dim": 0, "features": 8}, "hashed_dim is a whole number"),
        ({"head_input": "x"}, "'hidden' or 'projection', got 'x'"),
        ({"head_input": "projection"}, "needs a projection width"),
        ({"projection_activation": "relu"}, "'relu'; it is gelu, linear"),
        ({"intent_condition": True}, "outputs of words and exactly one per text; got tags"),
    ],
)
def test_errors(change, text):
    arguments = {
        "kind": "bilstm",
        "vocabulary": 5,
        "embedding": 2,
        "hidden_dim": 2,
        "outputs": {"tags": ("word", 2)},
    }
    with pytest.raises(ValueError, match=text):
        build_student(**{**arguments, **change})
