from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tfdistil.encoders import load_tokenizer, save_encoder, scratch_encoder
from tfdistil.errors import CheckpointError
from tfdistil.text.train_tokenizer import train_wordpiece

WORDS = ["play some jazz", "play the next song", "what is the weather in paris", "wake me at six"]


@pytest.fixture
def tokenizer():
    return train_wordpiece(WORDS, 80, min_frequency=1)


def test_a_trained_tokenizer_goes_with_its_encoder(tokenizer, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    size = tokenizer.get_vocab_size()
    save_encoder(scratch_encoder(size, 8, 1, seed=1), tmp_path, tokenizer=tokenizer)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    for text in (*WORDS, "unheard words 42"):
        assert theirs(text)["input_ids"] == ours.encode(text).ids == tokenizer.encode(text).ids
    pair = theirs(WORDS[0], WORDS[1])
    assert pair["token_type_ids"] == ours.encode(WORDS[0], WORDS[1]).type_ids
    assert (theirs.cls_token, theirs.pad_token_id, theirs.mask_token) == ("[CLS]", 0, "[MASK]")
    assert theirs.model_max_length == 128


def test_vocab_txt_alone(tokenizer, tmp_path: Path) -> None:
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    (tmp_path / "vocab.txt").write_text("\n".join(piece for piece, _ in vocabulary), "utf-8")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}), "utf-8")
    loaded = load_tokenizer(tmp_path)
    for text in WORDS:
        assert loaded.encode(text).ids == tokenizer.encode(text).ids


def test_padding_and_truncation_are_off(tokenizer, tmp_path: Path) -> None:
    tokenizer.enable_padding(length=40)
    tokenizer.enable_truncation(4)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert 4 < len(load_tokenizer(tmp_path).encode(WORDS[2]).ids) < 40


def test_sentencepiece_model(tmp_path: Path) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 10),
        model_prefix=str(tmp_path / "sentencepiece.bpe"),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}), "utf-8")
    loaded = load_tokenizer(tmp_path)
    encoding = loaded.encode("play the song")
    assert (encoding.tokens[0], encoding.tokens[-1]) == ("<s>", "</s>")
    assert "".join(encoding.tokens[1:-1]).replace("▁", " ").strip() == "play the song"


