"""Teacher signals: the same from the cache and from the teacher as it goes."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from tfdistil.distill.rows import encode_rows
from tfdistil.distill.signals import LiveSignals, PooledSignals, load_signals, store_signals
from tfdistil.distill.streams import concatenate_rows
from tfdistil.errors import RunError

NAMES = ["hidden/1", "logits/tags", "pooled"]


@pytest.fixture(scope="module")
def examples(make_examples):
    return make_examples(30, seed=5, longest=20)


@pytest.fixture
def store(teacher, examples, make_rows, tmp_path):
    """Stores signals of examples; gives their folder. The teacher's windows hold 20 pieces."""

    def run(model=teacher.model, some=examples, names=tuple(NAMES), name="cache"):
        store_signals(model, make_rows(some, "words", 20), {tmp_path / name: names})
        return tmp_path / name

    return run


def per_example(teacher, examples, make_rows):
    """Word-level logits of each text alone, by the teacher's own means."""
    rows = make_rows(examples, "words", 20)
    found = []
    for parts in rows.rows_of():
        logits = []
        for row in parts:
            window = rows.windows[row]
            inputs = {name: array[None] for name, array in window.inputs.items()}
            logits.append(np.array(teacher.model(inputs)["logits/tags"])[0, window.tokens])
        found.append(np.concatenate(logits))
    return found


@pytest.mark.parametrize("max_length", [12, 48])
def test_stored_and_live_signals_agree(teacher, examples, make_rows, store, max_length):
    """The student sees other pieces and other windows than the teacher."""
    rows = make_rows(examples, "pieces", max_length)
    stored = load_signals(store(), rows)
    live = LiveSignals(teacher.model, make_rows(examples, "words", 20), NAMES)
    expected = per_example(teacher, examples, make_rows)
    order = np.random.default_rng(0).permutation(len(rows))
    for start in range(0, len(rows), 7):
        chosen = order[start : start + 7]
        inputs = rows.inputs(chosen)
        one, other = (s.batch(rows, chosen, inputs) for s in (stored, live))
        assert set(one) == set(other) == set(NAMES)
        for name in NAMES:
            assert one[name].dtype == other[name].dtype == np.float32
            np.testing.assert_allclose(one[name], other[name], atol=1e-5)
        for i, row in enumerate(chosen):
            mine = expected[rows.example[row]][rows.token_range(row)]
            np.testing.assert_allclose(one["logits/tags"][i, : len(mine)], mine, atol=1e-5)
            assert np.all(one["logits/tags"][i, len(mine) :] == 0)


def test_pooled_signals_are_those_of_the_parts(teacher, examples, make_rows, store):
    parts = [examples[:11], examples[11:12], examples[12:]]
    rows = [make_rows(part) for part in parts]
    pooled = PooledSignals(
        [
            load_signals(store(some=part, name=f"part{i}"), mine)
            for i, (part, mine) in enumerate(zip(parts, rows, strict=True))
        ]
    )
    together = concatenate_rows(rows)
    whole = load_signals(store(), together)
    chosen = [20, 0, 11, 10, 12, 29]
    inputs = together.inputs(chosen)
    for name, array in whole.batch(together, chosen, inputs).items():
        np.testing.assert_allclose(
            pooled.batch(together, chosen, inputs)[name], array, atol=1e-6, err_msg=name
        )


class Paths:
    """A teacher with ids per token, half-precision scores per text, and a matrix of its own."""

    def __call__(self, inputs, training=False):
        ids = ops.take_along_axis(inputs["input_ids"], inputs["tokens"], axis=1)
        score = ops.cast(ops.sum(inputs["attention_mask"], axis=1), "float16")
        return {"path": ops.cast(ids, "int32"), "score": score, "table": ops.ones((2, 2))}

    def level(self, signal):
        return {"path": "token", "score": "sequence", "table": "model"}[signal]


def test_ids_stay_ids_and_signals_of_the_model_have_no_rows(examples, make_rows, store):
    rows = make_rows(examples, "words", 20)
    names = ["path", "score", "table"]
    stored = load_signals(store(Paths(), names=names), rows)
    live = LiveSignals(Paths(), rows, names)
    chosen = [4, 0, 9]
    inputs = rows.inputs(chosen)
    ids = np.take_along_axis(inputs["input_ids"], inputs["tokens"], axis=1) * inputs["token_mask"]
    for signals in (stored, live):
        found = signals.batch(rows, chosen, inputs)
        assert found["path"].dtype == np.int32
        assert found["score"].dtype == np.float32
        np.testing.assert_array_equal(found["path"], ids)
        np.testing.assert_array_equal(found["table"], np.ones((2, 2)))


def test_signals_of_other_units_are_refused(teacher, examples, make_featurizer, store, task):
    """With an own class for non-first pieces, every piece is a token."""
    rows = encode_rows(examples, make_featurizer("pieces", alignment="x"), None)
    with pytest.raises(RunError, match="scored tokens differ"):
        load_signals(store(), rows)
    live = LiveSignals(teacher.model, encode_rows(examples, make_featurizer("words"), None), NAMES)
    with pytest.raises(RunError, match="scored tokens differ"):
        live.batch(rows, [0, 1, 2, 3], rows.inputs([0, 1, 2, 3]))


def test_signals_of_whole_texts_do_not_care_which_tokens_were_read(
    teacher, examples, make_rows, make_featurizer, store
):
    """A pair that is too long loses other words in the student than in the teacher."""
    rows = encode_rows(examples, make_featurizer("pieces", alignment="x"), None)
    live = LiveSignals(teacher.model, make_rows(examples, "words", 20), ["pooled"])
    inputs = rows.inputs([0, 1, 2, 3])
    stored = load_signals(store(names=("pooled",)), rows).batch(rows, [0, 1, 2, 3], inputs)
    found = live.batch(rows, [0, 1, 2, 3], inputs)
    np.testing.assert_allclose(stored["pooled"], found["pooled"], atol=1e-5)


def cut(path):
    path.write_bytes(path.read_bytes()[:-40])


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("logits.tags.npy", cut),
        ("logits.tags.npy", lambda path: path.write_bytes(b"")),
        ("logits.tags.npy", lambda path: path.unlink()),
        ("offsets.npy", cut),
        ("offsets.npy", lambda path: path.write_bytes(b"junk")),
        ("signals.json", cut),
    ],
)
def test_a_damaged_cache_says_what_to_do(examples, make_rows, store, name, damage):
    folder = store()
    damage(folder / name)
    with pytest.raises(RunError) as caught:
        load_signals(folder, make_rows(examples))
    message = str(caught.value)
    assert message.startswith(f"{folder}: damaged cache")
    assert message.endswith("remove the folder and run again")


def test_an_interrupted_cache_does_not_get_its_name(teacher, examples, make_rows, tmp_path):
    rows = make_rows(examples, "words", 20)
    folder = tmp_path / "cache"

    def stop(done):
        if done == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store_signals(teacher.model, rows, {folder: NAMES}, stop)
    assert not folder.exists()
    done = []
    store_signals(teacher.model, rows, {folder: NAMES}, done.append)
    assert done == list(range(1, len(examples) + 1))
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    load_signals(folder, make_rows(examples))
