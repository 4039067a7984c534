"""Bilingual pivoting (Mallinson et al. 2017; pQRNN, section 3.2): there and back by translation."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Annotated

from tfdistil.augmentation.apertium import ApertiumTranslator
from tfdistil.augmentation.parts import made_of, parts_of
from tfdistil.augmentation.registry import AugmentationContext, augmentation
from tfdistil.augmentation.translation import (
    TRANSLATORS,
    HuggingFaceTranslator,
    RegisteredTranslator,
    StoredTranslations,
    Translator,
)
from tfdistil.data.example import Example
from tfdistil.errors import DataError
from tfdistil.options import Between

UNSPACED = frozenset({"ja", "zh", "th", "lo", "km", "my"})
"""Languages whose words are joined without spaces."""


@augmentation("pivoting")
def pivoting(
    examples: Sequence[Example],
    count: int,
    generator: random.Random,
    context: AugmentationContext,
    model: str | Mapping[str, str] = "",
    pivots: Sequence[str | Sequence[str]] = (),
    codes: Mapping[str, str] | None = None,
    beams: Annotated[int, Between(1, 100)] = 4,
    batch: Annotated[int, Between(1, 10_000)] | None = None,
    lowercase: bool = False,
    punctuation: bool = True,
    store: str = "translations",
) -> list[Example]:
    """Sentences translated into a pivot language and back.

    Each pivot gives at most one new sentence of each example, so n times the examples need n
    pivots. Translations are kept, and no text is translated twice by one model.

    Args:
        examples: with their language.
        count: sentences to make; each pivot takes the examples in an order of its own.
        generator: of the orders.
        context: its ``base``, ``split`` and ``counter`` are used.
        model: folder or hub id of a sequence-to-sequence model, a mapping of directions such as
            ``{en-de: FOLDER, de-en: FOLDER}``; ``apertium``, for the pairs of that command; or
            the name of a registered translator.
        pivots: languages to go through; a list in the list is a way through several.
        codes: the data's language codes to the model's.
        beams: of the search.
        batch: texts translated at once; None: what suits the translator.
        lowercase: fold the case of what comes back, for data without capitals.
        punctuation: False drops words without a letter or digit from what comes back.
        store: folder of translations, relative to the recipe.

    Raises:
        DataError: no model or no pivot given, or whatever is wrong with the model.
    """
    if not model or not pivots:
        raise DataError(
            "pivoting needs model: FOLDER (or a mapping of directions) and pivots: [de, fr]"
        )
    translator = _translator(model, codes, beams, context)
    translate = StoredTranslations(translator, context.base / store, batch or translator.batch)
    made: list[Example] = []
    for pivot in pivots:
        ways = (pivot,) if isinstance(pivot, str) else tuple(pivot)
        usable = [e for e in examples if all(parts_of(e)) and e.language not in (*ways, "und")]
        generator.shuffle(usable)
        chosen = usable[: count - len(made)]
        for language in sorted({example.language for example in chosen}):
            own = [example for example in chosen if example.language == language]
            texts = [_joined(words, e.language) for e in own for words in parts_of(e)]
            for source, target in zip((language, *ways), (*ways, language), strict=True):
                counter = context.counter(f"translate {source}-{target}", len(set(texts)))
                texts = translate(texts, source, target, counter)
            back = (_words(text, context, lowercase, punctuation) for text in texts)
            for example in own:
                parts = [next(back) for _ in parts_of(example)]
                made.append(made_of(parts, example))
    return [example for example in made if all(parts_of(example))]


def _words(
    text: str, context: AugmentationContext, lowercase: bool, punctuation: bool
) -> tuple[str, ...]:
    words = context.split(text.lower() if lowercase else text)
    return tuple(word for word in words if punctuation or any(map(str.isalnum, word)))


def _joined(words: Sequence[str], language: str) -> str:
    return ("" if language in UNSPACED else " ").join(words)


def _translator(
    model: str | Mapping[str, str],
    codes: Mapping[str, str] | None,
    beams: int,
    context: AugmentationContext,
) -> Translator:
    if isinstance(model, str) and model in TRANSLATORS:
        return RegisteredTranslator(model)
    if model == "apertium":
        return ApertiumTranslator(codes)
    return HuggingFaceTranslator(model, codes, beams, context.base)
