"""The recipe: everything a run depends on, as typed data read from YAML.

An unknown key or a value of the wrong kind is an error that names the file and the line. The field
descriptions below are the reference of all keys; ``docs/recipe.md`` is made from them.
"""

from __future__ import annotations

import io
import json
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator
from ruamel.yaml import YAML

from tfdistil.schema.data import DataSpec, TaskSpec
from tfdistil.schema.models import ModelSpec, QuantizedSpec, StudentSpec, TeacherSpec
from tfdistil.schema.parts import Float, Name, Part, Rows, Seed, Whole
from tfdistil.schema.stages import StageSpec

MOST_UNROLLED = 4096
"""Steps of a recurrence that the file for the device holds one by one."""


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
        for name, spec in self.models.items():
            if not isinstance(spec, TeacherSpec):
                of = self.student_spec(name).embedding.of
                if of == "pretrained" and self.teacher_spec().checkpoint is None:
                    raise ValueError(
                        f"models.{name}.embedding.of: pretrained needs a teacher with a checkpoint"
                    )
        for stage in self.distill:
            student = self.student_spec(stage.student)
            heads = filter(None, (stage.stop.head, *(term.head for term in stage.terms)))
            for head in sorted(set(heads) - set(student.heads)):
                raise ValueError(
                    f"stage {stage.name!r} uses the head {head!r}; the model {stage.student!r} "
                    f"has {student.heads}"
                )
            if stage.teacher is not None and stage.teacher not in self.models:
                raise ValueError(f"stage {stage.name!r} names the unknown model {stage.teacher!r}")
            if stage.teacher != "teacher" and isinstance(
                self.models.get(stage.teacher or ""), TeacherSpec
            ):
                raise ValueError(
                    f"stage {stage.name!r} has the teacher {stage.teacher!r}; one with a "
                    "checkpoint or scratch is called teacher, any other is a student"
                )
        if self.export.head not in self.student_spec("student").heads:
            raise ValueError(f"export.head {self.export.head!r} is no head of the student")
        return self

    def lineage(self, name: str) -> tuple[str, ...]:
        """A model and those it goes on from, the first one last.

        Raises:
            ValueError: one of them goes on from itself, or from no model.
        """
        names = [name]
        while isinstance(spec := self.models.get(names[-1]), QuantizedSpec):
            if spec.quantized in names or spec.quantized not in self.models:
                raise ValueError(
                    f"models.{names[-1]} goes on from {spec.quantized!r}; name another student of "
                    f"{sorted(self.models)}"
                )
            names.append(spec.quantized)
        return tuple(names)

    def student_spec(self, name: str) -> StudentSpec:
        """What the student of that name, or the one it goes on from, is made by."""
        spec = self.models.get(self.lineage(name)[-1])
        if not isinstance(spec, StudentSpec):
            raise ValueError(f"models.{name} must be a student, with a kind such as bilstm")
        return spec

    def teacher_spec(self, name: str = "teacher") -> TeacherSpec:
        """The entry of ``models`` of that name, which must be a teacher."""
        spec = self.models.get(name)
        if not isinstance(spec, TeacherSpec):
            raise ValueError(f"models.{name} must be a teacher, with a checkpoint or scratch")
        return spec

    @property
    def teacher_seed(self) -> int:
        """What everything random in the teacher's making starts from."""
        own = self.teacher_spec().seed
        return self.seed if own is None else own

    def to_yaml(self) -> str:
        """The resolved recipe, every default written out."""
        stream = io.StringIO()
        YAML().dump(json.loads(self.model_dump_json()), stream)
        return stream.getvalue()
