"""Model files with damage that their checksums do not show: refused in one line, or answered."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.campaign import counted, failures, run_cases, sample
from tests.fuzz.model_target import answers
from tests.fuzz.mutated_files import Parts, mutant

CASES = 3000
SHORT = 400
MEMORY = 6 * 2**30


@pytest.fixture(scope="session")
def bases(tmp_path_factory) -> list[Path]:
    """Tiny students of both families, exported as users export them: subwords and hashes.

    One of them has a CRF, and its graph decodes.
    """
    import numpy as np

    from tests.export.conftest import sentence
    from tfdistil.exporting.exporter import export_student
    from tfdistil.students import build_student
    from tfdistil.tasks import IntentSlots
    from tfdistil.text.projection import ProjectionFeaturizer, ProjectionSpec
    from tfdistil.text.subwords import SubwordFeaturizer
    from tfdistil.text.train_tokenizer import train_wordpiece
    from tfdistil.text.words import WordSplitter

    folder = tmp_path_factory.mktemp("bases")
    rng = np.random.default_rng(0)
    examples = [sentence(rng) for _ in range(40)]
    task = IntentSlots.from_examples(examples)
    tokenizer = train_wordpiece([" ".join(e.words) for e in examples], 120)
    students = {
        "bilstm": (
            {"embedding": 4, "hidden_dim": 4, "vocabulary": tokenizer.get_vocab_size()},
            SubwordFeaturizer.from_tokenizer(tokenizer, 6),
        ),
        "pqrnn": (
            {"features": 32, "bottleneck": 16, "layers": 1, "state": 12},
            ProjectionFeaturizer(ProjectionSpec((("murmur", 32),)), 6),
        ),
    }
    arguments, featurizer = students["bilstm"]
    labels = task.outputs[0].labels
    crf = {"labels": {"kind": "crf", "labels": labels}}
    students["bilstm_crf"] = ({**arguments, "heads": crf}, featurizer)
    for name, (arguments, featurizer) in students.items():
        export_student(
            build_student(
                name.removesuffix("_crf"),
                outputs={o.name: (o.level, len(o.labels)) for o in task.outputs},
                seed=1,
                **arguments,
            ),
            task,
            featurizer,
            WordSplitter("unicode"),
            examples=examples,
            out=folder / f"{name}.tflite",
            length=featurizer.max_length,
            batch=3,
            max_drop=101,  # nothing is trained
            tags_in_graph=name.endswith("_crf"),
        )
    return sorted(folder.glob("*.tflite"))


@pytest.mark.slow
def test_files_with_repaired_checksums(bases, tmp_path):
    parts = [Parts.of(path.read_bytes()) for path in bases]
    answered = [answers(path) for path in bases]
    cases, expected = [], []
    for number in sample(CASES, SHORT):
        dice = random.Random(number)
        base = dice.randrange(len(bases))
        kind, one = mutant(parts[base], dice)
        cases.append(tmp_path / f"{number}-{bases[base].stem}-{kind}.tflite")
        cases[-1].write_bytes(one.content)
        expected.append((one.expected, answered[base]))
    outcomes = run_cases("tests.fuzz.model_target:answers", cases, seconds=30, memory=MEMORY)
    print(counted(outcomes))
    assert not failures(outcomes)
    for outcome, (right, answer) in zip(outcomes, expected, strict=True):
        if right == "refused":
            assert outcome.kind == "refused", outcome
        elif right == "same":
            assert outcome == type(outcome)(outcome.case, "answered", answer)
    assert {outcome.kind for outcome in outcomes} == {"answered", "refused"}
