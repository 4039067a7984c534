"""Options of registered functions are of the kind their hints say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import pytest

from tfdistil.options import Between, fits, wrong_option


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [0, -3], [True, 1.0, "1", None, [1]]),
        (float, [0.5, 2], [True, "1", None]),
        (bool, [True], [0, "true"]),
        (str, [""], [1, None]),
        (int | str | None, [1, "a", None], [1.5, True, [1]]),
        (Literal["a", 1, None], ["a", 1, None], ["b", True, 2]),
        (list[str], [[], ["a"]], ["a", [1], {"a": 1}]),
        (Sequence[str | Sequence[str]], [["a", ["b", "c"]]], ["a", [1], [["a", 1]]]),
        (Mapping[str, str], [{"a": "b"}], [{"a": 1}, {1: "a"}, [], "a"]),
        (dict[str, float], [{"a": 1}], [{"a": "b"}]),
        (Annotated[int, Between(1, 32)], [1, 32], [0, 33, True, 1.0, "1"]),
        (Annotated[float, Between(0, 1)], [0, 0.5, 1.0], [-0.1, 1.1, float("nan")]),
        (Any, [1, "a", None, [{}]], []),
    ],
)
def test_kinds(hint, good, bad):
    assert all(fits(value, hint) for value in good)
    assert not any(fits(value, hint) for value in bad)


def takes(
    first,
    *,
    count: int = 1,
    way: Literal["a", "b"] = "a",
    few: Annotated[int, Between(1, 32)] = 1,
    free=None,
):
    return first, count, way, few, free


def test_the_first_wrong_one_is_named_shortly():
    assert wrong_option(takes, {"count": 2, "way": "b", "free": object()}) is None
    assert wrong_option(takes, {"count": "x" * 10_000}).startswith("option 'count' is 'xxx")
    assert len(wrong_option(takes, {"count": "x" * 10_000})) < 200
    assert wrong_option(takes, {"way": "c"}) == ("option 'way' is 'c', expected one of 'a', 'b'")
    assert wrong_option(takes, {"few": 33}) == "option 'few' is 33, expected int from 1 to 32"
