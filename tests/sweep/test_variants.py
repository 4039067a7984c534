"""Variants in a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tfdistil.distill.freezing import phases
from tfdistil.distill.terms import stream_key
from tfdistil.errors import RecipeError
from tfdistil.recipe.loading import load_recipe
from tfdistil.recipe.recipe import Recipe
from tfdistil.sweep.points import plan_sweep, sweep_points
from tfdistil.sweep.variants import SHIPPED, read_variants

BILSTM = ["heads", "projection", "encoder", "embedding"]
PQRNN = ["heads", "encoder", "bottleneck", "statistics", "ranges"]
"""The layer groups of the students, from the top."""

OWN = """\
wide:
  models.student.hidden_dim: 300
  data.train: [{path: "a, b.conll"}]
as-it-is: {}
"""

RECIPE = """\
{base}
task: intent_slots
data:
  demo: {{kind: intent_slots, transfer: 50}}
models:
  teacher: {{scratch: {{}}}}
"""

OF_TEXT = """\
base: eliquare
data: {corpus: {sources: [{path: text.txt, language: sl}]}}
models: {teacher: {scratch: {}}}
"""

CASCADE_OF_12 = """\
base: camembert
data: {corpus: {sources: [{path: text.txt, language: sl}]}}
models:
  teacher:
    scratch: {layers: 12, hidden_dim: 12, heads: 2, intermediate_dim: 12, vocabulary: 100}
