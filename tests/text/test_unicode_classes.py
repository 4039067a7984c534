"""The ranges of the word splitter are those of Unicode 14."""

from __future__ import annotations

import unicodedata

import pytest

from tfdistil.text import unicode_classes


def code_points(ranges: str) -> set[int]:
    found: set[int] = set()
    for part in ranges.split():
        first, _, last = part.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found


SKIN_TONES = {*range(0x1F3FB, 0x1F400)}


@pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0", reason="this Python has another version of Unicode"
)
@pytest.mark.parametrize(
    ("ranges", "categories", "extra", "without"),
    [
        ("SYMBOLS", "PS", set(), SKIN_TONES),
        ("MARKS", "M", SKIN_TONES, set()),
        ("DIGITS", ("Nd",), set(), set()),
    ],
)
def test_categories(ranges, categories, extra, without):
    expected = {
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)).startswith(tuple(categories))
    }
    assert code_points(getattr(unicode_classes, ranges)) == (expected | extra) - without


def test_spaces_are_pythons():
    assert code_points(unicode_classes.SPACES) == {
        code for code in range(0x110000) if chr(code).isspace()
    }


def test_controls_and_formats_share_out_the_invisible_characters():
    controls = code_points(unicode_classes.CONTROLS)
    formats = code_points(unicode_classes.FORMATS)
    assert not controls & formats
    invisible = {
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Cc", "Cf") and not chr(code).isspace()
    }
    # A later Unicode may add some: those stay letters.
    assert len(invisible - controls - formats) < 20
    assert controls | formats <= invisible | {0x2065}  # the one unassigned amid direction marks


@pytest.mark.parametrize("name", ["SYMBOLS", "MARKS", "DIGITS", "SPACES", "CONTROLS", "UNSPACED"])
def test_ranges_are_sorted_and_disjoint(name):
    borders = [
        int(code, 16)
        for part in getattr(unicode_classes, name).split()
        for code in (part.split("-") * 2)[:2]
    ]
    assert borders == sorted(borders)


@pytest.mark.parametrize("character", "กກကក漢かカｶ々ー𠀀")
def test_scripts_without_spaces(character):
    assert ord(character) in code_points(unicode_classes.UNSPACED)


@pytest.mark.parametrize("character", "aßжאا한ሀ")
def test_scripts_with_spaces(character):
    assert ord(character) not in code_points(unicode_classes.UNSPACED)
