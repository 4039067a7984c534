"""Sentences, a tiny checkpoint and a translator for tests of augmentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfdistil.augmentation import AUGMENTATIONS, AugmentationContext, augment
from tfdistil.augmentation.translation import TRANSLATORS
from tfdistil.data.example import Example

TRAIN = [
    Example(("fly", "to", "new", "york"), ("O", "O", "B-city", "I-city"), "fly", language="en"),
    Example(("rain", "in", "rome", "today"), ("O", "O", "B-city", "B-day"), "rain", language="en"),
    Example(("vola", "a", "siena"), ("O", "O", "B-city"), "fly", language="it"),
    Example(("thanks",), ("O",), "thanks", language="en"),
]

OPTIONS = {"pivoting": {"model": "upside down", "pivots": ["xx", "yy"]}}


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> Path:
    """A masked language model with random weights whose vocabulary has the words of `TRAIN`."""
    from tfdistil.encoders import save_encoder, scratch_encoder
    from tfdistil.text.train_tokenizer import train_wordpiece

    texts = [" ".join(example.words) for example in TRAIN] * 5
    tokenizer = train_wordpiece(texts, 200, lowercase=True)
    model = scratch_encoder(
        vocabulary=tokenizer.get_vocab_size(),
        hidden_dim=8,
        layers=1,
        attention_heads=2,
        intermediate_dim=8,
        max_positions=16,
        outputs={},
        heads={"logits": "mlm"},
        seed=1,
    )
    folder = tmp_path_factory.mktemp("checkpoint")
    save_encoder(model, folder, tokenizer=tokenizer)
    return folder


@pytest.fixture
def upside_down(monkeypatch):
    """A registered translator: its other languages are English spelled backwards or doubled."""
    calls: list[tuple[tuple[str, ...], str, str]] = []

    def translate(texts, source, target):
        calls.append((tuple(texts), source, target))
        if target == "xx":
            return [text[::-1] for text in texts]
        if target == "yy":
            return [f"{text} {text}" for text in texts]
        return texts

    monkeypatch.setitem(TRANSLATORS, "upside down", translate)
    return calls


@pytest.fixture
def context(tmp_path, checkpoint, upside_down) -> AugmentationContext:
    """With everything an augmentation may use."""
    return AugmentationContext(tmp_path, checkpoint=str(checkpoint))


@pytest.fixture
def make(context):
    """An augmentation with options that let it work."""

    def call(kind: str, examples=TRAIN, count: int = 50, seed: int = 1, **options) -> list[Example]:
        options = {**OPTIONS.get(kind, {}), **options}
        return augment(kind, examples, count, seed, context, **options)

    return call


def pytest_generate_tests(metafunc):
    """Tests with the argument ``kind`` run for every augmentation."""
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize("kind", sorted(AUGMENTATIONS))
