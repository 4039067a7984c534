"""Translations that are kept, and models of `transformers`."""

from __future__ import annotations

import json

import pytest

from tfdistil.augmentation.translation import (
    TRANSLATORS,
    HuggingFaceTranslator,
    RegisteredTranslator,
    StoredTranslations,
    translator,
)
from tfdistil.errors import DataError


class Shouting:
    """Counts what it is asked, and stops after some batches."""

    def __init__(self, batches: int = 99):
        self.asked: list[str] = []
        self.left = batches

    def identity(self, source: str, target: str) -> str:
        return f"{source} {target}"

    def __call__(self, texts, source, target):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.asked += texts
        return [text.upper() for text in texts]


def test_equal_texts_are_asked_once_and_given_back_in_order(tmp_path):
    shout = Shouting()
    stored = StoredTranslations(shout, tmp_path, batch=2)
    assert stored(["b", "a", "b", "cc"], "en", "de") == ["B", "A", "B", "CC"]
    assert sorted(shout.asked) == ["a", "b", "cc"]


def test_what_was_stopped_goes_on(tmp_path):
    texts = [f"text {n}" for n in range(10)]
    with pytest.raises(KeyboardInterrupt):
        StoredTranslations(Shouting(2), tmp_path, batch=3)(texts, "en", "de")
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes() + b'["text 9", "TE')  # cut off while it was written
    rest = Shouting()
    seen: list[int] = []
    found = StoredTranslations(rest, tmp_path, batch=3)(texts, "en", "de", seen.append)
    assert found == [text.upper() for text in texts]
    assert len(rest.asked) == 4
    assert seen == [9, 10]
    lines = [line for line in file.read_text().splitlines() if line != '["text 9", "TE']
    assert dict(json.loads(line) for line in lines) == {t: t.upper() for t in texts}


def test_what_answered_nothing_leaves_no_file(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        StoredTranslations(Shouting(0), tmp_path, batch=3)(["a"], "en", "de")
    assert [*tmp_path.iterdir()] == []


def test_directions_and_translators_do_not_mix(tmp_path):
    StoredTranslations(Shouting(), tmp_path)(["a"], "en", "de")
    other = Shouting()
    StoredTranslations(other, tmp_path)(["a"], "en", "fr")
    assert other.asked == ["a"]
    assert len([*tmp_path.iterdir()]) == 2


def test_a_function_is_registered_by_name(monkeypatch):
    monkeypatch.setattr("tfdistil.augmentation.translation.TRANSLATORS", TRANSLATORS.copy())

    @translator("short")
    def short(texts, source, target):
        return texts[:1]

    with pytest.raises(DataError, match="'short' returned 1 texts for 2"):
        RegisteredTranslator("short")(["a", "b"], "en", "de")
    with pytest.raises(ValueError, match="'short' is registered already"):
        translator("short")(short)


def test_a_direction_without_a_model_says_which_there_are():
    with pytest.raises(DataError, match="no model for en-fr; there are en-de, de-en"):
        HuggingFaceTranslator({"en-de": "a", "de-en": "b"})(["x"], "en", "fr")


class _Pieces:
    """What a tokenizer of many languages has: codes among the added tokens, words among all."""

    src_lang = "eng_Latn"

    def get_added_vocab(self):
        return {"eng_Latn": 7, "deu_Latn": 8}

    def get_vocab(self):
        return {"en": 1, "de": 2, **self.get_added_vocab()}


class _Marks:
    supported_language_codes = (">>fra<<", ">>spa<<")


@pytest.mark.parametrize("tokenizer", [_Pieces(), _Marks()], ids=["codes", "marks"])
def test_a_language_that_a_model_of_many_does_not_know(tokenizer):
    """Neither is a piece of a word a language, nor is any language as good as another."""
    with pytest.raises(DataError, match=r"say which of .* is meant, such as codes: \{(en|de): "):
        HuggingFaceTranslator("m")._direction(tokenizer, ["hello"], "en", "de")


def test_codes_say_which_language_is_meant():
    codes = {"en": "eng_Latn", "de": "deu_Latn", "fr": "fra"}
    translator = HuggingFaceTranslator("m", codes)
    told = translator._direction(_Pieces(), ["hello"], "en", "de")
    assert told == ({"forced_bos_token_id": 8}, ["hello"])
    told = translator._direction(_Marks(), ["hello"], "en", "fr")
    assert told == ({}, [">>fra<< hello"])


def test_a_missing_package_or_model_is_a_clear_error(tmp_path):
    with pytest.raises(DataError, match=r"needs PyTorch|not a translation model"):
        HuggingFaceTranslator(str(tmp_path))(["x"], "en", "fr")


def model_folder(folder, config: dict, **files: str):
    """A folder of a translation model without weights."""
    (folder / "config.json").write_text(json.dumps(config))
    for name, content in files.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(content)
    return str(folder)


@pytest.mark.parametrize("model_type", ["bert", "gpt2", None, ["marian"], "x\x1b[31m"])
def test_only_kinds_of_models_that_translate_are_opened(tmp_path, model_type):
    folder = model_folder(tmp_path, {"model_type": model_type}, vocab_txt="[UNK]")
    with pytest.raises(DataError, match=r"model_type is .*expected one of marian, m2m_100"):
        HuggingFaceTranslator(folder)(["a"], "en", "de")


def test_models_that_are_code_of_their_own_are_refused(tmp_path):
    code = {"AutoTokenizer": ["code.Slow", "code.Fast"], "AutoModelForSeq2SeqLM": "code.Model"}
    folder = model_folder(tmp_path, {"model_type": "t5", "auto_map": code})
    with pytest.raises(DataError, match=r"code of its own.*code.Model.*never run"):
        HuggingFaceTranslator(folder)(["a"], "en", "de")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"auto_map": code}))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(DataError, match=r"tokenizer is code of its own.*code.Fast"):
        HuggingFaceTranslator(folder)(["a"], "en", "de")


