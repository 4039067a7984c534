"""A small template grammar: strings in, sentences with labelled spans out.

A *template* is one line of text with

* ``{slot}`` or ``{slot:form}``: a value of a slot, in its default or a named form;
* ``(a|b|)``: one of the alternatives, which may hold slots but no further parentheses;
* ``<1-12>``: a whole number, both ends included; ``<name>``: a value of a helper list.

A *value* is a template whose labelled part stands in square brackets, so that articles,
prepositions and particles can travel with the value without being part of the slot:
``in the [kitchen]``. Without brackets the whole value is labelled. Further forms follow after
``|`` as ``name: text`` (``die [Lampe] | dat: der [Lampe]``); a form that a value does not have
is its default form, and ``{slot:bare}`` is the part in brackets alone. Values are separated by
``;``, templates by line ends. Spaces are collapsed, those at the ends dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

_MARKUP = re.compile(r"\{(\w+)(?::(\w+))?\}|<(\d+)-(\d+)>|<(\w+)>|\(([^()]*)\)|\[([^\[\]]*)\]")
_STRAY = re.compile(r"[{}<>()\[\]|]")
_FORM = re.compile(r"(\w+):\s*(.*)", re.DOTALL)


class Writer:
    """A sentence in the making.

    Args:
        random: the source of chance; only `Random.random` is used, the one method whose stream
            Python promises never to change.
        values: the slots and helper lists of the language.
        unseen: probability that an open-class value comes from its held-out list.
    """

    __slots__ = ("_length", "_parts", "_random", "_space", "spans", "unseen", "values")

    def __init__(self, random: Random, values: Mapping[str, Values], unseen: float):
        self._random, self.values, self.unseen = random.random, values, unseen
        self._parts: list[str] = []
        self._length, self._space = 0, True
        self.spans: list[tuple[int, int, str]] = []

    def below(self, limit: int) -> int:
        """A whole number in ``[0, limit)``."""
        return int(self._random() * limit)

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random() < probability

    def add(self, text: str) -> None:
        """Append text, without a space at the start of the sentence or after another space."""
        if self._space:
            text = text.lstrip(" ")
        if text:
            self._parts.append(text)
            self._length += len(text)
            self._space = text[-1] == " "

    def label(self, nodes: Sequence[Node], name: str) -> None:
        """Append what the nodes write and label it."""
        start = self._length
        for node in nodes:
            node.write(self)
        self.spans.append((start, self._length, name))

    def text(self) -> str:
        """The sentence so far."""
        return "".join(self._parts).rstrip(" ")


class Node(Protocol):
    """A part of a compiled template."""

    def write(self, writer: Writer) -> None:
        """Append this part to the sentence."""
        ...


@dataclass(frozen=True, slots=True)
class Literal:
    """Text as it stands."""

    text: str

    def write(self, writer: Writer) -> None:  # noqa: D102
        writer.add(self.text)


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number between two others, both included."""

    low: int
    high: int

    def write(self, writer: Writer) -> None:  # noqa: D102
        writer.add(str(self.low + writer.below(self.high - self.low + 1)))


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several sequences, each as likely as the others."""

    options: tuple[tuple[Node, ...], ...]

    def write(self, writer: Writer) -> None:  # noqa: D102
        for node in self.options[writer.below(len(self.options))]:
            node.write(writer)


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of a slot (``form`` as named in the template, or empty for the default)."""

    name: str
    form: str

    def write(self, writer: Writer) -> None:  # noqa: D102
        forms = writer.values[self.name].draw(writer)
        for node in forms.get(self.form) or forms[""]:
            node.write(writer)


@dataclass(frozen=True, slots=True)
class Labelled:
    """The part of a value that carries the slot's label."""

    nodes: tuple[Node, ...]
    name: str

    def write(self, writer: Writer) -> None:  # noqa: D102
        writer.label(self.nodes, self.name)


Forms = Mapping[str, tuple[Node, ...]]


