"""Text from files, made fit for a terminal: short, and without characters that steer it."""

from __future__ import annotations

import re
from reprlib import Repr
from typing import Any

LONGEST = 3000
"""Characters of a message; what is longer loses its middle."""

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, the two separators that end a line, and halves of surrogate pairs."""
_STEERS = re.compile(r"(?!\t)" + CONTROL.pattern)


def printable(text: str) -> str:
    """The text with every character that does not print, but for line ends, as its escape."""
    if text.isprintable():
        return text
    return "".join([c if c.isprintable() or c == "\n" else escaped(c) for c in text])


def one_line(text: str) -> str:
    """The text with `CONTROL` characters but for tabs as escapes; all that is writing stays."""
    return _STEERS.sub(lambda match: escaped(match[0]), text)


def byte_size(count: int) -> str:
    """Bytes in decimal units, as download sizes are given."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.2f} MB"


def escaped(character: str) -> str:
    """A character as a string literal has it: ``\\x1b``."""
    return character.encode("unicode_escape").decode("ascii")


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, or its beginning and its end with how much is left out between them."""
    if len(text) <= longest:
        return text
    head, tail = longest * 2 // 3, longest // 3
    return f"{text[:head]} … ({len(text) - head - tail:,} characters) … {text[-tail:]}"


class _Shown(Repr):
    """`repr` that looks at a few items, a few levels and a few characters only."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 120
        self.maxlong = 60
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = 12
        self.maxlevel = 4

    def repr_int(self, x: int, level: int) -> str:
        """Python refuses to write whole numbers of thousands of digits."""
        return f"<a whole number of {x.bit_length()} bits>" if x.bit_length() > 200 else repr(x)


shown = _Shown().repr
"""`repr` for a message: of anything, however long or deep."""


def listed(names: Any, most: int = 20) -> str:
    """Names with commas between them, the first of them where there are many."""
    names = [str(name) for name in names]
    more = f", … ({len(names) - most} more)" if len(names) > most else ""
    return ", ".join(shortened(name, 120) for name in names[:most]) + more
