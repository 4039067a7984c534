"""``docs/recipe.md``, made from the schema: ``python -m tfdistil.cli.recipe_reference``."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tfdistil.distill.noise import NOISE
from tfdistil.distill.objectives import OBJECTIVES
from tfdistil.heads.kinds import HEADS
from tfdistil.models.transforms import TRANSFORMS
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.schema.derived import BaselineSpec, DerivedSpec, MeanSpec
from tfdistil.recipe.schema.models import EncoderSpec, StudentSpec
from tfdistil.students import GIVEN, STUDENTS

INTRODUCTION = """\
# The recipe

A recipe is a YAML file with everything a run depends on. This page is made from the schema:
`python -m tfdistil.cli.recipe_reference > docs/recipe.md`.

- An unknown key or a value of the wrong kind is an error that names the file and the line.
- `--set KEY=VALUE` overrides a key on the command line. Keys are joined by dots; stages are
  addressed by their name, sources by their path, terms by their loss, all by their index too:
  `--set distill.joint.stop.epochs=3`; null takes one away.
- `base: NAME` fills in what the file leaves out, key by key. `base: d4_2` with your `task`, `data`
  and `models.teacher` is a whole recipe. A list replaces that of the base; a mapping in its place
  changes the items that it names and leaves the others: `distill: {joint: {stop: {epochs: 3}}}`.
  null takes an item away, a model, or a delivery.
- Paths are relative to the recipe file. Formats of data and their options: [data.md](data.md).
- YAML 1.2: `on`, `yes` and `no` are plain words; write `1.0e-4` or `0.0001` for small numbers.

A key without a default must be given.
"""

BOUNDS = {
    annotated_types.Ge: ("ge", "≥ {}"),
    annotated_types.Gt: ("gt", "> {}"),
    annotated_types.Le: ("le", "≤ {}"),
    annotated_types.Lt: ("lt", "< {}"),
}
PLAIN = {str: "text", int: "integer", float: "number", bool: "true, false", Any: "any"}


def reference() -> str:
    """The whole page."""
    paths: dict[type[BaseModel], dict[str, None]] = {}
    for path, model in parts(Recipe):
        paths.setdefault(model, {})[path] = None  # a union of models has some places twice
    sections = [section(model, [*places]) for model, places in paths.items()]
    tables = (students(), heads(), transforms(), noise(), objectives())
    return "\n".join([INTRODUCTION, *sections, *tables])


def parts(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Every mapping of the schema with the place it stands at, each before what is inside it."""
    yield path, model
    for name, field in model.model_fields.items():
        for suffix, part in nested(field.annotation):
            yield from parts(part, f"{path}.{name}{suffix}".lstrip("."))


