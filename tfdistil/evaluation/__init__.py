"""Scores: of any model on any data, of systems side by side, and how sure they are."""
