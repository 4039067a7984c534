"""The parts of a recipe; the whole is `tfdistil.recipe.Recipe`.

The branches of a union are tagged ``<like this>``, which no key of a recipe looks like: so
`tfdistil.recipe_file` can leave them out of the place of an error.
"""
