"""The conformance vectors: as the generator writes them, and as the slow oracle finds them."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.text.projection import reference
from tests.vectors import make_projection
from tfdistil.errors import ModelFileError
from tfdistil.text.projection import ProjectionSpec

FOLDER = Path(make_projection.__file__).parent
PROGRAM = FOLDER / "check_projection.mjs"


def read(name: str) -> list[dict]:
    (items,) = json.loads((FOLDER / f"projection-{name}.json").read_text("utf-8")).values()
    return items


@pytest.fixture(scope="module")
def utterances() -> list[dict]:
    parts = sorted(FOLDER.glob("projection-utterances-*.json"))
    return [u for path in parts for u in read(path.stem.removeprefix("projection-"))]


def test_files_are_what_the_generator_writes():
    written = make_projection.files()
    assert {*written} == {path.name for path in FOLDER.glob("projection-*.json")}
    for name, content in written.items():
        assert (FOLDER / name).read_text("utf-8") == content, name


def test_extent(utterances):
    assert len(utterances) >= 2000
    assert len({u["language"] for u in utterances} - {"und"}) >= 20
    assert {"", "\ud800"} <= {u["text"] for u in utterances}
    assert max(len(u["text"]) * u["times"] for u in utterances) == 10_000
    assert sum(path.stat().st_size for path in FOLDER.glob("projection-*.json")) < 2_000_000


def test_words_and_shown_bytes(utterances):
    spec = ProjectionSpec.from_json(read("specs")[0]["shown"])
    for found in utterances:
        text = found["text"] * found["times"]
        places = reference.split(text)
        assert places == found["words"], text
        data = [reference.fingerprint(text[start:end], spec) for start, end in places]
        assert b"".join(data).hex() == found["hex"], text


def test_digests_of_some(utterances):
    specs = [ProjectionSpec.from_json(spec) for spec in read("specs")[0]["digested"]]
    for found in utterances[:-2:97]:
        words = [found["text"][start:end] for start, end in found["words"]]
        for spec, digest in zip(specs, found["digests"], strict=True):
            rows = [reference.fingerprint(word, spec) for word in words]
            if spec.eos:
                rows.append(reference.fingerprint("<EOS>", spec, special=True))
            elif not rows:
                rows.append(reference.fingerprint("<null>", spec, special=True))
            assert hashlib.sha256(b"".join(rows)).hexdigest()[:8] == digest


def test_specs_that_are_refused():
    for spec in read("specs")[0]["refused"]:
        with pytest.raises(ModelFileError):
            ProjectionSpec.from_json(spec)


def test_words_between_white_space():
    for found in read("whitespace"):
        text, places = found["text"], found["words"]
        assert "".join(text[start:end] for start, end in places) == "".join(text.split())
        assert [text[start:end] for start, end in places] == text.split()


def test_pairs():
    shown = ProjectionSpec.from_json(read("specs")[0]["shown"])
    for found in read("pairs"):
        first, second = found["first"], found["second"]
        room = found["max_length"] - 1 - found["eos"]
        kept = reference.kept_of_pair(len(first), len(second), room)
        assert found["kept"] == kept
        end = reference.fingerprint("<EOS>", shown, special=True)
        one, two = (
            [reference.fingerprint(word, shown) for word in words[:count]]
            for words, count in zip((first, second), kept, strict=True)
        )
        data = b"".join([*one, end, *two, *([end] if found["eos"] else [])])
        assert data.hex() == found["hex"], (first, second)


def test_broken_bytes():
    for found in read("bytes"):
        assert bytes.fromhex(found["hex"]).decode("utf-8", "replace") == found["text"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, for the JavaScript program")
def test_an_implementation_in_javascript_agrees(utterances):
    done = subprocess.run(["node", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.strip() == f"{len(utterances)} utterances, 0 differences"
