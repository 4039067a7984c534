"""Grids and variants: which points there are, what they are called, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfdistil.errors import RecipeError, RunError
from tfdistil.recipe.loading import load_recipe, load_tree, look_up, override
from tfdistil.runs.folder import RunFolder
from tfdistil.sweep.points import (
    RECORD,
    Point,
    plan_sweep,
    record_points,
    recorded_points,
    short_keys,
    sweep_points,
    with_seeds,
)

TINY = Path(__file__).parents[1] / "tiny.yaml"
E, H = "models.student.embedding.dim", "models.student.hidden_dim"


def test_a_grid_is_the_product_in_order():
    points = sweep_points([f"{E}=50,100", f"{H}=200,400"], [])
    assert [point.name for point in points] == [
        "dim=50,hidden_dim=200",
        "dim=50,hidden_dim=400",
        "dim=100,hidden_dim=200",
        "dim=100,hidden_dim=400",
    ]
    assert points[1] == Point("dim=50,hidden_dim=400", "(50, 400)", (f"{E}=50", f"{H}=400"))


def test_variants_are_further_points():
    points = sweep_points(["seed=1"], [["full"], ["no-mask", f"{H}=8", "baseline=false"]])
    assert points == [
        Point("seed=1", "1", ("seed=1",)),
        Point("full", "full", ()),
        Point("no-mask", "no-mask", (f"{H}=8", "baseline=false")),
    ]


def test_seeds_multiply_all_points():
    points = sweep_points([f"{H}=4,8"], [["full"]])
    assert with_seeds(points, []) == points
    found = with_seeds(points, [1, 2])
    assert [point.name for point in found] == [
        f"{name},seed={seed}"
        for name in ("hidden_dim=4", "hidden_dim=8", "full")
        for seed in (1, 2)
    ]
    assert found[1] == Point("hidden_dim=4,seed=2", "4, 2", (f"{H}=4", "seed=2"))
    with pytest.raises(RecipeError, match="--seeds 1,1"):
        with_seeds(points, [1, 1])


@pytest.mark.parametrize(
    ("text", "names", "given"),
    [
        ("a=1e-3,-2", ["a=0.001", "a=-2"], ["a=0.001", "a=-2"]),
        ("a=svd,random", ["a=svd", "a=random"], ["a=svd", "a=random"]),
        ("a=null,true", ["a=null", "a=true"], ["a=null", "a=true"]),
        ('a="true","1"', ["a=true", "a=1"], ['a="true"', 'a="1"']),
        ("a=[x],[x, y]", ["a=x", "a=x-y"], ['a=["x"]', 'a=["x", "y"]']),
        ('a="data/x.txt, old"', ["a=data-x.txt-old"], ['a="data/x.txt, old"']),
    ],
)
def test_values_are_yaml_and_names_are_those_of_folders(text, names, given):
    points = sweep_points([text], [])
    assert [point.name for point in points] == names
    assert [point.assignments for point in points] == [(assignment,) for assignment in given]


PRINTABLE = st.text(st.characters(exclude_categories=["C"]), max_size=30)


@settings(deadline=None)
@given(
    st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.none(), PRINTABLE)
)
def test_what_a_point_assigns_is_read_back_as_it_was(value):
    (point,) = sweep_points([f"name={json.dumps(value, ensure_ascii=False)}"], [])
    tree: dict[str, Any] = {}
    override(tree, point.assignments)
    assert tree == {"name": value}
    assert "/" not in point.name


def test_keys_are_as_short_as_they_are_clear():
    assert short_keys([H]) == ["hidden_dim"]
    assert short_keys([E, H]) == ["dim", "hidden_dim"]
    teacher = "models.teacher.scratch.hidden_dim"
    assert short_keys([teacher, H]) == ["scratch.hidden_dim", "student.hidden_dim"]
    assert short_keys(["hidden_dim", "a.hidden_dim"]) == ["hidden_dim", "a.hidden_dim"]
    assert short_keys(["seed", "a.b.c", "x.b.c"]) == ["seed", "a.b.c", "x.b.c"]


@pytest.mark.parametrize(
    ("grids", "variants", "says"),
    [
        ([], [], "give --grid KEY=VALUE,VALUE .* or --variant NAME KEY=VALUE"),
        (["seed"], [], "--grid seed: expected KEY=VALUE,VALUE"),
        (["seed="], [], "expected KEY=VALUE,VALUE"),
        (["=3"], [], "expected KEY=VALUE,VALUE"),
        (["a=[1"], [], r"--grid a=\[1: not valid YAML"),
        (["a=1", "a=2"], [], "--grid 'a' is there 2 times"),
        (["a=1,1"], [], "the name 'a=1' is there 2 times"),
        (["a=1"], [["a=1", "b=2"]], "the name 'a=1' is there 2 times"),
        ([f"a={'x' * 200}"], [], "too long for a folder; .* --variant NAME a=VALUE"),
        ([], [["seed=3"]], "expected NAME KEY=VALUE, e.g. narrow seed=3"),
        ([], [["wide", "seed"]], "--variant wide: expected KEY=VALUE, got 'seed'"),
        ([], [["a/b", "seed=3"]], "--variant a/b: expected a NAME for its folder"),
        ([], [["..", "seed=3"]], "expected a NAME"),
        ([], [["sweep.csv", "seed=3"]], "expected a NAME"),
    ],
)
def test_what_is_no_point_is_refused(grids, variants, says):
    with pytest.raises(RecipeError, match=says):
        sweep_points(grids, variants)


def test_every_recipe_is_checked_and_named_by_its_point(tmp_path):
    points = sweep_points([f"{H}=8,wide"], [])
    plan = plan_sweep(TINY, points[:1], tmp_path / "out", ["seed=5"])
    assert plan.recipes == {"hidden_dim=8": load_recipe(TINY, ["seed=5", f"{H}=8"])}
    assert (plan.base, plan.source, plan.wanted) == (TINY.parent, None, {"hidden_dim=8"})
    wrong = sweep_points([], [["fast", "distill.nix.stop.epochs=1"]])
    with pytest.raises(RecipeError, match=r"^fast: --set .*no 'nix' here"):
        plan_sweep(TINY, wrong, tmp_path / "out")
    two = sweep_points(["task=tags,classes"], [])
    with pytest.raises(
        RecipeError, match=r"tags in task=tags, classes in task=classes; the points"
    ):
        plan_sweep(TINY, two, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_variant_may_have_another_base(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "base: d1\ntask: tags\ndata: {demo: {kind: tags}}\nmodels: {teacher: {scratch: {}}}\n"
    )
    points = sweep_points([], [["D0", "base=d0_s"], ["D1"]])
    recipes = plan_sweep(tmp_path / "mine.yaml", points, tmp_path / "out").recipes
    assert len(recipes["D0"].distill[0].terms) == 1
    assert recipes["D1"] == load_recipe(tmp_path / "mine.yaml")


def test_points_of_earlier_commands_are_remembered_as_long_as_their_folders_are_there(tmp_path):
    first, second = sweep_points(["seed=1"], []), sweep_points(["seed=2"], [])
    record_points(tmp_path, [*first, *second])
    (tmp_path / "seed=1").mkdir()
    assert recorded_points(tmp_path) == first
    plan = plan_sweep(TINY, second, tmp_path)
    assert (plan.points, plan.wanted) == ((*first, *second), {"seed=2"})


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for out in (tmp_path, tmp_path / "thesis.tex"):
        with pytest.raises(RunError, match="neither empty nor the folder of a sweep"):
            plan_sweep(TINY, sweep_points(["seed=1"], []), out)


def test_a_run_gives_its_recipe_and_its_base(tmp_path):
    RunFolder(tmp_path / "run", load_recipe(TINY, ["seed=7"])).remember(base="/data")
    plan = plan_sweep(tmp_path / "run", sweep_points(["baseline=false"], []), tmp_path / "out")
    assert plan.recipes["baseline=false"] == load_recipe(TINY, ["seed=7", "baseline=false"])
    assert (plan.base, plan.source) == (Path("/data"), tmp_path / "run")
    for points, sets in ((sweep_points([], [["D1", "base=d1"]]), []), (plan.points, ["base=d1"])):
        with pytest.raises(RecipeError, match="a base would change nothing"):
            plan_sweep(tmp_path / "run", points, tmp_path / "out", sets)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="not a run folder"):
        plan_sweep(tmp_path / "empty", sweep_points(["seed=1"], []), tmp_path / "out")


def test_a_key_leads_to_what_it_overrides():
    tree = load_tree(TINY)
    assert look_up(tree, E) == 16
    assert look_up(tree, "distill.joint.terms.logit_mse.stream") == ["train", "transfer"]
    assert look_up(tree, "distill.0.batch_size") == look_up(tree, "distill.joint.batch_size") == 16
    for nowhere in ("nix", "distill.nix.stop", "distill.7", "name.x"):
        assert look_up(tree, nowhere) is None


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ("{", "damaged"),
        ("[" * 100_000, "damaged"),
        ("[]", "not the record of a sweep"),
        ('{"points": [{"name": "a"}]}', "not the record of a sweep"),
        ('{"points": [{"name": "../x", "label": "", "assignments": []}]}', "'../x' is no name"),
        ('{"points": [{"name": "/tmp", "label": "", "assignments": []}]}', "'/tmp' is no name"),
        ('{"points": [{"name": "..", "label": "", "assignments": []}]}', "'..' is no name"),
    ],
)
def test_a_record_leads_nowhere_else(tmp_path, record, says):
    (tmp_path / RECORD).write_text(record, "utf-8")
    with pytest.raises(RunError, match=re.escape(says)):
        recorded_points(tmp_path)
