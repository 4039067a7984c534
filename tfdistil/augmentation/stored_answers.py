"""Answers of a slow model to texts, kept in a file, so that each text is asked about once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any


class StoredAnswers:
    """One line of JSON for each text and its answer; what is stopped goes on where it was.

    Args:
        file: of the lines; whoever asks another model names another file.
        batch: texts asked about at once, and written together.
        valid: whether a line holds an answer to a text; where it does not, the text is asked about
            again.
    """

    def __init__(self, file: Path, batch: int, valid: Callable[[str, Any], bool]):
        self.file, self.batch, self.valid = file, batch, valid

    def __call__(
        self,
        texts: Sequence[str],
        answer: Callable[[list[str]], Sequence[Any]],
        count: Callable[[int], None] = lambda done: None,
    ) -> list[Any]:
        """The answer to each text.

        Args:
            texts: any of them as often as one likes.
            answer: texts that the file does not have to plain JSON data for each.
            count: told how many of the different texts have one.
        """
        known = {text: answer for text, answer in _read(self.file) if self.valid(text, answer)}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        total = len(set(texts))
        if not missing:
            count(total)
            return [known[text] for text in texts]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        # Texts of one length make a batch without much padding.
        missing.sort(key=lambda text: (len(text), text))
        for start in range(0, len(missing), self.batch):
            part = missing[start : start + self.batch]
            made = dict(zip(part, answer(part), strict=True))
            known |= made
            lines = (json.dumps(pair, ensure_ascii=False) + "\n" for pair in made.items())
            with self.file.open("a", encoding="utf-8", errors="surrogatepass") as file:
                file.writelines(lines)
            count(total - len(missing) + start + len(part))
        return [known[text] for text in texts]


def _read(file: Path) -> Iterator[tuple[str, Any]]:
    """The pairs of a file; a line that a stop cut off is ended and left out."""
    if not file.exists():
        return
    data = file.read_bytes()
    if data and not data.endswith(b"\n"):
        with file.open("ab") as lines:
            lines.write(b"\n")
    for line in data.split(b"\n"):
        try:
            text, answer = json.loads(line.decode("utf-8", "surrogatepass"))
        except (ValueError, TypeError, RecursionError):  # not UTF-8, not JSON, or not a pair
            continue
        if isinstance(text, str):
            yield text, answer
