"""The commands ``tfdistil predict`` and ``tfdistil info``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.errors import DataError
from tfdistil.printable import one_line
from tfdistil.text.words import replace_surrogates

if TYPE_CHECKING:
    from tfdistil.runtime.result import Result
    from tfdistil.runtime.runtime import Runtime

_BLOCK = 256  # lines answered at a time

_PREDICT_EXAMPLES = """\
examples:
  tfdistil predict student.tflite "wake me up at seven" "play some jazz"
  tfdistil predict student.tflite --file questions.txt --jsonl > answers.jsonl
  cat sentences.txt | tfdistil predict student.tflite --words --conll

A pair of texts is one argument or line, with a tab between the two.
"""

_INFO_EXAMPLES = """\
examples:
  tfdistil info student.tflite
  tfdistil info student.tflite --json
"""


def add_predict(subparsers: Any) -> None:
    """Add ``predict`` to the subparsers of a command line."""
    parser = subparsers.add_parser(
        "predict",
        help="label text with an exported model",
        description="Label text with an exported model: one answer per argument or line.",
        epilog=_PREDICT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, help="a .tflite file made by tfdistil-export")
    parser.add_argument("text", nargs="*", help="texts; standard input, line by line, if none")
    parser.add_argument(
        "--file", type=Path, action="append", default=[], help="read texts from a file, by line"
    )
    parser.add_argument(
        "--words", action="store_true", help="texts are words already, with white space between"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--jsonl", action="store_true", help="write one JSON object per text")
    shape.add_argument("--conll", action="store_true", help="write one word and its tag per line")
    parser.add_argument("--threads", type=int, default=1, help="threads of the interpreter")
    parser.set_defaults(func=predict)


def add_info(subparsers: Any) -> None:
    """Add ``info`` to the subparsers of a command line."""
    parser = subparsers.add_parser(
        "info",
        help="show what is inside an exported model",
        description="Show the task, labels, sizes, signatures and operators of an exported model.",
        epilog=_INFO_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, help="a .tflite file made by tfdistil-export")
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(func=info)


def predict(args: argparse.Namespace) -> int:
    """Answer every text; results appear as they are made.

    Raises:
        ModelFileError: the model cannot be used.
        DataError: a file that cannot be read, a line that is no UTF-8 or no pair, or a form of
            output that the model's task does not have.
    """
    from tfdistil.runtime.runtime import Runtime

    runtime = Runtime(args.model, args.threads)
    kind = runtime.task.kind
    if args.conll and not any(o.level == "word" for o in runtime.task.outputs):
        raise DataError(f"--conll writes a tag per word, but a model for {kind!r} gives none")
    if args.words and kind == "pair":
        raise DataError("--words does not go with a model for pairs of texts")
    show = _jsonl if args.jsonl else _conll if args.conll else _plain
    lines = _texts(args.text, args.file)
    while block := list(islice(lines, _BLOCK)):
        for result in _answers(runtime, block, args.words):
            print(show(result))
        sys.stdout.flush()
    return 0


def info(args: argparse.Namespace) -> int:
    """Print what is inside a model file.

    Raises:
        ModelFileError: the file cannot be used.
    """
    from tfdistil.runtime.describe import describe, format_description

    data = describe(args.model)
    if args.json:
        print(json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False))
    else:
        print(format_description(data))
    return 0


Line = tuple[str, str, int | None]
"""A text, and the source and line it came from."""


def _texts(arguments: list[str], files: list[Path]) -> Iterator[Line]:
    for text in arguments:
        # The command line gives bytes that are no UTF-8 as surrogates.
        yield replace_surrogates(text), "argument", None
    for path in files:
        try:
            with path.open("rb") as stream:
                yield from _decoded(stream, str(path))
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", path) from error
    if not arguments and not files:
        yield from _decoded(sys.stdin.buffer, "standard input")


def _decoded(stream: Iterable[bytes], source: str) -> Iterator[Line]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n"), source, number
        except UnicodeDecodeError as error:
            raise DataError(
                f"is no UTF-8 ({error.reason} at byte {error.start}); convert the file to UTF-8",
                source,
                number,
            ) from error


def _answers(runtime: Runtime, lines: list[Line], words: bool) -> list[Result]:
    if runtime.task.kind == "pair":
        pairs: list[tuple[str, str]] = []
        for text, source, number in lines:
            parts = text.split("\t")
            if len(parts) != 2:
                raise DataError(
                    f"expected two texts with a tab between them, found {len(parts)}",
                    source,
                    number,
                )
            pairs.append((parts[0], parts[1]))
        return runtime.predict_pairs(pairs)
    texts = [text for text, _, _ in lines]
    if words:
        return runtime.predict_words([text.split() for text in texts])
    return runtime.predict(texts)


def _jsonl(result: Result) -> str:
    return json.dumps(result.to_dict(), ensure_ascii=False)


def _conll(result: Result) -> str:
    """``word<TAB>tag`` lines after ``# label = ...``, with an empty line at the end."""
    lines = [] if result.label is None else [f"# label = {one_line(result.label)}"]
    lines += [
        one_line(f"{w.text}\t{tag}") for w, tag in zip(result.words, result.tags or (), strict=True)
    ]
    return "\n".join([*lines, ""])


def _plain(result: Result) -> str:
    """``label score: text with [spans](entity score)``, as far as the model gives these."""
    parts, done = [], 0
    for span in result.spans:
        parts += [result.text[done : span.start], f"[{span.text}]({span.label} {span.score:.2f})"]
        done = span.end
    text = "".join([*parts, result.text[done:]])
    if result.second is not None:
        text += f" | {result.second}"
    if result.label is not None:
        text = f"{result.label} {result.label_score:.2f}: {text}"
    return one_line(text)
