"""What a user gets: the sdist, installed and used from empty folders. Run by ``make sdist-test``.

Two installations of the same sdist: one beside the training stack of this environment, which makes
a model with the tiny recipe, and the light one in an environment of its own, which reads it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ("tfdistil", "export", "benchmarks")
"""The folders that are packages."""

NOT_SOURCE = (
    *(".git", ".venv", "build", "dist", "*.egg-info"),
    *("__pycache__", ".*_cache", ".hypothesis", "*.log"),
)
"""What a clone does not have; a stray list of files in one of them would hide a missing file."""

BESIDE = (
    *("LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "PKG-INFO"),
    *("pyproject.toml", "setup.py", "requirements.lock", "overrides.txt"),
    *(".ci/run", ".pre-commit-config.yaml", "docs/recipe.md", "tests/tiny.yaml"),
)
KINDS = (
    *("py", "mjs", "md", "yaml", "toml", "txt", "cfg", "lock", "j2", "css", "typed", "in", "json"),
    *("kt", "kts", "java", "c", "sh", "xml", "properties", "png"),  # android_demo and its pictures
)
"""Ends of the names of what is written by hand, vectors, and pictures of the docs."""

LARGEST = 2_500_000
"""Bytes of the sdist: source, vectors, documents and their pictures; no data and no models."""

HINT = "tfdistil[train]"

WHERE = """
import tfdistil, tfdistil.exporting, tfdistil.benchmarks
for package in (tfdistil, tfdistil.exporting, tfdistil.benchmarks):
    print(package.__file__)
"""

IN_PYTHON = """
import sys
from tfdistil import Runtime, __version__
import tfdistil.exporting.inspect, tfdistil.exporting.pack
(result,) = Runtime(sys.argv[1]).predict(["play some jazz"])
assert [word.text for word in result.words] == ["play", "some", "jazz"], result
assert result.label and len(result.tags) == 3, result
loaded = {"tensorflow", "keras", "transformers"} & sys.modules.keys()
assert not loaded, loaded
print(__version__)
"""


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is being done, and how long it took."""
    start = time.perf_counter()
    print(f"{what} ...", flush=True)
    yield
    print(f"  ok, {time.perf_counter() - start:.1f} s", flush=True)


def call(command: Sequence[str | Path], folder: Path, status: int = 0, **extra: str) -> str:
    """Run a command in a folder, with nothing of this environment's Python.

    Returns:
        What it wrote; its errors where it was to fail.

    Raises:
        SystemExit: it ended with another status.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=inherited | extra,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != status:
        shown = " ".join(map(str, command))
        said = done.stdout + done.stderr
        raise SystemExit(f"{shown}\nended with {done.returncode}, not {status}:\n{said}")
    return done.stderr if status else done.stdout


def expect(fact: bool, what: str) -> None:
    """Stop with a message unless something is so."""
    if not fact:
        raise SystemExit(f"sdist: {what}")


def empty(folder: Path) -> Path:
    """A new folder with nothing in it."""
    folder.mkdir(parents=True)
    return folder


def build_sdist(work: Path) -> Path:
    """The sdist of a clean copy of the source."""
    source = work / "source"
    patterns = shutil.ignore_patterns(*NOT_SOURCE)

    def left_out(folder: str, names: list[str]) -> set[str]:
        # The folder of runs is left out at the top alone: a package has that name, too.
        return patterns(folder, names) | ({"runs"} if Path(folder) == ROOT else set())

    shutil.copytree(ROOT, source, ignore=left_out)
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation"]
    call([*build, "--outdir", work / "dist", source], work)
    (sdist,) = (work / "dist").iterdir()
    return sdist


def check_contents(sdist: Path) -> None:
    """Every module and package file is there, and nothing that is made, measured or downloaded."""
    with tarfile.open(sdist) as archive:
        files = [entry for entry in archive.getmembers() if entry.isfile()]
    held = {entry.name.partition("/")[2] for entry in files}
    wanted = set(BESIDE)
    for folder in SOURCES:
        for pattern in ("*.py", "*.yaml", "*.j2", "*.css", "py.typed"):
            for path in (ROOT / folder).rglob(pattern):
                if "__pycache__" not in path.parts:
                    wanted.add(path.relative_to(ROOT).as_posix())
    expect(not wanted - held, f"missing: {', '.join(sorted(wanted - held))}")
    beside = {*BESIDE, "PKG-INFO", "tfdistil.egg-info/PKG-INFO", "tests/vectors/model.tflite"}
    junk = [name for name in sorted(held - beside) if name.rpartition(".")[2] not in KINDS]
    expect(not junk, f"unexpected files: {', '.join(junk)}")
    expect(sdist.stat().st_size <= LARGEST, f"{sdist.stat().st_size} bytes; expected {LARGEST}")


def constraints(work: Path) -> Path:
    """The lock file's versions without hashes: pip wants a hash for all or for none."""
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    pins = [line.rstrip("\\ ") for line in lines if re.match(r"[A-Za-z0-9]", line)]
    path = work / "constraints.txt"
    path.write_text("\n".join(pins) + "\n", "utf-8")
    return path


