"""The recipe: everything a run depends on, as typed data read from YAML.

An unknown key or a value of the wrong kind is an error that names the file and the line. The field
descriptions below are the reference of all keys; ``docs/recipe.md`` is made from them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator
from ruamel.yaml import YAML

from tfdistil.recipe.checks import BASELINE, check_recipe
from tfdistil.recipe.members import member_names, with_members
from tfdistil.recipe.schema.data import DataSpec, TaskSpec
from tfdistil.recipe.schema.delivery import BenchmarkSpec, DeliverSpec, ExportSpec
from tfdistil.recipe.schema.derived import BaselineSpec, DerivedSpec, MeanSpec
from tfdistil.recipe.schema.graph import in_order
from tfdistil.recipe.schema.models import EncoderSpec, ModelSpec, StudentSpec
from tfdistil.recipe.schema.parts import Name, Part, Seed
from tfdistil.recipe.schema.stages import StageSpec


class Recipe(Part):
    """A whole run."""

    base: str | None = Field(
        None, description="a shipped recipe or a file that gives the keys that are not here"
    )
    name: str = Field("run", max_length=200, description="title of the report")
    task: TaskSpec = Field(description="the task; a bare word is its kind")
    data: DataSpec = Field(description="see data")
    models: dict[Name, ModelSpec] = Field(
        min_length=1,
        description="by name: `teacher`, `student`, and any others; null takes one of "
        "the base away",
    )
    distill: list[StageSpec] = Field([], description="the stages of all models, in order")
    baseline: bool = Field(
        True,
        description="also train the first delivered student without a teacher (D0), as the model "
        "`baseline`",
    )
    anchor: Literal["light", "fasttext", "majority", "second"] | None = Field(
        None,
        description="also score what needs no teacher, trained on the labels of train "
        "(docs/anchors.md); needs the extra `anchors`; none: nothing",
    )
    deliver: dict[Name, DeliverSpec] = Field(
        {},
        description="by model, the one that scores are reported of first; null takes one of the "
        "base away; none: `student: {tflite: true}`",
    )
    export: ExportSpec = Field(ExportSpec(), description="see export")
    benchmark: BenchmarkSpec = Field(BenchmarkSpec(), description="see benchmark")
    seed: Seed = Field(13, description="of data, initialisation and training")

    @field_validator("task", mode="before")
    @classmethod
    def _bare_word(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @field_validator("models", "deliver", mode="before")
    @classmethod
    def _left_out(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        kept = {name: entry for name, entry in value.items() if entry is not None}
        if value and not kept:
            raise ValueError("null takes all of them away; say what is to be there instead")
        return kept

    @model_validator(mode="after")
    def _fits_together(self) -> Recipe:
        check_recipe(self)
        return self

    @property
    def deliveries(self) -> dict[str, DeliverSpec]:
        """What is delivered, by model; scores are reported of the first one."""
        return self.deliver or {"student": DeliverSpec(tflite=True)}

    @property
    def main(self) -> str:
        """The model that scores are reported of."""
        return next(iter(self.deliveries))

    @property
    def named(self) -> dict[str, Any]:
        """The entries of ``models``, with those that the members of a student stand for."""
        return with_members(self.models, self.seed)

    @property
    def entries(self) -> dict[str, Any]:
        """Those of `named`, with the one that ``baseline: true`` stands for."""
        named, main = self.named, self.members_of(self.main)[0]
        explicit = any(
            isinstance(spec, BaselineSpec) and main in (name, spec.baseline_of)
            for name, spec in named.items()
        )
        is_student = isinstance(self.root_spec(main), StudentSpec)
        if not self.baseline or explicit or not is_student or not self.stages_of_lineage(main):
            return named
        return {**named, BASELINE: BaselineSpec(baseline_of=main)}

    def baselines(self) -> dict[str, str]:
        """Models that are trained on the labels alone, to what they are the baseline of."""
        return {
            name: spec.baseline_of
            for name, spec in self.entries.items()
            if isinstance(spec, BaselineSpec)
        }

    def export_of(self, name: str) -> ExportSpec:
        """How a model becomes a file; its ``quantize`` is never ``auto``."""
        spec = self.deliveries.get(name)
        own = spec.tflite if spec is not None and isinstance(spec.tflite, ExportSpec) else None
        given = {} if own is None else {key: getattr(own, key) for key in own.model_fields_set}
        asked = self.export.model_copy(update=given)
        if asked.quantize != "auto":
            return asked
        return asked.model_copy(update={"quantize": self.root_spec(name).quantized})

    def heads_of(self, name: str) -> tuple[str, ...]:
        """The heads of a model."""
        return tuple(self.root_spec(name).heads)

    def head_of(self, name: str) -> str:
        """The head whose logits are a model's answers."""
        name = self.baselines().get(name, name)
        known, wanted = self.heads_of(name), self.export_of(name).head or "labels"
        if isinstance(self.root_spec(name), EncoderSpec):
            # Its first head teaches, whatever the head of the students that are exported.
            own = self.deliveries[name].tflite if name in self.deliveries else False
            wanted = (own.head if isinstance(own, ExportSpec) else None) or known[0]
        return wanted if wanted in known else known[0]

    def needs(self, name: str) -> tuple[str, ...]:
        """The models that have to be trained before one: what it begins as, and its teachers."""
        spec = self.entries[name]
        if isinstance(spec, BaselineSpec):
            # Trained for as many updates, and fresh itself: it reads as the other does.
            return (spec.baseline_of, *self._read_by(self.lineage(spec.baseline_of)[-1]))
        found = [*self.sources_of(name), *self._read_by(name)]
        found += [stage.teacher for stage in self.stages_of(name) if stage.teacher is not None]
        return tuple(dict.fromkeys(found))

    def sources_of(self, name: str) -> tuple[str, ...]:
        """The models whose weights a model begins with: one, or all that it is the mean of."""
        spec = self.spec_of(name)
        if isinstance(spec, DerivedSpec):
            return (spec.from_,)
        return tuple(spec.mean_of) if isinstance(spec, MeanSpec) else ()

    def members_of(self, name: str) -> tuple[str, ...]:
        """The models that a model is the mean of; else itself."""
        spec = self.spec_of(name)
        return tuple(spec.mean_of) if isinstance(spec, MeanSpec) else (name,)

    def _read_by(self, name: str) -> list[str]:
        """The encoder whose pieces a model may read, where there is one."""
        spec = self.entries[name]
        if not isinstance(spec, StudentSpec) or spec.encoder not in self.models:
            return []
        return [spec.encoder] if isinstance(self.root_spec(spec.encoder), EncoderSpec) else []

    def plan(self) -> tuple[str, ...]:
        """The models that a run makes, each after those it needs.

        These are what is delivered, its baseline, all that stages train, and what these need.

        Raises:
            MisplacedError: models that need each other.
        """
        entries = self.entries
        wanted = [*(stage.student for stage in self.distill), *self.deliveries, *self.baselines()]
        needs: dict[str, tuple[str, ...]] = {}
        while wanted:
            name = wanted.pop()
            if name not in needs:
                needs[name] = self.needs(name)
                wanted += needs[name]
        return in_order({name: needs[name] for name in entries if name in needs})

    def stages_of(self, name: str) -> list[StageSpec]:
        """The stages that train a model, in order."""
        if isinstance(self.spec_of(name), MeanSpec):
            return []
        of = {one: all for all, spec in self.models.items() for one in member_names(all, spec)}
        own = [stage for stage in self.distill if stage.student == of.get(name, name)]
        return [stage.model_copy(update={"student": name}) for stage in own]

    def stages_of_lineage(self, name: str) -> list[StageSpec]:
        """The stages that train a model, what it begins as, or the models it is the mean of."""
        lines = map(self.lineage, self.members_of(name))
        return [stage for line in lines for one in line for stage in self.stages_of(one)]

    def teachers_of(self, name: str) -> tuple[str, ...]:
        """The models that a model was taught by, directly and through others; the first one last.

        Empty where it learns from labels alone.
        """
        found: list[str] = []
        wanted = [name]
        while wanted:
            stages = self.stages_of_lineage(wanted.pop(0))
            taught = [stage.teacher for stage in stages if stage.teacher is not None]
            new = [one for one in dict.fromkeys(taught) if one not in found]
            found += new
            wanted += new
        return tuple(one for one in reversed(self.plan()) if one in found)

    def lineage(self, name: str) -> tuple[str, ...]:
        """A model and those it begins as, the first one last."""
        names = [name]
        while isinstance(spec := self.spec_of(names[-1]), DerivedSpec):
            names.append(spec.from_)
        return tuple(names)

    def spec_of(self, name: str) -> Any:
        """The entry of a model."""
        # `entries` asks for lineages itself, so it is not asked where `named` has the name.
        named = self.named
        return named[name] if name in named else self.entries[name]

    def root_spec(self, name: str) -> EncoderSpec | StudentSpec:
        """The entry that says what kind of network a model is."""
        spec = self.spec_of(self.lineage(name)[-1])
        if isinstance(spec, MeanSpec):
            return self.root_spec(spec.mean_of[0])
        return self.root_spec(spec.baseline_of) if isinstance(spec, BaselineSpec) else spec

    def seed_of(self, name: str) -> int:
        """What everything random in a model's making and training starts from."""
        spec = self.spec_of(name)
        if isinstance(spec, BaselineSpec):
            return self.seed_of(spec.baseline_of)
        own = getattr(spec, "seed", None)
        return self.seed if own is None else own

    def to_yaml(self) -> str:
        """The resolved recipe, every default written out."""
        stream = io.StringIO()
        YAML().dump(json.loads(self.model_dump_json()), stream)
        return stream.getvalue()
