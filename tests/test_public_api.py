"""What ``import tfdistil`` gives: a script that uses every name, seen by mypy as a user's is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tfdistil

ROOT = Path(__file__).parents[1]
SCRIPT = """
from pathlib import Path

import tfdistil
from tfdistil import Distiller, Example, Runtime, evaluate, export, load_recipe, objective, run

recipe = load_recipe("demo", ["seed=7"])
reveal_type(recipe.seed)
metrics = run(recipe, "runs/demo")
reveal_type(metrics.systems[0].scores)
run({"base": "d1"}, Path("runs/d1"), base="recipes")

for name, found in evaluate("runs/demo", model="teacher", errors=3).items():
    reveal_type(found.scores[name])
    reveal_type(found.errors[0]["gold"])

exported = export("runs/demo", "small.tflite", quantize="dynamic", length=24)
reveal_type(exported.drop)

for result in Runtime("small.tflite").predict(["play some jazz"]):
    reveal_type(result.spans[0].label)

example = Example(("go", "on"), label="go")
reveal_type(example.tags)


class Frame:
    columns: list[str] = ["text", "label"]

    def to_dict(self, orient: str) -> list[dict[str, object]]:
        return []


run(recipe, "runs/own", {"train": [example], "dev": Frame()}, columns={"label": None})
evaluate("small.tflite", Frame())


@objective("difference", student="{head}/{output}", teacher="logits/{output}")
def difference(student: object, teacher: object, mask: object) -> object:
    return student


reveal_type(Distiller)
reveal_type(tfdistil.__version__)
export("runs/demo")
evaluate(7)
"""
REVEALED = [
    "int",
    "dict[str, dict[str, float]]",
    "float",
    "tuple[str, ...]",
    "float",
    "str",
    "tuple[str, ...] | None",
    "def (.*) -> tfdistil.distill.distiller.Distiller",
    "str",
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The package as ``pip install`` lays it out, in a folder of its own."""
    place = tmp_path_factory.mktemp("installed")
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tfdistil", place / "tfdistil", ignore=skip)
    shutil.copytree(ROOT / "export", place / "tfdistil" / "exporting", ignore=skip)
    shutil.copytree(ROOT / "benchmarks", place / "tfdistil" / "benchmarks", ignore=skip)
    return place


@pytest.mark.slow
def test_a_script_that_uses_every_name_is_typed(installed, tmp_path):
    assert all(re.search(rf"\b{name}\b", SCRIPT) for name in tfdistil.__all__)
    (tmp_path / "script.py").write_text(SCRIPT, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "script.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    revealed = [re.search(r'Revealed type is "(.*)"', line) for line in lines]
    found = [match[1].replace("builtins.", "") for match in revealed if match]
    for type_, wanted in zip(found, REVEALED, strict=True):
        assert type_ == wanted or re.fullmatch(wanted, type_), type_
    errors = [line for line in lines if ": error: " in line]
    assert len(errors) == 2, errors
    assert 'Missing positional argument "out"' in errors[0]
    assert 'Argument 1 to "evaluate" has incompatible type "int"' in errors[1]
