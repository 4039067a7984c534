"""docs/data.md names every format and every option."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from tfdistil.data.readers import READERS
from tfdistil.data.source import Source
from tfdistil.recipe.schema.data import TransferSpec

TEXT = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("reader", READERS.values(), ids=lambda reader: reader.name)
def test_formats_and_options(reader):
    section = TEXT.split(f"### `{reader.name}`", 1)[1].split("\n#", 1)[0]
    for option in reader.options():
        assert f"`{option}" in section, option


def test_keys_of_a_source():
    for field in fields(Source):
        assert f"`{field.name}`" in TEXT


def test_the_table_has_the_keys_that_a_recipe_takes():
    table = TEXT.split("| key | meaning |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \|", table, flags=re.M)
    assert rows == [*TransferSpec.model_fields]
