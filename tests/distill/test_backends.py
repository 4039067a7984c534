"""The same pre-training on TensorFlow and on JAX, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")
pytestmark = pytest.mark.slow


def losses(backend: str) -> list[dict[str, float]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.distill.train_on_backend", backend],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_twenty_losses_agree():
    """float32, no dropout, the same batches: Eliquare's three losses and their sum."""
    found = [losses(backend) for backend in ("tensorflow", "jax")]
    assert len(found[0]) == len(found[1]) == 20
    for one, other in zip(*found, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert other[name] == pytest.approx(value, rel=1e-4), name
    sums = np.array([step["loss"] for step in found[0]])
    assert sums[-3:].mean() < sums[:3].mean()
