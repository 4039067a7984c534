"""Translation by rules: the command ``apertium``, from Debian's packages and others'."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tfdistil.errors import DataError
from tfdistil.printable import shown

THREE_LETTERS = {
    **{"af": "afr", "ar": "ara", "an": "arg", "be": "bel", "bg": "bul", "br": "bre", "ca": "cat"},
    **{"cy": "cym", "da": "dan", "de": "deu", "en": "eng", "eo": "epo", "es": "spa", "eu": "eus"},
    **{"fr": "fra", "gl": "glg", "hi": "hin", "id": "ind", "is": "isl", "it": "ita", "kk": "kaz"},
    **{"mk": "mkd", "ms": "msa", "mt": "mlt", "nb": "nob", "nl": "nld", "nn": "nno", "oc": "oci"},
    **{"pl": "pol", "pt": "por", "ro": "ron", "ru": "rus", "sc": "srd", "sl": "slv", "sv": "swe"},
    **{"tt": "tat", "uk": "ukr", "ur": "urd"},
}
"""ISO 639-1 to ISO 639-3: older pairs are named by two letters, newer ones by three."""

BETWEEN = "\n\n"
"""Parts texts. An empty line ends a sentence, so none is translated in the light of another."""


class ApertiumTranslator:
    """Every pair of languages that is installed, without marks on unknown words.

    Args:
        codes: the data's language codes to the pairs', where neither ISO 639-1 nor 639-3 is meant,
            such as ``{no: nob}``.
    """

    batch = 500
    """Texts given to one process, which takes half a second to start."""

    def __init__(self, codes: Mapping[str, str] | None = None):
        self.codes = dict(codes or {})
        self._pairs: frozenset[str] | None = None

    def identity(self, source: str, target: str) -> str:
        """The pair, what it runs, and the sizes of the data it names.

        Raises:
            DataError: no such command, or no such pair.
        """
        pair = self._pair(source, target)
        mode = Path(self._command()).resolve().parents[1] / f"share/apertium/modes/{pair}.mode"
        runs = mode.read_text("utf-8") if mode.is_file() else ""
        data = [Path(name) for name in re.findall(r"/[^\s'\"]+", runs)]
        sizes = [f"{file} {file.stat().st_size}" for file in data if file.is_file()]
        return "\n".join(["apertium", pair, runs, *sizes])

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        """One process for all texts; an empty text stays as it is.

        Raises:
            DataError: no such command or pair, or it failed.
        """
        pair = self._pair(source, target)
        lines = [" ".join(text.replace("\0", " ").split()) for text in texts]
        asked = [line for line in lines if line]
        if not asked:
            return lines
        found = self._run("-u", pair, given=BETWEEN.join(asked) + BETWEEN).split(BETWEEN)[:-1]
        if len(found) != len(asked):
            raise DataError(
                f"apertium {pair} returned {len(found)} texts for {len(asked)}, the first of "
                f"which is {shown(asked[0])}"
            )
        answers = iter(found)
        return [" ".join(next(answers).split()) if line else line for line in lines]

    def _pair(self, source: str, target: str) -> str:
        if self._pairs is None:
            self._pairs = frozenset(self._run("-l").split())
        for pair in (f"{a}-{b}" for a in self._names(source) for b in self._names(target)):
            if pair in self._pairs:
                return pair
        wanted = f"{self._names(source)[0]}-{self._names(target)[0]}"
        raise DataError(
            f"pivoting: apertium has no pair {wanted}; there are "
            f"{', '.join(sorted(self._pairs)) or 'none'}. Debian's packages are named "
            "apertium-eng-spa and alike; codes: {no: nob} says which language a code of the data is"
        )

    def _names(self, code: str) -> tuple[str, ...]:
        """What a pair may call a language, the likeliest first."""
        if code in self.codes:
            return (self.codes[code],)
        return (THREE_LETTERS[code], code) if code in THREE_LETTERS else (code,)

    def _run(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [self._command(), *arguments],
            input=given.encode("utf-8", errors="replace"),
            capture_output=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", errors="replace").strip()
            raise DataError(
                f"apertium {' '.join(arguments)} failed ({done.returncode}): {shown(said)}"
            )
        return done.stdout.decode("utf-8", errors="replace")

    @staticmethod
    def _command() -> str:
        if (command := shutil.which("apertium")) is None:
            raise DataError(
                "pivoting with model: apertium needs the command apertium and a pair of "
                "languages, such as: apt install apertium apertium-eng-spa"
            )
        return command
