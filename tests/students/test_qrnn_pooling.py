"""All ways to pool against the recurrence in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfdistil.students import qrnn_pooling
from tfdistil.students.qrnn_pooling import (
    EXACT,
    Rounding,
    pool,
    pool_in_parallel,
    pool_sequentially,
    pool_unrolled,
)

WAYS = (pool_sequentially, pool_unrolled, pool_in_parallel)


def oracle(f, u, rounding=EXACT):
    states = np.zeros_like(u)
    state = np.zeros_like(u[:, 0])
    for t in range(u.shape[1]):
        state = rounding.sum(rounding.product(f[:, t] * state) + u[:, t])
        states[:, t] = state
    return states


def gates(time, seed=0, batch=3, width=4):
    rng = np.random.default_rng(seed)
    shape = (batch, time, width)
    f = rng.uniform(size=shape).astype(np.float32)
    f[rng.uniform(size=shape) < 0.3] = 1.0  # as zoneout makes them
    return f, rng.normal(size=shape).astype(np.float32)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000))
def test_every_way_is_the_definition(time, seed):
    f, u = gates(time, seed)
    expected = oracle(f.astype(np.float64), u.astype(np.float64))
    for way in WAYS:
        np.testing.assert_allclose(way(f, u), expected, atol=1e-5)


@pytest.mark.parametrize("way", WAYS[1:])
def test_gradients_are_those_of_the_definition(way):
    f, u = (tf.constant(x) for x in gates(9))

    def gradients(way):
        with tf.GradientTape() as tape:
            tape.watch((f, u))
            loss = tf.reduce_sum(way(f, u) ** 3)
        return tape.gradient(loss, (f, u))

    for found, expected in zip(gradients(way), gradients(pool_sequentially), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", WAYS[:2])
def test_rounds_after_every_product_and_sum(way):
    f, u = gates(7)

    u = np.round(u * 4) / 4

    def coarse(library):
        return Rounding(lambda x: library.round(x * 8) / 8, lambda x: library.round(x * 4) / 4)

    np.testing.assert_array_equal(way(f, u, coarse(tf)), oracle(f, u, coarse(np)))


def test_chooses_a_way(monkeypatch):
    f, u = gates(6)
    chosen = []
    for way in WAYS:

        def note(*arguments, way=way):
            chosen.append(way.__name__.removeprefix("pool_"))
            return way(*arguments)

        monkeypatch.setattr(qrnn_pooling, way.__name__, note)
    for gpu in (False, True):
        monkeypatch.setattr(qrnn_pooling, "_on_gpu", lambda gpu=gpu: gpu)
        pool(f, u)
        pool(f, u, EXACT)
        pool(f, u, unroll=True)
        tf.function(pool, input_signature=[tf.TensorSpec((None, None, 4))] * 2)(f, u)
        monkeypatch.setattr(qrnn_pooling, "UNROLL_LIMIT", 5)
        pool(f, u, EXACT)
        monkeypatch.setattr(qrnn_pooling, "UNROLL_LIMIT", 64)
    cpu = ["unrolled", "unrolled", "unrolled", "sequentially", "sequentially"]
    assert chosen == [*cpu, "in_parallel", *cpu[1:]]
