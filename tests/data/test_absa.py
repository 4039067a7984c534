"""Aspect terms of SemEval's XML: both forms, overlaps, what is left out, and hostile files."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfdistil.data.readers import guess_format, read
from tfdistil.data.readers.tags import find_faults
from tfdistil.errors import DataError
from tfdistil.text.words import WordSplitter

REVIEWS = """\
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Reviews>
  <Review rid="7">
    <sentences>
      <sentence id="7:0">
        <text>The grilled lamb chops (and the wine!) were fine.</text>
        <Opinions>
          <Opinion target="lamb chops" category="FOOD#QUALITY" from="12" to="22"/>
          <Opinion target="grilled lamb chops" category="FOOD#STYLE" from="4" to="22"/>
          <Opinion target="wine" category="DRINKS#QUALITY" polarity="positive" from="32" to="36"/>
          <Opinion target="wine" category="DRINKS#PRICES" polarity="negative" from="32" to="36"/>
        </Opinions>
      </sentence>
      <sentence id="7:1" OutOfScope="TRUE">
        <text>We went on to see a film.</text>
      </sentence>
      <sentence id="7:2">
        <text>Never again.</text>
        <Opinions>
          <Opinion target="NULL" category="RESTAURANT#GENERAL" from="0" to="0"/>
        </Opinions>
      </sentence>
    </sentences>
  </Review>
</Reviews>
"""


def tagged(text: str, *targets: tuple[int, int]) -> str:
    """A file of one sentence in the form of 2014."""
    terms = "".join(
        f'<aspectTerm term="{text[start:end]}" from="{start}" to="{end}"/>'
        for start, end in targets
    )
    return (
        f'<sentences><sentence id="1"><text>{text}</text><aspectTerms>{terms}</aspectTerms>'
        "</sentence></sentences>"
    )


def write(folder: Path, text: str) -> Path:
    path = folder / "a.xml"
    path.write_text(text, encoding="utf-8")
    return path


def test_opinions_are_spans_of_words_of_the_splitter(tmp_path):
    path = write(tmp_path, REVIEWS)
    found = read(path, split=WordSplitter("unicode").split)
    first, second = found.examples
    assert [
        (word, tag) for word, tag in zip(first.words, first.tags, strict=True) if tag != "O"
    ] == [
        ("grilled", "B-ASPECT"),
        ("lamb", "I-ASPECT"),
        ("chops", "I-ASPECT"),
        ("wine", "B-ASPECT"),
    ]
    assert (second.words, set(second.tags)) == (("Never", "again", "."), {"O"})
    assert found.counts == {"overlapping_targets_dropped": 1, "out_of_scope_skipped": 1}
    assert (first.source, second.source) == (f"{path}:5", f"{path}:17")
    assert guess_format(path) == "absa"


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(1, 12)), max_size=6))
def test_of_overlapping_targets_the_longest_stay(tmp_path_factory, targets):
    """Words of one letter each, so that targets are spans of words."""
    targets = [(start, end) for start, end in targets if start < end]
    text = "abcdefghijkl"
    path = write(tmp_path_factory.mktemp("absa"), tagged(text, *targets))
    found = read(path, split=lambda text: [(c, i, i + 1) for i, c in enumerate(text)])
    (example,) = found.examples
    kept: list[tuple[int, int]] = []
    for size in range(12, 0, -1):
        for start in range(13 - size):
            span = set(range(start, start + size))
            if (start, start + size) in targets and not any(span & set(range(*k)) for k in kept):
                kept.append((start, start + size))
    expected = ["O"] * 12
    for start, end in kept:
        expected[start:end] = ["B-ASPECT"] + ["I-ASPECT"] * (end - start - 1)
    assert list(example.tags) == expected
    assert not list(find_faults(expected))
    dropped = len({*targets}) - len(kept)
    assert found.counts.get("overlapping_targets_dropped", 0) == dropped


def test_a_file_without_annotation_is_text(tmp_path):
    text = "<sentences><sentence id='1'>\n<text>Fine soup</text></sentence></sentences>"
    (example,) = read(write(tmp_path, text), "absa").examples
    assert (example.words, example.tags) == (("Fine", "soup"), None)


def test_offsets_are_code_points_of_the_text_without_entities(tmp_path):
    text = tagged("\U0001f600 caf\u00e9 XX soup", (7, 9)).replace("XX", "&lt;&#233;")
    (example,) = read(write(tmp_path, text), "absa").examples
    assert example.words == ("\U0001f600", "caf\u00e9", "<\u00e9", "soup")
    assert example.tags == ("O", "O", "B-ASPECT", "O")


LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 30))


@pytest.mark.parametrize(
    "declared",
    [
        f'<!DOCTYPE s [<!ENTITY a0 "ha">{LAUGHS}]>',
        '<!DOCTYPE s [<!ENTITY a29 SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE s SYSTEM "http://localhost/a.dtd">',
        '<!DOCTYPE s [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
        "<!DOCTYPE s>",
    ],
    ids=["laughs", "file", "dtd", "parameter", "bare"],
)
@pytest.mark.parametrize("errors", ["raise", "collect"])
def test_a_document_type_is_refused_before_an_entity_is_made(tmp_path, declared, errors):
    text = tagged("Fine soup", (5, 9)).replace("Fine", "&a29;")
    path = write(tmp_path, declared + text)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if errors == "raise":
        with pytest.raises(DataError, match=r"a\.xml:1: a document type, 's', which is not read"):
            read(path, "absa")
    else:
        found = read(path, "absa", errors="collect")
        assert not found.examples
        assert "document type" in str(found.problems[0])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 50_000


def test_an_entity_that_nobody_declared_is_an_error(tmp_path):
    path = write(tmp_path, tagged("Fine soup", (5, 9)).replace("Fine", "&nbsp;"))
    with pytest.raises(DataError, match=r"a\.xml:1: bad XML: undefined entity"):
        read(path, "absa")


def test_depth_and_size_are_no_danger(tmp_path):
    deep = "<a>" * 100_000 + "</a>" * 100_000
    text = tagged("Fine soup", (5, 9)).replace("<text>", deep + "<text>")
    assert len(read(write(tmp_path, text), "absa").examples) == 1
