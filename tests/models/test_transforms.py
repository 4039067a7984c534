"""Transforms: what is kept is what was there, what is left out is gone, the old model stays."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML
from safetensors import safe_open
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace

from tfdistil.corpus.loading import load_corpus
from tfdistil.distill.masking import mask_piece
from tfdistil.encoders import Encoder
from tfdistil.errors import RecipeError
from tfdistil.models.graph import Models
from tfdistil.models.masked_language import with_mlm_head
from tfdistil.models.record import load_model, save_checkpoint, save_model
from tfdistil.models.transforms import TRANSFORMS, apply_transform, transform
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.schema.models import StudentSpec
from tfdistil.text.pretrained import special_token_names
from tfdistil.text.subwords import SubwordFeaturizer

RECIPE = """
task: tags
data: {demo: {kind: tags, languages: [en, de], train: 60, dev: 5, test: 5, transfer: 40}}
models:
  teacher:
    scratch:
      {layers: 6, hidden_dim: 8, heads: 2, intermediate_dim: 12, vocabulary: 400, lowercase: true}
    max_length: 32
  hashed: {kind: pqrnn, bottleneck: 4, layers: 1, state: 3, hashing: {families: {murmur: 8}}}
  student: {from: hashed, apply: [quantize]}
  other: OTHER
distill:
  - {name: one, terms: [{loss: cross_entropy}]}
  - {name: two, student: other, teacher: null, terms: [{loss: cross_entropy}]}
"""
OPTIONS = {
    "quantize": {},
    "keep_layers": {},
    "reduce_vocabulary": {"language": "de"},
    "new_vocabulary": {"vocabulary": 300},
}


def models(other="{from: teacher}", teacher: str | None = None) -> Models:
    tree = YAML().load(RECIPE.replace("OTHER", other))
    if teacher is not None:
        tree["models"]["teacher"] = YAML().load(teacher)
    recipe = parse_recipe(tree)
    return Models(recipe, load_corpus(recipe), Path())


@pytest.fixture(scope="module")
def made() -> Models:
    found = models()
    for weight in found["teacher"].model.weights:  # biases begin as zeros, which hide a wrong copy
        weight.assign(np.random.default_rng(weight.shape[0]).normal(size=weight.shape))
    return found


def signals(record, words):
    inputs = {k: v[None] for k, v in record.featurizer.encode(words)[0].inputs.items()}
    return {name: np.asarray(value) for name, value in record.model(inputs).items()}


def words_of(made, language):
    return [e.words for e in made.corpus.transfer if e.language == language]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_makes_a_new_model_that_saves_and_loads(made, name, tmp_path):
    before = made["hashed" if name == "quantize" else "teacher"]
    weights, settings = before.model.get_weights(), before.featurizer.to_assets()
    after = apply_transform(name, before, made.corpus, OPTIONS[name])
    words = words_of(made, "de")[0]
    expected = signals(after, words)
    for weight in after.model.weights:
        weight.assign(weight + 1)
    for mine, theirs in zip(before.model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert before.featurizer.to_assets() == settings
    for weight in after.model.weights:
        weight.assign(weight - 1)
    save_model(after, made.corpus.task, tmp_path / "saved")
    loaded = signals(load_model(tmp_path / "saved"), words)
    for signal, value in expected.items():
        np.testing.assert_allclose(loaded[signal], value, atol=1e-5, err_msg=signal)


HASHING = """
  scratch:
    {layers: 2, hidden_dim: 8, heads: 2, intermediate_dim: 12, vocabulary: 400, lowercase: true}
  max_length: 32
  hashed_dim: 3
  hashing: {families: {affix16: 16}, capitalization: true}
