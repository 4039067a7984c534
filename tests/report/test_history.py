from __future__ import annotations

import pytest

from tfdistil.errors import DataError
from tfdistil.report.history import read_history

HEADER = "model,phase,epoch,updates,name,value\n"


def test_phases_of_a_model_follow_each_other(history):
    found = read_history(history)
    assert list(found.models) == ["teacher", "student", "baseline"]
    starts = [(phase.name, phase.stage, phase.start) for phase in found.models["student"]]
    assert starts == [
        ("representation", "representation", 0),
        ("labels.labels", "labels", 2400),
        ("labels.encoder", "labels", 4000),
        ("labels.embedding", "labels", 5600),
    ]
    updates, values = found.models["student"][1].curve("monitored")
    assert updates == [2400, 2800, 3200, 3600, 4000]
    assert values[0] == 0.0
    assert found.unreadable == 0


@pytest.mark.parametrize(
    "first_attempt", ["a,p,0,0,monitored,9\n", "a,p,0,0,monitored,9\na,p,1,5,monitored,9\n"]
)
def test_an_interrupted_phase_counts_from_its_last_start(tmp_path, first_attempt):
    path = tmp_path / "history.csv"
    second = "a,p,0,0,monitored,1\na,p,1,5,monitored,2\na,p,1,5,loss,3\n"
    path.write_text(HEADER + first_attempt + second, encoding="utf-8")
    (phase,) = read_history(path).models["a"]
    assert phase.values == {"monitored": [(0, 1.0), (5, 2.0)], "loss": [(5, 3.0)]}


def test_a_line_cut_by_a_kill_is_counted_and_passed_over(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(HEADER + "a,p,0,0,mona,p,0,0,monitored,1\na,p,1,5,monitored,2\na,p,2", "utf-8")
    found = read_history(path)
    assert found.unreadable == 2
    assert found.models["a"][0].values == {"monitored": [(5, 2.0)]}


def test_no_file_is_no_history(tmp_path):
    assert read_history(None).models == {}
    assert read_history(tmp_path / "missing.csv").models == {}
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert read_history(empty).models == {}


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("epoch,loss\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"history\.csv:1: expected the columns model,phase"):
        read_history(path)
