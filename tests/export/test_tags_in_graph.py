"""A file that decodes by itself: Keras, runtime and plain interpreter give the same tags."""

from __future__ import annotations

import argparse
import json
import zipfile
from itertools import pairwise

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from tests.export.conftest import Trained, document, fit, sentence
from tests.others_long import others_long
from tfdistil.crf.constraints import NO_TAG
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.errors import ExportError, ModelFileError
from tfdistil.exporting import export_student
from tfdistil.exporting.pack import config_bytes, pack
from tfdistil.exporting.verify import measure_paths
from tfdistil.runtime import Runtime
from tfdistil.runtime.cli import add_predict
from tfdistil.runtime.describe import describe, format_description
from tfdistil.runtime.runtime import Answer
from tfdistil.students import build_student
from tfdistil.tasks import IntentSlots, Prediction
from tfdistil.tasks.decoders import read_decoders
from tfdistil.tasks.iob2 import allowed_transitions
from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec

pytestmark = pytest.mark.slow
LENGTH = 24
STUDENTS = {
    "bilstm": {"embedding": 16, "hidden_dim": 24},
    "pqrnn": {"features": 128, "bottleneck": 32, "layers": 1, "state": 24},
}


@pytest.fixture(scope="module", params=others_long(STUDENTS, ["bilstm"]))
def crf(request, trained) -> Trained:
    """Of the trained one all but the student, which has a CRF with an opinion on its slots."""
    arguments, featurizer = STUDENTS[request.param], trained.featurizer
    if request.param == "pqrnn":
        featurizer = ProjectionFeaturizer(ProjectionSpec((("murmur", 128),)), 48)
    else:
        arguments = {**arguments, "vocabulary": featurizer.tokenizer.get_vocab_size()}
    slots = trained.task.outputs[0].labels
    student = build_student(
        request.param,
        outputs={o.name: (o.level, len(o.labels)) for o in trained.task.outputs},
        heads={"labels": {"kind": "crf", "labels": slots}},
        seed=1,
        **arguments,
    )
    fit(student, featurizer, trained.task, trained.train, 14)
    rng = np.random.default_rng(3)
    dev = [*trained.dev, *(document(rng, 40) for _ in range(4))]
    return Trained(student, trained.task, featurizer, trained.splitter, dev, trained.train)


def export(crf, out, **options):
    given = {
        "examples": crf.dev,
        "out": out,
        "length": LENGTH,
        "batch": 4,
        "max_drop": 100,
        **options,
    }
    return export_student(crf.student, crf.task, crf.featurizer, crf.splitter, **given)


@pytest.fixture(scope="module")
def exported(crf, tmp_path_factory):
    return export(crf, tmp_path_factory.mktemp("crf") / "m.tflite", tags_in_graph=True)


@pytest.fixture(scope="module")
def runtime(exported) -> Runtime:
    return Runtime(exported.path)


def by_the_interpreter(runtime, texts):
    """Tags of texts of one window, from the file's bytes alone; None for longer ones."""
    config = runtime.file.config
    run = Interpreter(model_path=str(runtime.file.path)).get_signature_runner("online")
    for words in texts:
        windows = runtime.featurizer.encode(words)
        if len(windows) > 1:
            yield None
            continue
        feed = {}
        for name, details in run.get_input_details().items():
            feed[name] = np.full(
                details["shape"], runtime.featurizer.padding.get(name, 0), details["dtype"]
            )
            values = windows[0].input(name)
            feed[name][0, : len(values)] = values
        (path,) = run(**feed)[config["paths"]["slots"]]
        assert path.dtype == np.int32
        firsts = windows[0].tokens[windows[0].starts]
        elsewhere = np.delete(path, firsts)
        if words:  # a text without words is one place that stands for it
            assert (elsewhere == NO_TAG).all()
        yield tuple(config["task"]["slots"][tag] for tag in path[firsts])


def share(found, expected) -> float:
    """Of words with the same tag, in texts that have an answer."""
    both = [(a, b) for a, b in zip(found, expected, strict=True) if a is not None]
    return np.mean([x == y for a, b in both for x, y in zip(a, b, strict=True)])


def test_three_ways_give_the_same_tags(crf, exported, runtime):
    texts = [example.words for example in crf.dev]
    plain = [*by_the_interpreter(runtime, texts)]
    by_runtime = [result.tags for result in runtime.predict_words(texts)]
    rows = encode_rows(crf.dev, crf.featurizer, None)
    by_keras = [one.tags for one in Predictor(crf.student, crf.task, "labels").predict(rows)]
    assert sum(tags is not None for tags in plain) == len(crf.dev) - 4
    assert share(plain, by_runtime) == 1
    assert share(plain, by_keras) >= 0.999
    assert share(plain, [example.tags for example in crf.dev]) > 0.9  # it has learnt something
    agreement = exported.paths["slots"]
    assert agreement.words == sum(map(len, filter(None, plain)))
    assert agreement.keras >= 0.999
    assert agreement.runtime >= 0.999
    assert exported.to_json()["paths"]["slots"]["words"] == agreement.words


def random_texts(seed: int, count: int) -> list[tuple[str, ...]]:
    """Words in no order, from none to more than a window holds."""
    rng = np.random.default_rng(seed)
    words = sorted({word for _ in range(60) for word in sentence(rng).words} | {"xyzzy", "東", "7"})
    return [tuple(rng.choice(words, rng.integers(0, 45)).tolist()) for _ in range(count)]


