"""The template language, and the laws every language file keeps."""

from __future__ import annotations

import unicodedata
from random import Random

import pytest

from tfdistil.data.demo.grammar import (
    Choice,
    Language,
    Slot,
    Values,
    Writer,
    compile_template,
    compile_templates,
    compile_values,
)
from tfdistil.data.demo.languages import LANGUAGES, grammar

GRAMMARS = [grammar(code) for code in LANGUAGES]
every_language = pytest.mark.parametrize("language", GRAMMARS, ids=LANGUAGES)


def written(template: str, values: dict[str, str] | None = None, seed: int = 1):
    """Text and labelled parts of one sentence."""
    compiled = {name: Values(compile_values(text, name)) for name, text in (values or {}).items()}
    writer = Writer(Random(seed), compiled, 0.0)
    for node in compile_template(template):
        node.write(writer)
    text = writer.text()
    return text, [(text[start:end], label) for start, end, label in writer.spans]


def nested(nodes):
    """All nodes of a template, those within alternatives too."""
    for node in nodes:
        yield node
        if isinstance(node, Choice):
            for option in node.options:
                yield from nested(option)


def templates(language: Language) -> list[str]:
    texts = [*language.intents.values(), language.news, (language.requests, language.reports)]
    return [line for pair in texts for text in pair for line in text.splitlines() if line.strip()]


def test_the_part_in_brackets_is_labelled():
    assert written("light {room} on", {"room": "in the [living room]"}) == (
        "light in the living room on",
        [("living room", "room")],
    )


def test_a_value_without_brackets_is_labelled_whole():
    assert written("{city} please", {"city": "New York"}) == (
        "New York please",
        [("New York", "city")],
    )


def test_forms():
    values = {"device": "die [Lampe] | dat: der [Lampe]"}
    text, spans = written("{device} {device:dat} {device:bare} {device:other}", values)
    assert text == "die Lampe der Lampe Lampe die Lampe"
    assert spans == [("Lampe", "device")] * 4


def test_numbers_stay_within_their_bounds():
    found = {int(written("<3-5>", seed=seed)[0]) for seed in range(60)}
    assert found == {3, 4, 5}


def test_alternatives_and_spaces():
    found = {written("(please |)go (now|{city}) ", {"city": "[x]"}, seed)[0] for seed in range(60)}
    assert found == {"go now", "go x", "please go now", "please go x"}


@pytest.mark.parametrize("template", ["a {b", "a (b|c", "a (b (c|d))", "a > b", "a | b"])
def test_stray_markup_is_an_error(template):
    with pytest.raises(ValueError, match="stray"):
        compile_template(template)


def test_brackets_in_a_template_are_an_error():
    with pytest.raises(ValueError, match="mark values"):
        compile_template("in the [kitchen]")


def test_a_form_without_a_name_is_an_error():
    with pytest.raises(ValueError, match="'name: text'"):
        compile_values("die [Lampe] | der [Lampe]", "device")


def test_all_languages_have_the_same_labels():
    assert len({frozenset(language.intents) for language in GRAMMARS}) == 1
    assert len({frozenset(language.slots) for language in GRAMMARS}) == 1
    assert {frozenset(language.entities) for language in GRAMMARS} == {
        frozenset({"PER", "LOC", "ORG"})
    }
    closed = [{s for s, (_, unseen) in g.slots.items() if not unseen} for g in GRAMMARS]
    assert all(part == closed[0] for part in closed)


@every_language
def test_templates_name_slots_and_forms_that_exist(language):
    for line in templates(language):
        for node in nested(compile_template(line.strip())):
            if isinstance(node, Slot):
                values = language.values[node.name]
                forms = {form for value in (*values.seen, *values.unseen) for form in value}
                assert node.form in forms, line


@every_language
def test_templates_stand_once(language):
    lines = [line.strip() for line in templates(language)]
    assert len(lines) == len(set(lines))


@every_language
def test_held_out_values_are_not_among_the_seen_ones(language):
    def text(forms) -> str:
        writer = Writer(Random(0), language.values, 0.0)
        for node in forms.get("bare") or forms[""]:
            node.write(writer)
        return writer.text()

    for values in language.values.values():
        assert not {text(v) for v in values.seen} & {text(v) for v in values.unseen}


@every_language
def test_every_intent_has_templates_for_training_and_held_out_ones(language):
    for seen, held_out in language.intents.values():
        assert len(compile_templates(seen)) >= 4
        assert len(compile_templates(held_out)) >= 2


@every_language
def test_text_is_normalised(language):
    pairs = [*language.slots.values(), *language.entities.values(), *language.intents.values()]
    texts = [text for pair in pairs for text in pair] + templates(language)
    for text in [*texts, *language.helpers.values()]:
        assert unicodedata.is_normalized("NFC", text)
        assert not any(unicodedata.category(character) == "Cf" for character in text)
