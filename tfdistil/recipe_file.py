"""Recipe files: YAML with line numbers, a base to build on, overrides, errors that say where."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from tfdistil.errors import RecipeError
from tfdistil.recipe import Recipe
from tfdistil.schema.parts import BRANCHES

SHIPPED = Path(__file__).parent / "recipes"
MOST_PARTS = 10_000
"""Mappings and lists of a file; one with more unfolds aliases within aliases."""


def _line_of(node: Any, location: Sequence[int | str]) -> int | None:
    """The 1-based line of the deepest part of ``location`` that the YAML tree knows."""
    line = None
    for key in location:
        try:
            position = node.lc.data[key]
            line = position[0] + 1
            node = node[key]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line


def _describe(error: Any, location: str) -> str:
    if error["type"] == "extra_forbidden":
        return f"unknown key `{location}`"
    message = error["msg"].removeprefix("Value error, ")
    came = "" if isinstance(error["input"], Mapping) else f"; got {error['input']!r}"
    return f"`{location}`: {message}{came}" if location else message


def parse_recipe(tree: Any, name: str = "recipe") -> Recipe:
    """Check a tree of plain data (as YAML gives it) and make a recipe of it.

    Raises:
        RecipeError: every unknown key, missing key or wrong value, each with its line.
    """
    if not isinstance(tree, Mapping):
        raise RecipeError(f"{name}: expected a mapping of keys, got {type(tree).__name__}")
    try:
        return Recipe.model_validate(_plain(tree))
    except ValidationError as problems:
        lines = []
        for error in problems.errors():
            location = [part for part in error["loc"] if part not in BRANCHES]
            line = _line_of(tree, location)
            where = f"{name}:{line}" if line else name
            lines.append(f"{where}: {_describe(error, '.'.join(map(str, location)))}")
        raise RecipeError("\n".join(lines)) from None


def load_tree(path: str | Path) -> Any:
    """The YAML of a recipe file, with line numbers. What aliases share has become copies.

    Raises:
        RecipeError: a missing file or broken YAML, with the line, or aliases that unfold to more
            than `MOST_PARTS` mappings and lists.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        tree = YAML().load(text)
        _unshare(tree, {id(tree)})
        return tree
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not UTF-8 (byte {error.start})") from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise RecipeError(f"{path}:{line}: not valid YAML: {error.problem}") from None
    except RecursionError:
        raise RecipeError(f"{path}: its aliases unfold without end") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise RecipeError(
            f"{path}:{line}: not valid YAML: the character {chr(error.character)!r}"
        ) from None


def _unshare(node: Any, seen: set[int]) -> None:
    """Give every place its own copy, so that an override of one leaves the others alone."""
    if isinstance(node, Mapping):
        places = [*node.items()]
    else:
        places = [*enumerate(node)] if isinstance(node, list) else []
    for key, value in places:
        if not isinstance(value, Mapping | list):
            continue
        if id(value) in seen:
            value = node[key] = deepcopy(value)
        seen.add(id(value))
        if len(seen) > MOST_PARTS:
            raise RecursionError
        _unshare(value, seen)


def override(tree: Any, assignments: Sequence[str]) -> None:
    """Apply ``a.b.c=value`` assignments to a tree in place; list items are addressed by ``name``.

    Raises:
        RecipeError: an assignment without ``=``, a value that is no YAML, or a path that leads
            nowhere.
    """
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals:
            raise RecipeError(f"--set {assignment}: expected key=value, e.g. seed=7")
        try:
            value = YAML(typ="safe").load(text)
        except YAMLError as error:
            problem = getattr(error, "problem", None) or "a control character"
            raise RecipeError(f"--set {assignment}: not valid YAML: {problem}") from None
        node, keys = tree, path.split(".")
        for key in keys[:-1]:
            node = _step(node, key, assignment)
        last: Any = keys[-1]
        if isinstance(node, list):
            last = node.index(_step(node, last, assignment))
        elif not isinstance(node, MutableMapping):
            raise RecipeError(f"--set {assignment}: {last!r} leads into a plain value")
        node[last] = value


