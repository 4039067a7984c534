"""Recipe files: YAML with line numbers, a base to build on, overrides, errors that say where."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML

from tfdistil.errors import RecipeError
from tfdistil.printable import listed, one_line, shortened, shown
from tfdistil.recipe.bounded_yaml import BadYaml, load_file, load_text
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.renamed import RENAMED
from tfdistil.recipe.schema.parts import BRANCHES

SHIPPED = Path(__file__).parents[1] / "recipes"
MOST_PROBLEMS = 20
"""Lines of an error; what one slip breaks in a long list is told by the first of them."""


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
        key = location.rpartition(".")[2]
        return f"unknown key `{location}`" + (f"; {RENAMED[key]}" if key in RENAMED else "")
    message = error["msg"].removeprefix("Value error, ")
    came = "" if isinstance(error["input"], Mapping) else f"; got {shown(error['input'])}"
    return f"`{location}`: {message}{came}" if location else message


def _dotted(location: Sequence[Any]) -> str:
    return ".".join(shortened(one_line(str(part)), 80) for part in location)


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
            culprit = getattr(error.get("ctx", {}).get("error"), "keys", ())
            line = _line_of(tree, [*location, *culprit])
            where = f"{name}:{line}" if line else name
            lines.append(f"{where}: {_describe(error, _dotted(location))}")
        if len(lines) > MOST_PROBLEMS:
            lines[MOST_PROBLEMS:] = [f"and {len(lines) - MOST_PROBLEMS} more"]
        raise RecipeError("\n".join(lines)) from None


def load_tree(path: str | Path) -> Any:
    """The YAML of a recipe file, with line numbers. What aliases share has become copies.

    Raises:
        RecipeError: see `tfdistil.recipe.bounded_yaml.load_file`.
    """
    tree = load_file(path)
    _unshare(tree, {id(tree)})
    return tree


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
        _unshare(value, seen)


def override(tree: Any, assignments: Sequence[str]) -> None:
    """Apply ``a.b.c=value`` assignments to a tree in place.

    Items of lists are addressed by name or number; ``null`` takes one away.

    Raises:
        RecipeError: an assignment without ``=``, a value that is no YAML, or a path that leads
            nowhere.
    """
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals:
            raise RecipeError(f"--set {assignment}: expected key=value, e.g. seed=7")
        value = plain_value(text, f"--set {assignment}")
        node = tree
        last: Any
        last, rest = _next_key(node, path.split("."))
        while rest:
            node = _step(node, last, assignment)
            last, rest = _next_key(node, rest)
        if isinstance(node, list):
            last = node.index(_step(node, last, assignment))
            if value is None:  # as in a recipe with a base
                del node[last]
                continue
        elif not isinstance(node, MutableMapping):
            raise RecipeError(f"--set {assignment}: {last!r} leads into a plain value")
        node[last] = value


def plain_value(text: str, where: str) -> Any:
    """What the YAML of a command's argument stands for.

    Raises:
        RecipeError: see `tfdistil.recipe.bounded_yaml.load_text`; it begins with ``where``.
    """
    try:
        return _plain(load_text(text, YAML(typ="safe")))
    except BadYaml as error:
        raise RecipeError(f"{where}: {error}") from None


def _named(item: Mapping[str, Any]) -> Any:
    """What an item of a list is addressed by: stages have names, files paths, terms losses."""
    return next((item[key] for key in ("name", "path", "loss", "kind") if key in item), None)


def _next_key(node: Any, parts: list[str]) -> tuple[str, list[str]]:
    """What a path goes on with at a node, and the rest of it: names of files have dots, too."""
    items = node if isinstance(node, list) else []
    names = [_named(item) for item in items if isinstance(item, Mapping)]
    size = next((n for n in range(len(parts), 1, -1) if ".".join(parts[:n]) in names), 1)
    return ".".join(parts[:size]), parts[size:]


def _step(node: Any, key: str, assignment: str) -> Any:
    if isinstance(node, list):
        for item in node:
            if isinstance(item, Mapping) and _named(item) == key:
                return item
        if (index := _index(key)) is not None and index < len(node):
            return node[index]
        names = listed(_named(i) for i in node if isinstance(i, Mapping))
        raise RecipeError(f"--set {assignment}: no {key!r} here; there are {names}")
    if isinstance(node, MutableMapping):
        if node.get(key) is None:  # left out, or null as in a resolved recipe
            node[key] = {}
        return node[key]
    raise RecipeError(f"--set {assignment}: {key!r} leads into a plain value")


def _index(key: str) -> int | None:
    return int(key) if key.isdecimal() and len(key) < 6 else None


def look_up(tree: Any, key: str) -> Any:
    """The value that ``key=...`` would override; None where the key leads nowhere."""
    rest = key.split(".")
    while rest:
        part, rest = _next_key(tree, rest)
        if isinstance(tree, list):
            named = [item for item in tree if isinstance(item, Mapping) and _named(item) == part]
            index = _index(part)
            numbered = [] if index is None else tree[index : index + 1]
            tree = next(iter(named or numbered), None)
        else:
            tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def find_recipe(path: str | Path) -> Path:
    """The file, or the recipe of that name that comes with tfdistil.

    Raises:
        RecipeError: there is neither.
    """
    if Path(path).exists():
        return Path(path)
    shipped = SHIPPED / f"{path}.yaml"
    if not shipped.exists():
        names = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.yaml")))
        raise RecipeError(
            f"{path}: cannot be read (no such file); tfdistil comes with the recipes {names}"
        )
    return shipped


def inherit(tree: MutableMapping[str, Any], path: Path) -> None:
    """Replace the key ``base`` of a tree by what that recipe has and the tree has not.

    A base may have a base. Mappings are joined key by key; of lists and plain values the tree's own
    stand. A mapping over a list of the base changes the items that it names, see `_changed`.

    Args:
        tree: with or without the key ``base``.
        path: the file it was read from; a base is looked for beside it, then among the shipped.

    Raises:
        RecipeError: a base that cannot be read, that leads back to itself, that has text of
            another folder (how text is cut into parts it may say), or a change of an item that is
            not in its list.
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
        if found.parent != seen[0].parent and _has_text(below.get("data")):
            raise RecipeError(
                f"{path}: the base {name!r} has data: of another folder; give data: here"
            )
        seen.append(found)
        name = below.pop("base", None)
        _fill(tree, below, f"{path}: `", found.name)


