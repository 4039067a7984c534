"""The campaign itself: every kind of end is told from the others, and the next case still runs."""

from tests.fuzz.campaign import counted, failures, run_cases

ENDS = {
    "fine": "answered",
    "refuse": "refused",
    "escape": "escaped",
    "shout": "refused",  # errors make what they quote printable
    "crash": "crashed",
    "hang": "hung",
    "execute": "executed",
    "ask": "answered",
}


def test_every_end_is_told(tmp_path):
    cases = []
    for number, what in enumerate([*ENDS, "fine"]):
        cases.append(tmp_path / f"{number}-{what}")
        cases[-1].write_text(what)
    outcomes = run_cases("tests.fuzz.targets:known", cases, seconds=3)
    assert [o.kind for o in outcomes] == [*ENDS.values(), "answered"]
    assert outcomes[7].detail == "y"
    assert failures(outcomes).startswith("4 of 9")
    assert counted(outcomes) == (
        "9 cases: 3 answered, 1 crashed, 1 escaped, 1 executed, 1 hung, 2 refused"
    )
