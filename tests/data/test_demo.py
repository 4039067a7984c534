"""The demo corpus: always the same, legal, in splits that do not overlap, not trivial."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict

import pytest

from tfdistil.data.demo import LANGUAGES, generate
from tfdistil.data.demo.languages import grammar
from tfdistil.errors import DataError
from tfdistil.metrics import conll_spans, joint_scores, strict_spans
from tfdistil.text.words import WordSplitter

KINDS = ("intent_slots", "tags", "classes", "text")
SPLITS = ("train", "dev", "test", "transfer")
INTENTS = set(grammar("en").intents)
SLOTS = set(grammar("en").slots)
OPEN_SLOTS = {slot for slot, (_, unseen) in grammar("en").slots.items() if unseen}

FROZEN = {
    ("intent_slots", "train"): "82f6a5c25b081525",
    ("intent_slots", "test"): "bf174ab3fb004663",
    ("tags", "train"): "1c17e8f46bfe3cdf",
    ("tags", "dev"): "87795494bd97bf9e",
    ("classes", "dev"): "a4faae0b23002cbc",
    ("text", "transfer"): "d18b0bd9b031a66c",
}
"""A change of these means another corpus: results before and after cannot be compared."""


@pytest.fixture(scope="module")
def corpus():
    sizes = {"train": 5000, "dev": 2000, "test": 2000, "transfer": 5000}
    return {(kind, s): generate(kind, s, size) for kind in KINDS for s, size in sizes.items()}


def mentions(examples, labels) -> list[tuple]:
    """(language, label, words) of every span with one of the labels."""
    return [
        (example.language, label, example.words[start:end])
        for example in examples
        for start, end, label in strict_spans(example.tags)
        if label in labels
    ]


def unseen_share(train, test, labels) -> float:
    known = set(mentions(train, labels))
    found = mentions(test, labels)
    return sum(mention not in known for mention in found) / len(found)


@pytest.mark.parametrize(("kind", "split"), FROZEN)
def test_output_is_frozen(kind, split):
    examples = generate(kind, split, 500, seed=13)
    rows = [(e.words, e.tags, e.label, e.language, e.text, e.offsets) for e in examples]
    assert hashlib.sha256(repr(rows).encode()).hexdigest()[:16] == FROZEN[kind, split]


def test_seeds_differ_and_repeat():
    assert generate("tags", "train", 50, seed=1) == generate("tags", "train", 50, seed=1)
    assert generate("tags", "train", 50, seed=1) != generate("tags", "train", 50, seed=2)


def test_a_larger_size_or_other_languages_keep_the_sentences():
    small = generate("intent_slots", "train", 20, languages=["de", "ja"])
    large = generate("intent_slots", "train", 100, languages=["ja", "en", "de", "hi"])
    for code in ("de", "ja"):
        first, second = ([e.words for e in es if e.language == code] for es in (small, large))
        assert second[: len(first)] == first


def test_languages_take_turns():
    assert [e.language for e in generate("text", "transfer", 7)] == [*LANGUAGES, *LANGUAGES[:2]]


def test_every_kind_carries_its_labels(corpus):
    for (kind, split), examples in corpus.items():
        labelled = split != "transfer"
        for example in examples[:50]:
            assert (example.tags is not None) == (labelled and kind in ("intent_slots", "tags"))
            assert (example.label is not None) == (labelled and kind in ("intent_slots", "classes"))
            assert example.source.startswith(f"demo/{kind}/{split}:")


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_every_intent_and_slot_occurs_in_each_language(corpus, split):
    intents, slots, entities = defaultdict(set), defaultdict(set), defaultdict(set)
    for example in corpus["intent_slots", split]:
        intents[example.language].add(example.label)
        slots[example.language] |= {tag[2:] for tag in example.tags if tag != "O"}
    for example in corpus["tags", split]:
        entities[example.language] |= {tag[2:] for tag in example.tags if tag != "O"}
    for language in LANGUAGES:
        assert intents[language] == INTENTS
        assert slots[language] == SLOTS
        assert entities[language] == {"PER", "LOC", "ORG"}
    assert len(INTENTS) >= 12
    assert len(SLOTS) >= 15


def test_intents_are_balanced(corpus):
    counts = Counter(example.label for example in corpus["intent_slots", "train"])
    assert max(counts.values()) < 2 * min(counts.values())


def test_tags_are_legal_and_as_many_as_words(corpus):
    for kind in ("intent_slots", "tags"):
        for split in ("train", "dev", "test"):
            for example in corpus[kind, split]:
                assert len(example.tags) == len(example.words)
                assert strict_spans(example.tags) == conll_spans(example.tags)


def test_offsets_cut_the_words_out_of_the_text(corpus):
    for examples in corpus.values():
        for example in examples:
            assert tuple(example.text[a:b] for a, b in example.offsets) == example.words
            assert "".join(example.words) == example.text.replace(" ", "")


def test_words_are_those_of_the_word_splitter(corpus):
    split = WordSplitter("unicode").split
    for examples in corpus.values():
        for example in examples:
            expected = [(w, *o) for w, o in zip(example.words, example.offsets, strict=True)]
            assert split(example.text) == expected


def test_a_span_is_the_value_in_brackets_and_no_more(corpus):
    for example in corpus["intent_slots", "test"]:
        slots = grammar(example.language).slots
        for start, end, label in strict_spans(example.tags):
            if label == "room":
                phrase = example.text[example.offsets[start][0] : example.offsets[end - 1][1]]
                assert any(f"[{phrase}]" in " ".join(t.split()) for t in slots[label])


def test_japanese_has_no_spaces_but_in_latin_titles(corpus):
    for example in corpus["tags", "train"]:
        if example.language == "ja":
            assert " " not in example.text
            assert len(example.words) > 5


@pytest.mark.parametrize("split", ["dev", "test"])
def test_no_sentence_of_dev_or_test_occurs_elsewhere(corpus, split):
    held = {e.key() for kind in KINDS for e in corpus[kind, split]}
    other = {e.key() for (_, name), es in corpus.items() if name != split for e in es}
    assert not held & other


def test_no_sentence_of_another_seed_or_size_leaks_either(corpus):
    test = {e.key() for e in corpus["intent_slots", "test"]}
    train = generate("intent_slots", "train", 5000, seed=99)
    assert not test & {e.key() for e in train}


def test_sentences_stand_once_in_a_split(corpus):
    for examples in corpus.values():
        assert len({e.key() for e in examples}) > 0.99 * len(examples)


def test_a_language_too_small_for_the_size_repeats_itself(monkeypatch):
    from tfdistil.data.demo import generator

    monkeypatch.setattr(generator, "_sections", lambda *_: (((None, (hello, hello, hello)),),))
    hello = generator.compile_templates("a b\nc d\ne f\ng h")
    assert len(generate("tags", "train", 30, languages=["en"])) == 30


@pytest.mark.parametrize("split", ["dev", "test"])
def test_about_half_of_the_open_values_never_occur_in_train(corpus, split):
    train, test = corpus["intent_slots", "train"], corpus["intent_slots", split]
    assert 0.45 <= unseen_share(train, test, OPEN_SLOTS) <= 0.60
    for language in LANGUAGES:
        part = [e for e in test if e.language == language]
        assert 0.40 <= unseen_share(train, part, OPEN_SLOTS) <= 0.65


@pytest.mark.parametrize("split", ["dev", "test"])
def test_more_than_half_of_the_entities_never_occur_in_train(corpus, split):
    labels = {"PER", "LOC", "ORG"}
    assert 0.45 <= unseen_share(corpus["tags", "train"], corpus["tags", split], labels) <= 0.75


def test_transfer_text_covers_more_than_train(corpus):
    train, transfer, test = (
        {
            (e.language, word)
            for kind in kinds
            for e in corpus[kind, split]
            for word in e.words
            if not word[0].isdigit()
        }
        for split, kinds in [
            ("train", ("intent_slots", "tags")),
            ("transfer", ("text",)),
            ("test", ("intent_slots", "tags")),
        ]
    )
    assert len(transfer) > 1.2 * len(train)
    new = test - train
    assert len(new & transfer) > 0.9 * len(new)


def test_looking_words_up_does_not_solve_the_task(corpus):
    """The most frequent tag of each word and the best intent for the bag of words."""
    tags, intents = defaultdict(Counter), defaultdict(Counter)
    for example in corpus["intent_slots", "train"]:
        for word, tag in zip(example.words, example.tags, strict=True):
            tags[example.language, word][tag] += 1
            intents[example.language, word][example.label] += 1
    test = corpus["intent_slots", "test"]
    guessed_tags, guessed_intents = [], []
    for example in test:
        known = [tags.get((example.language, word)) for word in example.words]
        guessed_tags.append([c.most_common(1)[0][0] if c else "O" for c in known])
        votes = Counter()
        for word in example.words:
            counts = intents.get((example.language, word), Counter())
            for intent, count in counts.items():
                votes[intent] += count / counts.total()
        guessed_intents.append(votes.most_common(1)[0][0] if votes else "")
    scores = joint_scores(
        [e.label for e in test], [e.tags for e in test], guessed_intents, guessed_tags
    )
    assert scores.exact_match < 50
    assert 50 < scores.intent_accuracy < 98


@pytest.mark.parametrize(("kind", "split"), [("intent_slots", "train"), ("tags", "test")])
def test_ten_thousand_sentences_take_less_than_two_seconds(kind, split):
    start = time.process_time()
    assert len(generate(kind, split, 10_000)) == 10_000
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pair", "train", 1, 1, ["en"]), "unknown kind 'pair'; choose from intent_slots"),
        (("tags", "valid", 1, 1, ["en"]), "unknown split 'valid'; choose from train"),
        (("tags", "train", 1, 1, ["fr"]), "unknown language 'fr'; choose from en"),
        (("tags", "train", -1, 1, ["en"]), "-1 sentences in the languages en"),
        (("tags", "train", 1, 1, []), "1 sentences in the languages none"),
        (("tags", "train", 1, 1, ["en", "en"]), "the languages en, en; give .* each once"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(DataError, match=message):
        generate(*arguments)


def test_nothing_asked_nothing_made():
    assert generate("text", "transfer", 0, languages=[]) == []
