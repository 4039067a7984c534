"""The head `crf` through everything: signals, decoding, save and load, transforms, export."""

from __future__ import annotations

import json
import zipfile
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ruamel.yaml import YAML

from tfdistil.corpus.held_out import sets_of
from tfdistil.corpus.loading import load_corpus
from tfdistil.crf.constraints import IMPOSSIBLE, NO_TAG
from tfdistil.data.example import Example
from tfdistil.data.readers.tags import find_faults
from tfdistil.distill.bound_stage import bind_stage
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.distill.schedule import Schedule
from tfdistil.distill.terms import label_terms
from tfdistil.errors import ModelFileError, RecipeError
from tfdistil.exporting import export_student
from tfdistil.models.checks import check_models
from tfdistil.models.graph import Models
from tfdistil.models.record import load_model, save_model
from tfdistil.models.transforms import apply_transform
from tfdistil.pipeline.run import check_stages
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.schema.stages import OptimizerSpec, StageSpec, StopSpec, TermSpec
from tfdistil.runtime import Runtime
from tfdistil.runtime.describe import describe, format_description
from tfdistil.tasks.decoders import DECODERS
from tfdistil.tasks.iob2 import allowed_transitions

RECIPE = """
task: TASK
data: {demo: {kind: TASK, languages: [en], train: 60, dev: 8, test: 5, transfer: 20}}
models:
  teacher:
    scratch: {layers: 2, hidden_dim: 8, heads: 2, intermediate_dim: 12, vocabulary: 300}
    heads: {logits: crf}
    max_length: 48
  student:
    kind: bilstm
    hidden_dim: 6
    embedding: {dim: 8}
    heads: {labels: crf, logits: linear}
  hashed:
    kind: pqrnn
    bottleneck: 4
    layers: 1
    state: 3
    hashing: {families: {murmur: 8}}
    heads: {labels: crf}
distill:
  - {name: one, terms: [{loss: cross_entropy}]}
  - {name: two, student: hashed, terms: [{loss: cross_entropy}]}
"""


def models(task="tags", text=RECIPE) -> Models:
    recipe = parse_recipe(YAML().load(text.replace("TASK", task)))
    return Models(recipe, load_corpus(recipe), Path())


@pytest.fixture(scope="module")
def made() -> Models:
    found = models()
    for name, head in HEAD.items():
        for weight in found[name].model.weights if name != "hashed" else ():  # with an opinion
            weight.assign(weight * 4)
        steps = found[name].model.heads[f"{head}/tags"].steps
        steps.assign(np.random.default_rng(0).normal(scale=4, size=steps.shape))
    return found


HEAD = {"teacher": "logits", "student": "labels", "hashed": "labels"}
every_model = pytest.mark.parametrize("name", HEAD)


def signals(record, examples, task):
    rows = encode_rows(examples, record.featurizer, task)
    batch = rows.inputs(range(len(rows)))
    return batch, {k: np.asarray(v) for k, v in record.model(batch).items()}


def best_legal(scores, potentials, labels):
    """The oracle: every legal tag sequence, one by one."""
    start, follow = allowed_transitions(labels)
    paths = [
        path
        for path in product(range(len(labels)), repeat=len(scores))
        if start[path[0]] and all(follow[a, b] for a, b in pairwise(path))
    ]
    before = [(len(labels), *path) for path in paths]
    totals = [
        sum(scores[n, tag] + potentials[past[n], tag] for n, tag in enumerate(path))
        + potentials[-1, path[-1]]
        for path, past in zip(paths, before, strict=True)
    ]
    return tuple(labels[tag] for tag in paths[int(np.argmax(totals))])


@every_model
def test_its_signals_are_those_of_the_model(made, name):
    record, head = made[name], HEAD[name]
    examples = made.corpus.dev
    batch, found = signals(record, examples, made.corpus.task)
    assert tuple(found) == record.model.signals()
    assert record.model.level(f"{head}/tags") == "subword"
    assert record.model.level(f"{head}/tags/potentials") == "model"
    assert record.model.level(f"{head}/tags/path_count/7") == "derived"
    with pytest.raises(KeyError, match="no signal"):
        record.model.level(f"{head}/tags/paths/0")
    labels = len(made.corpus.task.outputs[0].labels)
    assert found[f"{head}/tags/potentials"].shape == (labels + 2, labels)
    # What a device feeds has no tokens; the scores are the same.
    bare = record.model({k: v for k, v in batch.items() if not k.startswith("token")})
    np.testing.assert_allclose(bare[f"{head}/tags"], found[f"{head}/tags"], atol=1e-6)
    groups = dict(record.model.layer_groups())
    crf = record.model.heads[f"{head}/tags"]
    assert any(weight is crf.steps for weight in groups["heads"])
    assert sum(map(len, groups.values())) == len(record.model.weights)