"""


@pytest.mark.parametrize("name", ["keep_layers", "reduce_vocabulary", "new_vocabulary"])
def test_hashes_of_words_stay_beside_other_layers_and_pieces(name, tmp_path):
    before = models(teacher=HASHING)
    for weight in before["teacher"].model.hashed_words.weights:
        weight.assign(np.random.default_rng(3).normal(size=weight.shape))
    options = OPTIONS[name] | ({"lowercase": True} if name == "new_vocabulary" else {})
    after = apply_transform(name, before["teacher"], before.corpus, options)
    save_model(after, before.corpus.task, tmp_path)
    loaded = load_model(tmp_path)
    words = [word.lower() for word in words_of(before, "de")[0] if "ß" not in word]
    shouted = [word.upper() for word in words]
    for text in (words, shouted):
        np.testing.assert_allclose(
            signals(loaded, text)["hidden"], signals(after, text)["hidden"], atol=1e-5
        )
    # The vocabulary has no capitals.
    low, high = (signals(loaded, text)["hidden/0"] for text in (words, shouted))
    assert np.abs(low - high).max() > 0.1


def test_pieces_are_masked_without_the_hashes_that_tell_them():
    record = models(teacher=HASHING)["teacher"]
    masked = with_mlm_head(record, seed=1)
    assert masked.featurizer is record.featurizer.subwords
    assert "fingerprint" not in masked.model.input_names
    np.testing.assert_array_equal(masked.model.word_embeddings, record.model.word_embeddings)


def test_an_encoder_without_layers_above_gives_what_it_gave_below(made):
    teacher, words = made["teacher"], words_of(made, "en")[0]
    first = apply_transform("keep_layers", teacher, made.corpus, {"layers": [1, 2]})
    before, after = signals(teacher, words), signals(first, words)
    for level in range(3):
        np.testing.assert_allclose(after[f"hidden/{level}"], before[f"hidden/{level}"], atol=1e-6)
    assert first.model.config.layers == 2
    assert "hidden/3" not in after


def test_every_other_layer_is_2n_minus_1(made):
    teacher = made["teacher"]
    odd = apply_transform("keep_layers", teacher, made.corpus, {})
    groups, own = dict(teacher.model.layer_groups()), dict(odd.model.layer_groups())
    for n in (1, 2, 3):
        for mine, theirs in zip(own[f"layer_{n}"], groups[f"layer_{2 * n - 1}"], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    for name in ("heads", "embeddings"):
        for mine, theirs in zip(own[name], groups[name], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert len(own) == 5


@pytest.mark.parametrize(("layers", "kept"), [(2, [1, 2]), (-2, [5, 6]), (6, [1, 2, 3, 4, 5, 6])])
def test_the_first_and_the_last_layers(made, layers, kept):
    groups = dict(made["teacher"].model.layer_groups())
    after = apply_transform("keep_layers", made["teacher"], made.corpus, {"layers": layers})
    own = dict(after.model.layer_groups())
    assert after.model.config.layers == len(kept)
    for new, number in enumerate(kept, 1):
        for mine, theirs in zip(own[f"layer_{new}"], groups[f"layer_{number}"], strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_half_of_an_odd_number_of_layers(made):
    five = apply_transform("keep_layers", made["teacher"], made.corpus, {"layers": [1, 2, 3, 4, 5]})
    with pytest.raises(ValueError, match=r"there are 5; say which, such as layers: \[1, 3, 5\]"):
        apply_transform("keep_layers", five, made.corpus, {})


@pytest.mark.parametrize("layers", [[], [0, 1], [2, 1], [1, 1], [7], 0, 7, -7])
def test_layers_that_are_not_there(made, layers):
    with pytest.raises(ValueError, match="different numbers of 1 to 6 in rising order; got"):
        apply_transform("keep_layers", made["teacher"], made.corpus, {"layers": layers})


def test_a_reduced_vocabulary_says_the_same_of_what_it_can_spell(made):
    """Slicing tables and renumbering pieces must not change a single state."""
    teacher = made["teacher"]
    german = apply_transform("reduce_vocabulary", teacher, made.corpus, {"language": "de"})
    assert german.facts["pieces"] == german.model.config.vocabulary < 400
    for words in words_of(made, "de"):
        before, after = signals(teacher, words), signals(german, words)
        np.testing.assert_allclose(after["hidden/6"], before["hidden/6"], atol=1e-5)


def test_the_layers_stay_under_a_new_vocabulary(made):
    """What a piece begins as, from the two tables by hand."""
    before = with_mlm_head(made["teacher"], 3)
    before.model.mlm.bias.assign(np.arange(400))
    after = apply_transform("new_vocabulary", before, made.corpus, {"vocabulary": 300})
    old, new = (record.featurizer.tokenizer for record in (before, after))
    assert after.model.config.vocabulary == new.get_vocab_size() == 300
    assert after.facts == {"pieces": 300, "teacher_pieces": 400}
    was, became = (np.asarray(record.model.word_embeddings) for record in (before, after))
    spelled = 0
    for piece, row in new.get_vocab().items():
        if old.token_to_id(piece) is not None:
            np.testing.assert_array_equal(became[row], was[old.token_to_id(piece)])
        elif not piece.startswith("##") and piece.islower():
            ids = old.encode(piece, add_special_tokens=False).ids
            np.testing.assert_allclose(became[row], was[ids].mean(axis=0), atol=1e-6)
            spelled += 1
    assert spelled > 3
    assert not np.asarray(after.model.mlm.bias).any()
    rows = {id(v) for v in (*before.model.vocabulary_weights, *after.model.vocabulary_weights)}
    for mine, theirs in zip(after.model.weights, before.model.weights, strict=True):
        if id(mine) not in rows:
            np.testing.assert_array_equal(mine, theirs)


def test_a_new_vocabulary_finds_special_pieces_by_what_they_do(made):
    """``[CLS]`` of the new pieces begins as what the old ones put in front of a text."""
    teacher = made["teacher"]
    names = {"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<hidden>"}
    text = teacher.featurizer.tokenizer.to_str()
    for key, name in names.items():
        text = text.replace(f"[{key.removesuffix('_token').upper()}]", name)
    featurizer = SubwordFeaturizer.from_tokenizer(Tokenizer.from_str(text), 32, names=names)
    record = replace(teacher, featurizer=featurizer)
    after = apply_transform("new_vocabulary", record, made.corpus, {"vocabulary": 300})
    was, became = (np.asarray(r.model.word_embeddings) for r in (record, after))
    for role in ("cls", "sep", "pad", "unk", "mask"):
        new, old = (getattr(r.featurizer, role) for r in (after, record))
        np.testing.assert_array_equal(became[new], was[old])
    assert after.featurizer.mask == after.featurizer.tokenizer.token_to_id("[MASK]")
    assert record.featurizer.mask == record.featurizer.tokenizer.token_to_id("<hidden>")


def test_positions_that_begin_behind_the_padding_refuse_a_new_vocabulary(made):
    config = made["teacher"].model.get_config()["config"]
    config |= {"family": "roberta", "pad_id": 9, "max_positions": 50, "type_vocabulary": 0}
    record = replace(made["teacher"], model=Encoder(config))
    with pytest.raises(ValueError, match="reduce_vocabulary keeps it in its place"):
        apply_transform("new_vocabulary", record, made.corpus, {})


def test_special_pieces_stay_and_padding_is_renumbered(made):
    """A vocab.txt alone marks no piece as special, and [PAD] need not be the first."""
    teacher = made["teacher"]
    tree = json.loads(teacher.featurizer.tokenizer.to_str())
    tree |= {"added_tokens": [], "post_processor": None}
    vocabulary = tree["model"]["vocab"]
    seventh = next(piece for piece, number in vocabulary.items() if number == 300)
    vocabulary["[PAD]"], vocabulary[seventh] = 300, vocabulary["[PAD]"]
    settings = teacher.model.get_config()
    settings["config"] = settings["config"] | {"pad_id": 300}
    featurizer = SubwordFeaturizer.from_tokenizer(Tokenizer.from_str(json.dumps(tree)), 32)
    record = replace(teacher, model=Encoder.from_config(settings), featurizer=featurizer)
    german = apply_transform("reduce_vocabulary", record, made.corpus, {"language": "de"})
    own = german.featurizer.tokenizer
    assert None not in map(own.token_to_id, ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"))
    assert german.model.config.pad_id == german.featurizer.pad == own.token_to_id("[PAD]") < 300
    words = words_of(made, "de")[0]
    before, after = signals(record, words), signals(german, words)
    np.testing.assert_allclose(after["hidden/6"], before["hidden/6"], atol=1e-5)


def test_special_pieces_that_only_the_checkpoint_names_are_found(made, tmp_path):
    """A tokenizer without template whose pieces are called otherwise, as ``models`` reads it."""
    teacher = made["teacher"]
    roles = ("cls", "sep", "pad", "unk", "mask")
    usual = {f"{role}_token": f"[{role.upper()}]" for role in roles}
    named = {key: f"<{key}>" for key in usual}
    text = teacher.featurizer.tokenizer.to_str()
    for key, name in usual.items():
        text = text.replace(name, named[key])
    tree = json.loads(text) | {"added_tokens": [], "post_processor": None}
    save_model(teacher, made.corpus.task, tmp_path / "old")
    (tmp_path / "old" / "tokenizer.json").write_text(json.dumps(tree), "utf-8")
    (tmp_path / "old" / "tokenizer_config.json").write_text(json.dumps(named), "utf-8")
    own = models(
        "{from: teacher, apply: [{kind: reduce_vocabulary, language: de}]}",
        teacher=f"{{checkpoint: {tmp_path / 'old'}, max_length: 32}}",
    )
    german = own["other"]
    assert german.featurizer.special_names() == named
    save_model(german, own.corpus.task, tmp_path / "new")
    words = words_of(made, "de")[0]
    before, after = signals(own["teacher"], words), signals(load_model(tmp_path / "new"), words)
    np.testing.assert_allclose(after["hidden/6"], before["hidden/6"], atol=1e-5)
    assert special_token_names(tmp_path / "new").items() >= named.items()
    hidden = german.featurizer.tokenizer.token_to_id("<mask_token>")
    assert mask_piece(german.featurizer) == mask_piece(load_model(tmp_path / "new").featurizer)
    assert mask_piece(german.featurizer) == hidden
    student = Models(
        own.recipe.model_copy(
            update={
                "models": own.recipe.models
                | {"student": StudentSpec(kind="bilstm", hidden_dim=4, embedding={"dim": 4})}
            }
        ),
        own.corpus,
        Path(),
    )["student"]
    del named["mask_token"]  # nothing is hidden from a student, whose pieces are those that occur
    assert student.featurizer.special_names() == named


def test_other_pieces_do_not_go_with_labels_of_pieces():
    text = RECIPE.replace("OTHER", "{from: teacher, apply: [keep_layers, reduce_vocabulary]}")
    text = text.replace("task: tags", "task: {kind: tags, continuation: true}")
    with pytest.raises(RecipeError, match=r"recipe:11: models\.other\.apply\.1: reduce_vocabulary"):
        parse_recipe(YAML().load(text))


def test_roberta_keeps_the_ids_before_its_first_position(made):
    config = made["teacher"].model.get_config()["config"]
    config |= {"family": "roberta", "pad_id": 9, "max_positions": 50, "type_vocabulary": 0}
    record = replace(made["teacher"], model=Encoder(config))
    german = apply_transform("reduce_vocabulary", record, made.corpus, {"language": "de"})
    own = german.featurizer.tokenizer
    old = made["teacher"].featurizer.tokenizer
    assert german.model.config.position_offset == 10
    assert [own.id_to_token(i) for i in range(10)] == [old.id_to_token(i) for i in range(10)]


def test_rare_pieces_go_and_words_are_spelled_with_others(made):
    kept = [
        apply_transform("reduce_vocabulary", made["teacher"], made.corpus, {"min_share": share})
        for share in (0.0, 0.05, 1.0)
    ]
    sizes = [record.model.config.vocabulary for record in kept]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3
    for record in kept:
        (window,) = record.featurizer.encode(["ab"])
        assert window.inputs["input_ids"].max() < record.model.config.vocabulary


def test_a_piece_stays_that_occurs_in_enough_sentences(made):
    """Counted by hand: pieces of more than one character, in sentences and not in words."""
    options = {"language": "de", "min_sentences": 4}
    after = apply_transform("reduce_vocabulary", made["teacher"], made.corpus, options)
    featurizer = made["teacher"].featurizer
    corpus = made.corpus
    texts = [e.words for e in (*corpus.train, *corpus.transfer) if e.language == "de"]
    expected = set()
    for piece, number in featurizer.tokenizer.get_vocab().items():
        inside = [any(number in featurizer.pieces([w])[w] for w in words) for words in texts]
        if len(piece.removeprefix("##")) > 1 and not piece.startswith("[") and sum(inside) >= 4:
            expected.add(piece)
    pieces = after.featurizer.tokenizer.get_vocab()
    assert {p for p in pieces if len(p.removeprefix("##")) > 1 and p[0] != "["} == expected
    assert 0 < len(expected) < 300


def test_the_masked_language_head_is_cut_with_the_table(made):
    before = with_mlm_head(made["teacher"], 3)
    before.model.mlm.bias.assign(np.arange(before.model.config.vocabulary))
    after = apply_transform("reduce_vocabulary", before, made.corpus, {"language": "de"})
    words = words_of(made, "de")[0]
    tokenizers = before.featurizer.tokenizer, after.featurizer.tokenizer
    pieces = [tokenizers[1].id_to_token(i) for i in range(after.model.config.vocabulary)]
    old = [tokenizers[0].token_to_id(piece) for piece in pieces]
    whole, cut = (signals(record, words)["logits/mlm"] for record in (before, after))
    np.testing.assert_allclose(cut, whole[..., old], atol=1e-5)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ("{from: teacher, apply: [{kind: reduce_vocabulary, min_share: 5.0}]}", "0 to 1, got 5.0"),
        (
            "{from: teacher, apply: [{kind: reduce_vocabulary, min_sentences: 0}]}",
            "at least 1, got 0",
        ),
        ("{from: teacher, apply: [melt]}", r"other.apply.0: unknown transform 'melt'; .*quantize"),
        ("{from: teacher, apply: [{kind: keep_layers, n: 1}]}", "no option n; it has layers"),
        ("{from: teacher, apply: [{kind: keep_layers, layers: even}]}", "'layers' is 'even'"),
        ("{from: teacher, apply: [keep_layers, quantize]}", "other.apply.1: .* encoder cannot be"),
        ("{from: hashed, apply: [keep_layers]}", "keep_layers needs an encoder, .* a pqrnn"),
        ("{from: hashed, apply: [reduce_vocabulary]}", "reduce_vocabulary needs an encoder"),
        ("{from: hashed, apply: [new_vocabulary]}", "new_vocabulary needs an encoder"),
        (
            "{from: teacher, apply: [{kind: new_vocabulary, vocabulary: 5}]}",
            "vocabulary_size is 5",
        ),
        (
            "{from: teacher, apply: [{kind: reduce_vocabulary, language: xx}]}",
            "no sentences of the language 'xx'",
        ),
    ],
)
def test_what_cannot_be_applied_says_so(other, text):
    with pytest.raises(RecipeError, match=text):
        models(other)["other"]


def test_a_model_may_begin_as_another_one_unchanged(made):
    copy = made.fresh("other")
    for mine, theirs in zip(copy.model.weights, made["teacher"].model.weights, strict=True):
        assert mine is not theirs
        np.testing.assert_array_equal(mine, theirs)


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="'quantize' is registered already"):
        transform("quantize")(lambda record, corpus: record)


def test_rates_of_dropout_stay_with_an_encoder(tmp_path):
    made = models(
        "{from: teacher, apply: [{kind: keep_layers, layers: [1]}]}",
        """
        scratch: {layers: 2, hidden_dim: 8, heads: 2, intermediate_dim: 12, vocabulary: 300}
        embedding_dropout: 0.5
        head_dropout: 0.25
        """,
    )
    save_model(made["other"], made.corpus.task, tmp_path / "saved")
    for record in (made["teacher"], made["other"], load_model(tmp_path / "saved")):
        assert (record.model.embedding_dropout, record.model.head_dropout) == (0.5, 0.25)


PIECES = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "▁", *"abcdefz,"]
PIECES += ["▁ab", "cd", "▁cd", "▁ef", "▁zz", "▁,", "ab"]


@pytest.fixture
def of_unigram(tmp_path):
    """An encoder of SentencePiece's kind of pieces, and a corpus of four lines."""
    lines = ["ab " * 60 + "zz", "ab,cd ab", "cd ef", "ab,cd"]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n", "utf-8")
    tree = YAML().load(RECIPE.replace("OTHER", "{from: teacher}"))
    tree["data"]["corpus"] = {"sources": [{"path": "text.txt"}], "held_out": 0, "test": 0}
    tree["data"]["demo"] |= {"train": 2, "transfer": 1}
    recipe = parse_recipe(tree)
    corpus = replace(load_corpus(recipe, tmp_path), train=(), transfer=())
    tokenizer = Tokenizer(
        Unigram([(p, -1.0 if len(p) > 1 else -9.0) for p in PIECES], unk_id=3, byte_fallback=False)
    )
    tokenizer.pre_tokenizer = Metaspace()
    teacher = Models(recipe, corpus, Path())["teacher"]
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 16)
    model = Encoder.from_config(
        teacher.model.get_config()
        | {"config": teacher.model.get_config()["config"] | {"vocabulary": len(PIECES)}}
    )
    return replace(teacher, model=model, featurizer=featurizer), corpus


