"""A run on data from memory: kept as files, gone on with, refused when it is other data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import tfdistil
from tfdistil.cli.main import main
from tfdistil.data.demo import generate
from tfdistil.errors import DataError, RecipeError, RunError
from tfdistil.runs.folder import RunFolder

TINY = Path(__file__).parents[1] / "tiny.yaml"
SIZES = {"train": 60, "validation": 20, "test": 20, "transfer": 30}


class Frame:
    """As much of a pandas frame as is used."""

    def __init__(self, examples: list[tfdistil.Example]):
        self.columns = ["tokens", "tags", "intent", "language", "text"]
        rows = ((e.words, e.tags, e.label, e.language, e.text) for e in examples)
        self._records = [dict(zip(self.columns, row, strict=True)) for row in rows]

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return self._records


def sets(seed: int = 13) -> dict[str, list[tfdistil.Example]]:
    names = {"validation": "dev"}
    return {
        name: list(generate("intent_slots", names.get(name, name), size, seed, ["en"]))
        for name, size in SIZES.items()
    }


def tree(**data: Any) -> dict[str, Any]:
    """The tiny recipe with hardly any training, and data of its own or none."""
    found = YAML(typ="safe").load(TINY.read_text("utf-8"))
    found["models"]["teacher"]["fine_tune"] |= {"epochs": 1}
    found["distill"][0]["stop"] = {"updates": 5}
    return found | {"data": data, "baseline": False}


def test_errors_come_before_anything_is_made(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(DataError, match="dev has no column of words or text"):
        tfdistil.run(tree(), out, {"train": Frame(sets()["train"]), "dev": NoText()})
    with pytest.raises(RecipeError, match="the built-in corpus, and data has dev alone"):
        tfdistil.run("demo", out, {"dev": sets()["train"]})
    with pytest.raises(RecipeError, match=r"unknown key `data\.nothing`"):
        tfdistil.run(tree(nothing=1), out, sets())
    with pytest.raises(RecipeError, match="`data`"):
        tfdistil.run(tree() | {"data": "a.txt"}, out, sets())
    assert not out.exists()


class NoText:
    columns = ("a", "b")

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        return [{"a": 1, "b": 2}]


def test_a_recipe_that_was_wrong_may_be_fixed(tmp_path, monkeypatch):
    import tfdistil.pipeline.run

    def stopped(*arguments):
        raise RecipeError("the checkpoint is another's")

    monkeypatch.setattr(tfdistil.pipeline.run, "run", stopped)
    for seed in (1, 2):  # another recipe each time: nothing was made of the one before
        with pytest.raises(RecipeError, match="another's"):
            tfdistil.run(tree() | {"seed": seed}, tmp_path, sets(seed))
    recipe = RunFolder(tmp_path).recipe
    assert recipe.seed == 2
    path = Path(recipe.data.train[0].path)
    assert path == tmp_path.resolve() / "data" / "train.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [tuple(row["words"]) for row in rows] == [e.words for e in sets(2)["train"]]
    assert recipe.data.dev[0].path.endswith("dev.jsonl")


def test_a_recipe_keeps_the_sets_that_are_not_given(tmp_path, monkeypatch):
    import tfdistil.pipeline.run

    monkeypatch.setattr(tfdistil.pipeline.run, "run", lambda recipe, out, base: recipe)
    recipe: Any = tree(train=[{"path": "a.conll"}], test=[{"path": "b.conll"}])
    for one in (recipe, tfdistil.load_recipe(recipe)):
        found: Any = tfdistil.run(one, tmp_path / str(type(one)), {"train": sets()["train"]})
        assert found.data.train[0].format == "jsonl_words"
        assert found.data.test[0].path == "b.conll"


@pytest.mark.slow
def test_from_frames_to_a_file_and_on(tmp_path):
    given = sets()
    frames = {name: Frame(examples) for name, examples in given.items()}
    metrics = tfdistil.run(tree(), tmp_path, frames)
    folder = RunFolder(tmp_path)
    assert set(folder.manifest["sources"]) == {"train", "dev", "test", "transfer"}
    assert tfdistil.run(tree(), tmp_path, frames) == metrics
    recipe = str(tmp_path / "recipe.yaml")
    assert main(["run", recipe, "--out", str(tmp_path)]) == 0  # the folder has all it takes

    own = tfdistil.evaluate(tmp_path, model="student.tflite")
    assert own["dev"].scores == metrics.systems[-1].scores["dev"]
    for data in (given["validation"], frames["validation"]):
        for what, model in ((tmp_path, "student.tflite"), (tmp_path / "student.tflite", "student")):
            assert tfdistil.evaluate(what, data, model=model)["data"].scores == own["dev"].scores
    with pytest.raises(DataError, match="transfer:1: nothing to score: no intent, slots"):
        tfdistil.evaluate(tmp_path / "student.tflite", frames)
    frames.pop("transfer")
    several = tfdistil.evaluate(tmp_path / "student.tflite", frames | {"train": given["train"][:5]})
    assert several["validation"].scores == own["dev"].scores
    assert several["train"].examples == 5

    frames["transfer"] = Frame(given["transfer"])
    kept = (tmp_path / "data" / "dev.jsonl").read_bytes()
    with pytest.raises(RunError, match="the data given for dev is not what this run was started"):
        tfdistil.run(tree(), tmp_path, frames | {"validation": Frame(given["test"])})
    assert (tmp_path / "data" / "dev.jsonl").read_bytes() == kept
    (tmp_path / "data" / "dev.jsonl").unlink()
    with pytest.raises(RunError, match="is gone"):
        tfdistil.evaluate(tmp_path)
    assert tfdistil.run(tree(), tmp_path, frames) == metrics  # written again
    result = tfdistil.export(tmp_path, tmp_path / "float.tflite", quantize="none")
    assert result.drop == pytest.approx(0.0, abs=1e-9)
