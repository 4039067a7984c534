"""The command ``tfdistil-export``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfdistil.console.failures import run_command
from tfdistil.errors import ExportError
from tfdistil.exporting.quantize import QUANTIZE
from tfdistil.exporting.run import export
from tfdistil.files import write_json
from tfdistil.printable import byte_size

if TYPE_CHECKING:
    from tfdistil.exporting.exporter import ExportResult

EXAMPLES = """\
examples:
  tfdistil-export runs/demo --out student.tflite
  tfdistil-export runs/demo --out small.tflite --quantize dynamic --max-drop 0.2
  tfdistil-export runs/demo --out long.tflite --length 64 --model baseline
  tfdistil-export runs/pqrnn --out calibrated.tflite --model float   (int8, but not trained for it)
"""


def parser() -> argparse.ArgumentParser:
    """The arguments of the command."""
    found = argparse.ArgumentParser(
        prog="tfdistil-export",
        description="Convert a run's student to one .tflite file with everything prediction needs, "
        "and check it against Keras on the run's dev examples.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("run", type=Path, help="a run folder made by `tfdistil run`")
    found.add_argument("--out", type=Path, required=True, help="the file to write")
    found.add_argument(
        "--quantize", choices=QUANTIZE, help="default: what the run's recipe says (int8)"
    )
    found.add_argument(
        "--length",
        type=int,
        help="positions per call; longer texts are windowed (default: the recipe's, or what holds "
        "99%% of the dev examples)",
    )
    found.add_argument(
        "--batch",
        type=int,
        help="rows of the batched signature; 1: none (default: as the recipe says)",
    )
    found.add_argument("--head", help="the head that is kept (default: the recipe's)")
    found.add_argument(
        "--max-drop",
        type=float,
        help="points of the dev metric the file may lose before the export fails (default 0.5)",
    )
    found.add_argument(
        "--tags-in-graph",
        action="store_true",
        default=None,
        help="of a CRF: the graph also returns the tags of the best path (default: the recipe's)",
    )
    found.add_argument(
        "--model",
        metavar="NAME",
        help="by its name in the recipe: the float student that a quantized one begins as, say, or "
        "baseline, the student without distillation (default: the model that is delivered)",
    )
    found.add_argument("--json", type=Path, help="write operators, drift and scores as JSON")
    found.set_defaults(func=_run)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command`."""
    return run_command(parser(), arguments, "exporting")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.json is not None and arguments.json.is_dir():
        raise ExportError(f"{arguments.json} is a folder; give the name of a file")
    result = export(
        arguments.run,
        arguments.out,
        model=arguments.model,
        quantize=arguments.quantize,
        length=arguments.length,
        batch=arguments.batch,
        head=arguments.head,
        max_drop=arguments.max_drop,
        tags_in_graph=arguments.tags_in_graph,
    )
    if arguments.json:
        write_json(arguments.json, result.to_json())
    print(describe(result))
    return 0


def describe(result: ExportResult) -> str:
    """What was written, for a person."""
    graph = result.inspection
    shapes = ", ".join(
        f"{name} {shape['batch']} x {shape['length']}" for name, shape in result.signatures.items()
    )
    keras, file = (result.scores[who][result.metric] for who in ("keras", "file"))
    counts = "; ".join(
        f"{name}: " + ", ".join(f"{operator} {n}" for operator, n in operators.items())
        for name, operators in graph.operators.items()
    )
    lines = [
        f"wrote       {result.path} ({byte_size(result.bytes)}, {result.quantize}, {shapes})",
        f"parameters  {graph.parameters:,}",
        f"operators   {counts}",
        f"            Flex {len(graph.flex)}, custom {len(graph.custom)}, float "
        f"{graph.float_operator_count}; runtime {graph.min_runtime or 'unknown'} or later",
        f"{result.metric:<11} Keras {keras:.2f}, file {file:.2f} on {result.examples} dev examples "
        f"({result.windowed} longer than a window)",
    ]
    texts = {"the dev examples": result.drift}
    texts |= {f"texts {kind} than a row": drifts for kind, drifts in result.probes.items()}
    for where, drifts in texts.items():
        for output, drift in drifts.items():
            lines.append(
                f"drift       {output} on {where}: mean {drift.mean:.4f}, max {drift.max:.3f} "
                f"(logits spread {drift.spread:.2f}); same label {100 * drift.agreement:.2f} %"
            )
    lines += [
        f"decoding    {output} in the graph: {100 * one.keras:.2f} % of {one.words} dev words have "
        f"Keras' label, {100 * one.runtime:.2f} % the runtime's"
        for output, one in result.paths.items()
    ]
    if result.warning is not None:
        lines.append(f"warning     {result.warning}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
