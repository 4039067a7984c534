"""The models of a recipe by name, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tfdistil.corpus.loading import Corpus
from tfdistil.models.origins import ORIGINS
from tfdistil.models.record import ModelRecord
from tfdistil.recipe.recipe import Recipe


class Models(dict[str, ModelRecord]):
    """The models of a recipe; one that is trained is loaded, any other made as its entry says.

    Args:
        recipe: its ``models`` and seeds.
        corpus: for vocabularies and labels.
        base: folder that paths in the recipe are relative to.
        trained: gives a trained model by name, None where it is not trained.
        made: models that are there already.
    """

    def __init__(
        self,
        recipe: Recipe,
        corpus: Corpus,
        base: Path,
        trained: Callable[[str], ModelRecord | None] = lambda name: None,
        made: Mapping[str, ModelRecord] | None = None,
    ):
        super().__init__(made or {})
        self.recipe, self.corpus, self.base, self.trained = recipe, corpus, base, trained

    def __missing__(self, name: str) -> ModelRecord:
        self[name] = self.trained(name) or self.fresh(name)
        return self[name]

    def fresh(self, name: str) -> ModelRecord:
        """A new model of that name, as it is before training.

        Raises:
            RecipeError: an entry that cannot be made.
        """
        spec = self.recipe.entries[name]
        return ORIGINS[spec.origin](name, spec, self)
