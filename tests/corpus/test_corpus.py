"""From the files a recipe names to sets that do not leak."""

from __future__ import annotations

import pytest

from tfdistil.corpus.loading import load_corpus
from tfdistil.data.splits import sentence_key
from tfdistil.errors import DataError, RecipeError
from tfdistil.recipe.loading import parse_recipe

CITIES = ["rome", "oslo", "lima", "bonn", "kyiv", "pune", "graz", "bern", "turin", "minsk"]


def conll(sentences) -> str:
    return "\n".join("".join(f"{w} {t}\n" for w, t in sentence) for sentence in sentences)


def visit(city: str, number: int = 1) -> list[tuple[str, str]]:
    return [("visit", "O"), (city, "B-LOC"), *[("now", "O")] * number]


TRAIN = [visit(city, n) for city in CITIES for n in (1, 2)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.conll").write_text(conll(TRAIN), encoding="utf-8")
    (tmp_path / "dev.conll").write_text(conll([visit("paris"), visit("rome", 5)]), encoding="utf-8")
    (tmp_path / "test.conll").write_text(
        conll([visit("cairo"), visit("oslo", 2), visit("delhi")]), encoding="utf-8"
    )
    (tmp_path / "raw.txt").write_text(
        "visit paris now\nvisit tunis now\nvisitcairo now\nvisit oslo now now\nvisit quito now\n",
        encoding="utf-8",
    )
    return tmp_path


def recipe(data, task="tags", **more):
    return parse_recipe(
        {
            "task": task,
            "data": data,
            "models": {"teacher": {"scratch": {}}, "student": {"kind": "bilstm"}},
            "distill": [{"name": "one", "terms": [{"loss": "logit_mse"}]}],
            **more,
        }
    )


def files(**sets):
    return {
        name: [{"path": path} if isinstance(path, str) else path] for name, path in sets.items()
    }


def keys(examples):
    return {sentence_key(example) for example in examples}


def test_files_become_sets(folder):
    data = files(train="train.conll", dev="dev.conll", test="test.conll", transfer="raw.txt")
    data["train"][0]["language"] = "en"
    corpus = load_corpus(recipe(data), folder)
    assert corpus.task.outputs[0].labels == ("O", "B-LOC", "I-LOC")
    assert [e.words[1] for e in corpus.train] == [c for c in CITIES for _ in range(2)]
    assert [e.words[1] for e in corpus.dev] == ["paris", "rome"]
    assert all(e.tags is None and e.label is None for e in corpus.transfer)
    assert corpus.languages == ["en", "und"]
    assert corpus.sets() == {
        "train": corpus.train,
        "dev": corpus.dev,
        "test": corpus.test,
        "transfer": corpus.transfer,
        "augmented": (),
    }
    assert {name: corpus.counts[name] for name in ("train", "dev", "test")} == {
        "train": 20,
        "dev": 2,
        "test": 3,
    }


def test_transfer_sentences_of_dev_and_test_are_dropped_and_counted(folder):
    data = files(train="train.conll", dev="dev.conll", test="test.conll", transfer="raw.txt")
    corpus = load_corpus(recipe(data), folder)
    # paris is in dev, and cairo in test, though split otherwise; oslo is in train too, but in test
    assert [e.words[1] for e in corpus.transfer] == ["tunis", "quito"]
    assert corpus.counts["transfer_dropped"] == 3
    assert corpus.counts["transfer"] == 2
    assert not keys(corpus.transfer) & keys((*corpus.dev, *corpus.test))


def test_test_sentences_seen_in_train_are_counted_and_scored_apart(folder):
    corpus = load_corpus(recipe(files(train="train.conll", test="test.conll")), folder)
    assert corpus.seen_in_train in ((), (1,))  # unless its twin in train went to dev
    data = files(train="train.conll", dev="dev.conll", test="test.conll")
    corpus = load_corpus(recipe(data), folder)
    assert corpus.seen_in_train == (1,)
    assert corpus.counts["test_seen_in_train"] == 1
    sets = corpus.score_sets()
    assert list(sets) == ["dev", "test", "test_unseen"]
    assert [e.words[1] for e in sets["test_unseen"]] == ["cairo", "delhi"]


def test_sets_without_examples_are_not_scored(folder):
    corpus = load_corpus(recipe(files(train="train.conll", dev="dev.conll")), folder)
    assert list(corpus.score_sets()) == ["dev"]


def test_without_dev_a_part_of_train_is_split_off(folder):
    data = files(train="train.conll") | {"dev_fraction": 0.2}
    corpus = load_corpus(recipe(data), folder)
    assert (corpus.counts["train"], corpus.counts["dev"]) == (16, 4)
    assert keys(corpus.train).isdisjoint(keys(corpus.dev))
    assert keys((*corpus.train, *corpus.dev)) == {
        ("".join(word for word, _ in sentence), "") for sentence in TRAIN
    }
    assert load_corpus(recipe(data), folder).dev == corpus.dev
    others = [load_corpus(recipe(data, seed=seed), folder).dev for seed in (1, 2, 3)]
    assert any(dev != corpus.dev for dev in others)


@pytest.mark.parametrize("dev", [{}, {"dev": "dev.conll"}])
def test_without_test_a_part_of_train_is_split_off_on_request(folder, dev):
    """The rest of the run takes it for a test set: it is counted, scored and kept out of text."""
    names = " ".join(word for sentence in TRAIN for word, _ in sentence)
    (folder / "raw.txt").write_text(
        "".join(" ".join(word for word, _ in sentence) + "\n" for sentence in TRAIN) + names
    )
    data = files(train="train.conll", transfer="raw.txt", **dev) | {"test_fraction": 0.2}
    corpus = load_corpus(recipe(data), folder)
    sizes = {"train": 16 if dev else 14, "dev": 2, "test": 4}
    assert {name: corpus.counts[name] for name in sizes} == sizes
    assert list(corpus.score_sets()) == ["dev", "test"]
    sets = [keys(corpus.train), keys(corpus.dev), keys(corpus.test)]
    assert len(set().union(*sets)) == sum(map(len, sets))
    assert not keys(corpus.transfer) & keys((*corpus.dev, *corpus.test))
    without = {key: value for key, value in data.items() if key != "test_fraction"}
    assert load_corpus(recipe(without), folder).dev == corpus.dev
    others = [load_corpus(recipe(data, seed=seed), folder).test for seed in (1, 2, 3)]
    assert any(test != corpus.test for test in others)


def test_transfer_is_limited_by_a_seeded_sample(folder):
    text = "".join(f"sentence number {i}\n" for i in range(50))
    (folder / "raw.txt").write_text(text, encoding="utf-8")
    data = files(train="train.conll", transfer="raw.txt") | {"transfer_limit": 10}
    first = load_corpus(recipe(data), folder)
    assert len(keys(first.transfer)) == 10 == first.counts["transfer"]
    assert load_corpus(recipe(data), folder).transfer == first.transfer
    assert load_corpus(recipe(data, seed=1), folder).transfer != first.transfer
    data["transfer_limit"] = 500
    assert len(load_corpus(recipe(data), folder).transfer) == 50


def test_near_duplicates_are_left_out_before_a_sample_is_taken(folder):
    text = "".join(f"we read page {i} of the old book\nof {chr(97 + i)} I know\n" for i in range(9))
    (folder / "raw.txt").write_text(text, encoding="utf-8")
    data = files(train="train.conll", transfer="raw.txt") | {"near_duplicates": 0.9}
    corpus = load_corpus(recipe(data), folder)
    assert (corpus.counts["transfer"], corpus.counts["transfer_near_duplicates"]) == (10, 8)
    some = load_corpus(recipe(data | {"transfer_limit": 10}), folder)
    assert some.transfer == corpus.transfer
    everything = load_corpus(recipe(data | {"near_duplicates": None}), folder)
    assert everything.counts["transfer"] == 18
    assert "transfer_near_duplicates" not in everything.counts


def test_labels_of_transfer_sentences_are_not_seen(folder):
    data = files(train="train.conll", dev="dev.conll", transfer="test.conll")
    corpus = load_corpus(recipe(data), folder)
    assert len(corpus.transfer) == 3
    assert all(e.tags is None and e.label is None for e in corpus.transfer)


def test_raw_text_is_split_as_the_recipe_says(folder):
    (folder / "raw.txt").write_text("go to Rome, please!\n", encoding="utf-8")
    data = files(train="train.conll", transfer="raw.txt")
    words = load_corpus(recipe(data), folder).transfer[0].words
    assert words == ("go", "to", "Rome", ",", "please", "!")
    corpus = load_corpus(recipe(data | {"splitter": "whitespace"}), folder)
    assert corpus.transfer[0].words == ("go", "to", "Rome,", "please!")
    assert [word for word, _, _ in corpus.splitter.split("a b.")] == ["a", "b."]


def test_the_readers_counts_are_kept_by_set(folder):
    source = {"path": "train.conll", "label_map": {"LOC": "PLACE", "PER": "PERSON"}}
    corpus = load_corpus(recipe(files(train=source)), folder)
    assert corpus.task.outputs[0].labels == ("O", "B-PLACE", "I-PLACE")
    assert corpus.counts["train_labels_mapped"] == 20
    assert corpus.counts["train_label_map_unused"] == 1


def test_labels_that_train_does_not_have_are_listed(folder):
    (folder / "test.conll").write_text(conll([visit("a"), [("eu", "B-ORG")]]), encoding="utf-8")
    data = files(train="train.conll", dev="dev.conll", test="test.conll")
    corpus = load_corpus(recipe(data), folder)
    assert corpus.unknown_labels == {"test": {"tags": {"ORG": 1}}}
    assert corpus.task.outputs[0].labels == ("O", "B-LOC", "I-LOC")
    assert len(corpus.test) == 2


def test_labels_that_went_to_dev_or_were_not_drawn_are_no_error(folder):
    """A set split off train, or a small part of it, need not have all labels of the rest."""
    rows = [f"kind{number}\tsay {number} {word}" for number in range(9) for word in "ab"]
    (folder / "train.tsv").write_text("label\ttext\n" + "\n".join(rows) + "\n", "utf-8")
    data = files(train="train.tsv") | {"dev_fraction": 0.3, "low_resource": {"samples": 3}}
    corpus = load_corpus(recipe(data, "classes"), folder)
    assert len(corpus.train) == 3
    known = set(corpus.task.outputs[0].labels)
    assert set(corpus.unknown_labels["dev"]["class"]) == {e.label for e in corpus.dev} - known


def test_a_label_that_train_does_not_have_is_an_error_on_request(folder):
    (folder / "test.conll").write_text(conll([visit("a"), [("eu", "B-ORG")]]), encoding="utf-8")
    data = files(train="train.conll", dev="dev.conll", test="test.conll")
    data["unknown_labels"] = "error"
    with pytest.raises(DataError, match=r"test\.conll:\d+: unknown tag 'B-ORG'.*label_map"):
        load_corpus(recipe(data), folder)


@pytest.mark.parametrize(
    ("task", "text", "field"),
    [
        ("classes", "visit O\nrome B-LOC\n", "label"),
        ("intent_slots", "visit O\nrome B-LOC\n", "label"),
        ("pair", "visit O\nrome B-LOC\n", "label"),
    ],
)
def test_labels_the_task_needs_and_the_file_does_not_have(folder, task, text, field):
    (folder / "some.conll").write_text(text * 2, encoding="utf-8")
    data = files(train="some.conll", dev="some.conll")
    with pytest.raises(RecipeError, match=rf"some\.conll:1: task {task} needs {field}.*train"):
        load_corpus(recipe(data, task), folder)


def test_texts_without_labels_are_no_training_data(folder):
    with pytest.raises(RecipeError, match=r"raw\.txt:1: task tags needs tags in every example"):
        load_corpus(recipe(files(train="raw.txt")), folder)
    data = files(train="train.conll", test="raw.txt")
    with pytest.raises(RecipeError, match=r"of test, but the reader found none"):
        load_corpus(recipe(data), folder)


def test_a_missing_file_is_a_data_error(folder):
    with pytest.raises(DataError, match=r"none\.conll"):
        load_corpus(recipe(files(train="none.conll")), folder)


def test_a_continuation_label_is_asked_for_by_the_task(folder):
    data = files(train="train.conll")
    corpus = load_corpus(recipe(data, {"kind": "tags", "continuation": True}), folder)
    assert corpus.task.outputs[0].labels == ("O", "B-LOC", "I-LOC", "X")


@pytest.mark.parametrize("kind", ["intent_slots", "tags", "classes"])
def test_the_demo_corpus(kind):
    sizes = {"train": 400, "dev": 20, "test": 30, "transfer": 80}
    data = {"demo": {"kind": kind, "languages": ["en", "de"], **sizes}}
    corpus = load_corpus(recipe(data, kind))
    assert corpus.task.kind == kind
    assert {name: len(examples) for name, examples in corpus.sets().items() if examples} == sizes
    assert {name: corpus.counts[name] for name in sizes} == sizes
    assert corpus.counts["transfer_dropped"] == 0
    assert corpus.languages == ["de", "en"]
    assert keys(corpus.dev).isdisjoint(keys(corpus.test))
    assert keys((*corpus.dev, *corpus.test)).isdisjoint(keys((*corpus.train, *corpus.transfer)))
    assert all(e.tags is None and e.label is None for e in corpus.transfer)
    assert load_corpus(recipe(data, kind)).train == corpus.train
    assert load_corpus(recipe(data, kind, seed=1)).train != corpus.train


def in_two_languages(folder, **more):
    (folder / "de.conll").write_text(conll([visit("linz", n) for n in (1, 2, 3)]), "utf-8")
    german = {"path": "de.conll", "language": "de"}
    english = {"path": "train.conll", "language": "en"}
    data = {"train": [english, german], "dev": [{"path": "dev.conll", "language": "en"}], **more}
    return load_corpus(recipe(data), folder)


def test_only_the_chosen_languages(folder):
    corpus = in_two_languages(folder, languages=["en"])
    assert (len(corpus.train), corpus.languages) == (len(TRAIN), ["en"])
    with pytest.raises(RecipeError, match=r"languages is \['de'\], but dev is in \['en'\]"):
        in_two_languages(folder, languages=["de"])


def test_files_in_other_languages_are_not_read(folder):
    english = {"path": "train.conll", "language": "en"}
    german = {"path": "not-there.conll", "language": "de"}
    data = {"train": [english, german], "dev": [english], "languages": ["en"]}
    assert len(load_corpus(recipe(data), folder).train) == len(TRAIN)


def test_a_few_labelled_sentences_of_each_language(folder):
    few = {"samples": 2, "per": "language"}
    corpus = in_two_languages(folder, low_resource=few)
    assert [e.language for e in corpus.train] == ["en", "en", "de", "de"]
    assert corpus.train == in_two_languages(folder, low_resource=few).train
    assert len(in_two_languages(folder, low_resource={"samples": 99}).train) == len(TRAIN) + 3


def test_a_few_labelled_sentences_of_each_class(folder):
    rows = [f"{label}\tsay {number}" for label in ("yes", "no") for number in range(5)]
    (folder / "train.tsv").write_text("label\ttext\n" + "\n".join(rows) + "\n", "utf-8")
    (folder / "dev.tsv").write_text("label\ttext\nyes\tay\n", "utf-8")
    data = {
        **files(train="train.tsv", dev="dev.tsv"),
        "low_resource": {"samples": 3, "per": "class"},
    }
    labels = [e.label for e in load_corpus(recipe(data, "classes"), folder).train]
    assert sorted(labels) == ["no"] * 3 + ["yes"] * 3


def test_what_low_resource_drops_is_transfer_text(folder):
    """Without labels, without dev and test sentences, and each sentence once."""
    repeated = [TRAIN[0], *TRAIN, TRAIN[3], visit("paris"), visit("cairo")]
    (folder / "train.conll").write_text(conll(repeated), encoding="utf-8")
    data = files(train="train.conll", dev="dev.conll", test="test.conll", transfer="raw.txt")
    data["low_resource"] = {"samples": 5}
    corpus = load_corpus(recipe(data), folder)
    assert len(corpus.train) == 5
    assert all(e.tags is None and e.label is None for e in corpus.transfer)
    given = [*repeated, [(word, "") for word in ("visit", "tunis", "now")]]
    given.append([(word, "") for word in ("visit", "quito", "now")])
    every = {("".join(word for word, _ in sentence), "") for sentence in given}
    left_out = keys((*corpus.train, *corpus.dev, *corpus.test))
    assert keys(corpus.transfer) == every - left_out
    assert len(corpus.transfer) == len(keys(corpus.transfer))
    assert corpus.counts["transfer_from_train"] == len(corpus.transfer) - 2  # tunis and quito
    assert corpus.counts["transfer"] == len(corpus.transfer)
    assert corpus.counts["transfer_dropped"] == 3  # of the file
    some = load_corpus(recipe(data | {"transfer_limit": 4}), folder).transfer
    assert len(some) == 4
    assert keys(some) < keys(corpus.transfer)


def test_nothing_comes_from_train_where_all_of_it_is_kept(folder):
    few = {"low_resource": {"samples": 99}}
    corpus = load_corpus(recipe(files(train="train.conll", dev="dev.conll") | few), folder)
    assert (corpus.transfer, corpus.counts["transfer_from_train"]) == ((), 0)
    whole = load_corpus(recipe(files(train="train.conll", dev="dev.conll")), folder)
    assert (whole.transfer, "transfer_from_train" in whole.counts) == ((), False)
