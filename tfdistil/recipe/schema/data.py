"""Recipes: where the sentences come from, and what is predicted of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from tfdistil.data.schemes import Scheme
from tfdistil.recipe.schema.parts import Float, Int, Name, OpenPart, Option, Part, Whole

MOST_SENTENCES = 10**7
"""That the built-in corpus makes of a split."""


class SourceSpec(Part):
    """One file or folder of data."""

    path: str = Field(description="file or folder, relative to the recipe")
    format: str | None = Field(
        None, description="reader; guessed from name and content when left out"
    )
    language: str | None = Field(None, description="BCP 47 code; none: as the rows say")
    options: dict[str, Option] = Field({}, description="options of the reader, such as columns")
    label_map: dict[str, str] = Field({}, description="entity type or label to another; `O` drops")
    repair: Literal["iob2"] | None = Field(None, description="`iob2` fixes orphan `I-` tags")
    scheme: Scheme = Field("iob2", description="of the tags in the file")
    limit: Int | None = Field(None, ge=1, description="use so many examples, a seeded sample")


class TransferSpec(SourceSpec):
    """One file or folder of text to learn from without labels."""

    weight: Float = Field(
        1.0,
        gt=0,
        description="how often each sentence counts when transfer_limit is shared out among the "
        "files; it is drawn once at the most",
    )


class DemoSpec(Part):
    """The built-in demo corpus instead of files."""

    kind: Literal["intent_slots", "tags", "classes"] = Field(description="labels to generate")
    languages: list[str] = Field(
        ["en", "es", "de", "hi", "ja"], min_length=1, description="languages"
    )
    train: Whole = Field(4000, ge=1, le=MOST_SENTENCES, description="labelled sentences")
    dev: Whole = Field(600, ge=1, le=MOST_SENTENCES, description="sentences to select on")
    test: Whole = Field(1000, ge=1, le=MOST_SENTENCES, description="sentences to report on")
    transfer: Whole = Field(12000, ge=0, le=MOST_SENTENCES, description="unlabelled sentences")


class AugmentSpec(OpenPart):
    """Unlabelled sentences made from train and from what those before it made: docs/data.md.

    More keys are options of the kind.
    """

    kind: str = Field(description="a registered augmentation, such as `slot_substitution`")
    times: Float = Field(
        3.0, gt=0, le=1000, description="sentences to make, as a multiple of train"
    )


class LowResourceSpec(Part):
    """A few labelled sentences instead of all: XtremeDistil's low-resource setting.

    The other sentences of train become transfer text, without their labels.
    """

    samples: Int = Field(100, ge=1, description="labelled sentences kept of each")
    per: Literal["language", "class"] = Field(
        "language", description="of each what; `class` (or intent) where sentences have one"
    )


class TextSpec(Part):
    """One file of plain text, or a folder of `.txt` files."""

    path: str = Field(description="file or folder, relative to the recipe")
    format: str = Field("text", description="reader; others than `text` hold a file in memory")
    language: str | None = Field(None, description="BCP 47 code; none: as the rows say")
    options: dict[str, Option] = Field({}, description="options of the reader, such as columns")


class BalanceSpec(Part):
    """Languages are drawn with P' in proportion to P^S, S such that P'(more) = ratio * P'(less).

    P is a language's share of the bytes: CAMeMBERT, Equation 1, where English is drawn 100 times as
    often as Icelandic.
    """

    more: str = Field(description="a language")
    less: str = Field(description="another one")
    ratio: Float = Field(gt=0, description="how many times as often `more` is drawn as `less`")


class CorpusSpec(Part):
    """Unlabelled text of any size, tokenized into files from which stages draw: docs/data.md.

    It makes the sets `corpus`, `corpus.SECTION`, `corpus_held_out` and `corpus_test`. Each line is
    in one of them by a hash of its text.
    """

    sources: list[TextSpec] = Field(min_length=1, description="files of text, a line each")
    sections: dict[Name, Annotated[Float, Field(gt=0, le=1)]] = Field(
        {}, description="name to its share of the text to train on; none of them shares a line"
    )
    held_out: Float = Field(0.01, ge=0, lt=1, description="share of all text to take losses on")
    test: Float = Field(0.01, ge=0, lt=1, description="share of all text that nothing looks at")
    balance: BalanceSpec | None = Field(None, description="see balance; none: each row once a pass")
    joined: bool = Field(
        True, description="whole lines of a language fill a row together; false: a line is a row"
    )

    @model_validator(mode="after")
    def _shares_fit(self) -> CorpusSpec:
        if self.held_out + self.test >= 1:
            raise ValueError("held_out and test leave nothing to train on; give less than 1 in sum")
        if round(sum(self.sections.values()), 9) > 1:
            raise ValueError("the sections have more than 1 in sum; they share no line")
        return self

    @model_validator(mode="after")
    def _balances_what_is_there(self) -> CorpusSpec:
        if self.balance is not None and self.balance.more == self.balance.less:
            raise ValueError(f"balance names {self.balance.more!r} twice; give two languages")
        there = {source.language for source in self.sources}
        if self.balance is not None and None not in there:
            for language in (self.balance.more, self.balance.less):
                if language not in there:
                    raise ValueError(
                        f"balance names {language!r}, but no source is in it; there are "
                        f"{', '.join(sorted(map(str, there)))}"
                    )
        return self


class DataSpec(Part):
    """Where the sentences come from."""

    train: list[SourceSpec] = Field([], description="labelled, to learn from")
    dev: list[SourceSpec] = Field([], description="labelled, to select on; empty: split off train")
    test: list[SourceSpec] = Field(
        [], description="labelled, to report on; empty: none, or see test_fraction"
    )
    transfer: list[TransferSpec] = Field([], description="unlabelled, for the teacher to speak on")
    augment: list[AugmentSpec] = Field([], description="see augment; makes the set `augmented`")
    corpus: CorpusSpec | None = Field(None, description="see corpus; text of any size")
    demo: DemoSpec | None = Field(None, description="the built-in corpus instead of files")
    languages: list[str] | None = Field(
        None, min_length=1, description="of all sets, use these alone; none: all"
    )
    low_resource: LowResourceSpec | None = Field(
        None, description="see low_resource; none: all of train"
    )
    dev_fraction: Float = Field(0.1, gt=0, lt=1, description="share of train split off as dev")
    test_fraction: Float = Field(
        0.0, ge=0, lt=1, description="share of train split off as test, where test has no files"
    )
    unknown_labels: Literal["miss", "error"] = Field(
        "miss", description="labels of dev and test that train has not: a `miss` each, or an error"
    )
    near_duplicates: Float | None = Field(
        None,
        gt=0,
        le=1,
        description="leave out a transfer sentence that has this share of pairs of neighbouring "
        "words, of all that either has, in common with an earlier one; none: keep it",
    )
    transfer_limit: Int | None = Field(
        None,
        ge=1,
        description="use so many transfer sentences, those of low_resource included: of every file "
        "and language in proportion, see weight",
    )
    splitter: Literal["unicode", "whitespace"] = Field(
        "unicode", description="how raw text becomes words"
    )

    @field_validator("augment", mode="before")
    @classmethod
    def _one_alone(cls, value: Any) -> Any:
        if value is None:  # as `--set data.augment=null`
            return []
        return [value] if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _one_origin(self) -> DataSpec:
        for name in ("train", "dev", "test", "transfer") if self.demo is not None else ():
            if getattr(self, name):
                raise ValueError(
                    f"give either {name}: files or demo:, not both; the demo has all sets"
                )
        if self.demo is None and not self.train and self.corpus is None:
            raise ValueError("give train: files, or demo:, or for task: text alone corpus:")
        return self

    @model_validator(mode="after")
    def _weights_share_something_out(self) -> DataSpec:
        weights: dict[Path, float] = {}
        for number, source in enumerate(self.transfer):
            if source.weight != 1 and self.transfer_limit is None:
                raise ValueError(
                    f"transfer.{number}.weight is {source.weight:g}, but without transfer_limit "
                    "there is nothing to share out: every sentence is used, once; set "
                    "transfer_limit, or leave weight out"
                )
            first = weights.setdefault(Path(source.path), source.weight)
            if source.weight != first:
                raise ValueError(
                    f"transfer.{number}.weight is {source.weight:g}, but {source.path!r} stands "
                    f"there with {first:g} before; all sentences of a file have one weight"
                )
        return self

    @model_validator(mode="after")
    def _test_is_there_to_split_off(self) -> DataSpec:
        if not self.test_fraction:
            return self
        if self.test:
            raise ValueError("give either test: files or test_fraction:, not both")
        if not self.train:
            raise ValueError("test_fraction is a share of train: files, and there are none")
        if not self.dev and self.dev_fraction + self.test_fraction >= 1:
            raise ValueError(
                f"dev_fraction ({self.dev_fraction:g}) and test_fraction ({self.test_fraction:g}) "
                "leave nothing to train on; give less than 1 in sum"
            )
        return self


_WITH_TAGS = ("tags", "intent_slots")


class TaskSpec(Part):
    """What is predicted."""

    kind: Literal["tags", "intent_slots", "classes", "pair", "text"] = Field(
        description="the task; `text`: none, models are trained on text without labels"
    )
    continuation: bool = Field(False, description="own class `X` for non-first pieces of a word")
    scheme: Scheme = Field(
        "iob2",
        description="labels that models score; `iobes` also marks ends and single words, `words` "
        "has spans of one word alone, such as parts of speech. Results and metrics are IOB2",
    )

    @model_validator(mode="after")
    def _has_tags(self) -> TaskSpec:
        if self.continuation and self.kind not in _WITH_TAGS:
            raise ValueError(f"continuation: true needs a task with tags, not {self.kind}")
        if self.scheme != "iob2" and self.kind not in _WITH_TAGS:
            raise ValueError(f"scheme: {self.scheme} needs a task with tags, not {self.kind}")
        return self

    @property
    def is_labelled(self) -> bool:
        """Whether anything is predicted of a text."""
        return self.kind != "text"

    @property
    def options(self) -> dict[str, Any]:
        """What the task's `from_examples` is given; a task without tags takes nothing."""
        given = {"continuation": self.continuation, "scheme": self.scheme}
        return given if self.kind in _WITH_TAGS else {}
