"""Translation by the command ``apertium``: the real one if installed, scripts elsewhere."""

from __future__ import annotations

import shutil
import stat
import subprocess

import pytest

from tfdistil.augmentation.apertium import THREE_LETTERS, ApertiumTranslator
from tfdistil.errors import DataError


def installed() -> bool:
    if shutil.which("apertium") is None:
        return False
    pairs = subprocess.run(["apertium", "-l"], capture_output=True, text=True, check=False).stdout
    return {"eng-spa", "spa-eng"} <= set(pairs.split())


real = pytest.mark.skipif(not installed(), reason="needs apt install apertium-eng-spa")

TEXTS = [
    "play the new song",
    "will it rain in xyzzy tomorrow",
    "",
    "add this track to my playlist",
    "2 * 3 *star",
    "a ^ b $ [c] {d} <e> @f \\ / g",
    "one\ntwo\n\nthree\tfour",
    "-u",
]


@real
def test_each_text_is_translated_as_if_it_were_alone():
    translate = ApertiumTranslator()
    found = translate(TEXTS, "en", "es")
    assert found == [translate([text], "en", "es")[0] for text in TEXTS]
    assert found[0].lower() == "juego la canción nueva"
    assert "xyzzy" in found[1]
    assert "*" not in found[1]
    assert found[2] == ""
    assert found[4].startswith("2 * 3 *")
    assert found[5].endswith("^ b $ [c] {d} <e> @f \\ / g")
    assert "\n" not in found[6]


@real
def test_sentences_come_back_from_spanish(make, tmp_path):
    from tfdistil.data.example import Example

    train = [Example(tuple(TEXTS[3].split()), language="en")]
    (made,) = make("pivoting", train, model="apertium", pivots=["es"], lowercase=True)
    assert (made.language, made.tags) == ("en", None)
    assert {"playlist", "my"} <= set(made.words)
    assert len([*(tmp_path / "translations").iterdir()]) == 2


@real
def test_a_pair_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(DataError, match=r"no pair eng-tlh; there are .*eng-spa"):
        ApertiumTranslator()(["a"], "en", "tlh")


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A command in apertium's place, made of a line of shell for the translation."""

    def make(line: str, pairs: str = "eng-spa spa-eng en-nob"):
        command = tmp_path / "bin" / "apertium"
        command.parent.mkdir(exist_ok=True)
        command.write_text(f'#!/bin/sh\nif [ "$1" = -l ]; then echo "{pairs}"; else {line}; fi\n')
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
        return ApertiumTranslator({"no": "nob"})

    return make


def test_names_of_two_and_three_letters_and_codes_are_found(script):
    translate = script('cat > /dev/null; printf "%s\\n\\n" "$2"')
    assert translate(["a"], "en", "es") == ["eng-spa"]
    assert translate(["a"], "eng", "spa") == ["eng-spa"]
    assert translate(["a"], "en", "no") == ["en-nob"]
    assert all(len(two) == 2 and len(three) == 3 for two, three in THREE_LETTERS.items())


def test_a_command_that_fails_or_forgets_says_so(script):
    with pytest.raises(DataError, match=r"apertium -u eng-spa failed \(3\): .*out of rules"):
        script("cat > /dev/null; echo out of rules >&2; exit 3")(["a"], "en", "es")
    with pytest.raises(
        DataError, match="eng-spa returned 1 texts for 2, the first of which is 'a'"
    ):
        script('cat > /dev/null; printf "x\\n\\n"')(["a", "b"], "en", "es")


def test_without_the_command_it_is_said_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="apt install apertium apertium-eng-spa"):
        ApertiumTranslator().identity("en", "es")
