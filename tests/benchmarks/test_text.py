"""From a text to its labels: for files that can, of any task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.conftest import write_untrained
from tfdistil import Runtime
from tfdistil.benchmarks import cli
from tfdistil.benchmarks.latency import Protocol, _cold, measure
from tfdistil.data.example import Example
from tfdistil.errors import DataError

QUICK = Protocol(queries=4, batches=2, rounds=2, warm_up=1)
WORDS = ("is", "it", "so", "no", "yes")


@pytest.fixture(scope="module")
def pair_file(tmp_path_factory) -> Path:
    """A model for pairs of texts, untrained."""
    from tfdistil.tasks import Pair
    from tfdistil.text.train_tokenizer import train_wordpiece

    rng = np.random.default_rng(0)
    examples = [
        Example(tuple(rng.choice(WORDS, 3)), label=label, second=tuple(rng.choice(WORDS, 2)))
        for label in ("same", "other") * 4
    ]
    tokenizer = train_wordpiece([" ".join(WORDS)], 40)
    task = Pair.from_examples(examples)
    path = tmp_path_factory.mktemp("pair") / "pair.tflite"
    options = {"quantize": "none", "length": 12, "batch": 2}
    return write_untrained(path, task, examples, tokenizer, hidden_dim=4, **options)


def test_pairs_are_timed_as_pairs(pair_file, student_file):
    said: list[str] = []
    files = {"bare": student_file, "pair": pair_file}
    bare, pair = measure(files, QUICK, ["is it\tso", "yes\tno it is"], said.append).models
    assert bare.text is None
    assert any("bare has no tokenizer inside" in line for line in said)
    assert pair.text.blocks.size == 4
    assert pair.to_json()["text_ms"]["p50"] > 0
    assert pair.cold_text.blocks.size == 4


def test_a_cold_call_begins_without_any_word(pair_file):
    runtime = Runtime(pair_file)
    known = []
    call = _cold(runtime, lambda number: known.append((number, dict(runtime.featurizer._known))))
    runtime.predict_pairs([("is it", "so")])
    assert runtime.featurizer._known
    call(7)
    assert known == [(7, {})]


def test_a_line_that_is_no_pair_is_named(pair_file, tmp_path, capsys):
    with pytest.raises(DataError, match="two texts with a tab between them, got 'only one'"):
        measure({"pair": pair_file}, QUICK, ["only one"])
    texts = tmp_path / "texts.txt"
    texts.write_text("only one\n")
    assert cli.main([str(pair_file), "--queries", "2", "--texts", str(texts)]) == 2
    assert "tfdistil-benchmark: a model for pairs needs" in capsys.readouterr().err


def test_texts_that_cannot_be_used(student_file, tmp_path, capsys):
    path = tmp_path / "texts.txt"
    for content, says in ((b"\n \n", "has no texts"), (b"\xff\xfe", "is not UTF-8")):
        path.write_bytes(content)
        assert cli.main([str(student_file), "--texts", str(path)]) == 2
        assert says in capsys.readouterr().err
