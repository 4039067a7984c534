"""The commands as a user meets them: help, errors, own data, and a run that is stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tfdistil.cli.main import main
from tfdistil.data.demo import write_demo
from tfdistil.errors import DataError, RecipeError
from tfdistil.evaluation.evaluate import evaluate
from tfdistil.metrics.span_errors import support
from tfdistil.metrics.spans import strict_spans
from tfdistil.models.checks import check_models
from tfdistil.recipe.loading import load_recipe
from tfdistil.recipe.new_students import STUDENTS
from tfdistil.runs.run import open_run

TINY = Path(__file__).parents[1] / "tiny.yaml"
COMMANDS = [
    ["init"],
    ["data", "check"],
    ["run"],
    ["sweep"],
    ["evaluate"],
    ["compare"],
    ["predict"],
    ["info"],
]


def fails(capsys, *arguments: object) -> str:
    """The error of a command, which is short, comes last and has no traceback."""
    assert main([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    progress, start, error = captured.err.rpartition("tfdistil: ")
    assert start
    assert progress == "" or progress.endswith("\n")
    return error.rstrip("\n")


@pytest.fixture
def tiny(tmp_path, monkeypatch) -> Path:
    """The tiny recipe in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(TINY, "tiny.yaml"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_examples_that_parse(command, capsys):
    from tfdistil.cli.main import parser

    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    examples = text.split("examples:\n")[1].replace("\\\n", " ")
    found = re.findall(r"^ .*?\btfdistil ([^|>(\n]+)", examples, re.MULTILINE)
    assert len(found) >= 2
    for line in found:
        words = [word.strip("\"'") for word in re.findall(r'"[^"]*"|\S+', line)]
        assert words[: len(command)] == command
        parser().parse_args(words)


def test_the_first_help_names_every_command_and_where_to_start(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^    {command[0]}  ", text, re.MULTILINE) for command in COMMANDS)
    assert "tfdistil run demo" in text


@pytest.mark.parametrize("module", ["tfdistil.exporting.cli", "tfdistil.benchmarks.cli"])
def test_the_other_commands_have_examples_too(module, capsys):
    from importlib import import_module

    with pytest.raises(SystemExit) as left:
        import_module(module).main(["--help"])
    assert left.value.code == 0
    assert "examples:" in capsys.readouterr().out


def test_version(capsys):
    from importlib.metadata import version

    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert (left.value.code, capsys.readouterr().out.strip()) == (0, version("tfdistil"))


def test_a_missing_file_is_one_line(tiny, capsys):
    for arguments in (
        ("run", "nix.yaml", "--out", "run"),
        ("data", "check", "nix.yaml"),
        ("evaluate", "nix.tflite"),
        ("evaluate", "nix"),
        ("predict", "nix.tflite", "hello"),
        ("info", "nix.tflite"),
        ("init", "--task", "tags", "--train", "nix.conll", "new.yaml"),
    ):
        error = fails(capsys, *arguments)
        assert "\n" not in error
        assert "nix" in error
    assert not Path("run").exists()
    assert not Path("new.yaml").exists()


def test_an_unknown_key_is_named_with_its_line(tiny, capsys):
    text = tiny.read_text().replace("max_drop", "max_dorp")
    tiny.write_text(text)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "max_dorp" in row)
    error = fails(capsys, "run", tiny, "--out", "run")
    assert error == f"tiny.yaml:{line}: unknown key `export.max_dorp`"


def test_a_wrong_override_is_one_line(tiny, capsys):
    for assignment, says in (
        ("seed", "expected key=value"),
        ("distill.nix.stop.epochs=3", "no 'nix' here; there are joint"),
        ("export.quantize=int4", "`export.quantize`"),
        ("colour=red", "unknown key `colour`"),
    ):
        error = fails(capsys, "run", tiny, "--out", "run", "--set", assignment)
        assert says in error
        assert "\n" not in error


def test_broken_yaml_is_named_with_its_line(tiny, capsys):
    tiny.write_text("name: x\ntask: [\n")
    assert re.match(r"tiny\.yaml:\d+: not valid YAML", fails(capsys, "run", tiny, "--out", "run"))


def test_a_folder_that_is_no_run_is_refused(tiny, capsys):
    Path("photos").mkdir()
    Path("photos/cat.png").write_bytes(b"meow")
    assert "neither empty nor a run folder" in fails(capsys, "run", tiny, "--out", "photos")
    assert "not a run folder" in fails(capsys, "evaluate", "photos")
    assert sorted(p.name for p in Path("photos").iterdir()) == ["cat.png"]


def test_a_file_where_a_folder_should_be_is_refused(tiny, capsys):
    assert "tiny.yaml" in fails(capsys, "run", tiny, "--out", tiny)


def test_a_file_that_is_no_model_is_refused(tiny, capsys):
    for command in (["predict", tiny, "hello"], ["info", tiny], ["evaluate", tiny]):
        assert "tiny.yaml" in fails(capsys, *command)


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        (
            "models.student.kind=gru",
            "unknown student 'gru'; the kinds are "
            "bilstm, mixer, piece_mixer, piece_qrnn, pqrnn, transformer",
        ),
        ("models.student.widht=8", "models.student: unknown key 'widht'; besides those of every"),
        (
            "models.student.hidden_dim=0",
            "models.student: hidden_dim is a whole number from 1 to 65,536",
        ),
        ("models.student.hidden_dim=65536", "models.student: these sizes make 34,"),
        ("models.student.vocabulary=5", "models.student: unknown key 'vocabulary'"),
        (
            "models.student.embedding.dim=33",
            "models.student: embedding dimension 33 is outside 1 ..",
        ),
        (
            "models.student.embedding={dim: 16, init: teacher}",
            "dimension is 16, but the table's is",
        ),
        ("models.student.embedding={init: vectors, vectors: none}", "none: cannot be opened"),
        ("distill.joint.terms.1.target_as=odds", "'target_as' is 'odds', expected one of 'logits'"),
        ("data.augment={kind: slot_substitution, share: a lot}", "'share' is 'a lot', expected fl"),
        ("distill.joint.terms.1.loss=logit_msee", "unknown loss 'logit_msee'; there are"),
        ("distill.joint.groups=[haeds]", "'haeds'"),
        ("distill.joint.terms.0.stream=augmented", "draws from 'augmented', which has no text"),
        ("distill.joint.terms.1.scale=2", "term logit_mse: unknown key 'scale'"),
    ],
)
def test_what_a_schedule_asks_for_in_vain_is_found_before_training(tiny, capsys, assignment, says):
    from tfdistil.pipeline.run import run

    recipe = load_recipe(tiny, [assignment])
    with pytest.raises((RecipeError, DataError)) as caught:
        run(recipe, "run")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "fine_tune" not in capsys.readouterr().err
    assert not Path("run/phases").exists()


