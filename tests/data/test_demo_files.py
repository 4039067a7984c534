"""The demo corpus through files and readers and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tfdistil.data.demo import LANGUAGES, generate, write_demo
from tfdistil.data.readers import read
from tfdistil.errors import DataError
from tfdistil.text.words import WordSplitter

SIZES = {"train": 100, "dev": 50, "test": 50, "transfer": 150}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_demo(tmp_path_factory.mktemp("demo"), seed=3, sizes=SIZES)


def unsourced(examples):
    return [replace(example, source="") for example in examples]


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_json_lines_come_back_whole(files, split):
    path = files.intent_slots[split]
    result = read(path, "jsonl_spans", split=WordSplitter("unicode").split)
    assert unsourced(result.examples) == unsourced(generate("intent_slots", split, SIZES[split], 3))
    assert not result.counts


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_conll_columns_come_back_whole(files, split):
    expected = generate("tags", split, SIZES[split], 3)
    for language in LANGUAGES:
        result = read(files.tags[split][language], "conll", language=language)
        wanted = [e for e in expected if e.language == language]
        bare = [replace(e, source="", text=None, offsets=None) for e in wanted]
        assert unsourced(result.examples) == bare
        assert not result.counts


def test_transfer_text_comes_back_whole(files):
    expected = generate("text", "transfer", SIZES["transfer"], 3)
    for language in LANGUAGES:
        split = WordSplitter("unicode").split
        result = read(files.text[language], "text", language=language, split=split)
        wanted = [e for e in expected if e.language == language]
        assert unsourced(result.examples) == unsourced(wanted)


def test_files_are_the_same_byte_for_byte(files, tmp_path):
    again = write_demo(tmp_path, seed=3, sizes=SIZES)
    for split, path in files.intent_slots.items():
        assert again.intent_slots[split].read_bytes() == path.read_bytes()
    assert again.tags["dev"]["hi"].read_bytes() == files.tags["dev"]["hi"].read_bytes()
    assert again.text["ja"].read_bytes() == files.text["ja"].read_bytes()
    assert not list(tmp_path.rglob("*.part"))


def test_only_the_asked_splits_and_languages_are_written(tmp_path):
    files = write_demo(tmp_path, sizes={"dev": 4}, languages=["es", "hi"])
    assert list(files.intent_slots) == ["dev"]
    assert list(files.tags["dev"]) == ["es", "hi"]
    assert not files.text
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == [
        "dev.jsonl",
        "es.dev.conll",
        "hi.dev.conll",
    ]


def test_an_unknown_split_is_named(tmp_path):
    with pytest.raises(DataError, match="unknown split 'valid'"):
        write_demo(tmp_path, sizes={"valid": 3})
