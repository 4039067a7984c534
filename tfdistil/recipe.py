"""The recipe: everything a run depends on, as typed data read from YAML.

An unknown key or a value of the wrong kind is an error that names the file and the line. The field
descriptions below are the reference of all keys; ``docs/recipe.md`` is made from them.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any

from pydantic import Field, field_validator, model_validator
from ruamel.yaml import YAML

from tfdistil.schema.data import DataSpec, TaskSpec
from tfdistil.schema.delivery import BenchmarkSpec, DeliverSpec, ExportSpec
from tfdistil.schema.graph import MisplacedError, in_order
from tfdistil.schema.models import (
    BaselineSpec,
    DerivedSpec,
    EncoderSpec,
    ModelSpec,
    StudentSpec,
)
from tfdistil.schema.parts import Name, Part, Seed
from tfdistil.schema.stages import StageSpec

BASELINE = "baseline"
"""The model that ``baseline: true`` stands for."""
TUNING = re.compile(r"fine_tune|cool_down|rate_\d+|pretrain|labels_only")
"""Names of the stages that entries of ``models`` ask for by themselves."""


class Recipe(Part):
    """A whole run."""

    base: str | None = Field(
        None, description="a shipped recipe or a file that gives the keys that are not here"
    )
    name: str = Field("run", max_length=200, description="title of the report")
    task: TaskSpec = Field(description="the task; a bare word is its kind")
    data: DataSpec = Field(description="see data")
    models: dict[Name, ModelSpec] = Field(
        min_length=1, description="by name: `teacher`, `student`, and any others"
    )
    distill: list[StageSpec] = Field([], description="the stages of all models, in order")
    baseline: bool = Field(
        True,
        description="also train the first delivered student without a teacher (D0), as the model "
        "`baseline`",
    )
    deliver: dict[Name, DeliverSpec] = Field(
        {},
        description="by model, the one that scores are reported of first; none: `student: "
        "{tflite: true}`",
    )
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
        if BASELINE in self.models and self.baseline:
            raise MisplacedError(
                f"{BASELINE!r} is the model that baseline: true makes; choose another name, or "
                "set baseline: false",
                *("models", BASELINE),
            )
        for name in self.models:
            self._check_origin(name)
        for name in self.models:
            self._check_circle(name)
        for name in self.models:
            self._check_model(name)
        for number, stage in enumerate(self.distill):
            self._check_stage(number, stage)
        if not self.deliver and "student" not in self.models:
            raise ValueError(
                "models has no 'student', so say what is delivered, as in "
                f"deliver: {{{next(iter(self.models))}: {{tflite: true}}}}"
            )
        for name in self.deliver:
            self._check_delivery(name)
        for name in self.deliveries:
            self._check_head(name)
            self._check_is_trained(name)
        self.plan()
        return self

    def _origin(self, name: str) -> tuple[str, str] | None:
        """The key by which an entry names another one, and that one."""
        spec = self.models[name]
        if isinstance(spec, DerivedSpec):
            return "from", spec.from_
        return ("baseline_of", spec.baseline_of) if isinstance(spec, BaselineSpec) else None

    def _check_origin(self, name: str) -> None:
        origin = self._origin(name)
        if origin is not None and origin[1] not in self.models:
            key, other = origin
            raise MisplacedError(
                f"models.{name} has {key}: {other!r}, which is no model; there are "
                f"{', '.join(self.models)}",
                *("models", name, key),
            )

    def _check_circle(self, name: str) -> None:
        seen = [name]
        while (origin := self._origin(seen[-1])) is not None:
            key, other = origin
            if other in seen:
                circle = " begins as ".join((*seen, other))
                raise MisplacedError(circle, "models", seen[-1], key)
            seen.append(other)

    def _check_model(self, name: str) -> None:
        spec = self.models[name]
        for number, change in enumerate(spec.apply if isinstance(spec, DerivedSpec) else ()):
            if change.kind == "reduce_vocabulary" and self.task.continuation:
                raise MisplacedError(
                    f"models.{name}.apply.{number}: reduce_vocabulary makes other pieces of words, "
                    "and with task.continuation: true models are compared piece by piece; set "
                    "continuation: false, which compares them word by word",
                    *("models", name, "apply", number),
                )
        if isinstance(spec, BaselineSpec) and not self._stages_of_lineage(spec.baseline_of):
            raise MisplacedError(
                f"models.{name} is the baseline of {spec.baseline_of!r}, which no stage trains",
                *("models", name, "baseline_of"),
            )
        if not isinstance(spec, StudentSpec):
            return
        encoder, named = self.models.get(spec.encoder), "encoder" in spec.model_fields_set
        if named and encoder is None:
            raise MisplacedError(
                f"models.{name} takes its pieces from {spec.encoder!r}, which is no model; there "
                f"are {', '.join(self.models)}",
                *("models", name, "encoder"),
            )
        if named and isinstance(self.root_spec(spec.encoder), StudentSpec):
            raise MisplacedError(
                f"models.{name} takes its pieces from {spec.encoder!r}, which must be an encoder, "
                "with a checkpoint or scratch",
                *("models", name, "encoder"),
            )
        pretrained = spec.embedding.of == "pretrained"
        if pretrained and getattr(encoder, "checkpoint", None) is None:
            raise MisplacedError(
                f"models.{name}.embedding.of: pretrained needs an encoder with a checkpoint",
                *("models", name, "embedding", "of"),
            )

    def _check_stage(self, number: int, stage: StageSpec) -> None:
        for key, name in (("student", stage.student), ("teacher", stage.teacher)):
            if name is not None and name not in self.models:
                advice = "; set teacher: null if it learns from labels" if key == "teacher" else ""
                raise MisplacedError(
                    f"stage {stage.name!r} has the {key} {name!r}; there are the models "
                    f"{', '.join(self.models)}{advice}",
                    *("distill", number, key),
                )
        if stage.teacher == stage.student:
            raise MisplacedError(
                f"stage {stage.name!r} has {stage.student!r} as its student and as its teacher; "
                "set teacher: null if it learns from labels",
                *("distill", number, "student"),
            )
        spec = self.models[stage.student]
        if isinstance(spec, BaselineSpec):
            raise MisplacedError(
                f"stage {stage.name!r} trains {stage.student!r}, which is a baseline and learns "
                "from the labels alone",
                *("distill", number, "student"),
            )
        if not isinstance(spec, StudentSpec) and TUNING.fullmatch(stage.name):
            raise MisplacedError(
                f"stage {stage.name!r} has the name of a stage that the entry of "
                f"{stage.student!r} in models may ask for; choose another name",
                *("distill", number, "name"),
            )
        if isinstance(self.root_spec(stage.student), StudentSpec):
            known = self.heads_of(stage.student)
            heads = filter(None, (stage.stop.head, *(term.head for term in stage.terms)))
            for head in sorted(set(heads) - set(known)):
                raise ValueError(
                    f"stage {stage.name!r} uses the head {head!r}; the model {stage.student!r} "
                    f"has {list(known)}"
                )

    def _check_delivery(self, name: str) -> None:
        if name not in self.models:
            raise MisplacedError(
                f"deliver names {name!r}, which is no model; there are {', '.join(self.models)}",
                *("deliver", name),
            )
        root = self.root_spec(name)
        if self.deliver[name].checkpoint and isinstance(root, StudentSpec):
            raise MisplacedError(
                f"deliver.{name}.checkpoint needs an encoder, but {name!r} is a {root.kind}; it "
                "can be delivered as tflite: true",
                *("deliver", name, "checkpoint"),
            )

    def _check_head(self, name: str) -> None:
        if self.deliveries[name].tflite is False:
            return
        head, known = self.export_of(name).head, self.heads_of(name)
        if head is not None and head not in known:
            raise ValueError(
                f"export.head {head!r} is no head of {name!r}; it has {', '.join(known)}"
            )

    def _check_is_trained(self, name: str) -> None:
        specs = [self._spec(one) for one in self.lineage(name)]
        tuned = any(isinstance(s, BaselineSpec) or getattr(s, "fine_tune", False) for s in specs)
        is_student = isinstance(self.root_spec(name), StudentSpec)
        if is_student and not tuned and not self._stages_of_lineage(name):
            raise MisplacedError(f"no stage trains {name!r}, which is delivered", "distill")

    @property
    def deliveries(self) -> dict[str, DeliverSpec]:
        """What is delivered, by model; scores are reported of the first one."""
        return self.deliver or {"student": DeliverSpec(tflite=True)}

    @property
    def main(self) -> str:
        """The model that scores are reported of."""
        return next(iter(self.deliveries))

    @property
    def entries(self) -> dict[str, Any]:
        """The entries of ``models``, with the one that ``baseline: true`` stands for."""
        main = self.main
        explicit = any(
            isinstance(spec, BaselineSpec) and main in (name, spec.baseline_of)
            for name, spec in self.models.items()
        )
        is_student = isinstance(self.root_spec(main), StudentSpec)
        if not self.baseline or explicit or not is_student or not self._stages_of_lineage(main):
            return self.models
        return {**self.models, BASELINE: BaselineSpec(baseline_of=main)}

    def baselines(self) -> dict[str, str]:
        """Models that are trained on the labels alone, to what they are the baseline of."""
        return {
            name: spec.baseline_of
            for name, spec in self.entries.items()
            if isinstance(spec, BaselineSpec)
        }

    def export_of(self, name: str) -> ExportSpec:
        """How a model becomes a file."""
        spec = self.deliveries.get(name)
        own = spec.tflite if spec is not None and isinstance(spec.tflite, ExportSpec) else None
        given = {} if own is None else {key: getattr(own, key) for key in own.model_fields_set}
        return self.export.model_copy(update=given)

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
        found = [spec.from_] if isinstance(spec, DerivedSpec) else []
        found += self._read_by(name)
        found += [stage.teacher for stage in self.stages_of(name) if stage.teacher is not None]
        return tuple(dict.fromkeys(found))

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
        return [stage for stage in self.distill if stage.student == name]

    def _stages_of_lineage(self, name: str) -> list[StageSpec]:
        return [stage for one in self.lineage(name) for stage in self.stages_of(one)]

    def teachers_of(self, name: str) -> tuple[str, ...]:
        """The models that a model was taught by, directly and through others; the first one last.

        Empty where it learns from labels alone.
        """
        found: list[str] = []
        wanted = [name]
        while wanted:
            stages = self._stages_of_lineage(wanted.pop(0))
            taught = [stage.teacher for stage in stages if stage.teacher is not None]
            new = [one for one in dict.fromkeys(taught) if one not in found]
            found += new
            wanted += new
        return tuple(one for one in reversed(self.plan()) if one in found)

    def lineage(self, name: str) -> tuple[str, ...]:
        """A model and those it begins as, the first one last.

        Raises:
            MisplacedError: one of them begins as itself.
        """
        names = [name]
        while isinstance(spec := self._spec(names[-1]), DerivedSpec):
            if spec.from_ in names:
                circle = " begins as ".join((*names, spec.from_))
                raise MisplacedError(f"{circle}", "models", names[-1], "from")
            names.append(spec.from_)
        return tuple(names)

    def _spec(self, name: str) -> Any:
        # `entries` asks for lineages itself.
        return self.models[name] if name in self.models else self.entries[name]

    def root_spec(self, name: str) -> EncoderSpec | StudentSpec:
        """The entry that says what kind of network a model is."""
        spec = self._spec(self.lineage(name)[-1])
        return self.root_spec(spec.baseline_of) if isinstance(spec, BaselineSpec) else spec

    def seed_of(self, name: str) -> int:
        """What everything random in a model's making and training starts from."""
        own = getattr(self._spec(name), "seed", None)
        return self.seed if own is None else own

    def to_yaml(self) -> str:
        """The resolved recipe, every default written out."""
        stream = io.StringIO()
        YAML().dump(json.loads(self.model_dump_json()), stream)
        return stream.getvalue()