def test_a_recipe_mended_after_an_error_runs_in_the_same_folder(tiny, capsys):
    error = fails(capsys, "run", tiny, "--out", "run", "--set", "models.student.kind=gru")
    assert error.endswith(
        "models.student: unknown student 'gru'; the kinds are "
        "bilstm, mixer, piece_mixer, piece_qrnn, pqrnn, transformer"
    )
    error = fails(capsys, "run", tiny, "--out", "run", "--set", "models.student.kind=bigru")
    assert "another recipe" not in error
    assert "bigru" in error


def test_a_student_that_cannot_be_made_is_found_before_data_is_read(tiny, capsys):
    missing = ["--set", "data={train: [{path: missing.conll}]}"]
    for assignment, says in (
        ("models.student.hidden_dim=0", "models.student: hidden_dim is a whole number"),
        ("models.student={kind: pqrnn, taps: 0}", "models.student: taps is a whole number"),
        (
            "models.student={kind: bilstm, hidden_dim: 4, dropout: 1}",
            "models.student: dropout is a n",
        ),
    ):
        command = ["run", tiny, "--out", "run", *missing, "--set", assignment]
        assert says in fails(capsys, *command)
    assert "missing.conll" in fails(capsys, "run", tiny, "--out", "run", *missing)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Small labelled files for every task."""
    folder = tmp_path_factory.mktemp("data")
    write_demo(folder, sizes={"train": 400, "dev": 10, "transfer": 30}, languages=["en"])
    texts = [
        ("what a good day", "good"),
        ("good work", "good"),
        ("it is bad", "bad"),
        ("no", "bad"),
    ]
    rows = "".join(f"{text} {i}\t{label}\n" for i in range(5) for text, label in texts)
    (folder / "classes.tsv").write_text("text\tlabel\n" + rows)
    rows = "".join(
        f"{name} is here\t{other}\t{label}\n"
        for name in ("Ada", "Bo", "Cy", "Dee")
        for other, label in (("someone is here", "yes"), ("nobody is here", "no"))
    )
    (folder / "pairs.tsv").write_text("premise\thypothesis\tlabel\n" + rows)
    return folder


FILES = {
    "tags": ("ner/en.train.conll", "ner/en.dev.conll"),
    "intent_slots": ("intent_slots/train.jsonl", "intent_slots/dev.jsonl"),
    "classes": ("classes.tsv", None),
    "pair": ("pairs.tsv", None),
}


@pytest.mark.parametrize("task", FILES)
def test_from_own_files_to_a_checked_recipe(task, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train, dev = FILES[task]
    more = ["--dev", str(data / dev)] if dev else []
    transfer = ["--transfer", str(data / "transfer/en.txt")] if task == "tags" else []
    init = ["init", "--task", task, "--train", str(data / train), *more, *transfer, "new.yaml"]
    assert main(init) == 0
    assert "tfdistil data check new.yaml" in capsys.readouterr().out
    text = Path("new.yaml").read_text("utf-8")
    assert text.count("#") >= 6
    recipe = load_recipe("new.yaml")
    assert recipe.task.kind == task
    assert main(["data", "check", "new.yaml"]) == 0
    report = capsys.readouterr().out
    assert "no broken lines" in report
    assert re.search(r"^train +\d+", report, re.MULTILINE)


@pytest.mark.parametrize("student", STUDENTS)
def test_init_knows_every_student(student, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["--task", "classes", "--train", str(data / FILES["classes"][0]), "new.yaml"]
    assert main(["init", "--student", student, *arguments]) == 0
    check_models(load_recipe("new.yaml"), tmp_path)


@pytest.mark.parametrize("student", ["mixer", "pqrnn"])
@pytest.mark.parametrize("task", FILES)
def test_init_for_a_student_that_hashes(task, student, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train = str(data / FILES[task][0])
    transfer = ["--transfer", str(data / "transfer/en.txt")] if task != "pair" else []
    arguments = ["--task", task, "--train", train, *transfer, "--student", student, "new.yaml"]
    assert main(["init", *arguments]) == 0
    recipe = load_recipe("new.yaml")
    assert recipe.lineage("student") == ("student", "float")
    made = ["augmented"] if task in ("tags", "intent_slots") else []
    for stage in recipe.distill:
        gold, soft = stage.terms
        assert gold.pool == ("train", *made)
        assert soft.pool == ("train", *made, *(["transfer"] if transfer else []))
    assert main(["data", "check", "new.yaml"]) == 0


@pytest.mark.parametrize("task", FILES)
def test_init_without_a_size_takes_what_is_best_in_the_task(task, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train = str(data / FILES[task][0])
    assert main(["init", "--task", task, "--train", train, "new.yaml"]) == 0
    student = load_recipe("new.yaml").root_spec("student")
    assert student.kind == ("piece_qrnn" if task in ("intent_slots", "classes") else "bilstm")
    assert ("embedding_codes" in student.options) == (task != "pair")
    assert student.options.get("intent_condition", False) == (task == "intent_slots")
    check_models(load_recipe("new.yaml"), tmp_path)


@pytest.mark.parametrize(
    ("more", "loss"),
    [
        ([], "crf_nll"),
        (["--student", "bilstm"], "crf_nll"),
        (["--head", "linear"], "cross_entropy"),
        (["--size", "small"], "crf_nll"),
        (["--size", "tiny"], "crf_nll"),
        (["--student", "pqrnn_small"], "cross_entropy"),
    ],
)
def test_init_for_entities_writes_the_head_that_was_better(more, loss, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train = str(data / FILES["tags"][0])
    assert main(["init", "--task", "tags", "--train", train, *more, "new.yaml"]) == 0
    recipe = load_recipe("new.yaml")
    assert recipe.distill[0].terms[0].loss == loss


@pytest.mark.parametrize(
    ("task", "size", "shipped"),
    [
        *((task, "tiny", "pqrnn_small") for task in FILES if task != "tags"),
        ("pair", "small", "pqrnn_medium"),
    ],
)
def test_init_by_size_of_the_file(task, size, shipped, data, tmp_path, monkeypatch, capsys):
    """All that the shipped recipe of that size has, and no other student beside it."""
    monkeypatch.chdir(tmp_path)
    arguments = ["--task", task, "--train", str(data / FILES[task][0]), "new.yaml"]
    assert main(["init", "--size", size, *arguments]) == 0
    recipe, rows = load_recipe("new.yaml"), {"train": [{"path": "x"}], "dev": [{"path": "x"}]}
    teacher = {"teacher": {"checkpoint": "x"}}
    expected = load_recipe({"base": shipped, "task": task, "data": rows, "models": teacher})
    own = recipe.models["float"].model_copy(update={"heads": expected.models["float"].heads})
    assert own == expected.models["float"]
    assert [stage.name for stage in recipe.distill] == [s.name for s in expected.distill]
    assert main(["data", "check", "new.yaml"]) == 0
    capsys.readouterr()
    Path("new.yaml").unlink()
    with pytest.raises(SystemExit):
        main(["init", "--size", size, "--student", "bilstm", *arguments])
    assert "not allowed with argument --size" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "size", "width", "columns", "codes"),
    [
        *((task, "small", 384, 192, 24) for task in ("tags", "intent_slots")),
        *((task, "small", 100, 96, 12) for task in ("tags", "intent_slots")),
        ("tags", "medium", 768, 384, 96),
        ("tags", "medium", None, 384, 96),
        ("intent_slots", "medium", 768, 192, 48),
        ("intent_slots", "medium", None, 192, 48),
        *((task, "medium", 130, 128, 32) for task in ("tags", "intent_slots")),
    ],
)
def test_init_writes_codes_where_words_are_labelled(
    task, size, width, columns, codes, data, tmp_path, monkeypatch
):
    """As many columns as the teacher's table has, which codes must divide."""
    monkeypatch.chdir(tmp_path)
    teacher = tmp_path / "teacher"
    teacher.mkdir()
    config = {"hidden_size": width} if width is not None else {}
    (teacher / "config.json").write_text(json.dumps(config))
    arguments = ["--task", task, "--train", str(data / FILES[task][0]), "new.yaml"]
    assert main(["init", "--size", size, "--teacher", "teacher", *arguments]) == 0
    student = load_recipe("new.yaml").models["student"]
    assert (student.embedding.dim, student.options["embedding_codes"]) == (columns, codes)
    assert student.max_pieces is not None
    assert student.options["hashed_dim"] == 64
    assert next(iter(student.heads.values())).kind == "crf"


