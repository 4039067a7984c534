"""``data.corpus`` of a recipe: its sets, what is kept out of them, a run that draws from them."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tfdistil.console.screen import Screen
from tfdistil.corpus.loading import load_corpus
from tfdistil.corpus.text import samples
from tfdistil.data.splits import sentence_key
from tfdistil.errors import DataError, RecipeError
from tfdistil.pipeline.run import run
from tfdistil.recipe.loading import parse_recipe
from tfdistil.runs.model_sharing import model_key
from tfdistil.runs.run import open_run
from tfdistil.shards.text import TextCorpus

WORDS = {"en": ["the", "city", "is", "far", "away"], "es": ["la", "ciudad", "queda", "lejos"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """English has eight times the lines; in both there is a sentence of dev and one of test."""
    draw = random.Random(2)
    for language, number in (("en", 400), ("es", 50)):
        words = WORDS[language]
        lines = [" ".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(number)]
        lines[5:5] = ["fly to bern", "Fly  toTurin"]
        (tmp_path / f"{language}.txt").write_text("\n".join(lines), encoding="utf-8")
    for name, city in (("train", "oslo"), ("dev", "bern"), ("test", "Turin")):
        fly = "Fly" if city == "Turin" else "fly"
        sentence = f"{fly} O\nto O\n{city} B-LOC\n\n"
        (tmp_path / f"{name}.conll").write_text(sentence * 4, encoding="utf-8")
    return tmp_path


def recipe(corpus=None, stages=(), **more):
    sources = [{"path": f"{language}.txt", "language": language} for language in WORDS]
    sets = {name: [{"path": f"{name}.conll"}] for name in ("train", "dev", "test")}
    scratch = {"layers": 2, "hidden_dim": 16, "heads": 2, "intermediate_dim": 24}
    return parse_recipe(
        {
            "task": "tags",
            "data": {**sets, "corpus": {"sources": sources, **(corpus or {})}},
            "models": {
                "teacher": {
                    "scratch": {**scratch, "vocabulary": 120, "pretrain": None},
                    "heads": {"labels": "linear", "pieces": "mlm"},
                    "fine_tune": False,
                    "max_length": 16,
                },
                "half": {"from": "teacher", "apply": [{"kind": "keep_layers", "layers": [1]}]},
            },
            "distill": list(stages),
            "deliver": {"half": {"checkpoint": True}},
            **more,
        }
    )


SECTIONS = {"sections": {"a": 0.5, "b": 0.5}, "held_out": 0.1, "test": 0.1}


def of_text(folder, **corpus):
    """A recipe of masked language models on nothing but the corpus."""
    tree = {
        "task": "text",
        "data": {
            "corpus": {
                "sources": [{"path": f"{name}.txt", "language": name} for name in WORDS],
                "held_out": 0.1,
                "test": 0.1,
                **corpus,
            }
        },
        "models": {
            "teacher": {
                "scratch": {"layers": 1, "hidden_dim": 8, "vocabulary": 120, "pretrain": None},
                "heads": {"logits": "mlm"},
                "fine_tune": False,
                "max_length": 16,
            }
        },
        "distill": [],
        "deliver": {"teacher": {"checkpoint": True}},
    }
    return parse_recipe(tree)


def test_the_sets_of_a_corpus(folder):
    corpus = load_corpus(recipe(SECTIONS), folder)
    assert list(corpus.text) == [
        *("corpus", "corpus.a", "corpus.b", "corpus_held_out", "corpus_test")
    ]
    assert corpus.files["corpus"] == (folder / "en.txt", folder / "es.txt")
    keys = {name: {sentence_key(e) for e in text} for name, text in corpus.text.items()}
    assert keys["corpus"] == keys["corpus.a"] | keys["corpus.b"]
    apart = [keys[name] for name in ("corpus.a", "corpus.b", "corpus_held_out", "corpus_test")]
    assert len(set.union(*apart)) == sum(map(len, apart))
    evaluated = {sentence_key(e) for e in (*corpus.dev, *corpus.test)}
    assert evaluated.isdisjoint(set.union(*apart))
    assert sum(len(text) for name, text in corpus.text.items() if name != "corpus") == 450
    assert {e.language for e in corpus.text["corpus"]} == {"en", "es"}


def test_languages_of_the_recipe_are_those_of_the_corpus(folder):
    spanish = recipe(SECTIONS)
    data = spanish.data.model_copy(update={"languages": ["es", "und"]})
    corpus = load_corpus(spanish.model_copy(update={"data": data}), folder)
    assert corpus.files["corpus"] == (folder / "es.txt",)
    assert {e.language for e in corpus.text["corpus"]} == {"es"}


def test_no_corpus_no_sets(folder):
    plain = recipe()
    data = plain.data.model_copy(update={"corpus": None})
    assert load_corpus(plain.model_copy(update={"data": data}), folder).text == {}


@pytest.mark.parametrize(
    ("corpus", "text"),
    [
        ({"sections": {"a": 0.7, "b": 0.4}}, "the sections have more than 1 in sum"),
        ({"sections": {"a/b": 0.4}}, "a name has 1 to 50 letters"),
        ({"held_out": 0.5, "test": 0.5}, "leave nothing to train on"),
        ({"balance": {"more": "en", "less": "is", "ratio": 100}}, "balance names 'is'"),
        ({"balance": {"more": "en", "less": "en", "ratio": 100}}, "balance names 'en' twice"),
        ({"balance": {"more": "en", "less": "es", "ratio": 0}}, "greater than 0"),
        ({"sources": []}, "at least 1 item"),
        ({"shards": 3}, "shards"),
    ],
)
def test_keys_that_do_not_fit(corpus, text):
    with pytest.raises(RecipeError) as caught:
        recipe(corpus)
    assert text in str(caught.value)


def test_a_file_that_is_not_there(folder):
    (folder / "es.txt").unlink()
    corpus = load_corpus(recipe(), folder)
    with pytest.raises(DataError, match=r"es.txt: no such file"):
        list(corpus.text["corpus"])


def stage(name, student, stream, **more):
    return {
        "name": name,
        "student": student,
        "teacher": None,
        "terms": [{"loss": "masked_lm", "stream": stream, "head": "pieces"}],
        "noise": [{"kind": "masking", "probability": 0.3}],
        "batch_size": 8,
        "optimizer": {"learning_rate": 0.01},
        "stop": {"updates": 20, "every": 10, "monitor": "loss", "on": "corpus_held_out"},
        **more,
    }


@pytest.mark.slow
def test_a_run_draws_from_sections(folder, tmp_path):
    """A teacher learns from one section, its upper half from another; shards are made once."""
    copied = {
        "loss": "logit_mse",
        "stream": "corpus.b",
        "student_signal": "hidden/1",
        "teacher_signal": "hidden/2",
        "align": "subword",
    }
    stages = [
        stage("mlm", "teacher", "corpus.a"),
        stage("copy", "half", "corpus.b", teacher="teacher", terms=[copied]),
    ]
    balance = {"more": "en", "less": "es", "ratio": 2}
    given = recipe(SECTIONS | {"balance": balance}, stages)
    out = tmp_path / "run"
    said = io.StringIO()
    run(given, out, folder, Screen(Console(file=said, width=200)))
    folders = list((out / "cache").glob("corpus-*"))
    assert len(folders) == 1
    facts = json.loads((folders[0] / "shards.json").read_text("utf-8"))
    assert facts["statistics"]["es"]["lines"] == 50
    assert facts["left_out"] == 4
    assert "es: 50 lines" in said.getvalue()
    assert "pieces per word" in said.getvalue()
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert set(manifest["sources"]["corpus"]) == {"en.txt", "es.txt"}
    losses = [
        json.loads((out / "phases" / name).read_text("utf-8"))["best"]
        for name in ("teacher/mlm.json", "half/copy.json")
    ]
    assert all(0 < loss < 10 for loss in losses)
    (folder / "en.txt").unlink()  # scores and exports do not need it
    assert open_run(out, labelled_only=True).corpus.text == {}


def test_runs_of_another_corpus_share_no_model(folder):
    given = recipe(SECTIONS)
    keys = [model_key(given, "teacher", load_corpus(given, folder), folder)]
    keys.append(model_key(given, "teacher", load_corpus(given, folder), folder))
    (folder / "es.txt").write_text("otra ciudad\n", encoding="utf-8")
    keys.append(model_key(given, "teacher", load_corpus(given, folder), folder))
    assert keys[0] == keys[1] != keys[2]


def test_sets_to_score_on_are_sampled_in_one_reading(folder, monkeypatch):
    """Evenly: each line of a part is as likely as another; and the files are gone through once."""
    corpus = load_corpus(recipe(SECTIONS | {"held_out": 0.3, "test": 0.3}), folder)
    parts = [corpus.text["corpus_held_out"], corpus.text["corpus_test"]]
    lines = [[e.source for e in part] for part in parts]
    readings, read = [], TextCorpus.lines
    monkeypatch.setattr(TextCorpus, "lines", lambda self: readings.append(1) or read(self))
    drawn = Counter(
        example.source for seed in range(400) for of in samples(parts, 20, seed) for example in of
    )
    assert len(readings) == 400
    for own in lines:
        counts = np.array([drawn[source] for source in own])
        assert counts.sum() == 400 * 20
        share = 20 / len(own)
        np.testing.assert_allclose(counts / 400, share, atol=5 * np.sqrt(share / 400))
    assert [len(of) for of in samples(parts, 10_000, 1)] == [len(own) for own in lines]


def test_a_run_on_text_reads_what_it_scores_once(folder, monkeypatch):
    """However many sets and models are scored."""
    given = of_text(folder)
    readings, read = [], TextCorpus.lines
    monkeypatch.setattr(TextCorpus, "lines", lambda self: readings.append(1) or read(self))
    corpus = load_corpus(given, folder)
    assert len(readings) == 1
    assert corpus.dev
    assert corpus.test
    assert all(isinstance(of, tuple) for of in corpus.score_sets().values())


def test_languages_that_no_source_is_in(tmp_path):
    (tmp_path / "sw.txt").write_text("habari ya leo\n" * 9)
    tree = {
        "task": "text",
        "data": {
            "languages": ["fr"],
            "corpus": {"sources": [{"path": "sw.txt", "language": "sw"}]},
        },
        "models": {"teacher": {"scratch": {}, "fine_tune": False}},
        "deliver": {"teacher": {"checkpoint": True}},
    }
    with pytest.raises(
        DataError, match=r"data\.languages is fr, which no source of data\.corpus is"
    ):
        load_corpus(parse_recipe(tree), tmp_path)


def test_what_is_reported_is_in_no_text_that_a_model_learns_from(tmp_path):
    """Where the same lines are given twice, as the corpus and as transfer or train."""
    lines = [f"line {i} of the town" for i in range(400)]
    for name, part in {"all": lines, "some": lines[::2], "train": lines[::3]}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(part), encoding="utf-8")
    tree = {
        "task": "text",
        "data": {
            "corpus": {"sources": [{"path": "all.txt"}], "held_out": 0.1, "test": 0.1},
            "transfer": [{"path": "some.txt"}],
        },
        "models": {"teacher": {"scratch": {}, "fine_tune": False}},
        "deliver": {"teacher": {"checkpoint": True}},
    }
    corpus = load_corpus(parse_recipe(tree), tmp_path)
    reported = {sentence_key(e) for e in (*corpus.dev, *corpus.test)}
    assert corpus.counts["transfer_dropped"] > 10
    assert reported.isdisjoint(map(sentence_key, corpus.transfer))
    tree["data"]["train"] = [{"path": "train.txt"}]
    tree["data"]["dev_fraction"] = 0.1
    corpus = load_corpus(parse_recipe(tree), tmp_path)
    train = {*map(sentence_key, corpus.train)}
    assert corpus.counts["test_seen_in_train"] == sum(sentence_key(e) in train for e in corpus.test)
    assert corpus.counts["test_seen_in_train"] > 5
