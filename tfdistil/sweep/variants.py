"""Variants of a recipe in a file: the rows of a published table, or those of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tfdistil.errors import RecipeError
from tfdistil.recipe.loading import load_tree
from tfdistil.sweep.points import as_yaml

SHIPPED = Path(__file__).parents[1] / "variants"


def read_variants(path: str | Path, names: Sequence[str] = ()) -> list[list[str]]:
    """Names and overrides, as `tfdistil.sweep.points.sweep_points` takes them.

    Args:
        path: a YAML file of ``name: {key: value}``, or the name of one that comes with tfdistil.
        names: which of them; none: all.

    Raises:
        RecipeError: a file that cannot be read or is no such mapping, or a name it does not have.
    """
    shipped = SHIPPED / f"{path}.yaml"
    if not Path(path).exists():
        if not shipped.exists():
            there = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.yaml")))
            raise RecipeError(f"--variants {path}: no such file; tfdistil comes with {there}")
        path = shipped
    tree = load_tree(path)
    if not isinstance(tree, Mapping) or not all(isinstance(v, Mapping) for v in tree.values()):
        raise RecipeError(f"{path}: expected NAME: {{KEY: VALUE}} for each variant")
    unknown = [name for name in names if name not in tree]
    if unknown:
        raise RecipeError(f"{path}: no variant {unknown[0]!r}; there are {', '.join(tree)}")
    return [
        [str(name), *(f"{key}={as_yaml(value)}" for key, value in tree[name].items())]
        for name in (names or tree)
    ]