def test_init_writes_a_tiny_tagger_of_pieces(data, tmp_path, monkeypatch):
    """Hashed words alone know less of names than a light CRF; one signature, for one text."""
    monkeypatch.chdir(tmp_path)
    arguments = ["--task", "tags", "--train", str(data / FILES["tags"][0]), "new.yaml"]
    assert main(["init", "--size", "tiny", *arguments]) == 0
    recipe = load_recipe("new.yaml")
    student = recipe.models["student"]
    assert (student.kind, student.options["embedding_codes"]) == ("bilstm", 16)
    assert (student.embedding.dim, student.options["hidden_dim"]) == (128, 64)
    assert recipe.export.batch == 1


def test_init_for_a_teacher_without_a_config(data, tmp_path, monkeypatch):
    """What is wrong with the folder is said where it is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "teacher").mkdir()
    arguments = ["--task", "tags", "--train", str(data / FILES["tags"][0]), "new.yaml"]
    assert main(["init", "--teacher", "teacher", *arguments]) == 0


@pytest.mark.parametrize("student", ["bilstm", "bilstm_codes", "mixer", "pqrnn"])
@pytest.mark.parametrize("task", ["tags", "intent_slots"])
def test_init_with_crf_heads(task, student, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train = str(data / FILES[task][0])
    options = ["--student", student, "--head", "crf", "new.yaml"]
    assert main(["init", "--task", task, "--train", train, *options]) == 0
    assert not re.search(r"[&*]id\d", Path("new.yaml").read_text("utf-8"))  # no anchors
    recipe = load_recipe("new.yaml")
    check_models(recipe, tmp_path)
    heads = [recipe.root_spec(name).heads for name in ("teacher", "student")]
    assert [next(iter(one.values())).kind for one in heads] == ["crf", "crf"]
    paths = {"tags": ["tags"], "intent_slots": ["slots"]}[task]
    for stage in recipe.distill:
        read = [(term.loss, term.output) for term in stage.terms]
        assert read == [
            *(("crf_nll", output) for output in paths),
            *(("cross_entropy", output) for output in ["intent"][: task == "intent_slots"]),
            *(("sequence_cross_entropy", output) for output in paths),
            *(("soft_cross_entropy", output) for output in ["intent"][: task == "intent_slots"]),
        ]


def test_init_has_no_crf_for_texts(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train = str(data / FILES["classes"][0])
    arguments = ("--task", "classes", "--train", train, "--head", "crf", "new.yaml")
    assert "a CRF labels words, which the task classes does not" in fails(
        capsys, "init", *arguments
    )


def test_init_never_overwrites(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("precious")
    train = data / "classes.tsv"
    error = fails(capsys, "init", "--task", "classes", "--train", train, "mine.yaml")
    assert "exists already" in error
    assert Path("mine.yaml").read_text() == "precious"


def test_init_takes_a_teacher_and_writes_paths_relative_to_the_recipe(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(data / "classes.tsv", "a.tsv")
    Path("teacher").mkdir()
    arguments = ["--task", "classes", "--train", "a.tsv", "--teacher", "teacher"]
    assert main(["init", *arguments, "recipes/new.yaml"]) == 0
    recipe = load_recipe("recipes/new.yaml")
    assert recipe.data.train[0].path == "../a.tsv"
    assert recipe.models["teacher"].checkpoint == "../teacher"


def test_data_check_lists_every_broken_line_and_overlap(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    good = (data / "ner/en.train.conll").read_text("utf-8")
    Path("train.conll").write_text(f"a\tI-PER\n\n{good}\n\nb\tQ\n", "utf-8")
    shutil.copy(data / "ner/en.train.conll", "test.conll")
    Path("r.yaml").write_text(
        """\