@every_model
def test_tags_are_the_best_legal_path_with_its_own_potentials(made, name):
    record, task = made[name], made.corpus.task
    labels = task.outputs[0].labels
    short = [Example(example.words[:2]) for example in made.corpus.dev]
    predictor = Predictor(record.model, task, HEAD[name])
    rows = encode_rows(short, record.featurizer, None)
    potentials = np.asarray(record.model.heads[f"{HEAD[name]}/tags"].potentials)
    for scores, prediction in zip(predictor.logits(rows), predictor.predict(rows), strict=True):
        assert prediction.tags == best_legal(scores["tags"], potentials, labels)
    linear = [task.decode(scores).tags for scores in predictor.logits(rows)]
    assert linear != [p.tags for p in predictor.predict(rows)]


@every_model
def test_saved_loaded_and_changed_it_is_the_same_head(made, name, tmp_path):
    record, task, head = made[name], made.corpus.task, HEAD[name]
    _, expected = signals(record, made.corpus.dev, task)
    save_model(record, task, tmp_path / "saved")
    again = load_model(tmp_path / "saved")
    assert dict(again.model.head_kinds) == dict(record.model.head_kinds)  # a key of what is stored
    _, found = signals(again, made.corpus.dev, task)
    assert list(found) == list(expected)
    for signal, value in expected.items():
        np.testing.assert_allclose(found[signal], value, atol=1e-5, err_msg=signal)
    assert again.model.decoding(head) == record.model.decoding(head)
    changes = {
        "teacher": {"keep_layers": {"layers": [1]}, "reduce_vocabulary": {}},
        "hashed": {"quantize": {}},
    }
    for change, given in changes.get(name, {}).items():
        changed = apply_transform(change, record, made.corpus, given)
        assert changed.model.decoding(head) == record.model.decoding(head)


def test_what_iob2_forbids_is_impossible_in_training_too(made):
    labels = made.corpus.task.outputs[0].labels
    start, follow = allowed_transitions(labels)
    for name, head in HEAD.items():
        found = np.asarray(made[name].model.heads[f"{head}/tags"].potentials)
        legal = np.concatenate([follow, start[None], np.ones((1, len(labels)), bool)])
        np.testing.assert_array_equal(found == IMPOSSIBLE, ~legal)
        assert np.abs(found[legal]).max() < 100
    free = models(text=RECIPE.replace("labels: crf}", "labels: {kind: crf, constrained: false}}"))
    assert np.abs(np.asarray(free["hashed"].model.heads["labels/tags"].potentials)).max() < 100


def stage_of(**term) -> StageSpec:
    return StageSpec(name="s", student="hashed", terms=[TermSpec(**term)])


def test_paths_are_derived_for_teachers_only(made):
    given = made, made.corpus.sets(), made.corpus.task
    bound = bind_stage(stage_of(loss="fuzzy_cross_entropy"), *given)
    assert bound.teacher_signals(["train"])[-1] == "logits/tags/paths/10"
    for term, says in (
        (
            {"loss": "token_emissions", "student_signal": "labels/tags/paths/1"},
            "off the student 'hashed', but it is derived from whole texts",
        ),
        ({"loss": "fuzzy_cross_entropy", "k": 0}, "expected int from 1 to 32"),
        ({"loss": "hard_label_nll", "align": "subword"}, "which has no row for each subword"),
    ):
        with pytest.raises(RecipeError, match=says):
            bind_stage(stage_of(**term), *given)


def test_a_teacher_that_allows_other_steps_is_refused():
    free = "heads: {logits: {kind: crf, constrained: false}}"
    found = models(text=RECIPE.replace("heads: {logits: crf}", free))
    given = found, found.corpus.sets(), found.corpus.task
    for loss in ("token_marginals", "fuzzy_cross_entropy", "hard_label_nll"):
        with pytest.raises(RecipeError, match="allows other steps; give both the same `constrain"):
            bind_stage(stage_of(loss=loss), *given)
    bind_stage(stage_of(loss="token_emissions"), *given)


def test_labels_of_a_crf_are_not_those_of_its_best_emissions(made):
    given = made, made.corpus.sets(), made.corpus.task
    with pytest.raises(RecipeError, match="decides by whole paths; use hard_label_nll"):
        bind_stage(stage_of(loss="hard_label_cross_entropy"), *given)
    linear = models(text=RECIPE.replace("heads: {logits: crf}", "heads: {logits: linear}"))
    bind_stage(
        stage_of(loss="hard_label_cross_entropy"), linear, linear.corpus.sets(), linear.corpus.task
    )