def _has_text(data: Any) -> bool:
    """Whether ``data`` of a base is more than what is done with text that another recipe gives."""
    if not isinstance(data, dict):
        return data is not None
    corpus = data.get("corpus")
    return bool(_TEXT & data.keys()) or (isinstance(corpus, dict) and "sources" in corpus)


_TEXT = {"demo", "train", "dev", "test", "transfer", "augment"}
"""Keys of ``data`` with what is read or made, relative to the folder of the recipe."""


def _plain(node: Any) -> Any:
    """Without what the YAML library adds: line numbers, and how a number was written."""
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(item) for item in node]
    written = next((kind for kind in (int, float, str) if isinstance(node, kind)), None)
    return node if written is None or isinstance(node, bool) else written(node)


def _fill(tree: MutableMapping[str, Any], below: Mapping[str, Any], at: str, base: str) -> None:
    for key, value in below.items():
        if key not in tree:
            tree[key] = value
        elif isinstance(tree[key], MutableMapping) and isinstance(value, Mapping):
            _fill(tree[key], value, f"{at}{key}.", base)
        elif isinstance(tree[key], MutableMapping) and _all_named(value):
            tree[key] = _changed(tree[key], value, f"{at}{key}", base)


def _all_named(node: Any) -> bool:
    return isinstance(node, list) and all(isinstance(i, Mapping) and _named(i) for i in node)


def _changed(
    changes: Mapping[str, Any], items: Sequence[Mapping[str, Any]], at: str, base: str
) -> list[Mapping[str, Any]]:
    """Items of a base with what is said of some of them by their names; null takes one away."""
    names = [_named(item) for item in items]
    for name in changes:
        if names.count(name) != 1:
            why = f"{names.count(name)} of that name" if name in names else "none of that name"
            raise RecipeError(
                f"{at}.{name}`: {base} has {why} in a list that has {listed(names)}; "
                "give the whole list"
            )
    kept: list[Mapping[str, Any]] = []
    for name, item in zip(names, items, strict=True):
        own = deepcopy(changes.get(name, {}))  # two may share it, where a recipe is plain data
        if isinstance(own, MutableMapping):
            _fill(own, item, f"{at}.{name}.", base)
            kept.append(own)
        elif own is not None:
            raise RecipeError(f"{at}.{name}`: expected keys to change, or null; got {shown(own)}")
    return kept


def load_recipe(recipe: str | Path | Mapping[str, Any], assignments: Sequence[str] = ()) -> Recipe:
    """Read, override and check a recipe.

    Args:
        recipe: a YAML file, the name of a recipe that comes with tfdistil (``demo``), or what such
            a file holds, as plain data.
        assignments: ``key=value`` overrides, keys joined by dots, stages by their name.

    Raises:
        RecipeError: whatever is wrong, with file and line.
    """
    return parse_recipe(*recipe_tree(recipe, assignments))


def recipe_tree(
    recipe: str | Path | Mapping[str, Any], assignments: Sequence[str] = ()
) -> tuple[Any, str]:
    """What `load_recipe` checks: overridden and with what its base gives, and its name.

    Raises:
        RecipeError: a file that cannot be read, a base or an override that does not fit.
    """
    if isinstance(recipe, Mapping):
        tree, path = deepcopy(dict(recipe)), Path("recipe")
        return _complete(tree, path, assignments), str(path)
    try:
        path = find_recipe(recipe)
        return _complete(load_tree(path), path, assignments), str(path)
    except (OSError, RuntimeError) as error:  # a path too long; a link that leads to itself
        reason = getattr(error, "strerror", None) or error
        raise RecipeError(f"{recipe}: cannot be read ({reason})") from None


def _complete(tree: Any, path: Path, assignments: Sequence[str]) -> Any:
    if isinstance(tree, MutableMapping):
        bases = [text for text in assignments if text.partition("=")[0] == "base"]
        override(tree, bases)
        inherit(tree, path)
        override(tree, [text for text in assignments if text not in bases])
    return tree
