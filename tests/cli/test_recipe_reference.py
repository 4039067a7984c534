"""``docs/recipe.md`` is what the schema says, and says all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from tfdistil.cli import recipe_reference
from tfdistil.distill.noise import NOISE
from tfdistil.distill.objectives import OBJECTIVES
from tfdistil.heads.kinds import HEADS
from tfdistil.models.transforms import TRANSFORMS
from tfdistil.recipe.loading import load_recipe
from tfdistil.recipe.recipe import Recipe
from tfdistil.students import STUDENTS

PAGE = Path(__file__).parents[2] / "docs" / "recipe.md"


@pytest.fixture(scope="module")
def text() -> str:
    return recipe_reference.reference()


def test_the_page_is_up_to_date(text):
    assert PAGE.read_text("utf-8") == text, (
        "run: python -m tfdistil.cli.recipe_reference > docs/recipe.md"
    )


def test_every_key_has_a_row_with_a_meaning(text):
    keys, _, _ = text.partition("\n## Students\n")
    for place, model in recipe_reference.parts(Recipe):
        for name, field in model.model_fields.items():
            name = field.alias or name
            rows = [row for row in keys.splitlines() if row.startswith(f"| `{name}` |")]
            assert rows, f"{place}.{name}"
            assert all(row.rstrip(" |").count(" | ") >= 3 for row in rows), f"{place}.{name}"


def test_every_student_head_transform_noise_and_loss_has_a_row(text):
    for name in (*STUDENTS, *HEADS, *TRANSFORMS, *NOISE, *OBJECTIVES):
        assert f"| `{name}` |" in text


def test_the_demo_recipe_uses_nothing_that_is_not_there(text):
    demo = load_recipe("demo").to_yaml()
    keys = {line.strip().lstrip("- ").split(":")[0] for line in demo.splitlines() if ":" in line}
    names = {"teacher", "student", "demo", "murmur"}  # of models, sets and hashes
    assert {key for key in keys - names if f"`{key}`" not in text} <= {"languages", "kind"}


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (bool, "true, false"),
        (int | None, "integer or null"),
        (Literal["a", "b"], "`a`, `b`"),
        (Literal[False, "x"], "`false`, `x`"),
        (list[str], "list of text"),
        (dict[str, float], "name to number"),
        (str | list[str], "text or list of text"),
        (Annotated[int, Field(ge=1)], "integer"),
    ],
)
def test_types_in_words(annotation, words):
    assert recipe_reference.describe(annotation) == words


def test_bounds_and_defaults():
    class Part(BaseModel):
        """A part."""

        count: int = Field(3, ge=1, le=9, description="how many | at most 9")

    text = recipe_reference.section(Part, ["x.part"])
    assert text.startswith("## `x.part`\n\nA part.\n")
    assert "| `count` | integer, ≥ 1, ≤ 9 | `3` | how many \\| at most 9 |" in text


def test_a_type_without_words_is_an_error():
    with pytest.raises(TypeError, match="no words for the type"):
        recipe_reference.describe(frozenset[int, ...])
