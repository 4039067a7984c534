"""Labels that train has many of and the held-out sets none."""

from __future__ import annotations

import pytest

from tfdistil.corpus.check import check_recipe
from tfdistil.data.example import Example
from tfdistil.data.unscored import unscored_labels
from tfdistil.recipe.loading import parse_recipe


def tagged(**types: int) -> list[Example]:
    """So many sentences with a span of each type."""
    return [
        Example(("a", "b"), ("O", f"B-{name}"))
        for name, number in types.items()
        for _ in range(number)
    ]


def test_a_type_that_the_newer_sets_have_dropped_is_named():
    train, held_out = tagged(PER=70, OTH=30), tagged(PER=40)
    assert unscored_labels(train, held_out, ["tags"]) == [
        "span type OTH (30 of 100 spans of train) is in neither dev nor test, so each span "
        "predicted as it counts as wrong; `label_map: {OTH: O}` on train drops it"
    ]


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
    assert unscored_labels(tagged(PER=70, OTH=30), held_out, ["tags"]) == []


def test_classes_count_by_texts():
    train = [Example(("a",), label=name) for name in ("yes", "no", "oos") for _ in range(10)]
    held_out = [Example(("a",), label=name) for name in ("yes", "no") for _ in range(15)]
    (line,) = unscored_labels(train, held_out, ["label", "second"])
    assert line.startswith(
        "label oos (10 of 30 texts of train) is in neither dev nor test, so each"
    )
    assert unscored_labels(train, train, ["label"]) == []
    assert unscored_labels(train, held_out, ["tags"]) == []  # a task that does not predict them


CONLL = "Ada B-PER\nsaw O\nit {}\n\n"


@pytest.mark.parametrize(
    ("data", "warned"),
    [
        ({"dev": [{"path": "new.conll"}]}, True),
        ({"test": [{"path": "new.conll"}]}, False),  # dev is split off train, and has some
        ({"dev": [{"path": "new.conll"}], "languages": ["en"]}, False),  # OTH is all German
    ],
)
def test_data_check_warns_of_the_sets_that_a_run_would_have(tmp_path, data, warned):
    (tmp_path / "old.conll").write_text("".join(f"w{n} O\n" + CONLL.format("O") for n in range(40)))
    (tmp_path / "old_de.conll").write_text(
        "".join(f"v{n} O\n" + CONLL.format("B-OTH") for n in range(40))
    )
    (tmp_path / "new.conll").write_text("".join(f"u{n} O\n" + CONLL.format("O") for n in range(40)))
    train = [{"path": "old.conll", "language": "en"}, {"path": "old_de.conll", "language": "de"}]
    tree = {
        "task": "tags",
        "data": {"train": train, **data},
        "models": {"student": {"kind": "bilstm"}},
        "distill": [{"name": "one", "teacher": None, "terms": [{"loss": "cross_entropy"}]}],
    }
    report = check_recipe(parse_recipe(tree), tmp_path)
    assert ("warning: span type OTH (40 of " in report.to_text()) == warned
    assert report.ok
