"""Several CRFs as one teacher: the pool of their distributions over paths, one path at a time."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from keras import ops
from scipy.special import softmax

from tests.crf.oracle import enumerate_paths
from tests.models.recipes import varied
from tfdistil.console.screen import Screen
from tfdistil.corpus.held_out import sets_of
from tfdistil.corpus.loading import load_corpus
from tfdistil.crf.constraints import IMPOSSIBLE
from tfdistil.crf.graph import graph_viterbi
from tfdistil.distill.bound_stage import bind_stage
from tfdistil.distill.evaluate import Predictor
from tfdistil.distill.rows import encode_rows
from tfdistil.encoders import scratch_encoder
from tfdistil.errors import RecipeError
from tfdistil.evaluation.evaluate import predictor_of
from tfdistil.models.graph import Models
from tfdistil.models.mean import MeanOfModels
from tfdistil.models.record import load_model, save_model
from tfdistil.pipeline.run import check_stages, train_model
from tfdistil.recipe.schema.stages import StageSpec, TermSpec
from tfdistil.recipe.systems import SystemId
from tfdistil.runs.folder import RunFolder, model_step
from tfdistil.runs.run import Run
from tfdistil.students import build_student
from tfdistil.tasks.decoders import DECODERS

LABELS = ["O", "B-a", "I-a", "B-b", "I-b"]
L, TEXTS, WORDS = len(LABELS), 3, 4
SCORES, STEPS = "labels/tags", "labels/tags/potentials"

RECIPE = """
task: intent_slots
data: {demo: {kind: intent_slots, languages: [en], train: 60, dev: 10, test: 10, transfer: 20}}
models:
  one:
    scratch: &small {layers: 1, hidden_dim: 16, heads: 2, intermediate_dim: 24, vocabulary: 300}
    fine_tune: &short {epochs: 1, learning_rate: 1.0e-2, batch_size: 16}
    heads: {logits: crf}
    max_length: 20
    seed: 1
  two: {scratch: *small, fine_tune: *short, heads: {logits: crf}, max_length: 20, seed: 2}
  teacher: {mean_of: [one, two]}
  student: {kind: bilstm, hidden_dim: 8, embedding: {dim: 8}, heads: {labels: crf}, max_length: 20}
distill:
  - name: joint
    terms:
      - {loss: crf_nll, output: slots}
      - {loss: sequence_cross_entropy, output: slots, stream: [train, transfer]}
      - {loss: token_marginals, output: slots, stream: [train, transfer]}
      - {loss: soft_cross_entropy, output: intent, stream: [train, transfer]}
    batch_size: 16
    stop: {updates: 8, monitor: loss}
baseline: false
"""


def models(*changes: tuple[str, str]) -> Models:
    recipe = varied(RECIPE, *changes)
    return Models(recipe, load_corpus(recipe), Path())


def member(seed: int, constrained: bool):
    """A student with an opinion, of labels that are no words and of a text's class."""
    model = build_student(
        "bilstm",
        outputs={"tags": ("word", L), "class": ("sequence", 3)},
        heads={"labels": {"kind": "crf", "labels": LABELS, "constrained": constrained}},
        vocabulary=20,
        embedding=4,
        hidden_dim=5,
    )
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(rng.normal(scale=0.8, size=weight.shape).astype(np.float32))
    return model


def signals(model) -> dict[str, np.ndarray]:
    rows = {"input_ids": np.random.default_rng(0).integers(1, 20, (TEXTS, WORDS)).astype("int32")}
    return {name: np.asarray(array) for name, array in model(rows).items()}


def pooled(given: list[dict[str, np.ndarray]], text: int, weight: float):
    """The oracle: paths of one text, best first, and their log-probabilities in the pool."""
    each = [enumerate_paths(one[SCORES][text], one[STEPS]) for one in given]
    paths = each[0].paths
    logs = weight * sum(np.array([one.log_p_of(path) for path in paths]) for one in each)
    order = np.argsort(-logs, kind="stable")
    return paths[order], (logs - np.logaddexp.reduce(logs))[order]