task: tags
data: {train: [{path: train.conll, format: conll}], test: [{path: test.conll, format: conll}]}
models: {teacher: {checkpoint: x}, student: {kind: bilstm, hidden_dim: 8}}
distill: [{name: joint, terms: [{loss: cross_entropy}]}]
"""
    )
    assert main(["data", "check", "r.yaml"]) == 1
    report = capsys.readouterr().out
    assert "broken lines: 2" in report
    assert "train.conll:1: " in report
    assert re.search(r"test: \d+ sentences occur in train too \(100\.0 %\)", report)
    last = len(Path("train.conll").read_text("utf-8").splitlines())
    assert f"train.conll:{last}: " in report


def test_data_check_lists_labels_that_train_has_not(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(data / "classes.tsv", "train.tsv")
    Path("dev.tsv").write_text("text\tlabel\nso so\tneutral\nwell\tgood\n")
    arguments = ["--task", "classes", "--train", "train.tsv", "--dev", "dev.tsv", "r.yaml"]
    assert main(["init", *arguments]) == 0
    assert main(["data", "check", "r.yaml"]) == 0
    assert "dev: not in train, each is a miss in every score: neutral" in capsys.readouterr().out
    assert main(["data", "check", "r.yaml", "--set", "data.unknown_labels=error"]) == 1
    assert "dev: not in train, each is an error: neutral" in capsys.readouterr().out


# A run that is stopped


def start(*arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tfdistil.cli.main", *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "120"},
    )


def in_training(process: subprocess.Popen[str], run: Path, phase: str) -> None:
    """Wait until a phase has scored the weights it begins with: now it compiles and trains."""
    end, history = time.monotonic() + 120, run / "history.csv"
    while not (history.exists() and f",{phase}," in history.read_text("utf-8")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, f"no {phase}"
        time.sleep(0.02)


def artefacts_are_whole(run: Path) -> set[str]:
    """Whatever has its final name can be read; returns the finished steps."""
    from safetensors.numpy import load_file

    assert load_recipe(run / "recipe.yaml").name == "tiny"
    for path in run.rglob("*.json"):
        if ".partial" not in str(path):
            json.loads(path.read_text("utf-8"))
    for path in run.rglob("*.safetensors"):
        if ".partial" not in str(path):
            load_file(path)
    for folder in map(run.joinpath, ("models/teacher", "models/student", "models/baseline")):
        # The last file of a folder is there if the folder is.
        assert (folder / "task.json").exists() == folder.exists()
    return set(json.loads((run / "manifest.json").read_text("utf-8"))["steps"])


@pytest.fixture(scope="module")
def resumed(tmp_path_factory) -> Path:
    """A run killed in the teacher and in the student, stopped in the baseline, and finished."""
    run = tmp_path_factory.mktemp("stopped") / "run"
    command = ["run", str(TINY), "--out", str(run)]

    for phase, done in (("fine_tune", set()), ("joint", {"models/teacher"})):
        process = start(*command)
        in_training(process, run, phase)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert artefacts_are_whole(run) == done

    process = start(*command)
    in_training(process, run, "labels_only")
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert output == ""
    assert "Traceback" not in error
    assert error.endswith(
        f"stopped; to go on from here, give the same recipe and --out {run} again\n"
    )
    assert "fine_tune" not in error  # the teacher was not trained once more
    assert artefacts_are_whole(run) == {"models/teacher", "models/student"}

    process = start(*command)
    output, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert "fine_tune" not in error
    assert "joint" not in error
    assert str(run / "report.html") in output
    assert f"tfdistil predict {run / 'student.tflite'}" in output
    return run


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_end(resumed):
    assert artefacts_are_whole(resumed) == {
        "models/teacher",
        "models/student",
        "models/baseline",
        "export/student",
        "evaluate",
        "evaluate_files",
        "benchmark",
    }
    assert json.loads((resumed / "metrics.json").read_text("utf-8"))["name"] == "tiny"
    assert not list(resumed.rglob("*.partial*"))


@pytest.mark.slow
def test_another_recipe_in_its_folder_is_refused(resumed, capsys):
    error = fails(capsys, "run", TINY, "--out", resumed, "--set", "seed=5")
    assert "-seed: 13" in error
    assert "+seed: 5" in error


@pytest.mark.slow
def test_predict_and_info_on_what_it_made(resumed, capsys):
    model = str(resumed / "student.tflite")
    assert main(["predict", model, "wake me up at seven", "--jsonl"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [word["text"] for word in answer["words"]] == ["wake", "me", "up", "at", "seven"]
    assert main(["info", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["task"]["kind"] == "intent_slots"


@pytest.mark.slow
def test_evaluate_a_run_and_its_file_alike(resumed, data, capsys):
    labelled = str(data / "intent_slots/dev.jsonl")
    found = []
    for what in ([str(resumed), "--model", "student.tflite"], [str(resumed / "student.tflite")]):
        assert main(["evaluate", *what, "--data", labelled, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert found[0]["dev.jsonl"]["examples"] == 10
    assert main(["evaluate", str(resumed), "--model", "teacher", "--errors", "2"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^test: 20 examples, exact_match \d", text, re.MULTILINE)
    assert text.count("  predicted") <= 4
    assert text.count(" (teacher)\n") == text.count(" examples, ")


@pytest.mark.slow
def test_evaluate_needs_data(resumed, capsys):
    assert "give --data" in fails(capsys, "evaluate", resumed / "student.tflite")


@pytest.mark.slow
def test_labels_the_model_does_not_know_are_misses(resumed, tmp_path, capsys):
    path = tmp_path / "other.jsonl"
    path.write_text('{"text": "hello there", "intent": "greet", "entities": []}\n')
    for what in ([resumed / "student.tflite"], [resumed, "--model", "teacher"]):
        command = ["evaluate", *map(str, what), "--data", str(path)]
        assert main(command) == 0
        text = capsys.readouterr().out
        assert "each counted as a miss: intent greet (1)" in text
        assert re.search(r"^  intent greet .* support 1$", text, re.MULTILINE)
        assert main([*command, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["other.jsonl"]
        assert found["unknown_labels"] == {"intent": {"greet": 1}}
        assert main([*command, "--json", "--label-map", "greet=hello"]) == 0
        found = json.loads(capsys.readouterr().out)["other.jsonl"]
        assert found["unknown_labels"] == {"intent": {"hello": 1}}
        assert found["interval"] == [0, 0]
        assert found["scores"]["exact_match"] == found["scores"]["intent_accuracy"] == 0


@pytest.mark.slow
def test_labels_of_train_are_renamed_with_those_that_are_scored(resumed):
    """Or a span would be one of train that has no span there any more."""
    run = open_run(resumed, labelled_only=True)

    def spans(examples, label):
        for example in examples:
            for start, end, own in strict_spans(example.tags):
                if label in (None, own):
                    yield tuple(word.casefold() for word in example.words[start:end])

    kept = min({span[2] for e in run.corpus.train for span in strict_spans(e.tags)})
    others = {span[2] for e in run.corpus.train for span in strict_spans(e.tags)} - {kept}
    for label_map, label in (({}, None), (dict.fromkeys(others, "O"), kept)):
        found = evaluate(resumed, model="student.tflite", label_map=label_map)["dev"].span_errors
        known = {*spans(run.corpus.train, label)}
        dev = [*spans(run.corpus.dev, label)]
        assert support(found["all"]) == len(dev)
        assert support(found["a span of train"]) == sum(span in known for span in dev)


@pytest.mark.slow
def test_export_again_in_another_form(resumed, tmp_path, capsys):
    from tfdistil.exporting.cli import main as export

    out = tmp_path / "float.tflite"
    assert export([str(resumed), "--out", str(out), "--quantize", "none"]) == 0
    assert "Flex 0, custom 0" in capsys.readouterr().out
    assert main(["predict", str(out), "wake me up"]) == 0
