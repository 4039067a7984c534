"""Data edited after a run has read it: found in whatever file it is, and named."""

from __future__ import annotations

import shutil

import pytest

from tfdistil.corpus.loading import load_corpus
from tfdistil.errors import RunError
from tfdistil.files import write_json
from tfdistil.recipe.loading import parse_recipe
from tfdistil.runs.changed_data import LABELLED, file_hashes, refuse_changed_data
from tfdistil.runs.folder import RunFolder
from tfdistil.runs.run import open_models, open_run
from tfdistil.tasks import Tags

RECIPE = {
    "task": "tags",
    "data": {
        "train": [{"path": "train", "format": "slotgated", "options": {"label": None}}],
        "dev": [{"path": "dev.conll"}],
        "transfer": [{"path": "raw.txt"}],
    },
    "models": {"teacher": {"scratch": {}}, "student": {"kind": "bilstm"}},
    "distill": [{"name": "one", "terms": [{"loss": "logit_mse"}]}],
}


@pytest.fixture
def base(tmp_path):
    """A folder with data of three sets, one of them a folder of two files."""
    base = tmp_path / "data"
    (base / "train").mkdir(parents=True)
    (base / "train" / "seq.in").write_text("in rome\nin oslo\n")
    (base / "train" / "seq.out").write_text("O B-LOC\nO B-LOC\n")
    (base / "dev.conll").write_text("in O\nbonn B-LOC\n")
    (base / "raw.txt").write_text("in lima\n")
    return base


@pytest.fixture
def folder(base, tmp_path) -> RunFolder:
    """A run with a trained teacher that has read this data."""
    recipe = parse_recipe(RECIPE)
    folder = RunFolder(tmp_path / "run", recipe)
    corpus = load_corpus(recipe, base)
    folder.remember(base=str(base), sources=file_hashes(corpus.files, base))
    (folder.path / "models" / "teacher").mkdir(parents=True)
    write_json(folder.path / "models" / "teacher" / "task.json", corpus.task.to_json())
    folder.finish("models/teacher", 1.0, {})
    return folder


def test_every_file_is_remembered_relative_to_the_recipe(folder):
    sources = folder.manifest["sources"]
    assert {name: list(files) for name, files in sources.items()} == {
        "train": ["train/seq.in", "train/seq.out"],
        "dev": ["dev.conll"],
        "test": [],
        "transfer": ["raw.txt"],
    }
    assert all(len(digest) == 64 for files in sources.values() for digest in files.values())


def test_data_that_is_as_it_was_may_move_with_its_recipe(folder, base, tmp_path):
    refuse_changed_data(folder, base)
    shutil.move(base, tmp_path / "elsewhere")
    refuse_changed_data(folder, tmp_path / "elsewhere")


def test_the_same_files_may_be_named_from_elsewhere(folder, base, tmp_path):
    folder.remember(base=str(base))
    refuse_changed_data(folder, tmp_path)
    (base / "raw.txt").write_text("other text\n")
    with pytest.raises(RunError, match=r"raw\.txt \(transfer\) has other content"):
        refuse_changed_data(folder, tmp_path)


@pytest.mark.parametrize("name", ["train/seq.in", "train/seq.out", "dev.conll", "raw.txt"])
def test_an_edited_file_is_named_with_its_set_and_what_to_do(folder, base, name):
    with (base / name).open("a") as file:
        file.write(" ")
    with pytest.raises(RunError) as raised:
        refuse_changed_data(folder, base)
    first, changed, *advice = str(raised.value).splitlines()
    assert first == f"{folder.path}: its data has changed since the run read it:"
    kind = {"train": "train", "dev": "dev", "raw": "transfer"}[name.split("/")[0].split(".")[0]]
    assert changed == f"  {base / name} ({kind}) has other content"
    assert "Put the old files back" in advice[0]
    assert f"tfdistil evaluate {folder.path} --data FILE" in advice[0]


def test_a_file_that_is_gone_is_named(folder, base):
    (base / "dev.conll").unlink()
    with pytest.raises(RunError, match=r"dev\.conll \(dev\) is gone\n"):
        refuse_changed_data(folder, base)


def test_data_may_be_edited_until_something_is_made(base, tmp_path):
    recipe = parse_recipe(RECIPE)
    folder = RunFolder(tmp_path / "run", recipe)
    folder.remember(sources=file_hashes(load_corpus(recipe, base).files, base))
    (base / "dev.conll").write_text("in O\nkyiv B-LOC\n")
    refuse_changed_data(folder, base)
    (folder.path / "phases").mkdir()
    with pytest.raises(RunError, match=r"dev\.conll"):
        refuse_changed_data(folder, base)


def test_a_run_is_not_opened_on_other_data(folder, base):
    assert len(open_run(folder.path).corpus.train) == 2
    (base / "raw.txt").write_text("other text\n")
    with pytest.raises(RunError, match=r"raw\.txt \(transfer\)"):
        open_run(folder.path)
    open_run(folder.path, labelled_only=True)  # scores have nothing to do with transfer
    (base / "train" / "seq.out").write_text("O B-PER\nO B-PER\n")
    with pytest.raises(RunError, match=r"seq\.out \(train\)") as raised:
        open_run(folder.path, labelled_only=True)
    assert "raw.txt" not in str(raised.value)
    assert "transfer" not in LABELLED


def test_models_are_opened_whatever_became_of_the_data(folder, base):
    shutil.rmtree(base)
    corpus = open_models(folder.path).corpus
    assert isinstance(corpus.task, Tags)
    assert corpus.task.outputs[0].labels == ("O", "B-LOC", "I-LOC")
    assert corpus.score_sets() == {}


def test_models_of_a_run_without_any(tmp_path):
    RunFolder(tmp_path, parse_recipe(RECIPE))
    with pytest.raises(RunError, match="nothing is trained yet"):
        open_models(tmp_path)