def test_folders_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no tokenizer \(tokenizer.json, vocab.txt"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match="no tokenizer that this version"):
        load_tokenizer(tmp_path)


ROBERTA = {"model_type": "roberta"}
XLMR = {"model_type": "xlm-roberta"}


def write(folder: Path, config: dict | None = None, **files: str | bytes) -> Path:
    """Files of a folder; ``_`` in a name is the dot before its ending."""
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / ".".join(name.rsplit("_", 1))).write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def byte_level_files() -> dict[str, str]:
    """``vocab.json`` and ``merges.txt`` as RoBERTa has them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 5, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    merges = "\n".join(" ".join(pair) for pair in model["merges"])
    return {"vocab_json": json.dumps(model["vocab"]), "merges_txt": f"#version: 0.2\n{merges}\n"}


@pytest.fixture(scope="module")
def sentencepiece_file(tmp_path_factory) -> bytes:
    import sentencepiece

    prefix = tmp_path_factory.mktemp("spm") / "x"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 10),
        model_prefix=str(prefix),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return prefix.with_suffix(".model").read_bytes()


STRANGE = ["naïve Straße", "語 👍🏽", "don't <mask> </s> go", "  spaced \u200b out ", "１２ ﬁ İ"]


def same_as_theirs(theirs, ours) -> None:
    """Ids of words, as this package asks for them: word by word, without special tokens."""
    assert ours.get_vocab() == theirs.get_vocab()
    for text in (*WORDS, *STRANGE):
        words = text.replace("<mask>", "").replace("</s>", "").split()
        assert (
            ours.encode(words, is_pretokenized=True).ids
            == theirs(words, is_split_into_words=True)["input_ids"]
        )
    pair = [w.split() for w in WORDS[:2]]
    assert (
        ours.encode(*pair, is_pretokenized=True).ids
        == theirs(*pair, is_split_into_words=True)["input_ids"]
    )


def test_byte_level_files_as_transformers(byte_level_files, tmp_path: Path) -> None:
    from transformers import RobertaTokenizer

    folder = write(tmp_path, ROBERTA, **byte_level_files)
    theirs = RobertaTokenizer.from_pretrained(folder, add_prefix_space=True)
    same_as_theirs(theirs, load_tokenizer(folder))


def test_sentencepiece_model_as_transformers(sentencepiece_file, tmp_path: Path) -> None:
    from transformers import XLMRobertaTokenizer

    folder = write(tmp_path, XLMR, **{"sentencepiece.bpe_model": sentencepiece_file})
    same_as_theirs(XLMRobertaTokenizer.from_pretrained(folder), load_tokenizer(folder))


def test_a_tokenizer_is_copied_from_its_folder(byte_level_files, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    write(source, ROBERTA, **byte_level_files)
    size = load_tokenizer(source).get_vocab_size()
    save_encoder(scratch_encoder(size, 8, 1, seed=1), target, tokenizer=source)
    same_as_theirs(AutoTokenizer.from_pretrained(target), load_tokenizer(source))


@pytest.mark.parametrize("name", ["spm_model", "sentencepiece.bpe_model"])
def test_a_sentencepiece_model_may_have_any_name(sentencepiece_file, tmp_path, name: str) -> None:
    # The class of `transformers` makes a tokenizer of five pieces where it does not find its file.
    folder = write(tmp_path, XLMR, **{name: sentencepiece_file})
    assert load_tokenizer(folder).get_vocab_size() > 20
    # Multilingual MiniLM is a BERT with XLM-RoBERTa's tokenizer.
    write(folder, {"model_type": "bert"})
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "XLMRobertaTokenizer"}')
    assert load_tokenizer(folder).get_vocab_size() > 20


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ("[1, 2]", "holds a JSON list"),
        ("{", "cannot be read as JSON"),
        ('{"a": 0}', "has no <s>, <pad>, </s>, <unk>"),
        ('{"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 4}', "ids from 0 to their number less one"),
        ('{"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": "3"}', "ids from 0 to their number less one"),
        ('{"<s>": 0, "<pad>": 0, "</s>": 1, "<unk>": 2}', "ids from 0 to their number less one"),
        ('{"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "x": 4}', "merges.txt:2: expected two"),
    ],
)
def test_a_wrong_vocab_json_is_refused(byte_level_files, tmp_path, vocabulary, message) -> None:
    files = byte_level_files | {"vocab_json": vocabulary}
    with pytest.raises(CheckpointError, match=message):
        load_tokenizer(write(tmp_path, ROBERTA, **files))


def test_a_vocab_json_of_another_family_is_refused(byte_level_files, tmp_path: Path) -> None:
    # BERT's class in `transformers` looks for vocab.txt alone, and makes five pieces up.
    folder = write(tmp_path, {"model_type": "bert"}, **byte_level_files)
    with pytest.raises(CheckpointError, match=r"neither tokenizer.json nor vocab.txt"):
        load_tokenizer(folder)


@pytest.mark.parametrize("missing", [1, 16, 17, 30])
def test_merges_that_are_cut_off(byte_level_files, tmp_path, caplog, missing: int) -> None:
    lines = byte_level_files["merges_txt"].splitlines()
    files = byte_level_files | {"merges_txt": "\n".join(lines[:-missing])}
    write(tmp_path, ROBERTA, **files)
    if missing > 16:
        with pytest.raises(CheckpointError, match=f"which make all but {missing} of the pieces"):
            load_tokenizer(tmp_path)
    else:
        load_tokenizer(tmp_path)
        assert f"which make all but {missing} of the pieces" in caplog.text
    (tmp_path / "merges.txt").unlink()
    with pytest.raises(CheckpointError, match=r"merges.txt is not there"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda data: b"garbage" * 30, "is no SentencePiece model"),
        (lambda data: b"", "is no whole SentencePiece model: it has 0 pieces"),
        (lambda data: data[: len(data) // 3], "is no( whole)? SentencePiece model"),
        (lambda data: data.replace(b"<unk>", b"<ank>", 1), "begins with the pieces ..<ank>"),
        (lambda data: data.replace(b"</s>", b"</t>", 1), "begins with the pieces"),
    ],
)
def test_a_wrong_sentencepiece_model_is_refused(sentencepiece_file, tmp_path, edit, message):
    with pytest.raises(CheckpointError, match=message):
        load_tokenizer(write(tmp_path, XLMR, spm_model=edit(sentencepiece_file)))


def test_sentencepiece_models_of_another_kind_are_refused(tmp_path: Path) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 10),
        model_prefix=str(tmp_path / "spm"),
        model_type="bpe",
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (tmp_path / "spm.vocab").unlink()
    with pytest.raises(CheckpointError, match="a model of kind BPE; expected UNIGRAM"):
        load_tokenizer(write(tmp_path, XLMR))


def test_bytes_that_are_no_vocabulary_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"vocab.txt is no text in UTF-8"):
        load_tokenizer(write(tmp_path, {"model_type": "bert"}, vocab_txt=b"\xff\xfe" * 30))


def test_the_vocabulary_fits_the_embeddings(tokenizer, tmp_path: Path, caplog) -> None:
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    for rows in (size, (size + 7) // 8 * 8):
        write(tmp_path, {"model_type": "bert", "vocab_size": rows})
        assert load_tokenizer(tmp_path).get_vocab_size() == size
    assert not caplog.records
    for rows, message in (
        (size - 1, rf"ids up to {size - 1}, but config.json says vocab_size: {size - 1}"),
        (2 * size + 1, rf"has {size} pieces, but config.json says vocab_size: {2 * size + 1}"),
        ("many", "vocab_size must be a positive whole number, got 'many'"),
    ):
        write(tmp_path, {"model_type": "bert", "vocab_size": rows})
        with pytest.raises(CheckpointError, match=message):
            load_tokenizer(tmp_path)


def test_rows_without_a_piece_are_logged(tokenizer, tmp_path: Path, caplog) -> None:
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    rows = size + (2 if size % 2 else 1)  # no multiple of 8
    load_tokenizer(write(tmp_path, {"model_type": "bert", "vocab_size": rows}))
    assert f"has {size} pieces, the encoder rows for {rows}" in caplog.text


def test_the_kind_of_model_is_looked_at_first(tokenizer, tmp_path: Path) -> None:
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for config in ({"model_type": "albert"}, {}, {"model_type": None}):
        with pytest.raises(CheckpointError, match=r"config.json: model_type .* is not supp"):
            load_tokenizer(write(tmp_path, config))


def test_files_of_another_class_are_not_guessed_at(tokenizer, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(tokenizer.get_vocab()))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertJapaneseTokenizer"}')
    with pytest.raises(CheckpointError, match=r"files of a BertJapaneseTokenizer.*only those of"):
        load_tokenizer(write(tmp_path, {"model_type": "bert"}))


@pytest.mark.parametrize("files", ["tokenizer.json", "vocab.txt"])
def test_a_tokenizer_that_is_code_of_its_own_is_refused(tokenizer, tmp_path, files) -> None:
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer.json").rename(tmp_path / files)
    code = {"auto_map": {"AutoTokenizer": ["code.Slow", "code.Fast"]}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(code))
    with pytest.raises(CheckpointError, match=r"code of its own .*code.Fast.* is never run"):
        load_tokenizer(write(tmp_path, {"model_type": "bert"}))


def test_ids_the_encoder_has_no_embedding_for(tokenizer, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"ids up to \d+, the encoder embeddings for 20"):
        save_encoder(scratch_encoder(20, 8, 1), tmp_path, tokenizer=tokenizer)


KOTLIN = Path(__file__).parents[2] / "android_demo/nlp/src/main/kotlin/org/tfdistil/nlp"


def parts(tree) -> set[str]:
    """The types of normalizers and pre-tokenizers in a part of ``tokenizer.json``."""
    if isinstance(tree, list):
        return set().union(*map(parts, tree))
    if not isinstance(tree, dict):
        return set()
    inner = (tree.get(name) for name in ("normalizers", "pretokenizers"))
    return {tree["type"]} | set().union(*map(parts, inner))


def test_kotlin_knows_the_parts_of_every_family(
    tokenizer, byte_level_files, sentencepiece_file, minilm, tmp_path: Path
) -> None:
    """Ours, and those that transformers writes to ``tokenizer.json`` of published checkpoints."""
    from transformers import AutoTokenizer

    roberta, xlmr = tmp_path / "roberta", tmp_path / "xlmr"
    roberta.mkdir()
    xlmr.mkdir()
    write(roberta, ROBERTA, **byte_level_files)
    write(xlmr, XLMR, **{"sentencepiece.bpe_model": sentencepiece_file})
    made = [tokenizer]
    for folder in (roberta, xlmr, minilm):
        made += [load_tokenizer(folder), AutoTokenizer.from_pretrained(folder).backend_tokenizer]
    source = (KOTLIN / "TokenizerFile.kt").read_text("utf-8")
    known = set(re.findall(r'"([A-Z]\w+)" to ', source))
    assert {"BertNormalizer", "ByteLevel", "Unigram"} < known
    for each in made:
        tree = json.loads(each.to_str())
        used = parts([tree["normalizer"], tree["pre_tokenizer"]]) | {tree["model"]["type"]}
        assert used <= known, used - known