def _named(item: Mapping[str, Any]) -> Any:
    """What an item of a list is addressed by: stages have names, files paths, terms losses."""
    return next((item[key] for key in ("name", "path", "loss", "kind") if key in item), None)


def _step(node: Any, key: str, assignment: str) -> Any:
    if isinstance(node, list):
        for item in node:
            if isinstance(item, Mapping) and _named(item) == key:
                return item
        if key.isdigit() and int(key) < len(node):
            return node[int(key)]
        names = [str(_named(i)) for i in node if isinstance(i, Mapping)]
        raise RecipeError(f"--set {assignment}: no {key!r} here; there are {', '.join(names)}")
    if isinstance(node, MutableMapping):
        if node.get(key) is None:  # left out, or null as in a resolved recipe
            node[key] = {}
        return node[key]
    raise RecipeError(f"--set {assignment}: {key!r} leads into a plain value")


def look_up(tree: Any, key: str) -> Any:
    """The value that ``key=...`` would override; None where the key leads nowhere."""
    for part in key.split("."):
        if isinstance(tree, list):
            named = [item for item in tree if isinstance(item, Mapping) and _named(item) == part]
            numbered = tree[int(part) : int(part) + 1] if part.isdigit() else []
            tree = next(iter(named or numbered), None)
        else:
            tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def find_recipe(path: str | Path) -> Path:
    """The file, or the recipe of that name that comes with tfdistil."""
    shipped = SHIPPED / f"{path}.yaml"
    return shipped if not Path(path).exists() and shipped.exists() else Path(path)


def inherit(tree: MutableMapping[str, Any], path: Path) -> None:
    """Replace the key ``base`` of a tree by what that recipe has and the tree has not.

    A base may have a base. Mappings are joined key by key; of lists and plain values the tree's own
    stand.

    Args:
        tree: with or without the key ``base``.
        path: the file it was read from; a base is looked for beside it, then among the shipped.

    Raises:
        RecipeError: a base that cannot be read, that leads back to itself, or that names data in
            another folder.
    """
    seen = [path.resolve()]
    name = tree.pop("base", None)
    while name is not None:
        beside = seen[-1].parent / str(name)
        found = (beside if beside.is_file() else find_recipe(str(name))).resolve()
        if found in seen:
            raise RecipeError(f"{path}: base {name!r} leads back to {found.name}")
        below = _plain(load_tree(found))
        if not isinstance(below, dict):
            raise RecipeError(f"{found}: expected a mapping of keys")
        if "data" in below and found.parent != seen[0].parent:
            raise RecipeError(
                f"{path}: the base {name!r} has data: of another folder; give data: here"
            )
        seen.append(found)
        name = below.pop("base", None)
        _fill(tree, below)


def _plain(node: Any) -> Any:
    """Without what the YAML library adds: line numbers, and how a number was written."""
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(item) for item in node]
    written = next((kind for kind in (int, float, str) if isinstance(node, kind)), None)
    return node if written is None or isinstance(node, bool) else written(node)


def _fill(tree: MutableMapping[str, Any], below: Mapping[str, Any]) -> None:
    for key, value in below.items():
        if key not in tree:
            tree[key] = value
        elif isinstance(tree[key], MutableMapping) and isinstance(value, Mapping):
            _fill(tree[key], value)


def load_recipe(path: str | Path, assignments: Sequence[str] = ()) -> Recipe:
    """Read, override and check a recipe file.

    Args:
        path: a YAML file, or the name of a recipe that comes with tfdistil (``demo``).
        assignments: ``key=value`` overrides, keys joined by dots, stages by their name.

    Raises:
        RecipeError: whatever is wrong, with file and line.
    """
    path = find_recipe(path)
    tree = load_tree(path)
    if isinstance(tree, MutableMapping):
        bases = [text for text in assignments if text.partition("=")[0] == "base"]
        override(tree, bases)
        inherit(tree, path)
        override(tree, [text for text in assignments if text not in bases])
    return parse_recipe(tree, str(path))
