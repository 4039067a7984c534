"""The table over seeds, from metrics that are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfdistil.cli.main import main
from tfdistil.errors import RunError
from tfdistil.report.seeds import over_seeds
from tfdistil.runs.run_metrics import Metrics, System


@pytest.fixture
def make_run(tmp_path):
    def make(seed: int, teacher: float, student: float, name: str = "demo") -> Path:
        folder = tmp_path / f"{name}-{seed}-{teacher}"
        folder.mkdir()
        scores = {
            who: {"dev": {"span_f1": score}, "test": {"span_f1": score + 1}}
            for who, score in (("teacher", teacher), ("student", student))
        }
        kept = {
            n: 100 * of["span_f1"] / scores["teacher"][n]["span_f1"]
            for n, of in scores["student"].items()
        }
        same = {"parameters": 1}
        systems = (
            System(
                id="teacher",
                name="teacher",
                role="teacher",
                model="teacher",
                scores=scores["teacher"],
                **same,
            ),
            System(
                id="student",
                name="student",
                role="student",
                model="student",
                teacher="teacher",
                scores=scores["student"],
                retention=kept,
                **same,
            ),
        )
        Metrics(
            name=name, seed=seed, task="tags", metric="span_f1", main="student", systems=systems
        ).save(folder)
        return folder

    return make


def test_mean_and_deviation_of_scores_and_of_shares(make_run):
    table = over_seeds([make_run(1, 80.0, 60.0), make_run(2, 90.0, 63.0)]).splitlines()
    assert table[0] == "demo: span_f1, seeds 1, 2"
    assert table[2] == "| system | dev | of teacher | test | of teacher |"
    # shares of dev are 75 and 70 %: the mean of the ratios, not the ratio of the means
    assert table[5].startswith("| student | 61.5 ± 2.1 | 72.5 ± 3.5 % | 62.5 ± 2.1 |")


def test_one_run_has_no_deviation(make_run, capsys):
    assert main(["compare", str(make_run(1, 80.0, 60.0))]) == 0
    assert "| student | 60.0 | 75.0 % | 61.0 | 75.3 % |" in capsys.readouterr().out


def test_what_has_no_mean_is_refused(make_run, tmp_path):
    first = make_run(1, 80.0, 60.0)
    with pytest.raises(RunError, match="seeds are 1, 1; each may occur once"):
        over_seeds([first, make_run(1, 81.0, 60.0)])
    with pytest.raises(RunError, match="name is 'other', but 'demo' in"):
        over_seeds([first, make_run(2, 80.0, 60.0, name="other")])
    with pytest.raises(RunError, match="no metrics"):
        over_seeds([first, tmp_path])
