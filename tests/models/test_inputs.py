"""What students read: vocabularies that are pruned, whole or their own, and vectors for them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from keras import ops
from ruamel.yaml import YAML

from tfdistil.corpus.loading import load_corpus
from tfdistil.data.example import Example
from tfdistil.errors import RecipeError
from tfdistil.models.checks import check_tables
from tfdistil.models.graph import Models
from tfdistil.models.inputs import READS
from tfdistil.models.record import ModelRecord, copy_of, load_model, save_model
from tfdistil.models.word_tables import states_of_words
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.schema.models import EncoderSpec
from tfdistil.students import STUDENTS
from tfdistil.students.embeddings import pca_ppa_embedding, svd_embedding
from tfdistil.students.own_pieces import fitted_to_words, vectors_of_pieces

WIDTH = 8


def recipe(student):
    text = f"""
task: tags
data: {{demo: {{kind: tags, languages: [en], train: 40, dev: 5, test: 5, transfer: 20}}}}
models:
  teacher:
    scratch: {{layers: 1, hidden_dim: {WIDTH}, heads: 2, intermediate_dim: 8, vocabulary: 300}}
  student: {student}
distill: [{{name: one, terms: [{{loss: cross_entropy}}]}}]
"""
    return parse_recipe(YAML().load(text))


@pytest.fixture(scope="module")
def corpus():
    return load_corpus(recipe("{kind: bilstm}"))


@pytest.fixture(scope="module")
def teacher(corpus) -> ModelRecord:
    return Models(recipe("{kind: bilstm}"), corpus, Path())["teacher"]


@pytest.fixture
def make(corpus, teacher, tmp_path):
    def make(embedding, more=""):
        student = f"{{kind: bilstm, hidden_dim: 4, embedding: {embedding}{more}}}"
        return Models(recipe(student), corpus, tmp_path, made={"teacher": teacher})["student"]

    return make


def table_of(teacher: ModelRecord, student) -> np.ndarray:
    """The teacher's vectors of the student's pieces."""
    pieces = student.featurizer.tokenizer.get_vocab()
    rows = [teacher.featurizer.tokenizer.token_to_id(p) for p in sorted(pieces, key=pieces.get)]
    return np.asarray(teacher.model.word_embeddings)[rows]


def test_every_kind_of_student_has_a_reader():
    assert {student.reads for student in STUDENTS.values()} == set(READS)


def test_a_pruned_vocabulary_keeps_the_vectors_of_its_pieces(make, teacher):
    student = make(f"{{dim: {WIDTH}, init: teacher}}")
    known = teacher.featurizer.tokenizer.get_vocab_size()
    assert student.facts["pieces"] == student.model.vocabulary < known
    assert student.facts["teacher_pieces"] == known
    np.testing.assert_array_equal(student.model.word_embeddings, table_of(teacher, student))


def test_rare_pieces_can_be_pruned_too(make, corpus, teacher):
    both = f"{{dim: {WIDTH}, init: teacher}}"
    often, pruned = make(both, ", min_sentences: 3"), make(both)
    kept, all_of_them = (one.featurizer.tokenizer.get_vocab().keys() for one in (often, pruned))
    assert kept < all_of_them
    words = [set(e.words) for e in corpus.train]
    rare = {p for p in all_of_them - kept if p.isalpha()}
    assert rare
    assert all(sum(piece in one for one in words) < 3 for piece in rare)
    np.testing.assert_array_equal(often.model.word_embeddings, table_of(teacher, often))


def test_a_number_of_pieces_can_be_kept(make, teacher):
    both = f"{{dim: {WIDTH}, init: teacher}}"
    pruned = make(both)
    number = pruned.facts["pieces"] - 60  # of which unused characters are some
    some = make(both, f", max_pieces: {number}")
    assert some.facts["pieces"] == number
    np.testing.assert_array_equal(some.model.word_embeddings, table_of(teacher, some))


def test_fewer_pieces_than_characters_are_refused(make):
    with pytest.raises(RecipeError, match=r"max_pieces: the text has characters of \d+ pieces"):
        make("{dim: 4}", ", max_pieces: 5")


@pytest.mark.parametrize("other", [", prune_vocabulary: false", ", tokenizer: {vocabulary: 200}"])
def test_rare_pieces_of_what_is_not_pruned_are_refused(make, other):
    with pytest.raises(RecipeError, match="needs prune_vocabulary: true, and no tokenizer"):
        make("{dim: 4}", f"{other}, min_sentences: 3")


def test_pruning_keeps_the_pieces_of_augmented_text(corpus, teacher, tmp_path):
    """A translation or a neighbour may be a word that train and transfer do not have."""
    spec = recipe("{kind: bilstm, hidden_dim: 4, embedding: {dim: 4}}")
    pruned = Models(spec, corpus, tmp_path, made={"teacher": teacher})[
        "student"
    ].featurizer.tokenizer
    known = teacher.featurizer.tokenizer.get_vocab()
    word = min(piece for piece in known.keys() - pruned.get_vocab() if piece.isalpha())
    made = replace(corpus, augmented=(Example((word,)),))
    kept = Models(spec, made, tmp_path, made={"teacher": teacher})["student"].featurizer.tokenizer
    assert kept.encode(word, add_special_tokens=False).tokens == [word]
    assert pruned.encode(word, add_special_tokens=False).tokens != [word]


def test_a_vocabulary_of_its_own_spells_augmented_text(corpus, teacher, tmp_path):
    spec = recipe(
        "{kind: bilstm, hidden_dim: 4, embedding: {dim: 4}, tokenizer: {vocabulary: 400}}"
    )
    made = replace(corpus, augmented=(Example(("wŷth",) * 50, second=("wŷth",) * 50),))
    for sets, unknown in ((made, False), (corpus, True)):
        tokenizer = Models(spec, sets, tmp_path, made={"teacher": teacher})[
            "student"
        ].featurizer.tokenizer
        assert ("[UNK]" in tokenizer.encode("wŷth").tokens) == unknown


def test_the_whole_vocabulary_on_request(make, teacher):
    student = make(f"{{dim: {WIDTH}, init: teacher}}", ", prune_vocabulary: false")
    assert student.featurizer.to_assets() == teacher.featurizer.to_assets()
    np.testing.assert_array_equal(student.model.word_embeddings, teacher.model.word_embeddings)


def test_a_vocabulary_of_its_own(make, teacher, corpus):
    """Its vectors are fitted to all words that the student reads."""
    student = make("{dim: 4}", ", tokenizer: {vocabulary: 200}")
    table = np.asarray(teacher.model.word_embeddings)
    both = teacher.featurizer, student.featurizer
    guess = vectors_of_pieces(table, *both)
    read = (*corpus.train, *corpus.transfer, *corpus.augmented)
    words = Counter(word for example in read for word in example.words)
    vectors = fitted_to_words(guess, table, *both, words)
    np.testing.assert_array_equal(student.model.word_embeddings, svd_embedding(vectors, 4))
    assert np.abs(vectors - guess).max() > 1e-3


@pytest.mark.parametrize(
    ("embedding", "expected"),
    [
        ("{dim: 3}", lambda table: svd_embedding(table, 3)),
        ("{dim: 5, init: pca_ppa, directions: 2}", lambda table: pca_ppa_embedding(table, 5, 2)),
    ],
)
def test_the_teachers_table_in_fewer_dimensions(make, teacher, embedding, expected):
    student = make(embedding)
    found = np.asarray(student.model.word_embeddings)
    np.testing.assert_array_equal(found, expected(table_of(teacher, student)))


def test_the_table_of_the_checkpoint(corpus, teacher, tmp_path):
    save_model(teacher, corpus.task, tmp_path / "pretrained")
    tuned = copy_of(teacher)
    tuned.model.word_embeddings.assign_add(ops.ones_like(tuned.model.word_embeddings))
    with pytest.raises(RecipeError, match="pretrained needs an encoder with a checkpoint"):
        recipe("{kind: bilstm, embedding: {of: pretrained}}")
    spec = recipe(f"{{kind: bilstm, hidden_dim: 4, embedding: {{dim: {WIDTH}, init: teacher}}}}")
    student = spec.root_spec("student")
    embedding = student.embedding.model_copy(update={"of": "pretrained"})
    models = {
        "teacher": EncoderSpec(checkpoint="pretrained"),
        "student": student.model_copy(update={"embedding": embedding}),
    }
    spec = spec.model_copy(update={"models": models})
    student = Models(spec, corpus, tmp_path, made={"teacher": tuned})["student"]
    np.testing.assert_array_equal(student.model.word_embeddings, table_of(teacher, student))


def test_vectors_of_a_file_beside_the_recipe(make, tmp_path):
    (tmp_path / "words.vec").write_text("2 3\nthe 1 2 3\nunheard 4 5 6\n", "utf-8")
    student = make("{dim: 3, init: vectors, vectors: words.vec}")
    row = student.featurizer.tokenizer.token_to_id("the")
    table = np.asarray(student.model.word_embeddings)
    np.testing.assert_array_equal(table[row], [1, 2, 3])
    pieces = student.featurizer.tokenizer.get_vocab()
    same = [piece for piece in pieces if piece.removeprefix("##").lower() == "the"]
    assert student.facts["pieces_with_vectors"] == len(same)


@pytest.mark.parametrize(
    ("embedding", "text"),
    [
        ("{dim: 9}", "models.student: embedding dimension 9 is outside 1 .. 8"),
        ("{dim: 9, init: teacher}", r"embedding table is \(\d+, 9\), got \(\d+, 8\)"),
    ],
)
def test_what_does_not_fit_says_so(make, embedding, text):
    with pytest.raises(RecipeError, match=text):
        make(embedding)


def test_hashed_words_save_and_load(corpus, teacher, tmp_path):
    keys = (
        "hashing: {families: {murmur: 8, ngram: 8}, map: paper}, bottleneck: 4, layers: 1, state: 3"
    )
    models = Models(recipe(f"{{kind: pqrnn, {keys}}}"), corpus, tmp_path, made={"teacher": teacher})
    student = models["student"]
    save_model(student, corpus.task, tmp_path / "saved")
    loaded = load_model(tmp_path / "saved")
    assert loaded.featurizer.to_json() == student.featurizer.to_json()
    assert loaded.featurizer.spec.families == (("murmur", 8), ("ngram", 8))
    inputs = {k: v[None] for k, v in student.featurizer.encode(["a", "b"])[0].inputs.items()}
    np.testing.assert_array_equal(
        loaded.model(inputs)["labels/tags"], student.model(inputs)["labels/tags"]
    )


SHAPED = "hashing: {families: {murmur: 16}, shape: true}"


@pytest.mark.parametrize(
    "keys",
    [
        f"kind: pqrnn, bottleneck: 4, layers: 1, state: 3, {SHAPED}",
        f"kind: mixer, hidden_dim: 4, bottleneck: 4, layers: 1, max_positions: 16, {SHAPED}",
        f"kind: bilstm, hidden_dim: 4, embedding: {{dim: 4}}, hashed_dim: 5, {SHAPED}",
    ],
    ids=["pqrnn", "mixer", "bilstm"],
)
def test_students_read_shapes_of_words(corpus, teacher, tmp_path, keys):
    """As many features as fit; saved, loaded, padded and batched the scores stay."""
    student = Models(
        recipe(f"{{{keys}, max_length: 16}}"), corpus, tmp_path, made={"teacher": teacher}
    )["student"]
    assert student.model.features == 16 + 12
    save_model(student, corpus.task, tmp_path / "saved")
    loaded = load_model(tmp_path / "saved")
    assert loaded.featurizer.spec.shape

    texts = [["iPhone", "42", "-"], ["Paris"], ["a", "well-known", "U.S.", "don't"]]
    rows = [student.featurizer.encode(words)[0].inputs for words in texts]
    padding = student.featurizer.padding
    together = {
        name: np.stack(
            [
                np.concatenate(
                    [row[name], np.full((16 - len(row[name]), *row[name].shape[1:]), fill)]
                )
                for row in rows
            ]
        ).astype(rows[0][name].dtype)
        for name, fill in padding.items()
    }
    batched = np.array(loaded.model(together)["labels/tags"])
    for row, scores in zip(rows, batched, strict=True):
        alone = student.model({name: array[None] for name, array in row.items()})["labels/tags"]
        np.testing.assert_allclose(scores[: alone.shape[1]], alone[0], atol=1e-5)


WORDS = "words: {rows: 256, dim: 4, codes: 2}"
SMALL = "kind: bilstm, hidden_dim: 4, embedding: {dim: 4}"
FOUND_BY_HASH = f"{WORDS}, hashing: {{families: {{affix8: 8, murmur: 32}}}}"


@pytest.mark.parametrize("hashed", ["", ", hashed_dim: 5"])
def test_a_table_of_words_begins_as_what_the_teacher_says_of_them(
    corpus, teacher, make, tmp_path, hashed
):
    student = make("{dim: 4}", f", {FOUND_BY_HASH}{hashed}")
    read = (*corpus.train, *corpus.transfer, *corpus.augmented)
    counts = Counter(word for example in read for word in example.words)
    # In lower case, as they are hashed, words are fewer; all of so few have found a row.
    assert 100 < student.facts["words_with_vectors"] <= len(counts)
    states = states_of_words(teacher, sorted(counts))
    for at, word in enumerate(sorted(counts)[:5]):
        window = teacher.featurizer.encode([word])[0]
        signals = teacher.model({name: array[None] for name, array in window.inputs.items()})
        np.testing.assert_allclose(
            states[at], np.asarray(signals["hidden"])[0, window.tokens].mean(axis=0), atol=1e-5
        )

    save_model(student, corpus.task, tmp_path / "saved")
    loaded = load_model(tmp_path / "saved")
    word = counts.most_common(1)[0][0]
    row = student.featurizer.encode([word, "unheard-of-word"])[0]
    inputs = {name: array[None] for name, array in row.inputs.items()}
    vectors = np.asarray(loaded.model.word_vectors(inputs["fingerprint"]))[0, row.tokens]
    assert np.abs(vectors[0]).max() > 0
    np.testing.assert_array_equal(vectors[1], np.zeros(4))
    np.testing.assert_array_equal(
        loaded.model(inputs)["labels/tags"], student.model(inputs)["labels/tags"]
    )


def test_random_words_are_those_of_the_seed(corpus, teacher, tmp_path):
    words = FOUND_BY_HASH.replace("{rows", "{init: random, rows")
    spec = recipe(f"{{{SMALL}, {words}}}")

    def books(seed):
        seeded = spec.model_copy(update={"seed": seed})
        student = Models(seeded, corpus, tmp_path, made={"teacher": teacher})["student"]
        return np.asarray(student.model.word_vectors.codebooks)

    np.testing.assert_array_equal(books(1), books(1))
    assert np.abs(books(1) - books(2)).max() > 0.1


def test_words_of_a_file_fill_the_rows_that_the_text_leaves(make, tmp_path):
    lines = [f"w{n} {n % 7} {n % 5} 1 {n % 3}" for n in range(40)]
    (tmp_path / "words.vec").write_text("\n".join([*lines, "the 1 2 3 4"]), "utf-8")
    words = FOUND_BY_HASH.replace("{rows", "{init: vectors, vectors: words.vec, rows")
    student = make("{dim: 4}", f", {words}")
    assert student.facts["words_with_vectors"] == 41  # in 256 rows
    inputs = student.featurizer.encode(["w3", "the", "w40"])[0]
    vectors = student.model.word_vectors(inputs.inputs["fingerprint"][None])
    known = np.abs(np.asarray(vectors)[0, inputs.tokens]).max(axis=-1) > 0
    assert list(known[inputs.starts]) == [True, True, False]


@pytest.mark.parametrize(
    ("student", "text"),
    [
        (f"kind: pqrnn, {WORDS}", "words is of students that read word pieces"),
        (
            f"{SMALL}, {WORDS}, hashing: {{families: {{affix8: 8, murmur: 28}}}}",
            "32 features or more of the hash family 'murmur'; .* has affix8: 8, murmur: 28",
        ),
        (f"{SMALL}, {FOUND_BY_HASH.replace('dim: 4', 'dim: 10')}", "dimension 10 is outside"),
        ("kind: bilstm, words: {rows: 300}", "rows is a power of two, 256 to 65,536; got 300"),
        ("kind: bilstm, words: {rows: 128}", "greater than or equal to 256"),
        ("kind: bilstm, words: {codes: 7}", "codes 7 do not divide the 128 columns of dim"),
        ("kind: bilstm, words: {init: vectors}", "init: vectors and vectors: FILE go together"),
    ],
)
def test_tables_of_words_that_cannot_be_are_refused(corpus, teacher, tmp_path, student, text):
    def made():
        spec = recipe(f"{{{student}}}")
        return Models(spec, corpus, tmp_path, made={"teacher": teacher})["student"]

    with pytest.raises(RecipeError, match=text):
        made()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("dim: 10, codes: 2", "words.dim is 10, but the vectors have 8 columns"),
        ("dim: 4, codes: 2, init: vectors, vectors: narrow.vec", "the vectors have 3 columns"),
    ],
)
def test_narrow_vectors_of_words_are_refused_before_a_teacher_is_trained(
    corpus, teacher, tmp_path, words, text
):
    (tmp_path / "narrow.vec").write_text("the 1 2 3\n", "utf-8")
    keys = FOUND_BY_HASH.replace("dim: 4, codes: 2", words)
    spec = recipe(f"{{kind: bilstm, hidden_dim: 4, embedding: {{dim: 4}}, {keys}}}")
    with pytest.raises(RecipeError, match=f"models.student: .*{text}"):
        check_tables(spec, {"teacher": teacher}, corpus, tmp_path)


def test_vectors_and_their_file_go_together():
    for embedding in ("{init: vectors}", "{vectors: words.vec}"):
        with pytest.raises(RecipeError, match="init: vectors and vectors: FILE go together"):
            recipe(f"{{kind: bilstm, embedding: {embedding}}}")


@pytest.mark.parametrize("other", ["student", "nobody"])
def test_what_a_student_cannot_begin_as(other):
    with pytest.raises(RecipeError, match=r"begins as|is no model"):
        recipe(f"{{from: {other}}}")


@pytest.mark.parametrize("key", ["min_sentences", "max_pieces"])
def test_rare_pieces_of_what_reads_none_are_refused(key, corpus, teacher, tmp_path):
    spec = recipe(f"{{kind: pqrnn, {key}: 3}}")
    with pytest.raises(RecipeError, match=f"{key} is of students that read word pieces"):
        Models(spec, corpus, tmp_path, made={"teacher": teacher})["student"]


def test_a_table_of_pieces_for_what_reads_none_is_refused(corpus, teacher, tmp_path):
    spec = recipe("{kind: pqrnn, embedding: {dim: 7}}")
    with pytest.raises(RecipeError, match="embedding is of students that read word pieces"):
        Models(spec, corpus, tmp_path, made={"teacher": teacher})["student"]


def test_too_few_pieces_are_refused_before_a_teacher_is_trained(corpus, teacher, tmp_path):
    spec = recipe("{kind: bilstm, embedding: {dim: 4}, max_pieces: 5}")
    with pytest.raises(RecipeError, match=r"models\.student: max_pieces: the text has characters"):
        check_tables(spec, {"teacher": teacher}, corpus, tmp_path)


def test_a_vocabulary_without_room_for_all_characters_is_refused_before_too(
    corpus, teacher, tmp_path
):
    letters = Example(words=("".join(map(chr, range(0x1200, 0x1248))),), tags=("O",))
    many = replace(corpus, train=[*corpus.train, letters])

    def check(vocabulary):
        own = f"embedding: {{dim: 4}}, tokenizer: {{vocabulary: {vocabulary}}}"
        spec = recipe(f"{{kind: bilstm, hidden_dim: 4, {own}}}")
        check_tables(spec, {"teacher": teacher}, many, tmp_path)
        return Models(spec, many, tmp_path, made={"teacher": teacher})["student"]

    says = r"models\.student: tokenizer\.vocabulary is 200, but .* characters alone are (\d+)"
    with pytest.raises(RecipeError, match=says) as caught:
        check(200)
    found = re.search(says, str(caught.value))
    assert found is not None
    assert check(int(found[1])).facts["pieces"] == int(found[1])


@pytest.mark.parametrize(
    ("float_student", "quantized", "text"),
    [
        (
            "{kind: bilstm, hidden_dim: 4, embedding: {dim: 4}}",
            "",
            "bilstm cannot be trained quant",
        ),
        ("{kind: pqrnn}", "engine: tpu", "engine 'tpu'; there are keras, tfmot"),
    ],
)
def test_what_cannot_be_quantized_says_so(
    corpus, teacher, tmp_path, float_student, quantized, text
):
    spec = recipe(
        f"{{from: float, apply: [{{kind: quantize, {quantized}}}]}}\n  float: {float_student}"
    )
    with pytest.raises(RecipeError, match=text):
        Models(spec, corpus, tmp_path, made={"teacher": teacher})["student"]