def nested(annotation: Any, suffix: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """The mappings in a type: ``list[Part]`` gives ``[]``, ``dict[str, Part]`` ``.NAME``."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield suffix, annotation
        return
    origin = get_origin(annotation)
    step = "[]" if origin is list else ".NAME" if origin is dict else ""
    if origin is Literal:
        return
    for argument in get_args(annotation):
        yield from nested(argument, suffix + step)


def section(model: type[BaseModel], places: list[str]) -> str:
    """A heading, what the mapping is, and a row per key."""
    kinds = {
        EncoderSpec: " (encoder)",
        StudentSpec: " (student)",
        DerivedSpec: " (another model)",
        BaselineSpec: " (baseline)",
        MeanSpec: " (several as one)",
    }
    title = ", ".join(f"`{place}`" for place in places) if places != [""] else "Top level"
    rows = [row(field.alias or name, field) for name, field in model.model_fields.items()]
    return "\n".join(
        [
            f"## {title}{kinds.get(model, '')}",
            "",
            inspect.cleandoc(model.__doc__ or ""),
            "",
            "| key | value | default | meaning |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def row(name: str, field: FieldInfo) -> str:
    """One key as a row of its table."""
    value = ", ".join([describe(field.annotation), *bounds(field)])
    default = "" if field.is_required() else show(field.default)
    cells = (f"`{name}`", value, default, field.description or "")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def bounds(field: FieldInfo) -> list[str]:
    """The least and the most that a key may be; of several, the one that binds."""
    found: dict[str, Any] = {}
    for item in [*field.metadata, *(i for part in get_args(field.annotation) for i in marks(part))]:
        for kind, (attribute, _) in BOUNDS.items():
            if isinstance(item, kind):
                choose = max if attribute.startswith("g") else min
                value = getattr(item, attribute)
                found[attribute] = choose(value, found.get(attribute, value))
    return [text.format(found[name]) for name, text in BOUNDS.values() if name in found]


def marks(annotation: Any) -> list[Any]:
    """What an annotated number says beside its type; nothing of other types."""
    inside = [i for part in get_args(annotation)[:1] for i in marks(part)]
    is_number = get_origin(annotation) is Annotated and annotation.__origin__ in (int, float)
    return [*inside, *(annotation.__metadata__ if is_number else ())]


def describe(annotation: Any) -> str:
    """A type in words."""
    if annotation in PLAIN:
        return PLAIN[annotation]
    if annotation is type(None):
        return "null"
    if inspect.isclass(annotation):
        return "mapping"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(
            f"`{str(value).lower() if value is False else value}`" for value in arguments
        )
    if origin is Annotated:
        return describe(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(describe(argument) for argument in arguments))
    if origin in (list, tuple):
        inner = describe(arguments[0])
        return f"list of {'mappings' if inner == 'mapping' else inner}"
    if origin is dict:
        inner = describe(arguments[1])
        return f"name to {inner}"
    raise TypeError(f"no words for the type {annotation!r}; add them to `describe`")


def show(value: Any) -> str:
    """A default as YAML would have it."""
    if isinstance(value, BaseModel):
        return "all defaults"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return f"`[{', '.join(map(str, value))}]`"
    if isinstance(value, Mapping):
        return f"`{{{', '.join(f'{key}: {item}' for key, item in value.items())}}}`"
    return f"`{value}`"


def signature(function: Any, without: frozenset[str], more: Mapping[str, Any] = {}) -> str:
    """Parameters with their defaults, without those a recipe does not set; after others' ones."""
    found = [f"`{name}` = {show(default)}" for name, default in more.items()]
    for name, parameter in inspect.signature(function).parameters.items():
        if name in without or parameter.kind is parameter.VAR_KEYWORD:
            continue
        given = parameter.default is not parameter.empty
        found.append(f"`{name}` = {show(parameter.default)}" if given else f"`{name}`")
    return ", ".join(found) or "none"


def first_line(thing: Any) -> str:
    """The first sentence of a docstring."""
    text = " ".join(inspect.cleandoc(thing.__doc__ or "").split("\n\n")[0].split())
    return text.replace("|", "\\|")


def students() -> str:
    """Every registered student and the keys that it alone has."""
    lines = ["## Students", "", "| kind | is | keys of its own |", "|---|---|---|"]
    for name, student in sorted(STUDENTS.items()):
        keys = signature(student.__init__, GIVEN | {"self"})
        lines.append(f"| `{name}` | {first_line(student)} | {keys} |")
    return "\n".join([*lines, ""])


def heads() -> str:
    """Every registered kind of head and its options."""
    lines = ["## Heads", "", "| kind | is | options |", "|---|---|---|"]
    for name, kind in sorted(HEADS.items()):
        keys = signature(kind.__init__, frozenset({"self", "size", "name", "labels"}))
        lines.append(f"| `{name}` | {first_line(kind)} | {keys} |")
    return "\n".join([*lines, ""])


def transforms() -> str:
    """Every registered transform and its options."""
    lines = ["## Transforms", "", "| kind | is | options |", "|---|---|---|"]
    for name, function in sorted(TRANSFORMS.items()):
        keys = signature(function, frozenset({"record", "corpus"}))
        lines.append(f"| `{name}` | {first_line(function)} | {keys} |")
    return "\n".join([*lines, ""])


def noise() -> str:
    """All registered noise and its options."""
    lines = ["## Noise", "", "| kind | is | held out too | options |", "|---|---|---|---|"]
    for name, kind in sorted(NOISE.items()):
        keys = signature(kind.function, frozenset({"featurizer", "texts"}))
        lines.append(f"| `{name}` | {first_line(kind.function)} | {show(kind.held_out)} | {keys} |")
    return "\n".join([*lines, ""])


def objectives() -> str:
    """Every registered objective, what its terms read by default, and the keys it alone has."""
    given = frozenset({"student", "teacher", "target", "mask"})
    lines = [
        "## Losses",
        "",
        "| loss | is | `student_signal` | `teacher_signal` | keys of its own |",
        "|---|---|---|---|---|",
    ]
    for name, objective in sorted(OBJECTIVES.items()):
        read = (objective.signals.student, objective.signals.teacher)
        signals = " | ".join(", ".join(f"`{name}`" for name in names) or "none" for names in read)
        keys = signature(objective.function, given, objective.defaults)
        lines.append(f"| `{name}` | {first_line(objective.function)} | {signals} | {keys} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(reference())