@pytest.mark.parametrize("loss", ["crf_nll", "cross_entropy"])
def test_labels_are_learnt_where_there_are_any(made, loss):
    given = made, made.corpus.sets(), made.corpus.task
    with pytest.raises(RecipeError, match=f"{loss}.tags.transfer learns from labels, and no sent"):
        bind_stage(stage_of(loss=loss, stream="transfer"), *given)
    bind_stage(stage_of(loss=loss, stream=["train", "transfer"]), *given)
    bind_stage(stage_of(loss="hard_label_nll", stream="transfer"), *given)


def test_errors_say_which_head_gives_a_signal():
    linear = models(text=RECIPE.replace("{logits: crf}", "{logits: linear}"))
    given = linear, linear.corpus.sets(), linear.corpus.task
    for loss in ("token_marginals", "fuzzy_cross_entropy"):
        with pytest.raises(RecipeError, match=r"; heads: \{logits: crf\} gives it"):
            bind_stage(stage_of(loss=loss), *given)
    joint = models("intent_slots")
    given = joint, joint.corpus.sets(), joint.corpus.task
    with pytest.raises(RecipeError, match="a crf is for labels of words: give the term an output"):
        bind_stage(stage_of(loss="crf_nll"), *given)
    bind_stage(stage_of(loss="crf_nll", output="slots"), *given)


def test_what_is_stored_depends_on_constraints_and_the_order_of_labels(made, tmp_path):
    sets, task = made.corpus.sets(), made.corpus.task
    cache = Schedule(made, sets, task, tmp_path, seed=1).cache
    record = made["teacher"]
    labels = list(task.outputs[0].labels)
    heads = (
        {"kind": "crf", "labels": labels},
        {"kind": "crf", "labels": labels, "constrained": False},
        {"kind": "crf", "labels": labels[::-1]},
    )
    keys = set()
    for head in heads:
        weights = record.model.get_weights
        model = SimpleNamespace(get_weights=weights, head_kinds={"logits": head})
        other = SimpleNamespace(model=model, featurizer=record.featurizer)
        keys.add(cache.folder_of(other, "train", ["logits/tags"]))
    assert len(keys) == 3


def test_a_new_one_answers_as_a_linear_head_does():
    found = models()
    record, task = found["hashed"], found.corpus.task
    predictor = Predictor(record.model, task, "labels")
    rows = encode_rows(found.corpus.dev, record.featurizer, None)
    linear = [task.decode(scores).tags for scores in predictor.logits(rows)]
    assert linear == [prediction.tags for prediction in predictor.predict(rows)]


def test_its_paths_are_over_words():
    text = RECIPE.replace("task: TASK", "task: {kind: TASK, continuation: true}")
    recipe = parse_recipe(YAML().load(text.replace("TASK", "tags")))
    with pytest.raises(RecipeError, match=r"are over words; set task\.continuation: false"):
        check_models(recipe, Path())


def test_each_output_is_learnt_by_the_loss_of_its_kind():
    model = models("intent_slots")["student"].model
    assert model.label_losses("labels") == {"slots": "crf_nll", "intent": "cross_entropy"}
    assert model.label_losses("logits") == {"slots": "cross_entropy", "intent": "cross_entropy"}
    read = [(term.loss, term.head, term.output) for term in label_terms(model, "labels")]
    assert read == [("crf_nll", "labels", "slots"), ("cross_entropy", "labels", "intent")]


def test_its_potentials_learn_at_a_rate_of_their_own(tmp_path):
    found = models()
    model = found["teacher"].model
    head = model.heads["logits/tags"]
    assert [(name, [w.path for w in weights]) for name, weights in model.rate_groups()] == [
        ("crf", [head.steps.path]),
        ("positions", [model.embeddings.positions.path]),
    ]
    before = {weight.path: np.array(weight) for weight in model.trainable_weights}
    stage = StageSpec(
        name="gold",
        terms=label_terms(model, "logits"),
        student="teacher",
        teacher=None,
        optimizer=OptimizerSpec(
            learning_rate=1e-5, layer_decay=0.5, rates={"crf": 1e-2}, schedule="constant"
        ),
        stop=StopSpec(updates=1, min_updates=1),
    )
    sets = sets_of(found.recipe, found.corpus)
    schedule = Schedule(found, sets, found.corpus.task, tmp_path, seed=1, head="logits")
    schedule.run([stage])
    moved = {w.path: np.abs(np.array(w) - before[w.path]).max() for w in model.trainable_weights}
    assert moved.pop(head.steps.path) == pytest.approx(1e-2, rel=1e-2)
    assert 0 < max(moved.values()) < 1.1e-5


