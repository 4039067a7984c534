"""The run folder: one recipe, what it made, and which steps are done."""

from __future__ import annotations

import difflib
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tfdistil.errors import RunError
from tfdistil.files import read_json, write_json, write_text
from tfdistil.recipe.loading import load_tree, parse_recipe
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.schema.delivery import ExportSpec
from tfdistil.versions import versions_of

_LOCK = ".lock"
DATA = "data"
"""Where data from memory is kept; given again, it is written again."""
LAYOUT = 4
"""Of the folder's files and of what their weights mean; a run of another one cannot go on."""


def model_step(name: str) -> str:
    """The step that trains a model, which is also its place in the folder."""
    return f"models/{name}"


def export_step(name: str) -> str:
    """The step that makes a model's ``.tflite``."""
    return f"export/{name}"


def checkpoint_step(name: str) -> str:
    """The step that writes a model as a checkpoint, which is also its place in the folder."""
    return f"checkpoints/{name}"


EVALUATIONS = ("evaluate", "evaluate_files")
"""The steps that leave predictions: of the models, and of the files made of them."""
ANCHOR = "anchor"
"""The step that scores what needs no teacher."""
BENCHMARK = "benchmark"
"""The step that times the files."""


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    packages = ("tfdistil", "tensorflow", "keras", "ai-edge-litert", "numpy", "tokenizers")
    return {"python": platform.python_version(), **versions_of(*packages)}


def _file_of(recipe: Recipe, name: str) -> ExportSpec | None:
    """How a model becomes a file; None where it does not."""
    spec = recipe.deliveries.get(name)
    return None if spec is None or spec.tflite is False else recipe.export_of(name)


def base_of_file(recipe: Path) -> Path:
    """What paths in a recipe file are relative to: its folder, or what that of a run is told.

    ``recipe.yaml`` of a run is the recipe that it was started with, in whatever folder that lay.
    """
    manifest = recipe.parent / "manifest.json"
    found = read_json(manifest) if recipe.name == "recipe.yaml" and manifest.is_file() else {}
    base = found.get("base") if isinstance(found, dict) else None
    return Path(base) if isinstance(base, str) else recipe.parent


