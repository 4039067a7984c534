"""A recipe's sentences: read, split, counted, looked at; text that is kept apart."""