def test_rates_of_what_is_not_there_are_told_before_training():
    text = RECIPE.replace("    max_length: 48\n", "    fine_tune: {rates: {crv: 1.0e-3}}\n")
    recipe = parse_recipe(YAML().load(text.replace("TASK", "tags")))
    work = SimpleNamespace(recipe=recipe, corpus=load_corpus(recipe), base=Path())
    says = r"models\.teacher\.fine_tune\.rates names the layer groups \['crv'\]; the student has"
    with pytest.raises(RecipeError, match=says):
        check_stages(work)


def test_outputs_it_is_not_for_have_a_linear_head():
    found = models("intent_slots")
    model = found["student"].model
    kinds = {signal: spec.kind for signal, spec in model.head_specs.items()}
    assert kinds == {
        "labels/slots": "crf",
        "labels/intent": "linear",
        "logits/slots": "linear",
        "logits/intent": "linear",
    }
    assert list(model.decoding("labels")) == ["slots"]
    assert model.decoding("logits") == {}


def test_unknown_kinds_and_options_are_errors_of_the_recipe():
    for old, new, says in (
        (
            "logits: crf",
            "logits: crv",
            "models.teacher.heads: head 'logits': unknown kind",
        ),
        (
            "crf, logits",
            "{kind: crf, depth: 2}, logits",
            "models.student: head 'labels': crf has no option depth",
        ),
        (
            "crf, logits",
            "{kind: crf, constrained: 2}, logits",
            "option 'constrained' is 2, expected bool",
        ),
    ):
        recipe = parse_recipe(YAML().load(RECIPE.replace("TASK", "tags").replace(old, new)))
        with pytest.raises(RecipeError, match=says):
            check_models(recipe, Path())


@pytest.mark.slow
@pytest.mark.parametrize("in_graph", [False, True], ids=["in the runtime", "in the graph"])
@pytest.mark.parametrize("name", ["student", pytest.param("teacher", marks=pytest.mark.long)])
def test_the_file_decodes_as_keras_does(made, name, in_graph, tmp_path, monkeypatch):
    record, corpus = made[name], made.corpus
    path = tmp_path / "crf.tflite"
    arguments = (record.model, corpus.task, record.featurizer, corpus.splitter)
    options = {"quantize": "none", "length": 48, "batch": 4, "max_drop": 100}
    options["tags_in_graph"] = in_graph
    export_student(*arguments, examples=corpus.dev, out=path, head=HEAD[name], **options)
    predictor = Predictor(record.model, corpus.task, HEAD[name])
    rows = encode_rows(corpus.dev, record.featurizer, None)
    runtime = Runtime(path)
    answers = runtime.predict_words([e.words for e in corpus.dev])
    assert [a.tags for a in answers] == [p.tags for p in predictor.predict(rows)]
    with zipfile.ZipFile(path) as archive:
        heads = json.loads(archive.read("tfdistil.json"))["heads"]
    assert heads == record.model.decoding(HEAD[name])
    potentials = np.asarray(record.model.heads[f"{HEAD[name]}/tags"].potentials)
    written = np.array(heads["tags"]["constants"]["potentials"], np.float32)
    np.testing.assert_array_equal(written, potentials)  # digits enough for each float32
    assert "\nhead        tags: crf\n" in format_description(describe(path))
    monkeypatch.delitem(DECODERS, "crf")
    with pytest.raises(ModelFileError, match="'tags' is of the unknown kind 'crf'; this version"):
        Runtime(path)


@pytest.mark.parametrize("task", ["tags", "intent_slots"])
def test_in_iobes_every_answer_is_legal_iob2(task):
    found = models(
        text=RECIPE.replace("task: TASK", "task: {kind: TASK, scheme: iobes}"), task=task
    )
    record, given = found["hashed"], found.corpus.task
    output = given.outputs[0]
    head = record.model.heads[f"labels/{output.name}"]
    assert {label[0] for label in output.labels} == {*"OBIES"}
    forbidden = np.asarray(head.potentials) == IMPOSSIBLE
    for n, label in enumerate(output.labels):
        assert forbidden[-1, n] == (label[0] in "BI")  # no text ends with it
        assert forbidden[-2, n] == (label[0] in "IE")
    head.steps.assign(np.random.default_rng(1).normal(scale=4, size=head.steps.shape))
    rows = encode_rows(found.corpus.train, record.featurizer, None)
    answers = Predictor(record.model, given, "labels").predict(rows)
    assert all(not list(find_faults(answer.tags)) for answer in answers)
    assert len({tag for answer in answers for tag in answer.tags}) > 2
    # What is learnt is the gold path, which is possible.
    loss = label_terms(record.model, "labels")[0].loss
    assert loss == "crf_nll"
    for example in found.corpus.train:
        ids = given.targets(example)[output.name]
        steps = [len(output.labels), *ids[:-1]]
        assert not forbidden[steps, ids].any()
        assert not forbidden[-1, ids[-1]]


