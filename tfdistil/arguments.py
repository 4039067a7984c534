"""Arguments that no student could be made with, told before anything is allocated."""

from __future__ import annotations

from typing import Any

MOST_SIZE = 2**16
MOST_LAYERS = 1000
MOST_PARAMETERS = 2**29
"""What a ``.tflite`` file of 2 GiB holds in float32."""


def check_sizes(most: int = MOST_SIZE, **sizes: Any) -> None:
    """Make sure that these are sizes.

    Raises:
        ValueError: one that is no whole number from 1 to ``most``.
    """
    for name, size in sizes.items():
        if type(size) is not int or not 1 <= size <= most:
            raise ValueError(f"{name} is a whole number from 1 to {most:,}, got {size!r}")


def check_features(features: Any) -> None:
    """Make sure that these are the ternary features of whole bytes.

    Raises:
        ValueError: no size, or no multiple of 4.
    """
    check_sizes(features=features)
    if features % 4:
        raise ValueError(f"features is a multiple of 4 (4 per byte), got {features}")


def check_rates(**rates: Any) -> None:
    """Make sure that these are rates of what is dropped or kept.

    Raises:
        ValueError: one that is no number from 0 to below 1.
    """
    for name, rate in rates.items():
        if type(rate) not in (int, float) or not 0 <= rate < 1:
            raise ValueError(f"{name} is a number from 0 to below 1, got {rate!r}")


def check_flags(**flags: Any) -> None:
    """Make sure that these are true or false, and no word of YAML such as ``no``.

    Raises:
        ValueError: one that is not.
    """
    for name, flag in flags.items():
        if type(flag) is not bool:
            raise ValueError(f"{name} is true or false, got {flag!r}")


def check_some(outputs: Any) -> None:
    """Make sure that there is something to learn.

    Raises:
        ValueError: no outputs.
    """
    if not outputs:
        raise ValueError("a student needs at least one output, such as {'tags': ('word', 9)}")


def check_parameters(count: int) -> None:
    """Make sure that a student of so many weights fits into a file.

    Raises:
        ValueError: it does not.
    """
    if count > MOST_PARAMETERS:
        raise ValueError(
            f"these sizes make {count:,} parameters; a student has at most {MOST_PARAMETERS:,}"
        )
