"""What all five systems need here: a tiny corpus and tokenizer, recipes as text, and watching."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from ruamel.yaml import YAML

from tfdistil.data.example import Example
from tfdistil.distill.objectives import OBJECTIVES
from tfdistil.distill.schedule import Schedule
from tfdistil.encoders import Encoder
from tfdistil.encoders.scratch import scratch_encoder
from tfdistil.recipe.loading import parse_recipe
from tfdistil.recipe.recipe import Recipe
from tfdistil.text.subwords import SubwordFeaturizer
from tfdistil.text.train_tokenizer import train_wordpiece

PEOPLE, PLACES = ("tom", "ana", "boris"), ("rome", "boston", "siena")
PATTERNS = {
    "en": ("P is in L", "P meets P", "P is not in L", "in L", "P"),
    "it": ("P sta a L", "P nota P", "P non sta a L", "a L", "P"),
}

RECIPE = """
task: {task}
data: {{train: [{{path: unused}}]}}
models:
{models}
distill:
{stages}
export: {{head: {head}}}
"""


@dataclass(frozen=True)
class Named:
    """A model with the featurizer that feeds it."""

    model: Any
    featurizer: Any


class OnDemand(Mapping[str, Named]):
    """Models made when a stage first asks for them, from those that are there by then."""

    def __init__(self, makers: Mapping[str, Callable[[OnDemand], Named]]):
        self.makers, self.made = makers, {}

    def __getitem__(self, name: str) -> Named:
        if name not in self.made:
            self.made[name] = self.makers[name](self)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


@dataclass
class Watch:
    """Remembers the weights of each phase's student before and after it."""

    before: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    after: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    def __call__(self, phase: str, updates: int) -> list[keras.callbacks.Callback]:
        del updates
        callback = keras.callbacks.LambdaCallback(
            on_train_begin=lambda logs: self._note(self.before, phase, callback),
            on_train_end=lambda logs: self._note(self.after, phase, callback),
        )
        return [callback]

    @staticmethod
    def _note(where: dict[str, Any], phase: str, callback: keras.callbacks.Callback) -> None:
        groups = callback.model.student.layer_groups()
        where[phase] = {f"{name} {w.path}": np.array(w) for name, ws in groups for w in ws}

    def moved_weights(self, phase: str) -> list[str]:
        """``<group> <path>`` of the weights that are others after the phase."""
        before, after = self.before[phase], self.after[phase]
        return [name for name in before if not np.array_equal(before[name], after[name])]

    def moved(self, phase: str) -> set[str]:
        """The layer groups with such a weight."""
        return {name.split(" ")[0] for name in self.moved_weights(phase)}


@pytest.fixture(autouse=True)
def own_objectives() -> Iterator[None]:
    """Objectives a test registers are gone after it, and the seed is the same before each."""
    saved = dict(OBJECTIVES)
    keras.utils.set_random_seed(5)
    yield
    OBJECTIVES.clear()
    OBJECTIVES.update(saved)


@pytest.fixture
def named() -> type[Named]:
    return Named


@pytest.fixture
def on_demand() -> type[OnDemand]:
    return OnDemand


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def corpus() -> Callable[..., list[Example]]:
    """Makes tagged sentences about people (PER) in places (LOC); the pattern is the label."""

    def make(
        size: int, seed: int, language: str = "en", labelled: bool = True, patterns: int = 5
    ) -> list[Example]:
        rng = np.random.default_rng(seed)
        examples = []
        for _ in range(size):
            pattern = str(rng.choice(PATTERNS[language][:patterns]))
            marks = pattern.split()
            names = {"P": PEOPLE, "L": PLACES}
            tags = {"P": "B-PER", "L": "B-LOC"}
            words = tuple(str(rng.choice(names.get(mark, (mark,)))) for mark in marks)
            known = {
                "tags": tuple(tags.get(mark, "O") for mark in marks),
                "label": pattern.replace(" ", "_"),
            }
            examples.append(Example(words, language=language, **(known if labelled else {})))
        return examples

    return make


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """Some 50 pieces; the names of people and places are several each."""
    texts = [p for patterns in PATTERNS.values() for p in patterns]
    texts = [text.replace("P", "").replace("L", "") for text in texts]
    return train_wordpiece([*texts, *PEOPLE, *PLACES], 55)


@pytest.fixture
def subwords(tokenizer: Any) -> SubwordFeaturizer:
    return SubwordFeaturizer.from_tokenizer(tokenizer, 32)


@pytest.fixture
def encoder(tokenizer: Any) -> Callable[..., Encoder]:
    """Builds a BERT of width 8 whose heads have an opinion."""

    def build(layers: int, outputs: Any = None, seed: int = 1, **options: Any) -> Encoder:
        model = scratch_encoder(
            vocabulary=tokenizer.get_vocab_size(),
            hidden_dim=8,
            layers=layers,
            attention_heads=2,
            intermediate_dim=12,
            outputs=outputs,
            seed=seed,
            **{"max_positions": 32, **options},
        )
        for layer in model.classifiers.values():
            layer.out.kernel.assign(layer.out.kernel * 8)
        return model

    return build


@pytest.fixture
def recipe() -> Callable[..., Recipe]:
    """Parses a recipe from the YAML of its models and its stages."""

    def parse(models: str, stages: str, task: str = "tags", head: str = "labels") -> Recipe:
        return parse_recipe(
            YAML().load(RECIPE.format(task=task, models=models, stages=stages, head=head))
        )

    return parse


@dataclass(frozen=True)
class Curves:
    """``history.csv`` as ``(phase, name) -> values`` in order."""

    values: dict[tuple[str, str], list[float]]

    def __call__(self, phase: str, name: str = "monitored") -> list[float]:
        return self.values[phase, name]


@pytest.fixture
def curves() -> Callable[[Schedule], Curves]:
    def read(schedule: Schedule) -> Curves:
        values: dict[tuple[str, str], list[float]] = {}
        with Path(schedule.folder, "history.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                values.setdefault((row["phase"], row["name"]), []).append(float(row["value"]))
        return Curves(values)

    return read
