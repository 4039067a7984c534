"""What the commands of ``tfdistil`` do; the training stack is imported where it is used."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tfdistil.console.silence import import_backend


def init(arguments: argparse.Namespace) -> int:
    """Write a recipe."""
    from tfdistil.errors import RecipeError
    from tfdistil.files import write_text
    from tfdistil.printable import printable
    from tfdistil.recipe.new import TEACHER, new_recipe
    from tfdistil.recipe.new_students import HEADS, SIZES

    if arguments.out.exists():
        raise RecipeError(f"{arguments.out} exists already; give another name or remove it")
    told: list[str] = []
    student = arguments.student or SIZES[arguments.task][arguments.size]
    text = new_recipe(
        arguments.task,
        arguments.out,
        arguments.train,
        arguments.dev,
        arguments.test,
        arguments.transfer,
        TEACHER if arguments.teacher is None else arguments.teacher,
        student,
        arguments.head or HEADS.get((arguments.task, student)),
        tell=told.append,
    )
    write_text(arguments.out, text)
    print(*map(printable, told), sep="\n")
    print(f"wrote {arguments.out}; next: tfdistil data check {arguments.out}")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Show what is in the data of a recipe."""
    from tfdistil.corpus.check import check_recipe
    from tfdistil.pipeline.entry import base_of
    from tfdistil.recipe.loading import load_recipe

    recipe = load_recipe(arguments.recipe, arguments.assignments)
    if arguments.teacher:
        import_backend()
    report = check_recipe(recipe, base_of(arguments.recipe), arguments.teacher)
    print(report.to_text())
    return 0 if report.ok else 1


def run(arguments: argparse.Namespace) -> int:
    """Do all that a recipe asks for."""
    from tfdistil.pipeline.entry import base_of, run
    from tfdistil.recipe.loading import load_recipe

    recipe = load_recipe(arguments.recipe, arguments.assignments)
    metrics = run(recipe, arguments.out, base=base_of(arguments.recipe))
    from tfdistil.report.summary import print_summary

    print_summary(metrics, arguments.out)
    return 0


def sweep(arguments: argparse.Namespace) -> int:
    """Run a recipe with other values."""
    from tfdistil.sweep.points import plan_sweep, sweep_points
    from tfdistil.sweep.variants import read_variants

    read = [row for file, *names in arguments.variants for row in read_variants(file, names)]
    points = sweep_points(arguments.grid, [*read, *arguments.variant], arguments.seeds)
    # Before slow imports.
    plan = plan_sweep(arguments.recipe, points, arguments.out, arguments.assignments)
    import_backend()
    from tfdistil.report.summary import print_sweep
    from tfdistil.sweep.run import sweep

    swept = sweep(plan, arguments.out)
    print_sweep(swept.entries, arguments.out)
    swept.check()
    return 0


def compare(arguments: argparse.Namespace) -> int:
    """Compare runs."""
    from tfdistil.errors import RunError

    if arguments.model and not arguments.against:
        raise RunError(
            f"--model {arguments.model} has nothing to be compared with: give --against as well, "
            "or leave --model out for a table of all models"
        )
    if arguments.tasks:
        from tfdistil.report.across_tasks import over_tasks

        if len(arguments.against) > 1:
            raise RunError("with --tasks, --against is the name of one model")
        print(over_tasks(arguments.runs, arguments.model, *arguments.against))
    elif arguments.against:
        import_backend()  # the run's task and data are read as training reads them
        from tfdistil.evaluation.paired_bootstrap import over_sentences

        print(over_sentences(arguments.runs, arguments.against, arguments.model))
    else:
        from tfdistil.report.seeds import over_seeds

        print(over_seeds(arguments.runs))
    return 0


def evaluate(arguments: argparse.Namespace) -> int:
    """Score a run or a file."""
    from tfdistil.evaluation.evaluate import evaluate
    from tfdistil.evaluation.printed import print_evaluation

    found = evaluate(
        arguments.what,
        arguments.data,
        model=arguments.model,
        format=arguments.format,
        language=arguments.language,
        errors=arguments.errors,
        label_map=_once(arguments.label_map),
    )
    print_evaluation(found, arguments.json)
    return 0


def _once(renamed: Sequence[tuple[str, str]]) -> dict[str, str]:
    from tfdistil.errors import RecipeError

    found = dict(renamed)
    for old, new in renamed:
        if found[old] != new:
            raise RecipeError(f"--label-map {old}={new} and {old}={found[old]}: give one of them")
    return found
