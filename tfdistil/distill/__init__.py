"""Stages of distillation: data, not classes of their own."""

from tfdistil.distill import crf_objectives as crf_objectives  # registers its losses