@pytest.mark.parametrize("files", [{}, {"spiece_model": "garbage" * 20}])
def test_a_tokenizer_made_up_for_want_of_a_vocabulary_is_refused(tmp_path, files):
    folder = model_folder(tmp_path, {"model_type": "t5", "vocab_size": 32128}, **files)
    with pytest.raises(DataError, match=r"the tokenizer (has \d+ pieces|cannot be read)"):
        HuggingFaceTranslator(folder)(["a"], "en", "de")


class TestWithPyTorch:
    """An optional job: PyTorch is not installed by the lock file."""

    @pytest.fixture(scope="class")
    def m2m(self, tmp_path_factory):
        pytest.importorskip("torch", reason="needs PyTorch (an optional job)")
        sentencepiece = pytest.importorskip("sentencepiece")
        from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

        folder = tmp_path_factory.mktemp("m2m")
        (folder / "text.txt").write_text("play a song\nspiel ein lied\njoue une chanson\n" * 20)
        sentencepiece.SentencePieceTrainer.train(
            input=str(folder / "text.txt"),
            model_prefix=str(folder / "spm"),
            vocab_size=40,
            hard_vocab_limit=False,
        )
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))
        pieces = [
            "<s>",
            "<pad>",
            "</s>",
            "<unk>",
            *(model.id_to_piece(i) for i in range(3, len(model))),
        ]
        (folder / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(pieces)}))
        tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "spm.model"))
        config = M2M100Config(
            vocab_size=max(tokenizer.lang_code_to_id.values()) + 1,
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=16,
            decoder_ffn_dim=16,
            max_position_embeddings=24,
            max_length=24,
        )
        import torch

        torch.manual_seed(0)
        M2M100ForConditionalGeneration(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    def test_a_model_translates_alone_as_in_a_batch(self, m2m):
        translate = HuggingFaceTranslator(str(m2m), beams=2)
        texts = ["play a song", "a", "song play song play"]
        together = translate(texts, "en", "de")
        assert len(together) == 3
        assert together == [translate([text], "en", "de")[0] for text in texts]

    def test_the_language_is_told_to_the_model(self, m2m):
        translate = HuggingFaceTranslator(str(m2m), codes={"en": "en", "xx": "fr"})
        assert translate(["play a song"], "en", "xx") == HuggingFaceTranslator(str(m2m))(
            ["play a song"], "en", "fr"
        )

    def test_an_unknown_language_says_what_to_do(self, m2m):
        with pytest.raises(DataError, match="no language 'tlh'; say which of its codes"):
            HuggingFaceTranslator(str(m2m))(["a"], "en", "tlh")