@pytest.mark.slow
def test_a_file_in_iobes_answers_in_iob2_as_keras_does(tmp_path):
    found = models(text=RECIPE.replace("task: TASK", "task: {kind: TASK, scheme: iobes}"))
    record, corpus = found["hashed"], found.corpus
    head = record.model.heads["labels/tags"]
    head.steps.assign(np.random.default_rng(1).normal(scale=4, size=head.steps.shape))
    path = tmp_path / "iobes.tflite"
    arguments = (record.model, corpus.task, record.featurizer, corpus.splitter)
    options = {"quantize": "none", "length": 48, "batch": 4, "max_drop": 100}
    export_student(*arguments, examples=corpus.dev, out=path, **options)
    runtime = Runtime(path)
    assert runtime.task.outputs == corpus.task.outputs
    rows = encode_rows(corpus.dev, record.featurizer, None)
    predictor = Predictor(record.model, corpus.task, "labels")
    answers = runtime.predict_words([e.words for e in corpus.dev])
    assert [a.tags for a in answers] == [p.tags for p in predictor.predict(rows)]
    assert all(not list(find_faults(answer.tags)) for answer in answers)
    assert any(answer.spans for answer in answers)


def test_a_graph_that_decodes_has_the_paths_as_further_outputs(made):
    """Of a student of word pieces also a mask of words as a further input."""
    inputs = {"student": ["input_ids", "attention_mask", "word_mask"],
              "hashed": ["fingerprint", "attention_mask"]}  # fmt: skip
    for name, expected in inputs.items():
        record = made[name]
        featurizer = record.featurizer
        examples = [e for e in made.corpus.dev if len(featurizer.encode(e.words)) == 1][:4]
        find, specs = record.model.export_function(
            48, len(examples), "labels", featurizer.word_mask
        )
        assert [spec.name for spec in specs] == expected
        windows = [featurizer.encode(e.words)[0] for e in examples]
        rows = []
        for spec in specs:
            fill = featurizer.padding.get(spec.name, 0)
            rows.append(np.full([int(n) for n in spec.shape], fill, spec.dtype))
            for row, window in zip(rows[-1], windows, strict=True):
                row[: window.length] = window.input(spec.name)
        found = find(*rows)
        assert list(found) == ["tags", "tags_path"]
        labels = made.corpus.task.outputs[0].labels
        rows = encode_rows(examples, featurizer, None)
        expected = Predictor(record.model, made.corpus.task, "labels").predict(rows)
        for path, window, one in zip(
            np.asarray(found["tags_path"]), windows, expected, strict=True
        ):
            firsts = window.tokens[window.starts]
            assert tuple(labels[tag] for tag in path[firsts]) == one.tags
            assert (np.delete(path, firsts) == NO_TAG).all()


def test_the_graph_forbids_what_iob2_forbids_though_training_did_not():
    text = RECIPE.replace("{labels: crf}", "{labels: {kind: crf, constrained: false}}")
    head = models(text=text)["hashed"].model.heads["labels/tags"]
    labels = head.size
    emissions = np.zeros((1, 3, labels), "float32")
    emissions[..., 2] = 9.0  # I-x everywhere, of the second label's type
    (path,) = np.asarray(head.path_finder()(emissions, np.ones((1, 3), "int32")))
    assert path.tolist() == [1, 2, 2]
    (without,) = np.asarray(head.path_finder()(emissions, np.array([[0, 0, 1]], "int32")))
    assert without.tolist()[:2] == [NO_TAG, NO_TAG]
    assert without[2] != 2


def test_a_file_has_the_potentials_in_few_digits(made):
    """Read as float32 they are the weights again, bit for bit."""
    model = made["student"].model
    given = model.decoding("labels")["tags"]["constants"]["potentials"]
    weights = np.asarray(model.heads["labels/tags"].potentials)
    np.testing.assert_array_equal(np.array(given, np.float32), weights)
    assert max(len(repr(number)) for row in given for number in row) <= 15