class RunFolder:
    """A folder that belongs to one recipe.

    What is trained stays what it is; ``export``, ``benchmark`` and ``anchor`` may change, see
    `adopt_recipe`.

    Args:
        path: made if missing.
        recipe: what is run here; None opens an existing run with the recipe it has.

    Raises:
        RunError: the folder belongs to a recipe that has made something and would train something
            else (the message shows the difference), or to something else, its manifest is damaged,
            or there is no run to open.
    """

    def __init__(self, path: str | Path, recipe: Recipe | None = None):
        self.path = Path(path)
        self._recipe_file = self.path / "recipe.yaml"
        self._manifest_file = self.path / "manifest.json"
        if self._recipe_file.exists() and self._manifest_file.exists():
            self._read_manifest()  # before its recipe, whose keys may be another version's
        if recipe is None:
            self.recipe = self._own = self._existing_recipe()
        else:
            self.recipe = recipe
            self._own = self._claim(recipe)
        self.manifest = self._read_manifest()

    def _existing_recipe(self) -> Recipe:
        if not self._recipe_file.exists() or not self._manifest_file.exists():
            raise RunError(
                f"{self.path}: not a run folder (no recipe.yaml and manifest.json). "
                "Make one with `tfdistil run RECIPE --out FOLDER`"
            )
        return parse_recipe(load_tree(self._recipe_file), str(self._recipe_file))

    def _claim(self, recipe: Recipe) -> Recipe:
        """The recipe that the folder has, which is the one given if nothing was made yet."""
        text = recipe.to_yaml()
        if self._recipe_file.exists() and self._manifest_file.exists():
            if self._recipe_file.read_text("utf-8") == text:
                return recipe
            if self.is_started():
                before = self._existing_recipe()
                self._refuse_other_training(before, recipe)
                return before
        elif self.path.exists() and self._is_foreign(text):
            raise RunError(f"{self.path}: neither empty nor a run folder; give another --out")
        write_text(self._recipe_file, text)
        write_json(
            self._manifest_file,
            {"layout": LAYOUT, "seed": recipe.seed, "steps": {}, "versions": versions()},
        )
        return recipe

    def _read_manifest(self) -> dict[str, Any]:
        manifest = read_json(self._manifest_file)
        if not isinstance(manifest, dict) or not isinstance(manifest.get("steps"), dict):
            raise RunError(f"{self._manifest_file}: damaged; remove the folder and run again")
        if manifest.get("layout") != LAYOUT:
            raise RunError(
                f"{self.path}: another version of tfdistil made this run, and this one cannot read "
                "it; remove the folder, give another --out, or use that version: "
                f"{manifest.get('versions', {}).get('tfdistil', 'unknown')}"
            )
        return manifest

    def _refuse_other_training(self, before: Recipe, recipe: Recipe) -> None:
        kept: dict[str, Any] = {
            "export": before.export,
            "benchmark": before.benchmark,
            "anchor": before.anchor,
        }
        if recipe.main == before.main:  # else it would have another baseline
            kept["deliver"] = before.deliver
        own = before.to_yaml().splitlines()
        given = recipe.model_copy(update=kept).to_yaml().splitlines()
        if own != given:
            lines = difflib.unified_diff(
                own, given, "this run", "the recipe given", n=1, lineterm=""
            )
            difference = "\n".join(lines)
            raise RunError(
                f"{self.path} was started with another recipe:\n{difference}\n"
                "Give another --out folder, or the same recipe and --set values to go on; only "
                "export, benchmark and what else is delivered may change, and the anchor"
            )

    def outdated(self) -> set[str]:
        """Finished steps that the recipe given wants otherwise than the folder's own.

        And those that read a file of the run which is no longer there, or not all of it.
        """
        before, after = self._own, self.recipe
        steps: set[str] = set()
        for name in {**before.deliveries, **after.deliveries}:
            one, other = (_file_of(recipe, name) for recipe in (before, after))
            if one != other or self._is_lost(name):
                steps |= {export_step(name), EVALUATIONS[1], BENCHMARK}
        plan = after.plan()
        heads = any(before.head_of(name) != after.head_of(name) for name in before.plan())
        if heads or plan != before.plan():
            steps.add(EVALUATIONS[0])
        if before.benchmark != after.benchmark:
            steps.add(BENCHMARK)
        if before.anchor != after.anchor:
            steps.add(ANCHOR)
        return steps & set(self.manifest["steps"])

    def _is_lost(self, name: str) -> bool:
        """Whether the file that was made of a model is gone or has another size."""
        step = export_step(name)
        made = self.facts(step) if self.is_done(step) else {}
        if "path" not in made:
            return False
        file = self.path / made["path"]
        return not file.is_file() or file.stat().st_size != made["bytes"]

    def adopt_recipe(self) -> None:
        """Make the recipe given the folder's own; what is `outdated` then counts as not done.

        Nothing happens where it is already. Call it while `alone`.
        """
        outdated = self.outdated()
        if outdated:
            (self.path / "metrics.json").unlink(missing_ok=True)  # it tells of the old file
            for step in outdated:
                del self.manifest["steps"][step]
            write_json(self._manifest_file, self.manifest)
        if self._own.to_yaml() != self.recipe.to_yaml():
            write_text(self._recipe_file, self.recipe.to_yaml())
            self._own = self.recipe

    def is_started(self) -> bool:
        """Whether anything was made; if not, an error came first, and the recipe may be fixed."""
        ours = (self._recipe_file, self._manifest_file)
        names = {name for file in ours for name in (file.name, f".{file.name}.partial")}
        names |= {_LOCK, DATA}
        steps = self._read_manifest()["steps"]
        return bool(steps) or any(path.name not in names for path in self.path.iterdir())

    def _is_foreign(self, text: str) -> bool:
        """Whether the path is more than a start that was cut off between its first two files."""
        if not self.path.is_dir():
            return True
        names = {f".{file.name}.partial" for file in (self._recipe_file, self._manifest_file)}
        if self._recipe_file.exists() and self._recipe_file.read_text("utf-8") == text:
            names.add(self._recipe_file.name)
        return any(path.name not in names for path in self.path.iterdir())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out of the folder; the system lets go when a process dies.

        Raises:
            RunError: another process is at work here.
        """
        lock = FileLock(self.path / _LOCK)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise RunError(
                f"{self.path}: another process is running here; wait for it, or give another --out"
            ) from None
        except NotImplementedError:  # a file system without locks
            yield
            return
        try:
            yield
        finally:
            lock.release()

    def is_done(self, step: str) -> bool:
        """Whether a step finished, now or in an earlier start."""
        return step in self.manifest["steps"]

    def facts(self, step: str) -> dict[str, Any]:
        """What a finished step recorded."""
        return self.manifest["steps"][step]["facts"]

    def remember(self, **facts: Any) -> None:
        """Keep facts about the run as a whole."""
        self.manifest.update(facts)
        write_json(self._manifest_file, self.manifest)

    def finish(self, step: str, seconds: float, facts: dict[str, Any]) -> None:
        """Mark a step as done, with what it wants to remember."""
        self.manifest["steps"][step] = {"seconds": round(seconds, 1), "facts": facts}
        write_json(self._manifest_file, self.manifest)

    def once(self, step: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Do a step unless it is done; returns what it recorded."""
        if not self.is_done(step):
            start = time.perf_counter()
            facts = work()
            self.finish(step, time.perf_counter() - start, facts)
        return self.facts(step)
