"""A recipe in any form, and data from memory, to a finished run: `tfdistil.run`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.console.silence import import_backend
from tfdistil.data.memory import Columns, Row, Tables, rows_of_sets, rows_to_bytes
from tfdistil.errors import RecipeError, RunError
from tfdistil.files import write_bytes
from tfdistil.recipe.loading import load_recipe, parse_recipe, recipe_tree
from tfdistil.recipe.recipe import Recipe
from tfdistil.runs.folder import DATA, RunFolder, base_of_file

AnyRecipe = Recipe | str | Path | Mapping[str, Any]

if TYPE_CHECKING:
    from tfdistil.runs.run_metrics import Metrics


def run(
    recipe: AnyRecipe,
    out: str | Path,
    data: Tables | None = None,
    *,
    columns: Columns | None = None,
    base: str | Path | None = None,
) -> Metrics:
    """Do everything a recipe asks for that is not done yet.

    Args:
        recipe: what `tfdistil.load_recipe` gives or takes.
        out: the run folder; an unfinished run of the same recipe and data goes on.
        data: ``train``, ``dev`` (or ``validation``), ``test``, ``transfer``: each a list of
            `Example`, a pandas frame or a split of Hugging Face datasets. A set that is not given
            is the recipe's. They are kept as files in the run folder.
        columns: ``words``, ``text``, ``tags``, ``label``, ``second``, ``language`` to the column
            that has it, where the name does not tell (`tfdistil.data.memory.FIELDS`).
        base: what relative paths in the recipe are relative to; None: the folder of its file, or
            the working directory.

    Returns:
        All that was measured, as ``metrics.json`` holds it.

    Raises:
        TfdistilError: whatever is wrong with the recipe, the data, the checkpoint or the folder.
    """
    if base is None:
        base = base_of(recipe)
    # Errors of recipe and data come before slow imports.
    if data is not None:
        recipe = _keep(recipe, Path(out), rows_of_sets(data, columns))
    elif not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe)
    import_backend()
    from tfdistil.console.screen import Screen
    from tfdistil.pipeline.run import run as run_recipe

    try:
        return run_recipe(recipe, out, Path(base))
    except KeyboardInterrupt:
        Screen().line(f"\nstopped; to go on from here, give the same recipe and --out {out} again")
        raise


def base_of(recipe: AnyRecipe) -> Path:
    """The folder that paths in a recipe are relative to, see `base_of_file`, where it is a file."""
    if isinstance(recipe, Recipe | Mapping) or not Path(recipe).exists():
        return Path()
    return base_of_file(Path(recipe))


def _keep(recipe: AnyRecipe, out: Path, sets: Mapping[str, list[Row]]) -> Recipe:
    """Write data into the run folder; the recipe that reads it there.

    Raises:
        RecipeError: what is wrong with the recipe, or the built-in corpus without a train set.
        RunError: the run was started with other data.
    """
    if isinstance(recipe, Recipe):
        tree, name = json.loads(recipe.model_dump_json()), "recipe"
    else:
        tree, name = recipe_tree(recipe)
    files = {of: (out / DATA / f"{of}.jsonl").resolve() for of in sets}
    _refer(tree, files)
    parsed = parse_recipe(tree, name)
    folder = RunFolder(out, parsed)
    with folder.alone():
        for of, path in files.items():
            content = rows_to_bytes(sets[of])
            read = folder.manifest.get("sources", {}).get(of, {}).values()
            if folder.is_started() and read and _sha256(content) not in read:
                raise RunError(
                    f"{out}: the data given for {of} is not what this run was started with. Give "
                    "another out, or the same data to go on; tfdistil.evaluate scores other data "
                    "with this run's models"
                )
            write_bytes(path, content)
    return parsed


def _refer(tree: Any, files: Mapping[str, Path]) -> None:
    """Make the sets of a recipe those files; what is no mapping is left to `parse_recipe`."""
    if not isinstance(tree, dict) or not isinstance(data := tree.get("data") or {}, dict):
        return
    tree["data"] = data
    if "train" in files:
        data.pop("demo", None)
    elif data.get("demo") is not None:
        raise RecipeError(
            f"the recipe has the built-in corpus, and data has {', '.join(files)} alone; give train"
        )
    data |= {of: [{"path": str(path), "format": "jsonl_words"}] for of, path in files.items()}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
