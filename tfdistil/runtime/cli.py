"""The commands ``tfdistil predict`` and ``tfdistil info``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfdistil.console.native_notes import without_notes
from tfdistil.data.schemes import scheme_of
from tfdistil.errors import DataError
from tfdistil.printable import one_line
from tfdistil.text.words import replace_surrogates

if TYPE_CHECKING:
    from tfdistil.runtime.result import Result
    from tfdistil.runtime.runtime import Runtime
    from tfdistil.tasks.base import Task

_BLOCK = 256  # lines of a file answered at a time
_CHUNK = 1 << 16  # bytes of standard input at a time, at the most

_PREDICT_EXAMPLES = """\
examples:
  tfdistil predict student.tflite "wake me up at seven" "play some jazz"
  tfdistil predict student.tflite --file questions.txt --jsonl > answers.jsonl
  cat sentences.txt | tfdistil predict student.tflite --words --conll
  tfdistil predict crf.tflite "play blue in green" --jsonl --k 5

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
    parser.add_argument("model", type=Path, help="a .tflite file or the folder of a run")
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
    parser.add_argument(
        "--k",
        type=int,
        help="of a CRF: also the K most probable sequences of tags; with --jsonl",
    )
    parser.add_argument("--threads", type=_threads, default=1, help="threads of the interpreter")
    parser.set_defaults(func=predict)


def _threads(text: str) -> int:
    from tfdistil.runtime.graph import check_threads

    try:
        return check_threads(int(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_info(subparsers: Any) -> None:
    """Add ``info`` to the subparsers of a command line."""
    parser = subparsers.add_parser(
        "info",
        help="show what is inside an exported model",
        description="Show the task, labels, sizes, signatures and operators of an exported model.",
        epilog=_INFO_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, help="a .tflite file or the folder of a run")
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

    with without_notes():
        runtime = Runtime(_model_file(args.model), args.threads)
    kind = runtime.task.kind
    if args.conll and not any(o.level == "word" for o in runtime.task.outputs):
        raise DataError(f"--conll writes a tag per word, but a model for {kind!r} gives none")
    if args.words and kind == "pair":
        raise DataError("--words does not go with a model for pairs of texts")
    if args.k is not None:
        if not args.jsonl:
            raise DataError("--k goes with --jsonl: the other forms have room for one sequence")
        try:
            runtime.predict_words([[]], k=args.k)
        except ValueError as error:
            raise DataError(f"--k does not go with this model: {error}") from error
    show = _jsonl if args.jsonl else _conll_of(runtime.task) if args.conll else _plain
    for block in _blocks(args.text, args.file):
        for result in _answers(runtime, block, args.words, args.k):
            print(show(result))
        sys.stdout.flush()
    return 0


def info(args: argparse.Namespace) -> int:
    """Print what is inside a model file.

    Raises:
        ModelFileError: the file cannot be used.
    """
    from tfdistil.runtime.describe import describe, format_description

    data = describe(_model_file(args.model))
    if args.json:
        print(json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False))
    else:
        print(format_description(data))
    return 0


Line = tuple[str, str, int | None]
"""A text, and the source and line it came from."""


def _model_file(path: Path) -> Path:
    """The file, or the one that a run left in its folder."""
    inside = path / "student.tflite"
    return inside if inside.is_file() else path


def _blocks(arguments: list[str], files: list[Path]) -> Iterator[list[Line]]:
    """Texts that are answered together."""
    # The command line gives bytes that are no UTF-8 as surrogates.
    given: list[Line] = [(replace_surrogates(text), "argument", None) for text in arguments]
    if given:
        yield given
    for path in files:
        try:
            with path.open("rb") as stream:
                lines = _decoded(stream, str(path))
                while block := list(islice(lines, _BLOCK)):
                    yield block
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", path) from error
    if not arguments and not files:
        if sys.stdin.isatty():
            print("type a text and press Enter; Ctrl-D ends", file=sys.stderr)
        yield from _as_they_come(sys.stdin.buffer)


def _as_they_come(stream: Any) -> Iterator[list[Line]]:
    """Lines as soon as they are there: whoever writes into a pipe may wait for the answer."""
    begun: list[bytes] = []  # the chunks of a line that has not ended
    done = 0
    while chunk := stream.read1(_CHUNK):
        first, *others = chunk.split(b"\n")
        begun.append(first)
        if others:
            whole = [b"".join(begun), *others[:-1]]
            begun = others[-1:]
            yield list(_decoded(whole, "standard input", done + 1))
            done += len(whole)
    if any(begun):
        yield list(_decoded([b"".join(begun)], "standard input", done + 1))


def _decoded(stream: Iterable[bytes], source: str, first: int = 1) -> Iterator[Line]:
    for number, line in enumerate(stream, first):
        try:
            mark = "utf-8-sig" if number == 1 else "utf-8"  # a byte order mark is no text
            yield line.decode(mark).rstrip("\r\n"), source, number
        except UnicodeDecodeError as error:
            raise DataError(
                f"is no UTF-8 ({error.reason} at byte {error.start}); convert the file to UTF-8",
                source,
                number,
            ) from error


def _answers(runtime: Runtime, lines: list[Line], words: bool, k: int | None) -> list[Result]:
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
        return runtime.predict_words([text.split() for text in texts], k)
    return runtime.predict(texts, k)


def _jsonl(result: Result) -> str:
    return json.dumps(result.to_dict(), ensure_ascii=False)


def _conll_of(task: Task) -> Callable[[Result], str]:
    """What writes ``word<TAB>tag`` lines after ``# label = ...``, with an empty line at the end.

    Labels of single words, such as parts of speech, are written as files for training have them:
    without the ``B-``.
    """
    written = [scheme_of(o.labels) for o in task.outputs if o.level == "word"]
    start = len("B-") if "words" in written else 0

    def conll(result: Result) -> str:
        lines = [] if result.label is None else [f"# label = {one_line(result.label)}"]
        lines += [
            one_line(f"{word.text}\t{tag if tag == 'O' else tag[start:]}")
            for word, tag in zip(result.words, result.tags or (), strict=True)
        ]
        return "\n".join([*lines, ""])

    return conll


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
