"""Lists of best paths as signals: a list for a larger K serves a smaller one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.crf.oracle import SCHEMES, random_batch
from tfdistil.crf.constraints import IMPOSSIBLE, NO_TAG
from tfdistil.crf.paths import k_best
from tfdistil.heads.best_paths import LISTED, PARTS, best_paths, first_paths

LENGTHS = [4, 1, 3, 5, 2, 0, 5]
NAMES = [f"logits/tags/{part}/3" for part in PARTS]


def made(batch, names, labels=9, inner=False):
    derivation = best_paths("logits/tags", names, labels)
    rows = np.full(len(batch.mask), inner)
    found = derivation.make((batch.emissions, batch.potentials), batch.mask, rows)
    return derivation, {name: np.asarray(array) for name, array in found.items()}


def test_it_gives_what_is_asked_for_of_its_own_head():
    names = [*NAMES, "logits/tags", "logits/tags/paths/7", "labels/tags/paths/40"]
    derivation = best_paths("logits/tags", names, 9)
    assert list(derivation.names) == [*NAMES, "logits/tags/paths/7"]
    assert derivation.reads == ("logits/tags", "logits/tags/potentials")
    assert [name for name, per_token in derivation.names.items() if per_token] == [
        "logits/tags/paths/3",
        "logits/tags/paths/7",
    ]


@pytest.mark.parametrize("end", ["", "/0", "/-1", "/3.5", "/ten", "/3/1", "s/3"])
def test_a_name_that_is_none_of_its_signals(end):
    assert best_paths("logits/tags", [f"logits/tags/paths{end}"], 9) is None


def test_the_key_says_how_many_are_kept():
    keys = {k: best_paths("logits/tags", [f"logits/tags/paths/{k}"], 9).key for k in (1, 15, 16)}
    assert keys == {
        1: f"logits.tags.paths.{LISTED}",
        15: f"logits.tags.paths.{LISTED}",
        16: "logits.tags.paths.16",
    }


@pytest.mark.parametrize(("labels", "dtype"), [(128, np.int8), (129, np.int16)])
def test_ids_are_small(labels, dtype):
    _, kept = made(random_batch(0, [2]), NAMES, labels)
    assert kept["tags"].dtype == dtype


@pytest.mark.parametrize("whole", [False, True], ids=["real", "ties"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("k", [1, 4, 15])
def test_the_first_of_a_long_list_are_the_list_of_a_smaller_k(scheme, k, whole):
    batch = random_batch(k, LENGTHS, scheme, words=6, whole=whole)
    names = [f"logits/tags/{part}/{k}" for part in PARTS]
    derivation, kept = made(batch, names)
    assert kept["tags"].shape == (len(LENGTHS), 6, LISTED)
    found = derivation.select(kept)
    tags, *rest = k_best(batch.emissions, batch.potentials, batch.mask, k)
    np.testing.assert_array_equal(found[names[0]], np.swapaxes(tags, 1, 2))
    for name, expected in zip(names[1:], rest, strict=True):
        assert found[name].dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-5, err_msg=name)
    for i, text in enumerate(batch.texts()):  # and of all paths
        count = min(k, len(text.paths))
        assert found[f"logits/tags/path_count/{k}"][i] == count
        rest = text.log_residual(text.paths[:count])
        residual = found[f"logits/tags/path_log_residual/{k}"][i]
        assert residual == pytest.approx(rest, rel=1e-4, abs=2e-5)


@pytest.mark.parametrize("offset", [20.0, 60.0])
def test_the_mass_of_dropped_paths_is_exact_where_it_is_tiny(offset):
    """At 20 it is 1e-8, at 60 1e-25: 1 minus the sum of the others is 0."""
    batch = random_batch(1, [5, 4], "iob2")
    batch.emissions[:, :, 1] += offset
    batch.potentials[1, 1] += 4
    _, kept = made(batch, NAMES)
    found = first_paths(kept, 1)["log_residual"]
    expected = [text.log_residual(text.paths[:1]) for text in batch.texts()]
    np.testing.assert_allclose(np.exp(found.astype("f8")), np.exp(expected), rtol=1e-4)


def test_where_no_path_is_dropped_nothing_is_added():
    batch = random_batch(3, [1, 0], "iob2", words=2)
    _, kept = made(batch, NAMES)
    assert kept["count"].tolist() == [3, 1]
    for k, others in ((3, [IMPOSSIBLE] * 2), (15, [IMPOSSIBLE] * 2)):
        assert first_paths(kept, k)["log_residual"].tolist() == others
    assert first_paths(kept, 2)["log_residual"][0] == pytest.approx(kept["log_p"][0, 2])


def test_a_window_that_begins_within_an_entity_has_no_list():
    """Labels O, B-x, I-x, B-y, I-y; the scores are as sure as those of a good teacher."""
    batch = random_batch(4, [4, 4, 3, 0], "iob2")
    for i, tags in enumerate([[2, 2, 0, 1], [1, 2, 0, 0], [4, 0, 3, 0]]):
        batch.emissions[i, np.arange(4), tags] += 20
    _, whole = made(batch, NAMES)
    _, cut = made(batch, NAMES, inner=True)
    assert (whole["count"][:3] == LISTED).all()
    assert cut["count"].tolist() == [0, LISTED, 0, 1]
    for i in (0, 2):
        assert (cut["tags"][i] == NO_TAG).all()
        assert (cut["log_p"][i] == IMPOSSIBLE).all()
        assert cut["log_residual"][i] == IMPOSSIBLE
    for name, array in whole.items():
        np.testing.assert_array_equal(cut[name][[1, 3]], array[[1, 3]])
    assert first_paths(cut, 3)["count"].tolist() == [0, 3, 0, 1]
