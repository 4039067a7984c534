"""The conformance vectors of decoding are up to date, and have what they are for."""

from __future__ import annotations

from tests.vectors import make_decoding


def test_files_are_what_the_generator_writes():
    for name, content in make_decoding.files().items():
        assert (make_decoding.FOLDER / name).read_text("utf-8") == content, name


def test_some_answers_are_not_the_best_labels_one_by_one():
    found = [item for item in make_decoding.cases() if "potentials" not in item and item["scores"]]
    greedy = [[max(range(len(row)), key=row.__getitem__) for row in f["scores"]] for f in found]
    assert sum(one["path"] != best for one, best in zip(found, greedy, strict=True)) > 20
