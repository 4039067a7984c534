"""Stages of distillation: data, not classes of their own."""
