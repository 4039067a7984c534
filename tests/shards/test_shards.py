"""Text to shards and back: every piece once, whole files or none, and nothing read unchecked."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tfdistil.data.example import Example
from tfdistil.distill.rows import encode_rows
from tfdistil.errors import DataError, RecipeError, RunError
from tfdistil.files import sha256
from tfdistil.shards.parts import Parts, line_digest
from tfdistil.shards.reading import open_shards
from tfdistil.shards.text import TextPart, files_in
from tfdistil.shards.writing import write_shards
from tfdistil.tasks import IGNORE

SMALL = 2000
"""Characters of a shard, so that there are several."""


@pytest.fixture
def written(corpus, make_featurizer, tmp_path):
    """A folder of shards."""
    write_shards(corpus, make_featurizer(), tmp_path / "shards", size=SMALL)
    return tmp_path / "shards"


def lines_of(rows, row):
    """The pieces of the lines of a row, without special ones."""
    ids = rows.ids(row).tolist()
    assert (ids[0], ids[-1]) == (rows.shards.cls, rows.shards.sep)
    found, line = [], []
    for piece in ids[1:]:
        if piece == rows.shards.sep:
            found.append(tuple(line))
            line = []
        else:
            line.append(piece)
    return found


def test_each_line_is_in_a_row_of_its_language_and_part(corpus, texts, make_featurizer, written):
    featurizer = make_featurizer()
    shards = open_shards(written)
    assert len(shards.ids) > 3
    place = {}
    expected = Counter()
    for language, lines in texts.items():
        for text in lines:
            ids = featurizer.tokenizer.encode(text, add_special_tokens=False).ids
            part = corpus.parts.number(line_digest(text, 3))
            place[text] = part
            for at in range(0, len(ids), 14):
                expected[language, part, tuple(ids[at : at + 14])] += 1
    found = Counter()
    rows = shards.rows(range(5))
    for row in range(len(rows)):
        language = shards.languages[rows.language[row]]
        part = shards.index[row, 2]
        found.update((language, part, line) for line in lines_of(rows, row))
    assert found == expected
    assert set(place.values()) == {0, 1, 2, 3, 4}
    # Of 16: the rows are full but for lines that did not fit and ends of shards.
    assert np.mean(rows.lengths) > 12.5


def test_parts_share_no_line_and_the_whole_has_all_sections(corpus, written):
    shards = open_shards(written)
    sets = {
        name: {
            line
            for rows in [shards.rows(corpus.parts.numbers(name))]
            for row in range(len(rows))
            for line in lines_of(rows, row)
        }
        for name in corpus.parts.names
    }
    assert sets["corpus.six"] | sets["corpus.five"] < sets["corpus"]
    # Ends of lines that are cut may be equal; whole lines of different parts are not.
    texts = [{e.text for e in TextPart(corpus, name)} for name in corpus.parts.names[1:]]
    for n, one in enumerate(texts):
        assert one
        assert all(one.isdisjoint(other) for other in texts[n + 1 :])


def test_counts_are_those_of_the_text(corpus, texts, make_featurizer, written):
    shards = open_shards(written)
    for language, lines in texts.items():
        counts = shards.statistics[language]
        encoded = [
            make_featurizer().tokenizer.encode(text, add_special_tokens=False) for text in lines
        ]
        assert counts["lines"] == len(lines)
        assert counts["bytes"] == sum(len(text.encode()) for text in lines)
        assert counts["words"] == sum(len(text.split()) for text in lines)
        assert counts["pieces"] == sum(len(one.ids) for one in encoded)
        number = shards.languages.index(language)
        assert counts["rows"] == (shards.index[:, 1] == number).sum()
    assert shards.sizes["sl"] > sum(map(len, texts["sl"]))  # UTF-8, not characters


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}


def test_a_stopped_start_resumes_where_it_was(corpus, make_featurizer, written, tmp_path):
    class StoppedError(Exception):
        pass

    done = []

    def stop(bytes_done):
        done.append(bytes_done)
        if len(done) == 3:
            raise StoppedError

    folder = tmp_path / "again"
    with pytest.raises(StoppedError):
        write_shards(corpus, make_featurizer(), folder, stop, size=SMALL)
    assert not (folder / "shards.json").exists()
    times = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert sorted(times) == ["00000", "00001", "00002"]
    (folder / ".00003.partial").mkdir()  # of a process that was killed
    (folder / ".00003.partial" / "ids.npy").write_bytes(b"half")
    write_shards(corpus, make_featurizer(), folder, size=SMALL)
    assert {name: (folder / name).stat().st_mtime_ns for name in times} == times
    assert contents(folder) == contents(written)


def test_the_key_is_of_all_that_rows_depend_on(corpus, make_featurizer):
    file = corpus.files[0]
    keys = {
        corpus.key("a"),
        corpus.key("b"),
        replace(corpus, joined=False).key("a"),
        replace(corpus, languages=("nl",)).key("a"),
        replace(corpus, parts=replace(corpus.parts, seed=4)).key("a"),
        corpus.keeping_out([Example(("de", "hond"))]).key("a"),
        replace(corpus, files=(replace(file, language="x"), *corpus.files[1:])).key("a"),
    }
    assert len(keys) == 7
    before = corpus.key("a")
    file.path.write_text("iets anders\n", encoding="utf-8")
    assert corpus.key("a") != before


def test_sentences_of_dev_and_test_are_left_out(corpus, texts, make_featurizer, tmp_path):
    gone = [texts["nl"][0], texts["sw"][3]]
    held = [
        Example(tuple(gone[0].replace(" ", "  ").split())),
        Example(("an", "other"), second=tuple(gone[1])),  # the words of a pair, cut otherwise
    ]
    without = corpus.keeping_out(held)
    left = {e.text for name in ("corpus", *corpus.parts.names[3:]) for e in TextPart(without, name)}
    assert left == {text for lines in texts.values() for text in lines} - set(gone)
    write_shards(without, make_featurizer(), tmp_path / "s")
    dropped = sum(text in gone for lines in texts.values() for text in lines)
    assert open_shards(tmp_path / "s").left_out == dropped


def test_other_languages_are_left_out(corpus, make_featurizer, tmp_path):
    write_shards(replace(corpus, languages=("sw", "nl")), make_featurizer(), tmp_path / "s")
    assert open_shards(tmp_path / "s").languages == ("nl", "sw")
    with pytest.raises(RecipeError, match="no text is left of 3 files; 550 lines are left out"):
        write_shards(replace(corpus, languages=("fr",)), make_featurizer(), tmp_path / "none")


def test_text_that_looks_like_special_pieces_is_text(corpus, make_featurizer, tmp_path):
    path = corpus.files[0].path
    path.write_text("[SEP] hond [CLS]\nhond\n", encoding="utf-8")
    files = (corpus.files[0],)
    write_shards(replace(corpus, files=files), make_featurizer(), tmp_path / "s")
    rows = open_shards(tmp_path / "s").rows(range(5))
    assert sum(np.isin(rows.ids(r), [rows.shards.cls]).sum() for r in range(len(rows))) == len(rows)
    assert sum(len(lines_of(rows, row)) for row in range(len(rows))) == 2


def test_rows_of_lines_are_those_of_memory(by_line, make_featurizer, tmp_path):
    """With a row for each line and words of the white space, the same ids, padding and tokens."""
    featurizer = make_featurizer(64, token_types=True)
    write_shards(by_line, featurizer, tmp_path / "s", size=SMALL)
    text = TextPart(by_line, "corpus.six")
    rows = open_shards(tmp_path / "s").rows(text.numbers)
    aligned = make_featurizer(64, token_types=True)
    aligned.alignment = "x"  # a token for each piece, as rows in shards have them
    memory = encode_rows(list(text), aligned, None)
    assert len(rows) == len(memory) == len(text)
    chosen = [11, 0, 7, 7, len(rows) - 1]
    mine, theirs = rows.inputs(chosen), memory.inputs(chosen)
    assert mine.keys() == theirs.keys()
    for name, array in theirs.items():
        np.testing.assert_array_equal(mine[name], array)
        assert mine[name].dtype == array.dtype
    np.testing.assert_array_equal(rows.lengths, memory.lengths)
    np.testing.assert_array_equal(rows.token_counts, memory.token_counts)
    assert rows.token_range(3) == memory.token_range(3)
    for level, shape in (("word", (5, 8)), ("sequence", (5,))):
        np.testing.assert_array_equal(rows.target("tags", level, chosen, 8), np.full(shape, IGNORE))
    counts = np.zeros(featurizer.tokenizer.get_vocab_size(), np.int64)
    for window in memory.windows:
        np.add.at(counts, window.inputs["input_ids"], 1)
    np.testing.assert_array_equal(rows.piece_counts(), counts)


def test_an_epoch_has_the_shares_of_languages(by_line, make_featurizer, tmp_path):
    write_shards(by_line, make_featurizer(64), tmp_path / "s")
    shards = open_shards(tmp_path / "s")
    rows = shards.rows([0, 1, 2], {"nl": 0.25, "sl": 0.25, "sw": 0.5})
    drawn = rows.epoch_rows(np.random.default_rng(0))
    assert len(drawn) == len(rows)
    share = np.bincount(rows.language[drawn]) / len(rows)
    np.testing.assert_allclose(share, [0.25, 0.25, 0.5], atol=1 / len(rows))
    plain = shards.rows([0, 1, 2])
    np.testing.assert_array_equal(plain.epoch_rows(np.random.default_rng(0)), np.arange(len(plain)))


def rewrite(folder, change):
    """Change an array or the facts of the first shard, with hashes that fit."""
    shard = folder / "00000"
    facts = json.loads((shard / "shard.json").read_text())
    change(shard, facts)
    facts["sha256"] = {name: sha256(shard / name) for name in facts["sha256"]}
    (shard / "shard.json").write_text(json.dumps(facts))
    whole = json.loads((folder / "shards.json").read_text())
    whole["shards"][0]["sha256"] = sha256(shard / "shard.json")
    (folder / "shards.json").write_text(json.dumps(whole))


def with_array(name, change):
    def apply(shard, facts):
        np.save(shard / name, change(np.load(shard / name)))

    return apply


def assign(row, column, value):
    def change(array):
        array[row, column] = value
        return array

    return change


class Harmful:
    def __reduce__(self):
        return (pytest.fail, ("code of a file was run",))


def pickled(shard, facts):
    np.save(shard / "ids.npy", np.array([Harmful()], object), allow_pickle=True)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (with_array("ids.npy", lambda ids: ids + 5000), "a piece outside of 0 to"),
        (with_array("ids.npy", lambda ids: ids[:-1]), "pieces in a file of"),
        (with_array("ids.npy", lambda ids: ids.astype(np.float32)), "ids.npy is float32"),
        (with_array("index.npy", lambda index: index[:, :3]), "index.npy is int32"),
        (with_array("index.npy", assign(0, 0, 99)), "rows that are none"),
        (with_array("index.npy", assign(0, 1, 7)), "out of bounds"),
        (with_array("index.npy", assign(0, 2, 7)), "a part that is none of"),
        (with_array("index.npy", assign(0, 3, 0)), "rows that are none"),
        (with_array("index.npy", assign(0, 3, -2)), "rows that are none"),
        (pickled, "damaged shards"),
        (lambda shard, facts: facts.update(languages=["xx"] * 9), "KeyError('xx')"),
        (lambda shard, facts: facts.pop("languages"), "KeyError('languages')"),
    ],
)
def test_what_is_no_shard_is_refused(written, change, text):
    rewrite(written, change)
    with pytest.raises(RunError) as caught:
        open_shards(written)
    assert text in str(caught.value)
    assert "remove the folder and run again" in str(caught.value)


@pytest.mark.parametrize("name", ["ids.npy", "index.npy", "shard.json"])
@pytest.mark.parametrize("how", ["cut", "flipped", "gone"])
def test_a_damaged_file_is_found(written, name, how):
    path = written / "00001" / name
    data = bytearray(path.read_bytes())
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[:-1])
    else:
        data[-2] ^= 1
        path.write_bytes(data)
    with pytest.raises(RunError, match="damaged"):
        open_shards(written)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"layout": 2}', '{"layout": 1, "shards": 3}'])
def test_a_damaged_list_is_found(written, text):
    (written / "shards.json").write_text(text)
    with pytest.raises(RunError, match="damaged"):
        open_shards(written)


def test_a_pickle_in_place_of_a_file_is_not_run(written):
    (written / "shards.json").write_bytes(pickle.dumps(Harmful()))
    with pytest.raises(RunError, match="damaged"):
        open_shards(written)


def test_files_of_a_folder(tmp_path):
    for name in ("b.txt", "a.txt", "notes.md", ".hidden.txt"):
        (tmp_path / name).write_text("x\n")
    assert [path.name for path in files_in(tmp_path)] == ["a.txt", "b.txt"]
    assert files_in(tmp_path / "notes.md") == [tmp_path / "notes.md"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no \.txt file"):
        files_in(tmp_path / "empty")


def test_a_set_is_a_sequence(corpus, texts):
    text = TextPart(corpus, "corpus")
    some = [e.text for e in text]
    assert len(text) == len(some) > 300
    assert bool(text)
    assert text[3].text == some[3]
    assert [e.text for e in text[:2]] == some[:2]
    assert not TextPart(replace(corpus, languages=("fr",)), "corpus")


@pytest.mark.parametrize("name", ["corpus_held_out", "corpus_test"])
def test_a_share_of_0_is_empty_without_reading_the_text(corpus, name):
    gone = replace(corpus.files[0], path=corpus.files[0].path.with_name("gone.txt"))
    unread = TextPart(replace(corpus, files=(gone,), parts=Parts()), name)
    assert not unread
    assert len(unread) == 0
    with pytest.raises(DataError, match="no such file"):
        bool(TextPart(unread.corpus, "corpus"))
