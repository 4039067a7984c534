"""Stages of distillation: data, not classes of their own."""

from tfdistil.distill import crf_objectives as crf_objectives  # registers its losses
from tfdistil.distill import encoder_objectives as encoder_objectives  # and its own
