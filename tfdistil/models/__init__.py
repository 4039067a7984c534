"""The models of a recipe: where they come from, what is done to them, how they are kept."""
