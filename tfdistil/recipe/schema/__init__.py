"""The parts of a recipe; the whole is `tfdistil.recipe.recipe.Recipe`."""
