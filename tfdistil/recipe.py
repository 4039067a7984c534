"""The recipe: everything a run depends on, as typed data read from YAML.

An unknown key or a value of the wrong kind is an error that names the file and the line. The field
descriptions below are the reference of all keys; ``docs/recipe.md`` is made from them.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator
from ruamel.yaml import YAML

from tfdistil.schema.data import DataSpec, TaskSpec
from tfdistil.schema.graph import MisplacedError, in_order
from tfdistil.schema.models import DerivedSpec, EncoderSpec, ModelSpec, StudentSpec
from tfdistil.schema.parts import Float, Name, Part, Rows, Seed, Whole
from tfdistil.schema.stages import StageSpec

MOST_UNROLLED = 4096
"""Steps of a recurrence that the file for the device holds one by one."""


RESERVED = ("twin", "tflite", "export", "evaluate", "evaluate_file", "benchmark")
"""Names of what a run makes beside its models."""
TUNING = re.compile(r"fine_tune|cool_down|rate_\d+|pretrain")
"""Names of the stages that an encoder's own entry asks for."""


class ExportSpec(Part):
    """The file for the device."""

    head: str = Field("labels", description="the head that is kept")
    quantize: Literal["int8", "dynamic", "float16", "none"] = Field("int8", description="mode")
    max_drop: Float = Field(
        0.5, ge=0, description="points of the dev metric that may be lost beyond chance"
    )
    length: Whole | None = Field(
        None, ge=4, le=MOST_UNROLLED, description="pieces per call; none: fits 99 % of dev"
    )
    batch: Rows = Field(32, description="rows of the batched signature")


class BenchmarkSpec(Part):
    """What is timed beside the exported student."""

    queries: Whole = Field(
        1000, ge=100, le=10**7, description="timed calls per model, after a warm-up"
    )
    reference: Literal["mbert-shape"] | None = Field(
        None, description="also time an mBERT-shaped model with random weights"
    )


