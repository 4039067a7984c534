"""Light models that need no teacher: what distillation has to beat."""