@pytest.mark.parametrize("constrained", [True, False], ids=["iob2", "all paths"])
@pytest.mark.parametrize("count", [2, 3])
def test_a_path_has_the_geometric_mean_of_its_probabilities(count, constrained):
    members = {str(seed): member(seed, constrained) for seed in range(count)}
    mean = MeanOfModels(members)
    found, given = signals(mean), [signals(one) for one in members.values()]
    assert tuple(found) == mean.signals() == (SCORES, STEPS, "labels/class")
    assert mean.level(STEPS) == "model"
    legal = members["0"].heads[SCORES].allowed if constrained else np.ones((L + 2, L), bool)
    np.testing.assert_array_equal(found[STEPS] == IMPOSSIBLE, ~legal)
    constants = mean.decoding("labels")["tags"]["constants"]
    decoder = DECODERS["crf"](L, potentials=np.asarray(constants["potentials"], np.float64))
    (derivation,) = mean.derivations([f"{SCORES}/paths/3"])
    mask = np.ones((TEXTS, WORDS), "int32")
    lists = derivation.make(
        [ops.convert_to_tensor(found[name]) for name in derivation.reads],
        ops.convert_to_tensor(mask),
        ops.zeros(TEXTS, "bool"),
    )
    lists = derivation.select({name: np.asarray(array) for name, array in lists.items()})
    in_graph = np.asarray(graph_viterbi(found[STEPS], found[SCORES], ops.convert_to_tensor(mask)))
    for text in range(TEXTS):
        paths, log_p = pooled(given, text, 1 / count)
        own = enumerate_paths(found[SCORES][text], found[STEPS])
        assert len(own.paths) == len(paths)
        np.testing.assert_allclose([own.log_p_of(path) for path in paths], log_p, atol=1e-5)
        assert (log_p[:3] - log_p[1:4]).min() > 1e-4  # no ties
        decoded = decoder.words(found[SCORES][text], start=legal[-2], follow=legal[:-2])
        np.testing.assert_array_equal(decoded, paths[0])
        np.testing.assert_array_equal(in_graph[text], paths[0])
        np.testing.assert_array_equal(lists[f"{SCORES}/paths/3"][text].T, paths[:3])
        # No mean of the members' probabilities, and no member either.
        for one in given:
            alone = enumerate_paths(one[SCORES][text], one[STEPS])
            assert np.abs(alone.log_p_of(paths[0]) - log_p[0]) > 1e-3
    each = [softmax(one["labels/class"].astype("f8"), axis=-1) for one in given]
    np.testing.assert_allclose(np.exp(found["labels/class"]), np.mean(each, axis=0), atol=1e-6)


def test_a_mean_of_one_model_twice_is_that_model():
    one = member(3, constrained=True)
    expected, found = signals(one), signals(MeanOfModels({"a": one, "b": one}))
    np.testing.assert_allclose(found[SCORES], expected[SCORES], atol=1e-6)
    np.testing.assert_array_equal(found[STEPS], expected[STEPS])


def test_it_has_no_potentials_of_its_own_and_follows_those_of_its_members():
    members = {str(seed): member(seed, constrained=False) for seed in range(2)}
    mean = MeanOfModels(members)
    assert mean.count_params() == 2 * members["0"].count_params()
    grouped = [id(weight) for _, weights in mean.layer_groups() for weight in weights]
    assert sorted(grouped) == sorted(id(weight) for m in members.values() for weight in m.weights)
    for n, one in enumerate(members.values()):
        one.heads[SCORES].steps.assign(np.full((L + 2, L), float(n)))
    np.testing.assert_array_equal(signals(mean)[STEPS], np.full((L + 2, L), 0.5))
    np.testing.assert_array_equal(mean.decoding("labels")["tags"]["constants"]["potentials"], 0.5)


def test_crfs_that_allow_other_steps_have_no_mean():
    with pytest.raises(ValueError, match=r"'b' .*constrained: False.*, but 'a' .*: True"):
        MeanOfModels({"a": member(0, constrained=True), "b": member(1, constrained=False)})


def test_what_scores_pieces_has_no_mean():
    model = scratch_encoder(
        vocabulary=9, hidden_dim=4, layers=1, attention_heads=1, heads={"logits": "mlm"}
    )
    with pytest.raises(ValueError, match=r"distributions over single labels.*or over label paths"):
        MeanOfModels({"a": model, "b": model})