"""

CASCADE = Path(__file__).parents[2] / "benchmarks" / "recipes" / "cascade_en.yaml"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    return path


def test_names_and_overrides(file):
    assert read_variants(file) == [
        ["wide", "models.student.hidden_dim=300", 'data.train=[{"path": "a, b.conll"}]'],
        ["as-it-is"],
    ]
    assert read_variants(file, ["as-it-is"]) == [["as-it-is"]]


def test_errors_say_what_there_is(file, tmp_path):
    with pytest.raises(RecipeError, match="no variant 'narrow'; there are wide, as-it-is"):
        read_variants(file, ["narrow"])
    with pytest.raises(RecipeError, match=r"no such file; tfdistil comes with .*pqrnn_table5"):
        read_variants(tmp_path / "none.yaml")
    file.write_text("- wide\n")
    with pytest.raises(RecipeError, match=r"own.yaml: expected NAME: \{KEY: VALUE\}"):
        read_variants(file)


@pytest.mark.parametrize("name", sorted(path.stem for path in SHIPPED.glob("*.yaml")))
def test_every_shipped_variant_is_a_recipe(name, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    bases = {
        "pqrnn": "pqrnn",
        "multi_grained": "multi_grained",
        "crf": "d1",
        "pieces": "d1",
        "word": "d1",
    }
    base = next((f"base: {b}" for start, b in bases.items() if name.startswith(start)), "")
    of_text = {"eliquare_ablation": OF_TEXT, "camembert_layers": CASCADE_OF_12}
    recipe.write_text(of_text.get(name) or RECIPE.format(base=base))
    if name == "cascade_rates":  # of the stages of one recipe
        recipe = CASCADE
    plan = plan_sweep(recipe, sweep_points([], read_variants(name)), tmp_path / "out")
    assert len(plan.recipes) == len(read_variants(name)) > 1


def test_the_upper_bound_of_a_language_has_nothing_of_a_teacher(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(OF_TEXT.replace("scratch: {}", "checkpoint: folder"))
    ((_, *assignments),) = read_variants("eliquare_ablation", ["upper"])
    recipe, plain = load_recipe(path, assignments), load_recipe(path)
    assert list(recipe.models) == ["student"]
    assert recipe.plan() == ("student",)
    scratch = recipe.models["student"].scratch
    assert (scratch.layers, scratch.hidden_dim, scratch.heads) == (6, 768, 12)
    assert (scratch.intermediate_dim, scratch.pretrain) == (3072, None)
    (stage,), (taught,) = recipe.distill, plain.distill
    assert stage.teacher is None
    assert [term.loss for term in stage.terms] == ["masked_lm"]
    assert stage.optimizer.rates == {}
    same = {"teacher": None, "terms": stage.terms, "optimizer": stage.optimizer}
    assert taught.model_copy(update=same) == stage
    assert recipe.deliver == plain.deliver


def test_the_comparisons_of_a_cascade_make_what_they_need(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(CASCADE_OF_12)
    plans = {
        name: load_recipe(path, assignments).plan()
        for name, *assignments in read_variants("camembert_layers")
    }
    assistants = ["eleven", "ten", "nine", "eight", "seven", "six"]
    assert [*plans["assistants"]] == ["teacher", *assistants]
    assert [*plans["direct"]] == ["teacher", "direct"]
    assert [*plans["cut"]] == ["teacher", "cut"]


def budgets(name: str, folder: Path, base: str = "") -> dict[str, tuple[Recipe, Counter[str]]]:
    """Each variant's recipe, and the rows it draws from each stream, whatever the data.

    Nothing but the number of updates may end a phase: passes over a small set, or patience, would
    make the budget another one.
    """
    path = folder / "recipe.yaml"
    path.write_text(RECIPE.format(base=base))
    found = {}
    for variant, *assignments in read_variants(name):
        recipe = load_recipe(path, assignments)
        drawn: Counter[str] = Counter()
        for stage in recipe.distill:
            assert (stage.stop.epochs, stage.stop.patience) == (None, None), (variant, stage.name)
            updates = sum(phase.updates for phase in phases(stage, PQRNN if base else BILSTM))
            for stream in {stream_key(term.pool) for term in stage.terms}:
                drawn[stream] += updates * stage.batch_size
            drawn["updates"] += updates
        found[variant] = recipe, drawn
    return found


def test_the_schedules_of_table_3_have_equal_budgets(tmp_path):
    found = {name: drawn for name, (_, drawn) in budgets("xtremedistil_table3", tmp_path).items()}
    both, rows = "train+transfer", 64
    joint = {"updates": 2400, "train": 2400 * rows, both: 2400 * rows}
    staged = {"updates": 2400, "train": 1800 * rows, both: 2400 * rows}
    one_by_one = {"updates": 2400, "train": 700 * rows, both: 1700 * rows}
    assert found == {
        "D0-S": {"updates": 2400, "train": 2400 * rows},
        "D1": joint,
        "D2": joint,
        "D3.1": staged,
        "D3.2": staged,
        "D4.1": one_by_one,
        "D4.2": one_by_one,
    }


def test_staged_schedules_may_have_the_gold_rows_of_the_others(tmp_path):
    found = {name: drawn for name, (_, drawn) in budgets("xtremedistil_gold", tmp_path).items()}
    both, rows = "train+transfer", 64
    staged = {"updates": 3000, "train": 2400 * rows, both: 3000 * rows}
    one_by_one = {"updates": 4100, "train": 2400 * rows, both: 1700 * rows}
    assert found == {"D3.1": staged, "D3.2": staged, "D4.1": one_by_one, "D4.2": one_by_one}


@pytest.mark.parametrize("name", ["pqrnn_table3", "pqrnn_table3_slots"])
def test_the_rows_of_pqrnns_table_3_have_equal_budgets(name, tmp_path):
    found = budgets(name, tmp_path, "base: pqrnn")
    assert {"8x", "4x", "1x", "0x", "baseline"} <= set(found)
    for variant, (recipe, drawn) in found.items():
        taught = variant.endswith("x")
        times = int(variant[:-1]) if taught else 0
        stream = "train+augmented" if times else "train"
        assert drawn == {"updates": 3000, stream: 3000 * 128}, variant
        assert all((stage.teacher is not None) == taught for stage in recipe.distill), variant
        assert sum(spec.times for spec in recipe.data.augment) == times, variant


@pytest.mark.parametrize("name", ["pqrnn_table5", "pqrnn_scale", "pqrnn_hashing", "pqrnn_sizes"])
def test_one_thing_is_changed_and_never_the_budget(name, tmp_path):
    found = budgets(name, tmp_path, "base: pqrnn")
    assert len({tuple(sorted(drawn.items())) for _, drawn in found.values()}) == 1
    assert len({recipe.to_yaml() for recipe, _ in found.values()}) == len(found)


def test_hashes_are_all_that_pieces_and_hashes_differ_in(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE.format(base="base: d1"))
    variants = read_variants("pieces_and_hashes")
    recipes = {name: load_recipe(path, changes) for name, *changes in variants}
    pieces, hashes = (recipes[name].models["student"] for name in ("pieces", "hashes"))
    assert (pieces.options["hashed_dim"], hashes.options["hashed_dim"]) == (None, 64)
    assert sum(hashes.hashing.families.values()) == 512
    changed = {"hashing": pieces.hashing, "hashed_dim": None}
    assert hashes.model_copy(update=changed).model_dump() == pieces.model_dump()


def test_a_table_of_words_is_all_that_word_vectors_differ_in(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE.format(base="base: d1"))
    found = {
        name: load_recipe(path, changes).models["student"]
        for name, *changes in read_variants("word_vectors")
    }
    tables = {name: student.words and student.words.init for name, student in found.items()}
    assert tables == {"hashes": None, "random": "random", "teacher": "teacher"}
    plain = [student.model_copy(update={"words": None}).model_dump() for student in found.values()]
    assert plain[0] == plain[1] == plain[2]


def test_the_rows_of_multi_grained_distillation_differ_in_what_they_are_called(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE.format(base="base: multi_grained"))
    found = {}
    for variant, *assignments in read_variants("multi_grained_table1"):
        recipe = load_recipe(path, assignments)
        (stage,) = recipe.distill
        parts = variant.split("+")
        taught = {"DA", "SEQ", "TOKEN-EM", "TOKEN-POS"} & set(parts)
        assert (stage.teacher is not None) == bool(taught), variant
        assert (recipe.models["student"].embedding.init == "teacher") == ("TE" in parts)
        frozen = stage.groups is not None and "embedding" not in stage.groups
        assert frozen == ("TE" in parts)
        streams = {stream_key(term.pool) for term in stage.terms}
        assert streams == {"train+transfer" if "DA" in parts else "train"}, variant
        found[variant] = [term.loss for term in stage.terms]
        hard = "hard_label_nll" if "DA" in parts else "crf_nll"
        losses = {
            "SEQ": ["fuzzy_cross_entropy", "sequence_cross_entropy"],
            "TOKEN-EM": ["token_emissions"],
            "TOKEN-POS": ["token_marginals"],
        }
        assert found[variant] == [hard, *losses.get(parts[-1], [])], variant
    assert len(found) == 9


def test_rows_of_table_9_give_the_terms_a_rate_where_they_have_weights_to_learn():
    path = Path(__file__).parents[2] / "benchmarks/recipes/wnut17_layers.yaml"
    for variant, *assignments in read_variants("multi_grained_table9"):
        (stage,) = load_recipe(path, assignments).distill
        learned = variant not in ("BP", "BP+DA")
        assert (stage.weighting == "uncertainty") == learned, variant
        assert set(stage.optimizer.rates) == {"crf", *(["terms"] if learned else [])}, variant