def train(sdist: Path, work: Path) -> Path:
    """Install beside this environment's training stack and run the tiny recipe; the model file."""
    target = work / "package"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    call([*pip, "--target", target, sdist], work)
    folder = empty(work / "training")
    shutil.copy(ROOT / "tests" / "tiny.yaml", folder)
    where = {"PYTHONPATH": str(target)}
    for path in call([sys.executable, "-c", WHERE], folder, **where).split():
        expect(Path(path).is_relative_to(target), f"imported {path} and not what was installed")
    command = [sys.executable, "-m", "tfdistil.cli.main", "run", "tiny.yaml", "--out", "run"]
    call(command, folder, **where)
    made = {path.name for path in (folder / "run").iterdir()}
    for name in ("student.tflite", "metrics.json", "report.html", "MODEL_CARD.md"):
        expect(name in made, f"the run made no {name}")
    return folder / "run" / "student.tflite"


def install_light(sdist: Path, work: Path) -> Path:
    """An empty environment with the sdist and what it asks for; its folder of programs."""
    call([sys.executable, "-m", "venv", work / "light"], work)
    programs = work / "light" / ("Scripts" if os.name == "nt" else "bin")
    pins = constraints(work)
    # In the environment it holds for the build of the sdist, too.
    install = [programs / "python", "-m", "pip", "install", "--quiet", sdist]
    call(install, work, PIP_CONSTRAINT=str(pins), PIP_BUILD_CONSTRAINT=str(pins))
    listed = json.loads(call([programs / "python", "-m", "pip", "list", "--format", "json"], work))
    names = {package["name"].lower() for package in listed}
    heavy = names & {"tensorflow", "keras", "transformers", "torch", "pydantic", "matplotlib"}
    expect(not heavy, f"the light installation has {', '.join(sorted(heavy))}")
    call([programs / "python", "-m", "pip", "check"], work)
    return programs


def use_light(programs: Path, model: Path, work: Path) -> None:
    """Predict with nothing but the light runtime; what needs more says what to install."""
    folder = empty(work / "empty")
    shutil.copy(model, folder / "file.tflite")
    for program in ("tfdistil", "tfdistil-export", "tfdistil-benchmark"):
        said = call([programs / program, "--help"], folder)
        expect(f"usage: {program}" in said, f"{program} --help said {said}")
    tfdistil = programs / "tfdistil"
    said = call([tfdistil, "predict", "file.tflite", "play some jazz", "--jsonl"], folder)
    answer = json.loads(said)
    expect(answer["text"] == "play some jazz" and len(answer["tags"]) == 3, f"predict said {said}")
    said = call([tfdistil, "info", "file.tflite"], folder)
    expect("intent_slots" in said and "tokenizer.json" in said, f"info said {said}")
    version = call([programs / "python", "-c", IN_PYTHON, "file.tflite"], folder).strip()
    said = call([tfdistil, "--version"], folder).strip()
    expect(said.split()[-1] == version, f"--version said {said}, the package {version}")
    timing = ["--queries", "20", "--batches", "2", "--rounds", "2"]
    said = call([programs / "tfdistil-benchmark", "file.tflite", *timing], folder)
    expect("peak RSS" in said, f"tfdistil-benchmark said {said}")
    needs_more = (
        [tfdistil, "run", "demo", "--out", "run"],
        [tfdistil, "data", "check", "recipe.yaml"],
        [programs / "tfdistil-export", "run", "--out", "x.tflite"],
        [programs / "tfdistil-benchmark", "file.tflite", "--reference", "mbert-shape"],
    )
    for command in needs_more:
        said = call(command, folder, status=2)
        expect(HINT in said and "Traceback" not in said, f"{command[0]} said {said}")
    left = sorted(path.name for path in folder.iterdir())
    expect(left == ["file.tflite"], f"the commands left {left}")


def main() -> None:
    """All of it."""
    with tempfile.TemporaryDirectory(prefix="tfdistil-sdist-") as name:
        work = Path(name).resolve()
        with step("build the sdist"):
            sdist = build_sdist(work)
        with step("check what is in it"):
            check_contents(sdist)
        with step("install it beside the training stack, run the tiny recipe"):
            model = train(sdist, work)
        with step("install it alone in an empty environment"):
            programs = install_light(sdist, work)
        with step("use it there"):
            use_light(programs, model, work)
    print("the sdist works")


if __name__ == "__main__":
    main()
