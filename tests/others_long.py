"""Parameters of a test of which `make test` takes a few, and `make test-all` takes all."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def others_long(values: Iterable[Any], kept: Container[Any]) -> list[Any]:
    """The values in order; those that are not kept are marked long."""
    return [v if v in kept else pytest.param(v, marks=pytest.mark.long) for v in values]
