"""The command ``tfdistil-benchmark``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tfdistil.benchmarks.devices import DEVICES, Device, Job
from tfdistil.console.failures import run_command
from tfdistil.errors import RecipeError

EXAMPLES = """\
examples:
  tfdistil-benchmark student.tflite
  tfdistil-benchmark student.tflite teacher.tflite --queries 2000 --json out.json
  tfdistil-benchmark student.tflite --reference mbert-shape --texts questions.txt
  tfdistil-benchmark student.tflite teacher.tflite --device android
  tfdistil-benchmark student.tflite --device arm64 --host pi@attic --texts questions.txt
  tfdistil-benchmark runs/demo --device gpu --reference mbert-shape

The first file is what the others are compared with. Reference shapes have random weights: they are
for latency and size only.
"""


def parser() -> argparse.ArgumentParser:
    """The arguments of the command."""
    found = argparse.ArgumentParser(
        prog="tfdistil-benchmark",
        description="Online and batch latency, size and memory of models, side by side in one run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("models", nargs="+", type=Path, help=".tflite files, or folders of runs")
    found.add_argument(
        "--device", choices=tuple(DEVICES), default="cpu", help="what they run on (default: cpu)"
    )
    found.add_argument(
        "--reference",
        action="append",
        default=[],
        help="also time a shape with random weights: mbert-shape (float32; built once, 0.7 GB)",
    )
    found.add_argument(
        "--reference-quantize",
        choices=("none", "dynamic"),
        default="none",
        help="how reference shapes are quantized (default: none)",
    )
    found.add_argument(
        "--queries", type=int, default=1000, help="timed online calls (default 1000)"
    )
    found.add_argument("--batches", type=int, default=100, help="timed batch calls (default 100)")
    found.add_argument("--rounds", type=int, default=10, help="turns the models take (default 10)")
    found.add_argument("--threads", type=int, default=1, help="of the interpreter (default 1)")
    found.add_argument(
        "--batch", type=int, default=32, help="rows of a reference's batch (default 32)"
    )
    found.add_argument(
        "--length", type=int, default=32, help="positions of a reference's rows (default 32)"
    )
    found.add_argument("--texts", type=Path, help="a text per line: also time text to labels")
    found.add_argument(
        "--cache",
        type=Path,
        help="where reference shapes are kept (default: the folder TFDISTIL_CACHE, or tfdistil/ in "
        "the user's cache folder)",
    )
    found.add_argument("--json", type=Path, help="write all figures as JSON")
    for name, device in DEVICES.items():
        group = found.add_argument_group(f"--device {name}", device.about)
        for option in device.options:
            group.add_argument(
                option.flag, metavar=option.metavar, type=option.type, help=option.help
            )
    found.set_defaults(func=_run)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command`."""
    return run_command(parser(), arguments, "what was asked for")


def _run(arguments: argparse.Namespace) -> int:
    from tfdistil.benchmarks.latency import Protocol
    from tfdistil.benchmarks.table import format_table
    from tfdistil.files import write_json
    from tfdistil.runtime.graph import MOST_THREADS

    for option in ("queries", "batches", "rounds", "threads", "batch", "length"):
        if getattr(arguments, option) < 1:
            raise RecipeError(f"--{option} must be at least 1, got {getattr(arguments, option)}")
    if arguments.threads > MOST_THREADS:
        raise RecipeError(f"--threads must be at most {MOST_THREADS}, got {arguments.threads}")
    if arguments.json and arguments.json.is_dir():
        raise RecipeError(f"{arguments.json} is a folder; give the name of a file")
    device = _device(arguments)
    job = Job(
        models=arguments.models,
        protocol=Protocol(
            arguments.queries, arguments.batches, arguments.rounds, threads=arguments.threads
        ),
        texts=_texts(arguments.texts),
        references=arguments.reference,
        reference_quantize=arguments.reference_quantize,
        batch=arguments.batch,
        length=arguments.length,
        cache=arguments.cache,
    )

    def screen(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    measured = device.measure(job, screen)
    print(format_table(measured))
    if arguments.json:
        write_json(arguments.json, measured)
    return 0


def _device(arguments: argparse.Namespace) -> Device:
    """The device that was asked for; options of another one are refused."""
    for name, device in DEVICES.items():
        for option in device.options:
            if name != arguments.device and getattr(arguments, option.argument) is not None:
                raise RecipeError(f"{option.flag} goes with --device {name}")
    chosen = DEVICES[arguments.device]
    given = {option.argument: getattr(arguments, option.argument) for option in chosen.options}
    return chosen(**given)


def _texts(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        texts = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path} is not UTF-8 text: {error}") from error
    except OSError as error:
        raise RecipeError(
            f"{path} cannot be read: {error.strerror}; give a text per line"
        ) from error
    if not texts:
        raise RecipeError(f"{path} has no texts; give a text per line")
    return texts


if __name__ == "__main__":
    sys.exit(main())
