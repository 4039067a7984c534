"""Code in a checkpoint's folder, and files that run code when they are read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import CANARY
from tests.fuzz.checkpoints.bases import TENSORS
from tests.fuzz.checkpoints.changes import Case, Change, edited, replaced, with_keys, without

SPOILER = f"""import os, pathlib
pathlib.Path(os.environ[{CANARY!r}]).touch()
"""


def foreign_cases() -> Iterator[Case]:
    """Code in the folder, and files that run code when they are read."""

    def hostile(*parts: Change) -> Change:
        def change(folder: Path, rng: random.Random) -> None:
            for file in ("hostile.py", "__init__.py", "tokenization_bert.py", "setup.py"):
                (folder / file).write_text(SPOILER + "class Hostile:\n    pass\n")
            for part in parts:
                part(folder, rng)

        return change

    classes: dict[str, Any] = {
        "pair": {"AutoTokenizer": ["hostile.Hostile", "hostile.Hostile"]},
        "list": ["hostile.Hostile", "hostile.Hostile"],
        "fast": {"AutoTokenizer": [None, "hostile.Hostile"]},
        "other-repository": {"AutoTokenizer": ["some/one--hostile.Hostile", None]},
        "text": "hostile.Hostile",
    }
    for base in ("bert", "vocab_txt", "vocab_json", "sentencepiece"):
        yield Case(f"code-lies-about-{base}", base, "same", hostile())
        for name, auto_map in classes.items():
            of_tokenizer = with_keys("tokenizer_config.json", auto_map=auto_map)
            yield Case(f"code-tokenizer-{base}-{name}", base, "refused", hostile(of_tokenizer))
        of_model = with_keys(
            "config.json",
            model_type="hostile",
            auto_map={
                "AutoConfig": "hostile.Hostile",
                "AutoModel": "hostile.Hostile",
                "AutoTokenizer": ["hostile.Hostile", "hostile.Hostile"],
            },
        )
        yield Case(f"code-model-{base}", base, "refused", hostile(of_model, of_tokenizer))
        known = with_keys("config.json", auto_map={"AutoModel": "hostile.Hostile"})
        yield Case(f"code-known-type-{base}", base, "refused", hostile(known))
        nameless = without("config.json", "model_type")
        yield Case(f"code-no-type-{base}", base, "refused", hostile(nameless, of_tokenizer))
    pickled = b"cposix\nsystem\n(S'touch $" + CANARY.encode() + b"'\ntR."
    for file in (
        "pytorch_model.bin",
        "model.pt",
        "tokenizer.pkl",
        "vocab.pkl",
        "training_args.bin",
    ):
        yield Case(f"pickle-{file}", "bert", "same", edited(file, lambda _, r: pickled))
        yield Case(
            f"pickle-alone-{file}",
            "bert",
            "refused",
            hostile(edited(file, lambda _, r: pickled), replaced(TENSORS, lambda path: None)),
        )
    yield Case("pickle-as-tensors", "bert", "refused", edited(TENSORS, lambda _, r: pickled))
    yield Case(
        "pickle-as-tokenizer", "bert", "refused", edited("tokenizer.json", lambda _, r: pickled)
    )