def test_tags_are_legal_and_those_of_a_file_that_leaves_decoding_to_the_runtime(
    crf, runtime, tmp_path
):
    labels = crf.task.outputs[0].labels
    start, follow = allowed_transitions(labels)
    without = Runtime(export(crf, tmp_path / "m.tflite").path)
    assert "paths" not in without.file.config
    texts = random_texts(5, 300)
    found, expected = runtime.predict_words(texts), without.predict_words(texts)
    alone = [runtime.predict_words([text])[0] for text in texts[:40]]  # the other signature
    assert share([r.tags for r in alone], [r.tags for r in found[:40]]) == 1
    assert share([r.tags for r in found], [r.tags for r in expected]) >= 0.9995
    different = 0
    for one, other in zip(found, expected, strict=True):
        ids = [labels.index(tag) for tag in one.tags]
        assert all(start[i] for i in ids[:1])
        assert all(follow[a, b] for a, b in pairwise(ids))
        if one.tags != other.tags:  # a tie
            different += 1
        elif one.spans:
            assert one.spans == other.spans
    assert different <= 1


def test_the_k_best_are_of_the_whole_text(runtime):
    texts = random_texts(6, 20)
    for words, result in zip(texts, runtime.predict_words(texts, k=4), strict=True):
        assert result.k_best[0].tags == result.tags
        chances = [path.probability for path in result.k_best]
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) <= 1 + 1e-9
        assert len({path.tags for path in result.k_best}) == (4 if words else 1)
        assert {len(path.tags) for path in result.k_best} == {len(words)}
    (plain,) = runtime.predict_words(texts[:1])
    assert plain.k_best is None
    assert "k_best" not in plain.to_dict()
    with pytest.raises(ValueError, match="k is 0; expected 1 to 1000"):
        runtime.predict(["play"], k=0)


def test_the_file_says_that_it_decodes(runtime, exported):
    said = format_description(describe(exported.path))
    assert "decodes     slots: the graph's output slots_path has the best path" in said


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        ({"slots": "tags"}, "expected 'tags' among the outputs of signature"),
        (
            {"slots": "slots"},
            r"'slots' is int8 of shape .*expected the labels' ids, int32 of shape",
        ),
        ({"intent": "slots_path"}, "path 'slots_path' of 'intent', no word output"),
        ({"tags": "slots_path"}, "path 'slots_path' of 'tags', no word output"),
        ({"slots": 1}, "whose 'paths' is not names, each with the name of an output"),
        (["slots_path"], "whose 'paths' is not names"),
    ],
)
def test_paths_that_are_none_are_refused(exported, tmp_path, paths, says):
    content = exported.path.read_bytes()
    with zipfile.ZipFile(exported.path) as archive:
        assets = {name: archive.read(name) for name in archive.namelist()}
        end = min(entry.header_offset for entry in archive.infolist())
    config = json.loads(assets["tfdistil.json"]) | {"paths": paths}
    (tmp_path / "m.tflite").write_bytes(
        pack(content[:end], {**assets, "tfdistil.json": config_bytes(config)})
    )
    with pytest.raises(ModelFileError, match=says):
        Runtime(tmp_path / "m.tflite")


def test_a_linear_head_has_no_tags_in_its_graph_and_no_k_best(trained, tmp_path):
    with pytest.raises(ExportError, match="for a head of the kind crf, and 'labels' is none"):
        export(trained, tmp_path / "m.tflite", tags_in_graph=True)
    runtime = Runtime(export(trained, tmp_path / "m.tflite").path)
    with pytest.raises(
        ValueError, match="one word at a time; k sequences need one of the kind crf"
    ):
        runtime.predict(["play some blur"], k=2)


def test_a_path_that_is_not_the_best_one_fails_the_export():
    task = IntentSlots(("O", "B-a"), ("x",))
    data = {"slots": {"kind": "crf", "constants": {"potentials": np.zeros((4, 2)).tolist()}}}
    task = task.with_decoders(read_decoders(data, task.outputs))
    logits = {"slots": np.array([[1.0, 1.0], [0.0, 3.0]]), "intent": np.zeros(1)}
    keras = [Prediction(("B-a", "B-a"), label="x")]

    def measured(path):
        return measure_paths(task, [Answer(logits, {"slots": np.array(path)})], keras)["slots"]

    assert (measured([0, 1]).keras, measured([0, 1]).runtime) == (0.5, 1.0)
    assert (measured([1, 1]).keras, measured([1, 1]).runtime) == (1.0, 0.5)  # a tie
    for path in ([0, 0], [0, NO_TAG]):
        with pytest.raises(ExportError, match=r"path of 'slots' scores .* less than the best one"):
            measured(path)
    assert measure_paths(task, [Answer(logits, {})], keras) == {}


def test_the_command_writes_the_k_best(exported, runtime, capsys):
    parser = argparse.ArgumentParser()
    add_predict(parser.add_subparsers())
    text = "play some blur in the kitchen"
    given = parser.parse_args(["predict", str(exported.path), text, "--k", "3", "--jsonl"])
    assert given.func(given) == 0
    answer = json.loads(capsys.readouterr().out)
    (expected,) = runtime.predict([text], k=3)
    assert [tuple(path["tags"]) for path in answer["k_best"]] == [p.tags for p in expected.k_best]
    assert [p["probability"] for p in answer["k_best"]] == [p.probability for p in expected.k_best]
    assert answer["tags"] == answer["k_best"][0]["tags"]
