"""A recipe in any form to a finished run: `tfdistil.run`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.quiet import import_tensorflow
from tfdistil.recipe import Recipe
from tfdistil.recipe_file import load_recipe

if TYPE_CHECKING:
    from tfdistil.run_metrics import Metrics


def run(
    recipe: Recipe | str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    base: str | Path | None = None,
) -> Metrics:
    """Do everything a recipe asks for that is not done yet.

    Args:
        recipe: what `tfdistil.load_recipe` gives or takes.
        out: the run folder; an unfinished run of the same recipe goes on.
        base: what relative paths in the recipe are relative to; None: the folder of its file, or
            the working directory.

    Returns:
        All that was measured, as ``metrics.json`` holds it.

    Raises:
        TfdistilError: whatever is wrong with the recipe, the data, the checkpoint or the folder.
    """
    if not isinstance(recipe, Recipe):
        base = base_of(recipe) if base is None else base
        recipe = load_recipe(recipe)  # its errors come before slow imports
    import_tensorflow()
    from tfdistil.pipeline import run as run_recipe

    return run_recipe(recipe, out, None if base is None else Path(base))


def base_of(recipe: str | Path | Mapping[str, Any]) -> Path:
    """The folder that paths in a recipe are relative to: that of its file, where it has one."""
    if isinstance(recipe, Mapping) or not Path(recipe).exists():
        return Path()
    return Path(recipe).parent
