"""Noise by its name: what a recipe may say, and what each kind is for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tfdistil.distill.noise import NOISE, bind_noise, noise
from tfdistil.errors import RecipeError
from tfdistil.recipe.schema.stages import NoiseSpec, StageSpec, TermSpec
from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec

HASHES = ProjectionFeaturizer(ProjectionSpec(families=(("murmur", 32),)), 12)
BOTH = SimpleNamespace(kind="subwords+projection", subwords=None)
NO_MASK = SimpleNamespace(kind="subwords", tokenizer=SimpleNamespace(), mask=None)


def spec(*kinds) -> list[NoiseSpec]:
    return StageSpec(name="s", terms=[TermSpec(loss="cross_entropy")], noise=kinds).noise


def test_a_bare_word_is_a_kind():
    assert spec("masking") == spec({"kind": "masking"})
    assert spec({"kind": "masking", "probability": 0.3})[0].options == {"probability": 0.3}


def test_only_masking_changes_what_is_held_out(make_featurizer):
    """It is the task itself; the others make training harder."""
    bound = bind_noise(spec("word_dropout", "masking"), make_featurizer("pieces"), ())
    assert len(bound.training) == 2
    assert bound.held_out == bound.training[1:]
    assert bound.targets == ("mlm",)
    bound = bind_noise(spec("spelling", "word_dropout"), HASHES, ())
    assert (len(bound.training), bound.held_out, bound.targets) == (2, (), ())


@pytest.mark.parametrize(
    ("kind", "featurizer", "text"),
    [
        ("fog", HASHES, "unknown noise 'fog'; there are masking, spelling, word_dropout"),
        ({"kind": "spelling", "share": 1}, HASHES, "spelling has no option share; it has prob"),
        ({"kind": "spelling", "probability": "a"}, HASHES, "option 'probability' is 'a'"),
        ({"kind": "spelling", "probability": 1.5}, HASHES, "is 1.5, expected 0 to 1"),
        ("masking", HASHES, "masking: the student has no word pieces"),
        ("masking", NO_MASK, "masking: the tokenizer has neither the piece [MASK] nor <mask>"),
        ("masking", BOTH, "masking: the student reads hashes, too, which tell it the pieces"),
        ("spelling", BOTH, "spelling: the student does not hash words alone"),
        ("word_dropout", NO_MASK, "word_dropout: the tokenizer has neither"),
        ("word_dropout", SimpleNamespace(kind="bytes"), "words of 'bytes' cannot be hidden"),
        ("spelling", NO_MASK, "spelling: the student does not hash words"),
    ],
)
def test_what_does_not_fit_is_said(kind, featurizer, text):
    with pytest.raises(RecipeError) as caught:
        bind_noise(spec(kind), featurizer, ())
    assert text in str(caught.value)


def test_a_new_kind_is_one_function(monkeypatch):
    monkeypatch.setattr("tfdistil.distill.noise.NOISE", dict(NOISE))

    @noise("turned", held_out=True, targets=["was"])
    def turned(featurizer, texts, by=1):
        return lambda batch, words, generator: {**batch, "by": by}

    bound = bind_noise(spec({"kind": "turned", "by": 3}), HASHES, ())
    assert bound.training[0]({}, [], None) == {"by": 3}
    assert bound.held_out == bound.training
    assert bound.targets == ("was",)
    with pytest.raises(ValueError, match="'turned' is registered already"):
        noise("turned")(turned)