def test_lines_of_a_corpus_are_counted_whole_and_as_they_stand(of_unigram):
    """A piece at the end of a line far longer than a row counts, and one inside of a written word.

    A comma is a word of its own to the splitter and none to a Unigram tokenizer, which begins words
    with a mark where there is a space.
    """
    record, corpus = of_unigram

    def kept(**options):
        after = apply_transform("reduce_vocabulary", record, corpus, options)
        return {p for p in after.featurizer.tokenizer.get_vocab() if len(p) > 1 and p[0] != "<"}

    # As written "▁ab , cd"; word by word "▁ab", "▁,", "▁cd".
    assert kept() == {"▁ab", "cd", "▁cd", "▁ef", "▁zz", "▁,"}
    assert kept(min_sentences=2) == kept(min_share=0.5) == {"▁ab", "cd", "▁cd", "▁,"}
    assert kept(min_sentences=3) == kept(min_share=0.75) == {"▁ab", "▁cd"}
    assert kept(min_sentences=4) == kept(min_share=0.76) == set()


def test_reduced_unigram_pieces_say_the_same(of_unigram):
    record, corpus = of_unigram
    reduced = apply_transform("reduce_vocabulary", record, corpus, {"min_sentences": 3})
    assert reduced.facts["pieces"] < len(PIECES)
    for words in (["ab", "cd"], ["cd", "ab", "ab"]):
        before, after = signals(record, words), signals(reduced, words)
        assert before.keys() == after.keys()
        np.testing.assert_allclose(after["hidden/6"], before["hidden/6"], atol=1e-6)


def test_transformers_reads_a_reduced_checkpoint(made, tmp_path):
    """Its tokenizer makes the same ids, and the file has the rows of these."""
    from transformers import AutoConfig, AutoTokenizer

    german = apply_transform("reduce_vocabulary", made["teacher"], made.corpus, {"language": "de"})
    save_checkpoint(german, made.corpus.task, tmp_path / "german")
    config = AutoConfig.from_pretrained(tmp_path / "german")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "german")
    assert config.vocab_size == len(tokenizer) == german.facts["pieces"]
    for words in words_of(made, "de"):
        first = list(words[:4])  # in one window
        theirs = tokenizer(first, is_split_into_words=True)["input_ids"]
        (window,) = german.featurizer.encode(first)
        assert window.inputs["input_ids"].tolist() == theirs
    with safe_open(tmp_path / "german" / "model.safetensors", "np") as file:
        names = file.keys()  # it cannot be iterated over itself
        (name,) = (key for key in names if key.endswith("word_embeddings.weight"))
        table = file.get_tensor(name)
    np.testing.assert_array_equal(table, np.asarray(german.model.word_embeddings))
