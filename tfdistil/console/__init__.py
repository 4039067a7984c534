"""What a person sees while something works: progress, errors, Ctrl-C."""
