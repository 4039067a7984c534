"""Suggested sources: the shared sets' own recipe lines, found from the files alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tfdistil.data.readers import guess_format
from tfdistil.data.source import Source, load
from tfdistil.data.suggest import suggest
from tfdistil.errors import DataError


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("uner_en_ewt/en_ewt-ud-dev.iob2", {"word": 1, "tag": 2}),
        ("uner_en_ewt_pre2022train/en_ewt-ud-train.iob2", {"word": 1, "tag": 2}),
        ("uner_sv_talbanken/sv_talbanken-ud-train.iob2", {"word": 1, "tag": 2}),
        ("xsid/en.valid.conll", {"word": 1, "label_comment": "intent"}),
        ("wnut17/wnut17train.conll", {}),
        ("ner_transfer_corpora/da/dev.txt", {}),
        ("ud_fr_gsd/fr_gsd-ud-test.conllu", {"word": 1, "tag": None}),
        ("snips_en_slotgated/valid", {}),
        ("mtod/th/eval-th.tsv", {}),
        ("hwu64/test_kfold1_rasa.json", {}),
        ("clinc150/data_small.json", {}),
        ("hinglish_top/validation.tsv", {"parse": "cs_parse"}),
        ("med_en/MED.tsv", {"text": "sentence1", "second": "sentence2", "label": "gold_label"}),
        ("farstail_fa/Val-word.csv", {"text": "premise", "second": "hypothesis"}),
        ("indonli_id/val.jsonl", {"text": "premise", "second": "hypothesis"}),
        ("hebrew_sentiment/token/dev.tsv", {"text": "comment"}),
        ("indonlu/smsa_doc-sentiment-prosa/valid_preprocess.tsv", {"text": 0, "label": 1}),
        ("ntrex/newstest2019-src.eng.txt", {}),
    ],
)
def test_well_known_sets(path: str, options: dict, shared_data: Path):
    source = suggest(shared_data / path)
    assert source.options == options
    result = load([source], errors="collect")
    assert result.examples
    assert all("B-O" in str(problem) for problem in result.problems)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("Rome\tI-LOC\nand\tO\n", {}),
        ("Rome\tS-LOC\nNew\tB-LOC\nYork\tE-LOC\n", {"scheme": "iobes"}),
        ("a NN B-NP O\nRome NP I-NP B-LOC\n", {}),
        ("a NN B-NP B-LOC x\n", {"options": {"tag": 3}}),
        ("Rome\tB-LOC\n" * 9 + "\nOslo\n", {"options": {"tag": 1}}),
        ("a\tO\n" * 3000 + "Rome\tB-LOC\n", {}),
        ("a NN B-NP O\n" * 3000 + "Rome NP B-NP B-LOC\n", {}),
        ("Rome\tB-LOC\n\n" * 999 + "Rome" + "\t" * 99_999 + "\n", {"options": {"tag": 1}}),
        ("O\tin\nB-LOC\tRome\n", {"options": {"word": 1, "tag": 0}}),
        ("O\tin\t\nB-LOC\tRome\t\n", {"options": {"word": 1, "tag": 0}}),
    ],
    ids=[
        *("IOB1", "IOBES", "chunks", "chunks and more", "a broken line"),
        *("a late name", "chunks and a late name", "a broken line that is long", "tags first"),
        "tags first, and an empty column",
    ],
)
def test_columns_of_tags(rows: str, found: dict, tmp_path: Path):
    path = tmp_path / "a.conll"
    path.write_text(rows)
    source = suggest(path)
    assert source == Source(path, "conll", **found)
    assert load([replace(source, repair="iob2")], errors="collect").examples


@pytest.mark.parametrize("name", ["a.txt", "a.tsv"])
@pytest.mark.parametrize("rows", ["O\tin\nB-LOC\tRome\n", "O in\nB-LOC Rome\n"])
def test_tags_in_front_of_words_are_columns_whatever_the_name(name, rows, tmp_path: Path):
    (tmp_path / name).write_text(rows)
    assert suggest(tmp_path / name).options == {"word": 1, "tag": 0}


@pytest.mark.parametrize("rows", ["a NN B-NP O\nRome NP I-NP I-LOC\n", "Rome NP S-LOC\n"])
def test_text_that_ends_in_tags_of_another_scheme_is_columns(rows: str, tmp_path: Path):
    (tmp_path / "a.txt").write_text(rows)
    assert guess_format(tmp_path / "a.txt") == "conll"


def test_utf_16_is_named(tmp_path: Path):
    (tmp_path / "a.conll").write_text("a\tO\n", "utf-16")
    with pytest.raises(DataError, match="UTF-16"):
        suggest(tmp_path / "a.conll")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.conll", "a\tNN\nb\tVB\n", "set `tag`"),
        ("a.conll", "a\tO\nb\tB_PER\n", r"a row is \['b', 'B_PER'\]"),
        ("a.conll", "a O\nb O\n", "no column has spans"),
        ("a.conll", "O\tDT\tin\nB-LOC\tNN\tRome\n", "column 0 has tags and is in front of"),
        ("a.conll", "# text = a\n", "comments alone"),
        ("a.conll", "\n \n", "empty"),
        ("a.tsv", "x\ty\tz\n1\t2\t3\n", "set `text` and `label`"),
        ("a.jsonl", '{"x": 1}\n', "set `text` and `label`"),
        ("a.jsonl", '{"text": "a"}\n', "set `text` and `label` to two of the columns"),
        ("a.xyz", "a b c\n", "cannot tell the format from the name and .*; known: .*conll"),
    ],
)
def test_what_cannot_be_told_is_asked_for(name: str, text: str, says: str, tmp_path: Path):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=says):
        suggest(tmp_path / name)
    with pytest.raises(DataError, match="no such file"):
        suggest(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "text", "format", "options"),
    [
        (
            "a.jsonl",
            '{"id": "1", "tokens": ["Ada", "is"], "ner_tags": ["B-PER", "O"], "intent": "say"}\n',
            "jsonl_words",
            {"words": "tokens", "tags": "ner_tags", "label": "intent"},
        ),
        ("a.json", '[{"words": ["a"], "tags": ["O"], "label": "x"}]', "jsonl_words", {}),
        ("a.json", '\ufeff[{"words": ["a"], "tags": ["O"]}]', "jsonl_words", {}),
        (
            "a.jsonl",
            '{"text": "Ada is", "label": [[0, 3, "PER"]], "Comments": []}\n',
            "jsonl_spans",
            {"spans": "label"},
        ),
        ("a.jsonl", '{"text": "so", "labels": []}\n', "jsonl_spans", {"spans": "labels"}),
        ("a.json", '[\n  {"text": "a", "entities": []}\n]', "jsonl_spans", {}),
        (
            "a.json",
            '[\n  {"review": "good", "stars": 5},\n  {"review": "bad", "stars": 1}]',
            "table",
            {"text": "review", "label": "stars"},
        ),
    ],
)
def test_json_of_annotation_tools_and_hubs(name, text, format, options, tmp_path: Path):
    (tmp_path / name).write_text(text)
    source = suggest(tmp_path / name)
    assert (source.format, source.options) == (format, options)
    assert len(load([source]).examples) >= 1


def test_tags_that_are_numbers_need_names(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"tokens": ["Ada", "is"], "ner_tags": [1, 0]}\n')
    with pytest.raises(DataError, match=r"tags: ner_tags, names: \[O, B-PER, I-PER, ...\]"):
        suggest(tmp_path / "a.jsonl")
