"""The points of a sweep: one recipe with other values, each under a name of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tfdistil.errors import RecipeError, RunError
from tfdistil.files import read_json, write_json
from tfdistil.recipe.loading import load_recipe, plain_value
from tfdistil.recipe.recipe import Recipe
from tfdistil.runs.folder import RunFolder, base_of_file

RECORD = "sweep.json"
_NAME = re.compile(r"(?!sweep\.)\w[\w+.,=-]*")  # the folder has files sweep.csv and so on
_NOT_IN_NAMES = re.compile(r"[^\w+.-]+")
_LONGEST_NAME = 150


@dataclass(frozen=True)
class Point:
    """One run of a sweep.

    Attributes:
        name: of its folder, unique in the sweep.
        label: what stands beside it in a plot: ``(50, 200)``, or the name of a variant.
        assignments: ``key=value`` overrides of the sweep's recipe.
    """

    name: str
    label: str
    assignments: tuple[str, ...]


def sweep_points(
    grids: Sequence[str], variants: Sequence[Sequence[str]], seeds: Sequence[int] = ()
) -> list[Point]:
    """The product of the grids, then the variants, each once with every seed.

    Args:
        grids: ``key=value,value``; the values are YAML, so that lists and texts with commas are
            written as ``[a, b]`` and ``"a, b"``.
        variants: a name and its overrides each; a name alone is the recipe as it is.
        seeds: alone they are the recipe as it is, once with each.

    Raises:
        RecipeError: none of them, one that cannot be read, a name or a seed twice.
    """
    if not grids and not variants and not seeds:
        raise RecipeError(
            "a sweep needs points; give --grid KEY=VALUE,VALUE (all combinations of several), "
            "--seeds N,N or --variant NAME KEY=VALUE"
        )
    points = [*_grid_points(dict(_grid(text) for text in grids)), *map(_variant, variants)]
    keys = Counter(text.partition("=")[0] for text in grids)
    for what, counts in (
        ("--grid", keys),
        ("the name", Counter(point.name for point in points)),
    ):
        again = [name for name, count in counts.items() if count > 1]
        if again:
            raise RecipeError(
                f"{what} {again[0]!r} is there {counts[again[0]]} times; once is enough"
            )
    if seeds and "seed" in keys:
        raise RecipeError("--grid seed=... and --seeds both say which seeds; give one of them")
    return with_seeds(points, seeds)


def with_seeds(points: Sequence[Point], seeds: Sequence[int]) -> list[Point]:
    """Every point once with each seed, named after both; without seeds the points as they are.

    Without points the seeds are points of their own.

    Raises:
        RecipeError: a seed twice.
    """
    if len(set(seeds)) < len(seeds):
        raise RecipeError(f"--seeds {','.join(map(str, seeds))}: each once is enough")
    if not seeds:
        return list(points)
    if not points:
        return [Point(f"seed={seed}", str(seed), (f"seed={seed}",)) for seed in seeds]
    return [
        Point(
            f"{point.name},seed={seed}",
            f"{point.label}, {seed}",
            (*point.assignments, f"seed={seed}"),
        )
        for point in points
        for seed in seeds
    ]


def _grid(text: str) -> tuple[str, list[Any]]:
    key, equals, values = text.partition("=")
    if not equals or not key or not values.strip():
        raise RecipeError(
            f"--grid {text}: expected KEY=VALUE,VALUE, e.g. models.student.hidden_dim=100,200"
        )
    return key, list(plain_value(f"[{values}]", f"--grid {text}"))


def _grid_points(grids: Mapping[str, Sequence[Any]]) -> list[Point]:
    if not grids:
        return []
    names = short_keys(list(grids))
    points = []
    for values in product(*grids.values()):
        texts = [_text(value) for value in values]
        pairs = zip(names, map(_short, values), strict=True)
        name = ",".join(f"{key}={value}" for key, value in pairs)
        label = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
        assignments = [f"{key}={as_yaml(value)}" for key, value in zip(grids, values, strict=True)]
        if len(name) > _LONGEST_NAME:
            raise RecipeError(
                f"--grid: {name[:40]}… is too long for a folder; give such points a name with "
                f"--variant NAME {assignments[0].partition('=')[0]}=VALUE"
            )
        points.append(Point(name, label, tuple(assignments)))
    return points


def _variant(words: Sequence[str]) -> Point:
    name, *assignments = words
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise RecipeError(
            f"--variant {name}: expected a NAME for its folder first, of letters, digits and "
            "_ - + . , = and not `sweep.`; then KEY=VALUE"
        )
    if not assignments and "=" in name:
        raise RecipeError(f"--variant {name}: expected NAME KEY=VALUE, e.g. narrow {name}")
    for text in assignments:
        if "=" not in text:
            raise RecipeError(f"--variant {name}: expected KEY=VALUE, got {text!r}")
    return Point(name, name, tuple(assignments))


def short_keys(keys: Sequence[str]) -> list[str]:
    """The last parts of dotted keys, as many as it takes to tell them apart."""
    parts = [key.split(".") for key in keys]
    short = []
    for own in parts:
        others = [other for other in parts if other != own]
        size = next(
            (n for n in range(1, len(own)) if all(o[-n:] != own[-n:] for o in others)), len(own)
        )
        short.append(_NOT_IN_NAMES.sub("-", ".".join(own[-size:])))
    return short


def _short(value: Any) -> str:
    """A value in a name; brackets, quotes and slashes are left out, the sign of a number is not."""
    text = _NOT_IN_NAMES.sub("-", _text(value))
    return text if isinstance(value, int | float) else text.strip("-")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def as_yaml(value: Any) -> str:
    """A value on one line; JSON is YAML too, and most texts need no quotes."""
    if isinstance(value, str) and re.fullmatch(r"(?!null|true|false)[A-Za-z][\w./-]*", value, re.I):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True)
class Plan:
    """What a sweep is to do.

    Attributes:
        points: those that are to be there in the end, and those of earlier commands.
        recipes: point name to its recipe.
        wanted: names of the points that are to be there in the end.
        base: folder that paths in the recipes are relative to.
        source: a run of the recipe, whose teacher serves all points it fits; or None.
    """

    points: tuple[Point, ...]
    recipes: Mapping[str, Recipe]
    wanted: frozenset[str]
    base: Path
    source: Path | None


def plan_sweep(
    recipe: str | Path, points: Sequence[Point], out: Path, assignments: Sequence[str] = ()
) -> Plan:
    """Check the recipe of every point, those of earlier commands in the same folder included.

    Args:
        recipe: a YAML file, the name of a recipe that comes with tfdistil, or the folder of a run.
        points: those of `sweep_points`.
        out: folder of the sweep.
        assignments: overrides of all points.

    Raises:
        RecipeError: what is wrong with which point, or points of several tasks.
        RunError: a folder that holds something else.
    """
    source = Path(recipe) if Path(recipe).is_dir() else None
    if source is not None:
        for text in (*assignments, *(text for point in points for text in point.assignments)):
            if text.partition("=")[0] == "base":
                raise RecipeError(
                    f"{text}: the recipe of a run has every key already, so a base would change "
                    "nothing; give the recipe file instead of the run"
                )
        RunFolder(source)  # which says what is wrong with it
        recipe = source / "recipe.yaml"
    base = base_of_file(Path(recipe)) if Path(recipe).exists() else Path()
    every = {point.name: point for point in (*recorded_points(out), *points)}
    recipes = {}
    for name, point in every.items():
        try:
            recipes[name] = load_recipe(recipe, [*assignments, *point.assignments])
        except RecipeError as error:
            raise RecipeError(f"{name}: {error}") from None
    tasks = {of.task.kind: name for name, of in recipes.items()}
    if len(tasks) > 1:
        found = ", ".join(f"{kind} in {name}" for kind, name in tasks.items())
        raise RecipeError(f"task is {found}; the points of a sweep share one task and its metric")
    wanted = frozenset(point.name for point in points)
    return Plan(tuple(every.values()), recipes, wanted, base, source)


def recorded_points(out: Path) -> list[Point]:
    """The points of earlier commands whose folders are there.

    Raises:
        RunError: the folder has something in it and is not that of a sweep, or its record is
            damaged.
    """
    file = out / RECORD
    if not file.is_file():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise RunError(f"{out}: neither empty nor the folder of a sweep; give another --out")
        return []
    try:
        found = [
            Point(str(entry["name"]), str(entry["label"]), tuple(map(str, entry["assignments"])))
            for entry in read_json(file)["points"]
        ]
    except (KeyError, TypeError):
        raise RunError(f"{file}: not the record of a sweep; give another --out") from None
    for point in found:
        if point.name == ".." or point.name != Path(point.name).name:
            raise RunError(f"{file}: {point.name!r} is no name of a folder; give another --out")
    return [point for point in found if (out / point.name).is_dir()]


def record_points(out: Path, points: Sequence[Point]) -> None:
    """Keep which folder is which point."""
    write_json(out / RECORD, {"points": [asdict(point) for point in points]})
