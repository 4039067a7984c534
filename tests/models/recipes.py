"""Recipes that tests write down and vary."""

from __future__ import annotations

from ruamel.yaml import YAML

from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.recipe import Recipe


def varied(text: str, *changes: tuple[str, str]) -> Recipe:
    """The recipe of a text with parts of it, all of which it has, replaced by others."""
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return parse_recipe(YAML(typ="safe").load(text))