@dataclass(frozen=True, slots=True)
class Values:
    """What a slot can be: values for every split and values kept out of the training split."""

    seen: tuple[Forms, ...]
    unseen: tuple[Forms, ...] = ()

    def draw(self, writer: Writer) -> Forms:
        """A value, from the held-out ones as often as the writer asks for."""
        held_out = self.unseen and writer.unseen > 0 and writer.chance(writer.unseen)
        pool = self.unseen if held_out else self.seen
        return pool[writer.below(len(pool))]


@dataclass(frozen=True, slots=True)
class Language:
    """The grammar of one language, as strings.

    Attributes:
        code: BCP 47 code.
        slots: slot name to ``(seen, unseen)`` values; no unseen ones make a closed class.
        helpers: list name to unlabelled values, for ``<name>``.
        intents: intent to ``(templates, held-out templates)``.
        requests: further templates of the assistant domain, for unlabelled text only.
        entities: entity label to ``(seen, unseen)`` values.
        news: ``(templates, held-out templates)`` of sentences with entities.
        reports: further templates of the news domain, for unlabelled text only.
    """

    code: str
    slots: Mapping[str, tuple[str, str]]
    helpers: Mapping[str, str]
    intents: Mapping[str, tuple[str, str]]
    requests: str
    entities: Mapping[str, tuple[str, str]]
    news: tuple[str, str]
    reports: str
    values: dict[str, Values] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in self.helpers.items():
            self.values[name] = Values(compile_values(text, name="", helpers=True))
        for name, (seen, unseen) in {**self.slots, **self.entities}.items():
            self.values[name] = Values(compile_values(seen, name), compile_values(unseen, name))


def compile_templates(text: str) -> tuple[tuple[Node, ...], ...]:
    """Compile one template per non-empty line."""
    return tuple(compile_template(line.strip()) for line in text.splitlines() if line.strip())


def compile_template(text: str, label: str = "") -> tuple[Node, ...]:
    """Compile one template.

    Args:
        text: the template.
        label: what a part in square brackets is labelled with; brackets are an error without.

    Raises:
        ValueError: markup that is not closed, nested parentheses, brackets without a label.
    """
    nodes: list[Node] = []
    position = 0
    for match in _MARKUP.finditer(text):
        _literal(text[position : match.start()], text, nodes)
        slot, form, low, high, helper, options, bracket = match.groups()
        if slot is not None:
            nodes.append(Slot(slot, form or ""))
        elif low is not None:
            nodes.append(Number(int(low), int(high)))
        elif helper is not None:
            nodes.append(Slot(helper, ""))
        elif options is not None:
            nodes.append(
                Choice(tuple(compile_template(part, label) for part in options.split("|")))
            )
        elif label:
            nodes.append(Labelled(compile_template(bracket), label))
        else:
            raise ValueError(f"square brackets mark values, not templates: {text!r}")
        position = match.end()
    _literal(text[position:], text, nodes)
    return tuple(nodes)


def compile_values(text: str, name: str, helpers: bool = False) -> tuple[Forms, ...]:
    """Compile ``;``-separated values of the slot ``name``; helper values carry no label."""
    return tuple(
        _compile_forms(" ".join(value.split()), name, helpers)
        for value in text.split(";")
        if value.strip()
    )


def _compile_forms(value: str, name: str, helpers: bool) -> Forms:
    default, *named = (part.strip() for part in value.split("|"))
    if helpers:
        return {"": compile_template(default)}
    forms = {"": _compile_value(default, name)}
    for part in named:
        match = _FORM.fullmatch(part)
        if match is None:
            raise ValueError(f"a further form is written 'name: text', not {part!r} (in {value!r})")
        forms[match[1]] = _compile_value(match[2], name)
    forms["bare"] = tuple(node for node in forms[""] if isinstance(node, Labelled))
    return forms


def _compile_value(text: str, name: str) -> tuple[Node, ...]:
    return compile_template(text if "[" in text else f"[{text}]", name)


def _literal(text: str, template: str, nodes: list[Node]) -> None:
    stray = _STRAY.search(text)
    if stray:
        raise ValueError(f"stray {stray[0]!r} in the template {template!r}")
    if text:
        nodes.append(Literal(text))
