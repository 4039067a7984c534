"""Numbers as people read them: 1.9 MB, 22.7 M, 0.260 ms, 152×, 97.1 %."""

from __future__ import annotations

import math
from typing import Any

NOTHING = "–"
"""Stands for a value that was not measured."""


def _missing(value: float | None) -> bool:
    return value is None or not math.isfinite(value)


def _scaled(value: float, units: tuple[str, ...]) -> str:
    """One decimal below 100, none above; moves to the next unit where rounding reaches 1000."""
    for unit in units[:-1]:
        text = f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"
        if float(text) < 1000:
            return f"{text} {unit}"
        value /= 1000
    return f"{value:,.0f} {units[-1]}" if value >= 99.95 else f"{value:.1f} {units[-1]}"


def size(count: float | None) -> str:
    """Bytes in decimal units, as download sizes are given: ``1.9 MB`` is 1,900,000 bytes."""
    if count is None or _missing(count):
        return NOTHING
    return f"{count:.0f} B" if count < 1000 else _scaled(count / 1000, ("kB", "MB", "GB"))


def count(number: float | None) -> str:
    """A count: exact below 10,000, then ``22.7 M``."""
    if number is None or _missing(number):
        return NOTHING
    return f"{number:,.0f}" if number < 10_000 else _scaled(number / 1000, ("k", "M", "G"))


def significant(value: float | None, digits: int = 3) -> str:
    """A number to ``digits`` significant digits, never in scientific notation above 1e-6."""
    if value is None or _missing(value):
        return NOTHING
    if value == 0:
        return "0"
    if abs(value) < 1e-6:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def milliseconds(value: float | None) -> str:
    """A latency without its unit, three significant digits."""
    return significant(value)


def ratio(value: float | None) -> str:
    """How many times: ``152×``, ``5.2×``."""
    if value is None or _missing(value):
        return NOTHING
    return f"{value:,.0f}×" if value >= 9.95 else f"{value:.1f}×"


def compared(value: float, words: tuple[str, str]) -> str:
    """A ratio in words: ``47× smaller``, and where it is below 1 ``2.9× larger``.

    Args:
        value: times, above 0.
        words: what it is above 1 and below.
    """
    return f"{ratio(value)} {words[0]}" if value >= 1 else f"{ratio(1 / value)} {words[1]}"


SIZE, SPEED = ("smaller", "larger"), ("faster", "slower")


def points(value: float | None) -> str:
    """A score in percent, without the sign: one decimal."""
    return NOTHING if value is None or _missing(value) else f"{value:.1f}"


def signed(value: float | None) -> str:
    """A difference in points with its sign; the minus is a real one."""
    if value is None or _missing(value):
        return NOTHING
    return f"{value:+.1f}".replace("-", "\N{MINUS SIGN}")


def percent(value: float | None) -> str:
    """A share that is already in percent."""
    return NOTHING if value is None or _missing(value) else f"{value:.1f} %"


def share(value: float | None) -> str:
    """A share in [0, 1] as percent. Only what is exactly 1 is shown as 100 %."""
    if value is None or _missing(value):
        return NOTHING
    text = f"{100 * value:.2f}".rstrip("0").rstrip(".")
    return f"{'99.99' if value < 1 and text == '100' else text} %"


def duration(seconds: float | None) -> str:
    """Wall-clock time: ``4.2 s``, ``3 min 12 s``, ``1 h 02 min``."""
    if seconds is None or _missing(seconds):
        return NOTHING
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def plain(value: Any) -> str:
    """Any value of a facts table."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        text = significant(value, 4)
        text = text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
        return text.replace("-", "\N{MINUS SIGN}", 1)
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    return str(value)
