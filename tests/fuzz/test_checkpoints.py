"""Damaged, wrong and hostile checkpoint folders: an error, or exactly what the files say."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.campaign import Outcome, counted, failures, run_cases, sample
from tests.fuzz.checkpoints.bases import WANTED, make_bases
from tests.fuzz.checkpoints.changes import Case
from tests.fuzz.checkpoints.foreign_cases import foreign_cases
from tests.fuzz.checkpoints.model_cases import any_model, model_cases
from tests.fuzz.checkpoints.target import DOUBTED
from tests.fuzz.checkpoints.tokenizer_cases import tokenizer_cases
from tfdistil.encoders import checkpoint_heads

CASES = [*model_cases(), *tokenizer_cases(), *foreign_cases()]
MEMORY = 16 << 30
"""Bytes of address space: what a size out of a file may not come near."""


@pytest.fixture(scope="module")
def bases(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bases")
    make_bases(folder)
    return folder


def ends(
    target: str, bases: Path, folder: Path, cases: list[Case]
) -> tuple[dict[str, Outcome], list[Outcome]]:
    """How the sound checkpoints and the cases ended."""
    sound = sorted({case.base for case in cases})
    paths = [*(bases / base for base in sound), *(case.make(bases, folder) for case in cases)]
    outcomes = run_cases(
        f"tests.fuzz.checkpoints.target:{target}", paths, seconds=120, memory=MEMORY
    )
    return dict(zip(sound, outcomes, strict=False)), outcomes[len(sound) :]


def as_expected(case: Case, outcome: Outcome, sound: Outcome) -> bool:
    """Whether a case that did not fail ended as it must; of an exact one the target made sure."""
    if case.expected == "same":
        return outcome.detail == sound.detail
    doubted = outcome.detail.endswith(DOUBTED) and case.expected == "doubted"
    return outcome.kind == "refused" or case.expected == "exact" or doubted


def test_names_are_unique_and_there_are_enough():
    assert len({case.name for case in CASES}) == len(CASES) >= 300
    assert Counter(case.expected for case in CASES)["refused"] >= 300


def check(target: str, bases: Path, folder: Path, cases: list[Case]) -> None:
    """Run the cases, and fail for every one that did not end as it must."""
    sound, outcomes = ends(target, bases, folder, cases)
    print(counted(outcomes))
    assert {outcome.kind for outcome in sound.values()} == {"answered"}, sound
    assert not failures(outcomes), failures(outcomes)
    wrong = [
        f"{case.name}: {case.expected}, but {outcome.kind} ({outcome.detail[:200]})"
        for case, outcome in zip(cases, outcomes, strict=True)
        if not as_expected(case, outcome, sound[case.base])
    ]
    assert not wrong, "\n".join(wrong)


def test_checkpoints_are_refused_or_read_as_they_are(bases, tmp_path):
    chosen = [CASES[number] for number in sample(len(CASES), 60)]
    check("load", bases, tmp_path, chosen)


def test_checkpoints_made_elsewhere(golden, tmp_path):
    """The same damage to weights and header, in files of PyTorch."""
    bases = tmp_path / "bases"
    shutil.copytree(golden, bases)
    for folder in bases.iterdir():
        folder.chmod(0o755)
        for file in folder.iterdir():
            file.chmod(0o644)
        labels = checkpoint_heads(folder)
        wanted = {name: [level, list(given)] for name, (level, given) in labels.items()}
        (folder / WANTED).write_text(json.dumps(wanted))
    cases = [case for name in sorted(p.name for p in bases.iterdir()) for case in any_model(name)]
    check("encoder", bases, tmp_path, [cases[number] for number in sample(len(cases), 10)])
