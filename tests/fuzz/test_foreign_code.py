"""Checkpoints that bring code: it is not run, and nobody is asked whether it may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.campaign import run_cases
from tests.fuzz.checkpoints.foreign_cases import SPOILER

HOSTILE = "hostile.Hostile"
CODE = {"AutoConfig": HOSTILE, "AutoModel": HOSTILE, "AutoTokenizer": [HOSTILE, HOSTILE]}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]


def hostile(folder: Path, config: dict[str, Any] | None, tokenizer: dict[str, Any]) -> Path:
    """A folder whose tokenizer, and perhaps whose model, is code."""
    folder.mkdir()
    (folder / "hostile.py").write_text(
        f"{SPOILER}\nfrom transformers import BertTokenizer\n"
        "class Hostile(BertTokenizer):\n    pass\n"
    )
    (folder / "vocab.txt").write_text("\n".join(PIECES))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def folders(tmp_path) -> list[Path]:
    pair = {"auto_map": {"AutoTokenizer": [HOSTILE, HOSTILE]}}
    return [
        hostile(tmp_path / "no-config", None, pair),
        hostile(tmp_path / "no-type", {"vocab_size": len(PIECES)}, pair),
        hostile(tmp_path / "other-type", {"model_type": "hostile", "auto_map": CODE}, pair),
        hostile(tmp_path / "config-alone", {"model_type": "hostile", "auto_map": CODE}, {}),
        hostile(tmp_path / "list", {"model_type": "new"}, {"auto_map": [HOSTILE, HOSTILE]}),
        hostile(tmp_path / "known", {"model_type": "bert"}, pair),
        hostile(tmp_path / "translates", {"model_type": "marian", "auto_map": CODE}, pair),
    ]


@pytest.mark.parametrize("target", ["tokenizer", "checked_data", "translator", "neighbours"])
def test_code_in_a_checkpoint_is_never_run(folders, target):
    # The worker's standard input says "y" to whatever asks.
    outcomes = run_cases(f"tests.fuzz.checkpoints.openers:{target}", folders, seconds=120)
    assert [outcome.kind for outcome in outcomes] == ["refused"] * len(folders), outcomes
    reasons = ("is not supported", "code of its own", "config.json", "expected one of marian")
    for outcome in outcomes:
        assert any(reason in outcome.detail for reason in reasons), outcome.detail


def test_the_canary_sees_code_that_is_run(folders):
    """What these folders do to a program that trusts them."""
    (outcome,) = run_cases("tests.fuzz.checkpoints.openers:trusting", folders[1:2], seconds=120)
    assert outcome.kind == "executed"