class Recipe(Part):
    """A whole run."""

    base: str | None = Field(
        None, description="a shipped recipe or a file that gives the keys that are not here"
    )
    name: str = Field("run", max_length=200, description="title of the report")
    task: TaskSpec = Field(description="the task; a bare word is its kind")
    data: DataSpec = Field(description="see data")
    models: dict[Name, ModelSpec] = Field(
        description="by name: `teacher`, `student`, and any others a schedule names"
    )
    distill: list[StageSpec] = Field(min_length=1, description="the stages in order")
    twin: bool = Field(True, description="also train the student without the teacher (D0)")
    export: ExportSpec = Field(ExportSpec(), description="see export")
    benchmark: BenchmarkSpec = Field(BenchmarkSpec(), description="see benchmark")
    seed: Seed = Field(13, description="of data, initialisation and training")

    @field_validator("task", mode="before")
    @classmethod
    def _bare_word(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits_together(self) -> Recipe:
        few = self.data.low_resource
        if few is not None and few.per == "class" and self.task.kind == "tags":
            raise ValueError(
                "data.low_resource.per: class needs sentences with a class, which task tags does "
                "not have; use per: language"
            )
        names = [stage.name for stage in self.distill]
        if len(set(names)) < len(names):
            raise ValueError(f"stage names must be unique, got {', '.join(names)}")
        for name in ("teacher", "student"):
            if name not in self.models:
                raise ValueError(f"models needs an entry {name!r}, got {sorted(self.models)}")
        self.teacher_spec()
        for name in self.models:
            self._check_model(name)
        for number, stage in enumerate(self.distill):
            self._check_stage(number, stage)
        if self.export.head not in self.student_spec("student").heads:
            raise ValueError(f"export.head {self.export.head!r} is no head of the student")
        if not any(map(self.stages_of, self.lineage("student"))):
            raise MisplacedError("no stage trains the student", "distill")
        self.plan()
        return self

    def _check_model(self, name: str) -> None:
        spec = self.models[name]
        if name in RESERVED:
            raise MisplacedError(
                f"a model cannot be called {name!r}, which is something else in a run's folder; "
                "choose another name",
                *("models", name),
            )
        if isinstance(spec, DerivedSpec) and spec.from_ not in self.models:
            raise MisplacedError(
                f"models.{name} begins as {spec.from_!r}, which is no model; there are "
                f"{', '.join(self.models)}",
                *("models", name, "from"),
            )
        self.lineage(name)
        pretrained = isinstance(spec, StudentSpec) and spec.embedding.of == "pretrained"
        if pretrained and self.teacher_spec().checkpoint is None:
            raise MisplacedError(
                f"models.{name}.embedding.of: pretrained needs a teacher with a checkpoint",
                *("models", name, "embedding", "of"),
            )

    def _check_stage(self, number: int, stage: StageSpec) -> None:
        for key, name in (("student", stage.student), ("teacher", stage.teacher)):
            if name is not None and name not in self.models:
                raise MisplacedError(
                    f"stage {stage.name!r} has the {key} {name!r}; there are the models "
                    f"{', '.join(self.models)}",
                    *("distill", number, key),
                )
        if stage.teacher == stage.student:
            raise MisplacedError(
                f"stage {stage.name!r} has {stage.student!r} as its student and as its teacher; "
                "set teacher: null if it learns from labels",
                *("distill", number, "student"),
            )
        if isinstance(self.models[stage.student], EncoderSpec) and TUNING.fullmatch(stage.name):
            raise MisplacedError(
                f"stage {stage.name!r} has the name of a part of fine-tuning, which "
                f"{stage.student!r} may have; choose another name",
                *("distill", number, "name"),
            )
        origin = self.models[self.lineage(stage.student)[-1]]
        if isinstance(origin, StudentSpec):
            heads = filter(None, (stage.stop.head, *(term.head for term in stage.terms)))
            for head in sorted(set(heads) - set(origin.heads)):
                raise ValueError(
                    f"stage {stage.name!r} uses the head {head!r}; the model {stage.student!r} "
                    f"has {origin.heads}"
                )

    def needs(self, name: str) -> tuple[str, ...]:
        """The models that have to be trained before one: what it begins as, and its teachers."""
        spec = self.models[name]
        found = [spec.from_] if isinstance(spec, DerivedSpec) else []
        if isinstance(spec, StudentSpec):
            found.append("teacher")  # whose pieces, vectors and width it has
        found += [stage.teacher for stage in self.stages_of(name) if stage.teacher is not None]
        return tuple(dict.fromkeys(found))

    def plan(self) -> tuple[str, ...]:
        """The models that a run makes, each after those it needs.

        These are the student, all that stages train, and what these need.

        Raises:
            MisplacedError: models that need each other.
        """
        wanted = ["teacher", *(stage.student for stage in self.distill), "student"]
        needs: dict[str, tuple[str, ...]] = {}
        while wanted:
            name = wanted.pop()
            if name not in needs:
                needs[name] = self.needs(name)
                wanted += needs[name]
        return in_order({name: needs[name] for name in self.models if name in needs})

    def stages_of(self, name: str) -> list[StageSpec]:
        """The stages that train a model, in order."""
        return [stage for stage in self.distill if stage.student == name]

    def lineage(self, name: str) -> tuple[str, ...]:
        """A model and those it begins as, the first one last.

        Raises:
            MisplacedError: one of them begins as itself.
        """
        names = [name]
        while isinstance(spec := self.models[names[-1]], DerivedSpec):
            if spec.from_ in names:
                circle = " begins as ".join((*names, spec.from_))
                raise MisplacedError(f"{circle}", "models", names[-1], "from")
            names.append(spec.from_)
        return tuple(names)

    def student_spec(self, name: str) -> StudentSpec:
        """What the student of that name, or the one it begins as, is made by."""
        spec = self.models[self.lineage(name)[-1]]
        if not isinstance(spec, StudentSpec):
            raise ValueError(f"models.{name} must be a student, with a kind such as bilstm")
        return spec

    def teacher_spec(self, name: str = "teacher") -> EncoderSpec:
        """The entry of ``models`` of that name, which must be a teacher."""
        spec = self.models.get(name)
        if not isinstance(spec, EncoderSpec):
            raise ValueError(f"models.{name} must be a teacher, with a checkpoint or scratch")
        return spec

    def seed_of(self, name: str) -> int:
        """What everything random in a model's making and training starts from."""
        spec = self.models[name]
        own = spec.seed if isinstance(spec, EncoderSpec) else None
        return self.seed if own is None else own

    def to_yaml(self) -> str:
        """The resolved recipe, every default written out."""
        stream = io.StringIO()
        YAML().dump(json.loads(self.model_dump_json()), stream)
        return stream.getvalue()
