"""Variants in a file."""

from __future__ import annotations

import pytest

from tfdistil.errors import RecipeError
from tfdistil.recipe_file import load_recipe
from tfdistil.sweep_points import plan_sweep, sweep_points
from tfdistil.sweep_variants import SHIPPED, read_variants

OWN = """\
wide:
  models.student.width: 300
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


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    return path


def test_names_and_overrides(file):
    assert read_variants(file) == [
        ["wide", "models.student.width=300", 'data.train=[{"path": "a, b.conll"}]'],
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
    recipe.write_text(RECIPE.format(base="base: pqrnn" if name.startswith("pqrnn") else ""))
    plan = plan_sweep(recipe, sweep_points([], read_variants(name)), tmp_path / "out")
    assert len(plan.recipes) == len(read_variants(name)) > 1


def test_the_schedules_of_table_3_have_equal_budgets(tmp_path):
    from tfdistil.distill.freezing import phases

    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.format(base=""))
    groups = ["heads", "projection", "encoder", "embedding"]
    for name, *assignments in read_variants("xtremedistil_table3"):
        stages = load_recipe(recipe, assignments).distill
        budget = sum(p.updates * s.batch_size for s in stages for p in phases(s, groups))
        assert budget == 2400 * 64, name


def test_the_rows_of_pqrnns_table_3_have_equal_budgets(tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.format(base="base: pqrnn"))
    for name, *assignments in read_variants("pqrnn_table3"):
        found = load_recipe(recipe, assignments)
        assert sum(s.stop.updates * s.batch_size for s in found.distill) == 3000 * 128, name
        taught = name.endswith("x")
        assert all((stage.teacher is not None) == taught for stage in found.distill), name
        made = sum(spec.times for spec in found.data.augment)
        assert made == (int(name[:-1]) if taught else 0), name
