"""The command ``tfdistil``. What needs the training stack is imported when it is used."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfdistil.cli import commands
from tfdistil.console.failures import run_command
from tfdistil.runtime.cli import add_info, add_predict

INIT = """\
examples:
  tfdistil init --task tags --train train.conll --dev dev.conll ner.yaml
  tfdistil init --task intent_slots --train data.jsonl --transfer logs.txt \\
      --teacher ./my-checkpoint assistant.yaml
  tfdistil init --task classes --train data.csv --size tiny small.yaml
"""
CHECK = """\
examples:
  tfdistil data check ner.yaml
  tfdistil data check ner.yaml --teacher    (counts word pieces with the teacher's tokenizer)

The exit status is 1 if a line is broken, or if dev or test have labels that train has not and the
recipe says data: {unknown_labels: error}.
"""
RUN = """\
examples:
  tfdistil run demo --out runs/demo
  tfdistil run ner.yaml --out runs/ner
  tfdistil run ner.yaml --out runs/short --set distill.joint.stop.epochs=3 --set seed=7

A stopped run goes on where it was: give the same recipe and folder again.
"""
SWEEP = """\
examples:
  tfdistil sweep ner.yaml --out runs/grid --grid models.student.embedding.dim=50,100 \\
      --grid models.student.hidden_dim=100,200                  (all four combinations)
  tfdistil sweep ner.yaml --out runs/ablation --variant full \\
      --variant narrow models.student.hidden_dim=50 --variant short distill.joint.stop.epochs=2
  tfdistil sweep runs/ner --out runs/amount --grid data.transfer_limit=1000,10000
  tfdistil sweep ner.yaml --out runs/table3 --variants xtremedistil_table3 D1 D4.2 \\
      --seeds 13,14,15 --set models.teacher.seed=13       (students of one teacher)

Points of one teacher share it: it is trained once, or taken from the run folder given in the place
of the recipe. A stopped sweep goes on where it was, and the folder takes further points: give the
same recipe and folder again.
"""
COMPARE = """\
examples:
  tfdistil compare runs/ner-1 runs/ner-2 runs/ner-3
  tfdistil compare runs/ner-* > ner.md                  (a Markdown table)
  tfdistil compare runs/ner-* --against teacher         (what is kept, with intervals)
  tfdistil compare runs/d4_2-* --against runs/d1-*      (is one recipe better than another?)
  tfdistil compare runs/ner-* --against light           (is distillation worth it here?)
  tfdistil compare runs/pos runs/sentiment --tasks --model small --against teacher

Without --against the runs differ in nothing but the seed: tfdistil run ner.yaml --set seed=1
--out runs/ner-1. With it, intervals are those of the paired bootstrap over sentences.
"""
EVALUATE = """\
examples:
  tfdistil evaluate runs/ner                            (the run's own dev and test sets)
  tfdistil evaluate runs/ner --model teacher --data new.conll
  tfdistil evaluate student.tflite --data new.conll --errors 20
  tfdistil evaluate runs/nli --data two.tsv --label-map contradiction=neutral   (of three, two)
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="tfdistil",
        description="Distil a transformer into an int8 TensorFlow Lite model that fits on a phone.",
        epilog="Start with: tfdistil run demo --out runs/demo, or tfdistil init for your data.",
    )
    from importlib import metadata

    top.add_argument("--version", action="version", version=metadata.version("tfdistil"))
    subcommands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    init = _add(subcommands, "init", "write a recipe for your own data", INIT)
    init.add_argument("out", type=Path, help="the recipe file to write")
    init.add_argument("--task", required=True, choices=("tags", "intent_slots", "classes", "pair"))
    init.add_argument("--train", required=True, type=Path, help="labelled file or folder")
    init.add_argument("--dev", type=Path, help="labelled; default: a tenth to a quarter of train")
    init.add_argument("--test", type=Path, help="labelled, to report on")
    init.add_argument(
        "--transfer",
        type=Path,
        help="unlabelled text from your domain; the teacher labels it, and more of it gives a "
        "better student",
    )
    init.add_argument("--teacher", metavar="ID", help="Hugging Face folder or hub id")
    which = init.add_mutually_exclusive_group()
    which.add_argument(
        "--size",
        choices=("tiny", "small", "medium"),
        default="medium",
        help="of the file, with the student that is best in it: up to 0.6, 1.2 or about 4 MB "
        "(default: medium)",
    )
    which.add_argument(
        "--student",
        choices=(
            *("bilstm", "bilstm_codes", "bilstm_codes_small", "bilstm_codes_tiny"),
            *("qrnn_codes", "qrnn_codes_small", "mixer", "pqrnn", "pqrnn_medium", "pqrnn_small"),
        ),
        help="bilstm: the teacher's word pieces, about 4 MB; with codes for pieces 4, 1 or 0.6 MB; "
        "qrnn_codes: QRNNs over such codes, 2 or 1 MB; pqrnn: hashed words, 2, 1 or half a "
        "megabyte; mixer: the same without recurrence, 1 MB",
    )
    init.add_argument(
        "--head",
        choices=("linear", "crf"),
        help="crf: label paths instead of single labels, for tags and slots: docs/crf.md; "
        "default: crf for a bilstm and qrnn_codes and for the slots of a pqrnn_medium, else linear",
    )
    init.set_defaults(func=commands.init)

    data = subcommands.add_parser("data", help="look at data before training")
    data_commands = data.add_subparsers(dest="data_command", required=True, metavar="COMMAND")
    check = _add(data_commands, "check", "counts, lengths, overlaps and every broken line", CHECK)
    check.add_argument("recipe", help="recipe file")
    check.add_argument("--teacher", action="store_true", help="count the teacher's word pieces")
    _add_set(check)
    check.set_defaults(func=commands.check)

    run = _add(subcommands, "run", "do all a recipe asks for", RUN)
    run.add_argument("recipe", help="recipe file, or the name of one that comes with tfdistil")
    run.add_argument("--out", required=True, type=Path, help="run folder")
    _add_set(run)
    run.set_defaults(func=commands.run)

    sweep = _add(subcommands, "sweep", "run a recipe with other values: table and plot", SWEEP)
    sweep.add_argument("recipe", help="recipe file, name of a shipped one, or folder of a run")
    sweep.add_argument("--out", required=True, type=Path, help="a folder of run folders")
    sweep.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="KEY=VALUE,VALUE",
        help="values of a key; with several of these, all combinations",
    )
    sweep.add_argument(
        "--variant",
        action="append",
        default=[],
        nargs="+",
        metavar=("NAME", "KEY=VALUE"),
        help="one more point, with a name of its own; a name alone is the recipe as it is",
    )
    sweep.add_argument(
        "--variants",
        action="append",
        default=[],
        nargs="+",
        metavar=("FILE", "NAME"),
        help="all variants of a YAML file or of a shipped one, or those with the given names",
    )
    sweep.add_argument(
        "--seeds",
        type=_seeds,
        default=[],
        metavar="SEED,SEED",
        help="every point once with each of these, without points the recipe as it is; "
        "models.teacher.seed keeps one teacher",
    )
    _add_set(sweep)
    sweep.set_defaults(func=commands.sweep)

    evaluate = _add(subcommands, "evaluate", "score a run or a file and list its errors", EVALUATE)
    evaluate.add_argument("what", type=Path, help="run folder or .tflite file")
    evaluate.add_argument(
        "--model",
        metavar="NAME",
        help="which model of a run, by its name in the recipe, or NAME.tflite for its file "
        "(default: the model that is delivered)",
    )
    evaluate.add_argument(
        "--data", type=Path, help="labelled file; default: the run's dev and test"
    )
    evaluate.add_argument("--format", help="its reader; default: guessed")
    evaluate.add_argument("--language", help="its language")
    evaluate.add_argument(
        "--label-map",
        action="append",
        default=[],
        type=_renaming,
        metavar="OLD=NEW",
        help="score a label or entity type, of the data and of the model, as another; may be "
        "repeated",
    )
    evaluate.add_argument("--errors", type=int, default=10, help="errors to list (default 10)")
    evaluate.add_argument("--json", action="store_true", help="write JSON")
    evaluate.set_defaults(func=commands.evaluate)

    compare = _add(subcommands, "compare", "mean over seeds, or runs against other runs", COMPARE)
    compare.add_argument("runs", nargs="+", type=Path, help="folders of finished runs")
    compare.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="RUN",
        help="other runs on the same sentences; a model of the same runs (teacher, baseline); or, "
        "trained now on the same labels (pip install 'tfdistil[anchors]'), light: a CRF on affixes "
        "and shapes, TF-IDF and a linear classifier; fasttext, for classes; majority: the most "
        "frequent label; second: the second text of a pair alone",
    )
    compare.add_argument(
        "--model",
        metavar="NAME",
        help="whose answers count, with --against: a model, or NAME.tflite for its file (default: "
        "what the first run delivers first)",
    )
    compare.add_argument(
        "--tasks",
        action="store_true",
        help="the runs are of different tasks: a table with a column for each; with --model and "
        "--against, names of two models, Wilcoxon's signed-rank test over the runs",
    )
    compare.set_defaults(func=commands.compare)

    add_predict(subcommands)
    add_info(subcommands)
    return top


def _add(commands: Any, name: str, text: str, examples: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_set(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="assignments",
        help="override a key of the recipe; may be repeated",
    )


def _seeds(text: str) -> list[int]:
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise argparse.ArgumentTypeError(f"expected whole numbers, as in 13,14,15; got {text!r}")
    return [int(part) for part in text.split(",")]


def _renaming(text: str) -> tuple[str, str]:
    old, _, new = text.rpartition("=")
    if not old or not new:
        raise argparse.ArgumentTypeError(f"expected OLD=NEW, as in c=neutral; got {text!r}")
    return old, new


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; see `run_command`."""
    return run_command(parser(), arguments, "training")


if __name__ == "__main__":
    sys.exit(main())
