"""Models over several tasks: the table, and Wilcoxon's test against every pattern of signs."""

from __future__ import annotations

from itertools import product
from statistics import fmean

import pytest

from tfdistil.cli.main import main
from tfdistil.errors import RunError
from tfdistil.report.across_tasks import over_tasks
from tfdistil.runs.run_metrics import Metrics, System


@pytest.fixture
def make_run(tmp_path):
    def make(name, metric="span_f1", last="test", **models):
        systems = tuple(
            System(
                id=one,
                name=one,
                role="student",
                model=one,
                parameters=1,
                scores={"dev": {metric: 0.0}, last: {metric: score}},
                languages={},
                labels={},
            )
            for one, score in models.items()
        )
        folder = tmp_path / name
        folder.mkdir()
        Metrics(name=name, seed=1, task="tags", metric=metric, main="pre", systems=systems).save(
            folder
        )
        return folder

    return make


def test_every_model_and_every_run(make_run):
    runs = [
        make_run("pos", pre=90.0, post=91.0),
        make_run("feeling", metric="accuracy", last="dev", pre=80.0, post=80.5, teacher=85.0),
    ]
    assert over_tasks(runs).splitlines() == [
        "| model | pos (span_f1, test) | feeling (accuracy, dev) | mean |",
        "|---|---:|---:|---:|",
        "| pre | 90.0 | 80.0 | 85.0 |",
        "| post | 91.0 | 80.5 | 85.8 |",
        "| teacher | – | 85.0 | – |",
        "",
        "The mean is over different metrics.",
    ]


@pytest.mark.parametrize(
    "gains",
    [
        (1, 2, 3, 4, 5),
        (1, -2, 3, 4, 5),
        (-1, -2, 3, -4, 5, 7),
        (1, 1, 2),
        (1, -1, 2, 2),
        (0, 1, 2),
        (0, 0, -1, 1, 3),
        (4,),
        (-4,),
    ],
)
def test_the_test_counts_patterns_of_signs(make_run, gains):
    """The share of all ways to give the ranks signs whose positive ones sum to as much or more.

    Equal gains share the mean of their ranks, and where there is no gain there is no rank.
    """
    runs = [make_run(f"run{n}", pre=50.0, post=50.0 + gain) for n, gain in enumerate(gains)]
    real = [gain for gain in gains if gain]
    sizes = sorted(map(abs, real))
    ranks = [fmean(at for at, size in enumerate(sizes, 1) if size == abs(one)) for one in real]
    found = sum(rank for rank, gain in zip(ranks, real, strict=True) if gain > 0)
    sums = [
        sum(rank for rank, plus in zip(ranks, signs, strict=True) if plus)
        for signs in product((0, 1), repeat=len(real))
    ]
    expected = sum(one >= found for one in sums) / len(sums)
    last = over_tasks(runs, "post", "pre").splitlines()[-1]
    assert last.endswith(f"p = {expected:.3f}")
    assert f"better in {sum(g > 0 for g in gains)} of {len(gains)}, median gain" in last


def test_equal_gains_are_equal_however_they_are_written_in_binary(make_run):
    """90.3 - 90 is less than 1.3 - 1 in floats; of ±0.3 and 1 three sums of eight are as large."""
    assert 90.3 - 90.0 < 1.3 - 1.0
    scores = {"one": (90.3, 90.0), "two": (1.0, 1.3), "three": (50.0, 51.0)}
    runs = [make_run(name, pre=pre, post=post) for name, (pre, post) in scores.items()]
    assert over_tasks(runs, "post", "pre").endswith("p = 0.375")


@pytest.mark.parametrize("tasks", [["--tasks"], []])
def test_a_model_alone_is_compared_with_nothing(make_run, capsys, tasks):
    assert main(["compare", str(make_run("one", pre=50.0)), *tasks, "--model", "pre"]) == 2
    assert "--model pre has nothing to be compared with: give --against" in capsys.readouterr().err


def test_from_the_command_line(make_run, capsys):
    runs = [str(make_run(name, pre=50.0, post=50.0)) for name in ("one", "two")]
    assert main(["compare", *runs, "--tasks", "--model", "post", "--against", "pre"]) == 0
    assert "median gain +0.0; no difference to test" in capsys.readouterr().out
    assert main(["compare", *runs, "--tasks", "--against", "pre", "post"]) == 2
    assert "the name of one model" in capsys.readouterr().err


def test_what_cannot_be_compared_is_refused(make_run, tmp_path):
    one = make_run("one", pre=1.0)
    with pytest.raises(RunError, match="one: no model 'post'; it has pre"):
        over_tasks([one], "post", "pre")
    with pytest.raises(RunError, match="another run is called 'one', too"):
        over_tasks([one, one])
    with pytest.raises(RunError, match="give folders of finished runs"):
        over_tasks([tmp_path])