def test_saved_and_loaded_it_says_the_same(tmp_path):
    made = models()
    task, names = made.corpus.task, ("one", "two", "teacher")
    for n, name in enumerate(names[:2]):
        steps = made[name].model.heads["logits/slots"].steps
        steps.assign(np.random.default_rng(n).normal(size=steps.shape))
    for name in names:
        save_model(made[name], task, tmp_path / name)
    again, record = load_model(tmp_path / "teacher"), made["teacher"]
    rows = encode_rows(made.corpus.dev, record.featurizer, task)
    batch = rows.inputs(range(len(rows)))
    expected, found = record.model(batch), again.model(batch)
    assert {"logits/slots", "logits/slots/potentials", "logits/intent"} == set(found)
    for signal, array in expected.items():
        np.testing.assert_allclose(found[signal], array, atol=1e-5, err_msg=signal)
    assert again.model.decoding("logits") == record.model.decoding("logits")
    assert [*again.model.decoding("logits")] == ["slots"]
    first, second = (Predictor(m.model, task, "logits") for m in (record, again))
    assert first.predict(rows) == second.predict(rows)


def test_every_loss_on_paths_takes_it_for_a_crf():
    made = models()
    for loss in (
        "sequence_cross_entropy",
        "fuzzy_cross_entropy",
        "hard_label_nll",
        "token_marginals",
        "token_emissions",
    ):
        stage = StageSpec(name="s", terms=[TermSpec(loss=loss, output="slots", stream="transfer")])
        bind_stage(stage, made, sets_of(made.recipe, made.corpus), made.corpus.task)
    stage = StageSpec(name="s", terms=[TermSpec(loss="hard_label_cross_entropy", output="slots")])
    with pytest.raises(RecipeError, match="decides by whole paths; use hard_label_nll"):
        bind_stage(stage, made, made.corpus.sets(), made.corpus.task)


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ("linear", r"'two' scores logits/slots \(linear, \d+\), .*'one' scores logits/slots \(crf"),
        ("{kind: crf, constrained: false}", r"'two' scores .*constrained: False.*, but 'one'"),
    ],
)
def test_members_of_other_heads_are_refused_before_any_is_trained(after, says, tmp_path):
    change = "heads: {logits: crf}, max_length", f"heads: {{logits: {after}}}, max_length"
    made = models(change)
    work = Run(RunFolder(tmp_path / "run", made.recipe), made.corpus, Screen())
    with pytest.raises(RecipeError, match=rf"models\.teacher\.mean_of: {says}"):
        check_stages(work)


@pytest.mark.slow
@pytest.mark.long
def test_from_the_recipe_to_a_student(tmp_path):
    made = models()
    work = Run(RunFolder(tmp_path / "run", made.recipe), made.corpus, Screen())
    assert made.recipe.plan() == ("one", "two", "teacher", "student")
    for name in made.recipe.plan():
        work.folder.once(model_step(name), partial(train_model, work, name))
    assert work.answers("teacher")
    one, two, teacher = (work.model(name) for name in ("one", "two", "teacher"))
    rows = encode_rows(made.corpus.test, teacher.featurizer, made.corpus.task)
    batch = rows.inputs(range(len(rows)))
    both = [{k: np.asarray(v) for k, v in m.model(batch).items()} for m in (one, two)]
    found = {k: np.asarray(v) for k, v in teacher.model(batch).items()}
    for signal in ("logits/slots", "logits/slots/potentials"):
        assert np.abs(both[0][signal] - both[1][signal]).max() > 1e-3  # two seeds
        expected = np.mean([one[signal] for one in both], axis=0)
        np.testing.assert_allclose(found[signal], expected, atol=1e-4)
    # Its answers are scored as those of its members, and its best paths stored as those of any CRF.
    for name in ("one", "teacher"):
        assert len(predictor_of(work, SystemId(name))(made.corpus.test)) == 10
    assert [*(work.folder.path / "cache").rglob("logits.slots.paths.15-*/*.shard")]
    (phase,) = work.folder.facts(model_step("student"))["phases"]
    assert phase["updates"] == 8
