"""Labels that train has many of and the held-out sets none."""

from __future__ import annotations

import pytest

from tfdistil.data.check import check
from tfdistil.data.example import Example
from tfdistil.data.readers import ReadResult
from tfdistil.data.unscored import unscored_labels


def tagged(**types: int) -> list[Example]:
    """So many sentences with a span of each type."""
    return [
        Example(("a", "b"), ("O", f"B-{name}"))
        for name, number in types.items()
        for _ in range(number)
    ]


def test_a_type_that_the_newer_sets_have_dropped_is_named():
    train, held_out = tagged(PER=70, OTH=30), tagged(PER=40)
    assert unscored_labels(train, held_out) == [
        "span type OTH (30 of 100 spans of train) is in neither dev nor test, so each span "
        "predicted as it counts as wrong; `label_map: {OTH: O}` on train drops it"
    ]
    halves = [ReadResult(tuple(part), {}, ()) for part in (held_out[:20], held_out[20:])]
    report = check(ReadResult(tuple(train), {}, ()), *halves)
    assert "warning: span type OTH (30 of 100 spans of train)" in report.to_text()
    assert report.ok


@pytest.mark.parametrize(
    "held_out",
    [
        tagged(PER=40, OTH=1),  # some
        tagged(PER=33),  # 9.9 expected: so few may be there by chance
        [Example(("a", "b"))] * 500,  # none of any kind
        [],
    ],
)
def test_nothing_is_said_where_chance_would_do(held_out):
    assert unscored_labels(tagged(PER=70, OTH=30), held_out) == []


def test_classes_count_by_texts():
    train = [Example(("a",), label=name) for name in ("yes", "no", "oos") for _ in range(10)]
    held_out = [Example(("a",), label=name) for name in ("yes", "no") for _ in range(15)]
    (line,) = unscored_labels(train, held_out)
    assert line.startswith(
        "label oos (10 of 30 texts of train) is in neither dev nor test, so each"
    )
    assert unscored_labels(train, train) == []
