"""The same pre-training on TensorFlow and on JAX, each in a process of its own."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")
pytestmark = pytest.mark.slow


def in_process(backend: str, *module: str) -> subprocess.CompletedProcess[str]:
    """``python -m`` with Keras on a backend."""
    return subprocess.run(
        [sys.executable, "-m", *module],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )


@functools.cache
def losses(backend: str, precision: str) -> list[dict[str, float]]:
    done = in_process(backend, "tests.distill.train_on_backend", backend, precision)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_twenty_losses_agree():
    """float32, no dropout, the same batches: Eliquare's three losses and their sum."""
    found = [losses(backend, "float32") for backend in ("tensorflow", "jax")]
    assert len(found[0]) == len(found[1]) == 20
    for one, other in zip(*found, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert other[name] == pytest.approx(value, rel=1e-4), name
    sums = np.array([step["loss"] for step in found[0]])
    assert sums[-3:].mean() < sums[:3].mean()


@pytest.mark.long
def test_bfloat16_learns_as_much_on_both():
    """Mixed precision rounds differently on each, so that losses agree to a hundredth."""
    found = [losses(backend, "bfloat16") for backend in ("tensorflow", "jax")]
    for one, other in zip(*found, strict=True):
        assert other["loss"] == pytest.approx(one["loss"], rel=0.01)
    exact = losses("tensorflow", "float32")
    assert found[0][0]["loss"] != exact[0]["loss"]
    assert found[0][-1]["loss"] == pytest.approx(exact[-1]["loss"], rel=0.02)


def passes_on_jax(file: str, chosen: str, tests: int) -> None:
    """Run the chosen tests of a file, which are so many, in a process with that backend."""
    done = in_process("jax", "pytest", "-v", "-p", "no:cacheprovider", file, "-k", chosen)
    assert done.returncode == 0, done.stdout[-3000:]
    assert f"{tests} passed" in done.stdout


@pytest.mark.parametrize("terms", ["uncertainty", pytest.param("words", marks=pytest.mark.long)])
def test_updates_of_several_batches_on_jax(terms):
    """The tests of them again, in a process with the other backend."""
    passes_on_jax("tests/distill/test_accumulation.py", f"of_four and {terms}", 1)


def test_dropout_of_a_teacher_on_jax():
    """A compiled step there keeps only the state that it is told of."""
    passes_on_jax("tests/distill/test_distiller.py", "in_each_step", 1)


@pytest.mark.long
def test_padding_that_counts_on_jax():
    """Where a batch would be as long as a program that is compiled already."""
    passes_on_jax("tests/seams/test_camembert.py", "padding_that_counts", 1)


def test_students_with_recurrences_on_jax():
    """Which asks where it runs, to choose how a recurrence is computed."""
    passes_on_jax("tests/students/test_bottleneck.py", "statistics", 3)


def test_copied_layers_outlive_the_training_of_their_copies():
    """A step on JAX gives its arrays' memory away; the model copied from needs its own."""
    done = in_process("jax", "tests.distill.copy_on_jax")
    assert done.returncode == 0, done.stderr[-3000:]
