"""Students for a first recipe, by name and by the size of their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ruamel.yaml import YAML

from tfdistil.recipe.loading import find_recipe, inherit
from tfdistil.recipe.new_heads import OUTPUTS

BATCH = 64
PASSES = 10
FEWEST_UPDATES = 2000
"""Of a small set, ten passes would be over before a BiLSTM has learnt anything."""


@dataclass(frozen=True)
class Student:
    """What a student adds to a recipe: its models and stages, and what the comments say of them.

    Its models depend on the task and the width of the teacher, None where that is not known. Its
    head is a CRF in tasks where that has been measured to be better. ``export`` has keys that stand
    beside those of every recipe.
    """

    models: Callable[[str, int | None], dict[str, Any]]
    stages: Callable[[list[str], int], list[dict[str, Any]]]
    comments: Mapping[str, str]
    crf_in: frozenset[str] = frozenset()
    export: Mapping[str, Any] = field(default_factory=dict)


def _bilstm(task: str, width: int | None) -> dict[str, Any]:
    # Names have capitals: 3 points on UNER English (docs/pqrnn.md).
    return _reading_pieces(_lstm(200, task), min(128, width or 128), task == "tags")


def _lstm(hidden: int, task: str) -> dict[str, Any]:
    del task
    return {"kind": "bilstm", "hidden_dim": hidden}


def _qrnns(state: int, bottleneck: int, task: str) -> dict[str, Any]:
    body = {"kind": "piece_qrnn", "state": state, "layers": 2, "bottleneck": bottleneck}
    return body | ({"intent_condition": True} if task == "intent_slots" else {})


def _coded(
    body: Callable[[str], dict[str, Any]],
    columns: int,
    share: int,
    pieces: int,
    task: str,
    width: int | None,
) -> dict[str, Any]:
    """A student whose word pieces have a byte for ``share`` columns, as many as the teacher has."""
    codes = max(1, min(columns, width or columns) // share)
    return _reading_pieces(
        body(task), codes * share, task in OUTPUTS, embedding_codes=codes, max_pieces=pieces
    )


def _reading_pieces(
    body: Mapping[str, Any], columns: int, hashes: bool, **keys: Any
) -> dict[str, Any]:
    student: dict[str, Any] = {
        **body,
        "prune_vocabulary": True,
        "embedding": {"dim": columns, "init": "svd"},
        "dropout": 0.2,
        **keys,
    }
    if hashes:
        student |= {
            "hashed_dim": 64,
            "hashing": {"families": {"affix16": 256, "ngram": 256}, "capitalization": True},
        }
    return {"student": student}


def _one_stage(pool: list[str], sentences: int) -> list[dict[str, Any]]:
    steps = -(-sentences // BATCH)
    return [
        {
            "name": "joint",
            "groups": ["heads", "encoder"],
            "terms": [
                {"loss": "cross_entropy", "stream": "train"},
                {"loss": "soft_cross_entropy", "stream": _drawn(pool)},
            ],
            "optimizer": {
                "learning_rate": 3.0e-3,
                "final_learning_rate": 1.0e-8,
                "schedule": "cosine",
            },
            "batch_size": BATCH,
            # No patience: five checks would save two fifths of the updates (1,000 sentences of UNER
            # English, seeds 13 to 15), and cost one seed in three 0.4 points on dev.
            "stop": {
                "updates": max(FEWEST_UPDATES, PASSES * steps),
                "every": min(max(50, steps), 500),
            },
        }
    ]


def _shipped_models(base: str, task: str, width: int | None) -> dict[str, Any]:
    del task, width
    return {**_shipped(base)["models"]}


def _shipped_stages(base: str, pool: list[str], sentences: int) -> list[dict[str, Any]]:
    del sentences  # the shipped recipes count updates
    stages = []
    for stage in _shipped(base)["distill"]:
        terms = [
            {**term, "stream": _drawn([name for name in term["stream"] if name in pool])}
            for term in stage["terms"]
        ]
        stages.append({**stage, "terms": terms})
    return stages


def _shipped(base: str) -> dict[str, Any]:
    """The models and stages of a shipped recipe and of its base, without comments."""
    path = find_recipe(base)
    tree: dict[str, Any] = YAML(typ="safe").load(path.read_text("utf-8"))
    inherit(tree, path)
    return tree


def _hashing(
    base: str, says: str, stages: str, crf_in: frozenset[str] = frozenset(), **export: Any
) -> Student:
    """The student of a shipped recipe that hashes words; what the comments say of its parts."""
    return Student(
        partial(_shipped_models, base),
        partial(_shipped_stages, base),
        {"models": says, "distill": stages},
        crf_in,
        export,
    )


def _drawn(pool: list[str]) -> str | list[str]:
    return [*pool] if pool[1:] else pool[0]


_TABLE_STAYS = "groups leaves the embeddings out: they stay the teacher's"


def _codes(
    body: Callable[[str], dict[str, Any]], columns: int, share: int, pieces: int, **export: Any
) -> Student:
    return Student(
        partial(_coded, body, columns, share, pieces),
        _one_stage,
        {
            "models": "embedding_codes: a word piece has so many bytes, not one for each of dim "
            "columns;\nmax_pieces keeps the most frequent ones, so that files grow no further\n"
            "(docs/word_tables.md); hashed_dim: capitals and endings of whole words, which an\n"
            "uncased vocabulary hides, where words are labelled; members: 2 or 3 of them in one\n"
            "file were a point or two better, for that many times the training (docs/members.md)",
            "distill": _TABLE_STAYS,
        },
        frozenset(OUTPUTS),  # as measured: docs/results/uner_en.md and snips.md
        export,
    )


_PQRNN = "a pqrnn hashes words and has no vocabulary: {} (docs/pqrnn.md)"
_THREE_STAGES = (
    "first in float, then rounding as the file will, at last with\n"
    "frozen batch-norm statistics, as on the device"
)
STUDENTS = {
    "bilstm": Student(
        _bilstm,
        _one_stage,
        {
            "models": "prune_vocabulary keeps only the pieces that train and transfer need: a "
            "smaller file,\nfor half a point to a point on words that are in neither; hashed_dim, "
            "for tags:\ncapitals and endings of whole words, which an uncased vocabulary hides",
            "distill": _TABLE_STAYS,
        },
        frozenset({"intent_slots"}),  # 2 points of exact match on SNIPS (docs/crf.md)
    ),
    "bilstm_codes": _codes(partial(_lstm, 200), columns=384, share=4, pieces=20_000),
    "bilstm_codes_small": _codes(partial(_lstm, 104), columns=192, share=8, pieces=11_000),
    # The operators of a second signature would be a fifth of so small a file.
    "bilstm_codes_tiny": _codes(partial(_lstm, 64), columns=128, share=8, pieces=6_000, batch=1),
    "qrnn_codes": _codes(partial(_qrnns, 128, 192), columns=192, share=4, pieces=16_000),
    "qrnn_codes_small": _codes(partial(_qrnns, 80, 128), columns=192, share=8, pieces=11_000),
    "mixer": _hashing(
        "mixer",
        "a mixer hashes words and mixes positions by products: 1 MB (docs/mixer.md)",
        "first in float, then rounding as the file will",
    ),
    "pqrnn": _hashing("pqrnn", _PQRNN.format("2 MB"), _THREE_STAGES),
    "pqrnn_medium": _hashing(
        "pqrnn_medium",
        _PQRNN.format("1 MB"),
        _THREE_STAGES,
        frozenset({"intent_slots"}),  # as it was measured on SNIPS (docs/results/pqrnn_snips.md)
        batch=1,
    ),
    "pqrnn_small": _hashing("pqrnn_small", _PQRNN.format("half a megabyte"), _THREE_STAGES),
}

HEADS = {
    ("tags", "bilstm"): "crf",  # 1 point of span F1 on UNER, 2 without a teacher (docs/crf.md)
}
"""Task and student to the head that the command writes where none is asked for; others have that of
`new_recipe`."""

_OF_PAIRS = {"tiny": "pqrnn_small", "small": "pqrnn_medium", "medium": "bilstm"}
# As measured: docs/results/clinc.md, snips.md and uner_en.md.
_OF_TEXTS = {"tiny": "pqrnn_small", "small": "qrnn_codes_small", "medium": "qrnn_codes"}
# Of entities hashed words alone know less than a light CRF.
_OF_TAGS = {"tiny": "bilstm_codes_tiny", "small": "qrnn_codes_small", "medium": "bilstm_codes"}
SIZES: dict[str, dict[str, str]] = {
    "tags": _OF_TAGS,
    "intent_slots": _OF_TEXTS,
    "classes": _OF_TEXTS,
    "pair": _OF_PAIRS,
}
"""By task, students by size: files of at most 0.6 and 1.2 MB, and of about 4 at the most, as a
table of word pieces grows with the text unless `max_pieces` bounds it."""
