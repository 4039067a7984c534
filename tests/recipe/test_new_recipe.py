"""The recipe that ``tfdistil init`` writes is one that loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfdistil.errors import DataError
from tfdistil.recipe.loading import load_recipe
from tfdistil.recipe.new import COMMENTS, STUDENTS, TEACHER, new_recipe
from tfdistil.recipe.schema.models import kinds_of


@pytest.fixture
def written(tmp_path):
    """Writes the recipe for files in ``tmp_path/data`` and loads it again."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.tsv").write_text("text\tlabel\nso good\tgood\nso bad\tbad\n")
    (folder / "dev.tsv").write_text("text\tlabel\nwell\tgood\n")
    (folder / "raw.txt").write_text("hello there\n")

    def write(out="recipes/mine.yaml", **options):
        path = tmp_path / out
        path.parent.mkdir(exist_ok=True)
        words = {key: options.pop(key) for key in ("teacher", "student") if key in options}
        files = {name: folder / value for name, value in options.items()}
        path.write_text(new_recipe("classes", path, folder / "train.tsv", **files, **words))
        return load_recipe(path), path

    return write


def test_paths_are_relative_and_formats_written_out(written):
    recipe, path = written(dev="dev.tsv", transfer="raw.txt")
    sources = {
        "train": recipe.data.train,
        "dev": recipe.data.dev,
        "transfer": recipe.data.transfer,
    }
    for (source,) in sources.values():
        assert (path.parent / source.path).exists()
        assert not Path(source.path).is_absolute()
        assert source.format is not None
    assert recipe.data.test == []
    assert (recipe.name, recipe.task.kind) == ("mine", "classes")
    assert recipe.models["teacher"].checkpoint == TEACHER


@pytest.mark.parametrize(
    ("rows", "updates", "every"), [(2, 2000, 50), (12_800, 2000, 200), (40_000, 6250, 500)]
)
def test_small_sets_have_as_many_updates_as_large_ones(tmp_path, rows, updates, every):
    """Ten passes in batches of 64, at least 2,000 updates."""
    train = tmp_path / "train.tsv"
    train.write_text("text\tlabel\n" + "so good\tgood\nso bad\tbad\n" * (rows // 2))
    path = tmp_path / "mine.yaml"
    path.write_text(new_recipe("classes", path, train))
    (stage,) = load_recipe(path).distill
    assert (stage.stop.updates, stage.stop.every) == (updates, every)
    assert stage.stop.patience is None


@pytest.mark.parametrize(("tag", "repair"), [("I-LOC", "iob2"), ("B-LOC", None)])
def test_tags_that_are_not_legal_are_repaired(tmp_path, tag, repair):
    train = tmp_path / "train.conll"
    train.write_text(f"in O\nRome {tag}\n\nOslo B-LOC\n\n")
    path = tmp_path / "mine.yaml"
    path.write_text(new_recipe("tags", path, train, dev=train))
    recipe = load_recipe(path)
    assert [source.repair for source in (*recipe.data.train, *recipe.data.dev)] == [repair] * 2


def test_a_scheme_is_written(tmp_path):
    train = tmp_path / "train.conll"
    train.write_text("in O\nNew B-LOC\nYork E-LOC\n\nOslo S-LOC\n\n")
    path = tmp_path / "mine.yaml"
    path.write_text(new_recipe("tags", path, train))
    (source,) = load_recipe(path).data.train
    assert (source.scheme, source.repair) == ("iobes", None)


@pytest.mark.parametrize(
    ("task", "options"), [("tags", {}), ("intent_slots", {"label_comment": "intent"})]
)
def test_intents_are_read_where_the_task_has_them(tmp_path, task, options):
    """A sentence without one is a broken line only there."""
    train = tmp_path / "train.conll"
    train.write_text("# intent = go\nto O\nRome B-LOC\n\nOslo B-LOC\n\n")
    path = tmp_path / "mine.yaml"
    path.write_text(new_recipe(task, path, train, transfer=train))
    data = load_recipe(path).data
    assert (data.train[0].options, data.transfer[0].options) == (options, {})


@pytest.mark.parametrize(("task", "hashed"), [("tags", 64), ("intent_slots", None)])
def test_a_student_of_tags_reads_hashes_of_words(tmp_path, task, hashed):
    train = tmp_path / "train.conll"
    train.write_text("# intent = go\nto O\nRome B-LOC\n\n# intent = go\nOslo B-LOC\n\n")
    path = tmp_path / "mine.yaml"
    path.write_text(new_recipe(task, path, train))
    student = load_recipe(path).models["student"]
    assert student.options.get("hashed_dim") == hashed
    assert student.hashing.capitalization == (hashed is not None)


def test_slots_of_a_bilstm_have_a_crf_unless_told_otherwise(tmp_path):
    train = tmp_path / "train.conll"
    train.write_text("# intent = go\nto O\nRome B-LOC\n\n# intent = go\nOslo B-LOC\n\n")

    def heads(task, **options):
        path = tmp_path / "mine.yaml"
        path.write_text(new_recipe(task, path, train, **options))
        recipe = load_recipe(path)
        return [kind["kind"] for kind in kinds_of(recipe.root_spec("student").heads).values()]

    assert heads("intent_slots") == ["crf"]
    assert heads("intent_slots", head="linear") == ["linear"]
    assert heads("intent_slots", student="pqrnn") == ["linear"]
    assert heads("tags") == ["linear"]
    assert heads("tags", head="crf") == ["crf"]


def test_without_transfer_the_stage_draws_from_train(written):
    with_text, _ = written(transfer="raw.txt")
    gold, soft = with_text.distill[0].terms
    assert (gold.pool, soft.pool) == (("train",), ("train", "transfer"))
    alone, _ = written(out="alone.yaml")
    assert {term.pool for term in alone.distill[0].terms} == {("train",)}
    assert alone.data.dev_fraction == 0.25  # no dev file, and train is small


@pytest.mark.parametrize(("rows", "share"), [(40, 0.25), (1000, 0.2), (10_000, 0.1)])
def test_dev_is_split_off_train_large_enough_to_select_on(tmp_path, rows, share):
    train = tmp_path / "train.tsv"
    train.write_text("text\tlabel\n" + "so good\tgood\nso bad\tbad\n" * (rows // 2))
    path = tmp_path / "mine.yaml"
    path.write_text(new_recipe("classes", path, train))
    assert load_recipe(path).data.dev_fraction == share


@pytest.mark.parametrize("student", STUDENTS)
def test_every_part_has_a_comment(written, student):
    _, path = written(student=student)
    lines = path.read_text().splitlines()
    for key, comment in COMMENTS.items():
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{key}:"))
        comment += "\n" + STUDENTS[student].comments.get(key, "")
        above = [f"# {line}" for line in comment.splitlines()]
        assert lines[at - len(above) : at] == above


def test_a_teacher_in_a_folder_or_on_the_hub(written, tmp_path):
    (tmp_path / "teacher").mkdir()
    recipe, _ = written(teacher=str(tmp_path / "teacher"))
    assert recipe.models["teacher"].checkpoint == "../teacher"
    recipe, _ = written(teacher="some/model")
    assert recipe.models["teacher"].checkpoint == "some/model"


def test_a_file_that_cannot_be_told_is_an_error(written, tmp_path):
    (tmp_path / "data" / "odd.bin").write_bytes(b"\x00\x01\xff")
    with pytest.raises(DataError, match="odd"):
        written(transfer="odd.bin")
