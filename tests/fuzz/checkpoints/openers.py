"""All that opens a checkpoint's tokenizer, each by itself."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from pathlib import Path


def tokenizer(path: Path) -> str:
    """The tokenizer alone."""
    from tfdistil.encoders import load_tokenizer

    return str(load_tokenizer(path).get_vocab_size())


def checked_data(path: Path) -> str:
    """``tfdistil data check RECIPE --teacher``."""
    from tfdistil.corpus.check import check_recipe
    from tfdistil.recipe.loading import load_recipe

    teacher = f"models.teacher={{checkpoint: {path}, max_length: 16}}"
    recipe = load_recipe(Path(__file__).parents[2] / "tiny.yaml", [teacher])
    return str(check_recipe(recipe, path.parent, with_teacher=True))


def translator(path: Path) -> str:
    """The translation model of `pivoting`; PyTorch seems to be there."""
    from tfdistil.augmentation.translation import HuggingFaceTranslator

    if "torch" not in sys.modules:  # so much of it that the tokenizer is not the second thing
        torch = types.ModuleType("torch")
        torch.__spec__ = importlib.machinery.ModuleSpec("torch", None)
        torch.Tensor = type("Tensor", (), {})  # type: ignore[attr-defined]
        sys.modules["torch"] = torch
    return str(HuggingFaceTranslator(str(path))(["a"], "en", "de"))


def neighbours(path: Path) -> str:
    """The word embeddings and the tokenizer of `word_neighbours`."""
    from tfdistil.augmentation import AugmentationContext, augment
    from tfdistil.data.example import Example

    context = AugmentationContext(path.parent, checkpoint=str(path))
    return str(augment("word_neighbours", [Example(("a", "b"))], 3, 1, context))


def trusting(path: Path) -> str:
    """`transformers` as it is: it asks, and takes the answer."""
    from transformers import AutoTokenizer

    return str(AutoTokenizer.from_pretrained(path))
