"""Heads: what a model says of each output of a task, and how it is exported."""

from tfdistil.heads import crf as crf  # registers its kind
