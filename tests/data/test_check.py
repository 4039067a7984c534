"""The data report: every number against a small corpus counted by hand."""

from __future__ import annotations

from pathlib import Path

from tfdistil.data.check import check
from tfdistil.data.example import Example
from tfdistil.data.readers import ReadResult, read
from tfdistil.data.source import Source, load


def _conll(path: Path, *sentences: str) -> ReadResult:
    rows = ("\n".join(pair.replace("/", "\t", 1) for pair in s.split()) for s in sentences)
    path.write_text("\n\n".join(rows) + "\n")
    return load([Source(path, "conll", language="en", repair="iob2")], errors="collect")


def test_numbers(tmp_path: Path):
    train = _conll(tmp_path / "train", "Ada/B-PER in/O Bonn/B-LOC", "ok/O", "ok/B-X", "ok/O")
    dev = _conll(tmp_path / "dev", "ok/O", "Ulm/I-GPE", "a/O b/O c/O d/O")
    transfer = ReadResult(read(_text(tmp_path, "a b c d\nok\nnew text here\n")).examples)
    report = check(train, dev, transfer=transfer, tokenize=list)
    first = report.splits[0]
    assert (first.examples, first.words, first.duplicates, first.conflicts) == (4, 6, 2, 1)
    assert first.spans == {"LOC": 1, "PER": 1, "X": 1}
    assert list(first.languages.items()) == [("en", 4)]
    lengths = first.lengths
    assert (lengths.minimum, lengths.median, lengths.p95, lengths.maximum) == (1, 1, 3, 3)
    assert first.fertility == (3 + 2 + 4 + 3 * 2) / 6
    assert report.splits[1].counts == {"repaired_tags": 1}
    assert report.unseen == {"dev": ("GPE",)}
    assert not report.unseen_is_error
    assert report.ok
    assert report.overlaps == {
        ("dev", "train"): 1,
        ("transfer", "train"): 1,
        ("transfer", "dev"): 2,
    }


def test_the_text_shows_it_all(tmp_path: Path):
    train = _conll(tmp_path / "train", "Ada/B-PER in/O", "x/Q", "y/B-", "Bo/B-PER")
    test = _conll(tmp_path / "test", "Ada/B-PER in/O", "Ulm/B-LOC")
    report = check(train, test=test)
    assert [problem.rsplit("/", 1)[1][:8] for problem in report.problems] == [
        "train:4:",
        "train:6:",
    ]
    text = report.to_text()
    lines = [line.split() for line in text.splitlines()]
    assert ["train", "2", "3", "1", "1", "2", "2", "0"] in lines
    assert ["PER", "2", "1"] in lines
    assert ["LOC", "0", "1"] in lines
    assert "test: not in train, each is a miss in every score: LOC" in text
    assert "test: 1 sentence occurs in train too (50.0 %)" in text
    assert "broken lines: 2\n" in text
    assert all(problem in text for problem in report.problems)
    assert all(len(line) == len(line.rstrip()) for line in text.splitlines())


def test_a_text_is_shown_as_it_was_read(tmp_path: Path):
    """A digit that belongs to the label, a text in the wrong column: seen at once."""
    train = _conll(tmp_path / "train", "ok/O", "Ada0/B-PER in1/O Bonn2/B-LOC", "x/O")
    pair = ReadResult((Example(("a", "\x1b[2J"), label="yes", second=("b",) * 500),))
    assert "  train: Ada0/B-PER in1 Bonn2/B-LOC\n" in check(train).to_text()
    (shown,) = [line for line in check(pair).to_text().splitlines() if "train: a" in line]
    assert shown.startswith("  train: a \\x1b[2J | b b")
    assert shown.endswith("→ yes")
    assert len(shown) < 260
    assert "as it was read" not in check(ReadResult(())).to_text()


def test_what_a_tokenizer_loses_is_noted():
    """Letters are pieces here, and `?` stands for what is unknown; a window holds 3 more."""
    pairs = [("ab", "cd"), ("a?", "b"), ("abcd", "efg"), ("a", "b")]
    train = ReadResult(tuple(Example((a,), label="x", second=(b,)) for a, b in pairs))
    report = check(train, tokenize=list, unknown="?", longest=3 + 4)
    (split,) = report.splits
    assert (split.unknown, split.cut) == (1 / 8, 1 / 4)
    text = report.to_text()
    assert "train: 12 % of the words have a part that the teacher's tokenizer does not know" in text
    assert "train: 25 % of the pairs are longer than the teacher's max_length" in text
    (split,) = check(train, tokenize=list).splits
    assert (split.unknown, split.cut) == (None, None)
    single = ReadResult((Example(("abcdefgh",), label="x"),))
    assert check(single, tokenize=list, longest=5).splits[0].cut is None


def test_clean_data_is_ok(tmp_path: Path):
    train = _conll(tmp_path / "train", "a/B-X", "b/O")
    report = check(train, _conll(tmp_path / "dev", "c/B-X"))
    assert report.ok
    assert "no broken lines" in report.to_text()
    assert "sub-words" not in report.to_text()


def test_labels_unseen_in_train_may_be_an_error(tmp_path: Path):
    train, dev = (_conll(tmp_path / name, f"a/B-{name}") for name in ("X", "Y"))
    report = check(train, dev, unseen_is_error=True)
    assert not report.ok
    assert "dev: not in train, each is an error: Y" in report.to_text()
    assert check(train, train, unseen_is_error=True).ok


def test_an_intent_of_train_is_no_span_of_train():
    train = ReadResult((Example(("a",), ("B-time",), "date"),))
    dev = ReadResult((Example(("b",), ("B-date",), "time"), Example(("c",), ("O",), "date")))
    assert check(train, dev).unseen == {"dev": ("date", "time")}


def test_long_label_lists_are_cut_with_their_sum(tmp_path: Path):
    rows = [f"w{n}/B-T{n:02}" for n in range(50)]
    text = check(_conll(tmp_path / "train", *rows)).to_text(max_labels=10)
    assert ["40", "more", "40"] in [line.split() for line in text.splitlines()]


def test_a_split_without_examples_is_reported(tmp_path: Path):
    report = check(load([Source(tmp_path / "none.conll")], errors="collect"))
    assert report.splits[0].examples == 0
    assert "no such file" in report.to_text()


def test_pairs_and_classes(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("a b,c,yes\nd,e f g,no\na b,c,no\n")
    result = read(path, "table", text=0, second=1, label=2)
    split = check(result).splits[0]
    assert split.labels == {"no": 2, "yes": 1}
    assert (split.words, split.lengths.maximum, split.duplicates, split.conflicts) == (10, 4, 1, 1)


def test_real_data(shared_data: Path):
    folder = shared_data / "uner_en_ewt"
    options = {"word": 1, "tag": 2}
    dev, test = (
        load([Source(folder / f"en_ewt-ud-{name}.iob2", options=options)])
        for name in ("dev", "test")
    )
    report = check(dev, test=test)
    assert report.splits[0].spans == {"LOC": 399, "PER": 343, "ORG": 224}
    assert report.overlaps == {("test", "train"): 73}
    assert report.ok


def _text(folder: Path, content: str) -> Path:
    path = folder / "a.txt"
    path.write_text(content)
    return path
