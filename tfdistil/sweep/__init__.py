"""Many runs of one recipe: their points, named variants, running them."""
