"""Hostile recipes: shipped ones mutated, and files made to break a loader.

A case is a folder with ``recipe.yaml``, maybe other files, and ``case.json`` with what must come of
it: ``refused``, ``same`` (the recipe it was made from) or None (either an error, or a recipe that
can be written and read back).
"""

from __future__ import annotations

import copy
import io
import json
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.fuzz.campaign import CANARY
from tfdistil.recipe.bounded_yaml import load_text
from tfdistil.recipe.loading import SHIPPED, inherit, load_recipe, parse_recipe
from tfdistil.recipe.recipe import Recipe

Tree = dict[str, Any]
Files = dict[str, str | bytes | None]
"""Path to content; None: a named pipe; ``-> PATH``: a link."""

SMALL = """
task: intent_slots
data:
  demo: {kind: intent_slots, languages: [en], train: 60, dev: 6, test: 6, transfer: 20}
models:
  teacher:
    scratch: {layers: 2, hidden_dim: 32, heads: 2, intermediate_dim: 32, vocabulary: 200}
    max_length: 32
"""
STUDENT = """
  student: {kind: bilstm, hidden_dim: 8, embedding: {dim: 8}, projection: true, max_length: 32}
"""
ASSISTANT = """
  student:
    scratch: {layers: 1, hidden_dim: 32, heads: 2, intermediate_dim: 32, vocabulary: 200}
    max_length: 32
"""
ON_TEXT = """
task: text
data:
  corpus: {sources: [{path: text.txt, language: en}], held_out: 0.2, test: 0.2}
models:
  teacher:
    scratch: {layers: 4, hidden_dim: 8, heads: 2, intermediate_dim: 8, vocabulary: 100}
"""
TEXT = "".join(f"the sun is a star of {n} and {n % 7} colours\n" for n in range(60))
ONE_STAGE = """
distill:
  - name: joint
    terms:
      - {loss: cross_entropy, stream: [train, transfer]}
      - {loss: logit_mse, stream: [train, transfer]}
"""


@cache
def originals() -> dict[str, str]:
    """Every shipped recipe as whole YAML, on a corpus and with a teacher of a few sentences.

    Those on text alone have no built-in corpus; theirs is the file ``text.txt`` beside a case.
    """
    found = {}
    for path in sorted(SHIPPED.glob("*.yaml")):
        text = path.read_text("utf-8")
        on_text, has_student = "task: text" in text, "\n  float:" in text
        tree = YAML(typ="safe").load(ON_TEXT if on_text else SMALL)
        if path.stem == "camembert":  # which leaves out six of twelve
            tree["models"]["teacher"]["scratch"]["layers"] = 12
        if "student: {checkpoint: true}" in text and not on_text:
            tree["models"] |= YAML(typ="safe").load(ASSISTANT)
        elif not on_text and not has_student:
            tree["models"] |= YAML(typ="safe").load(STUDENT)
            if path.stem.startswith("d"):
                tree["models"]["student"]["heads"] = ["labels", "logits"]
        tree["base"] = path.stem
        found[path.stem] = resolved(tree)
    return found


def resolved(tree: Tree) -> str:
    """The whole recipe of a tree with a base."""
    tree = copy.deepcopy(tree)
    inherit(tree, SHIPPED / "recipe.yaml")
    tree.setdefault("distill", YAML(typ="safe").load(ONE_STAGE)["distill"])
    return parse_recipe(tree).to_yaml()


def dumped(tree: Any, **style: Any) -> str:
    """A tree as YAML."""
    yaml = YAML(typ="safe", pure=True)
    yaml.width = 4096
    for key, value in style.items():
        setattr(yaml, key, value)
    stream = io.StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()


# Mutations of a shipped recipe

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    0.5,
    1e24,
    10**12,
    2**64,
    10**4000,
    float("nan"),
    float("inf"),
    "",
    "x" * 100_000,
    "../../../tmp/x",
    "/etc/passwd",
    "a b",
    "été",
    [],
    {},
    [[[[]]]],
    {"a": {"b": 1}},
    {1: 2},
    [None],
    "teacher",
    "student",
)


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a tree."""
    if path:
        yield path
    if isinstance(node, Mapping):
        parts = [*node.items()]
    else:
        parts = [*enumerate(node)] if isinstance(node, list) else []
    for key, part in parts:
        yield from places(part, (*path, key))


def at(tree: Any, path: Sequence[Any]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def value(text: str, rng: random.Random) -> tuple[str, None]:
    """Hostile values in some places."""
    tree = YAML(typ="safe").load(text)
    for _ in range(rng.choice([1, 1, 1, 3])):
        *above, key = rng.choice([*places(tree)])
        at(tree, above)[key] = rng.choice(HOSTILE)
    return dumped(tree), None


def removed(text: str, rng: random.Random) -> tuple[str, None]:
    tree = YAML(typ="safe").load(text)
    *above, key = rng.choice([*places(tree)])
    del at(tree, above)[key]
    return dumped(tree), None


def moved(text: str, rng: random.Random) -> tuple[str, None]:
    """A part in the place of another one."""
    tree = YAML(typ="safe").load(text)
    *above, key = rng.choice([*places(tree)])
    at(tree, above)[key] = copy.deepcopy(at(tree, rng.choice([*places(tree)])))
    return dumped(tree), None


OPEN = ("updates", "families", "options", "label_map", "sections")
"""Parts that may have any key."""


def misspelt(text: str, rng: random.Random) -> tuple[str, str]:
    """A key that no part has; options of open parts are such keys too."""
    tree = YAML(typ="safe").load(text)
    inner = [p for p in places(tree) if isinstance(at(tree, p), dict)]
    closed = [p for p in inner if p[-1] not in OPEN]
    node = at(tree, rng.choice([(), *closed]))
    if node is tree["models"]:
        node = tree
    node[rng.choice(["epochz", "__class__", "model_config", "self", "<<<", "学习"])] = 1
    return dumped(tree), "refused"


def bytes_flipped(text: str, rng: random.Random) -> tuple[bytes, None]:
    raw = bytearray(text.encode())
    for _ in range(rng.randint(1, 6)):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(raw), None


def cut(text: str, rng: random.Random) -> tuple[str, None]:
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.randint(1, 200) :], None


def markup(text: str, rng: random.Random) -> tuple[str, None]:
    """Characters that YAML is made of, where they do not belong."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(text))
        text = text[:start] + rng.choice([*"{}[]:,&*!|>'\"%@`#-?\n\t"]) + text[start:]
    return text, None


def restyled(text: str, rng: random.Random) -> tuple[str, str]:
    """The same in other words."""
    tree = YAML(typ="safe").load(text)

    def shuffled(node: Any) -> Any:
        if isinstance(node, dict):
            items = [(key, shuffled(part)) for key, part in node.items()]
            rng.shuffle(items)
            return dict(items)
        return [shuffled(part) for part in node] if isinstance(node, list) else node

    text = dumped(shuffled(tree), default_flow_style=rng.choice([True, False]))
    text = rng.choice(["", "\ufeff", "# a note\n\n", "%YAML 1.2\n---\n"]) + text
    return text.replace("\n", rng.choice(["\n", "\r\n"])), "same"


def aliased(text: str, rng: random.Random) -> tuple[str, str]:
    """Equal parts as one part and its aliases."""
    tree = YAML(typ="safe").load(text)
    seen: dict[str, Any] = {}

    def shared(node: Any) -> Any:
        if isinstance(node, dict):
            node = {key: shared(part) for key, part in node.items()}
        elif isinstance(node, list):
            node = [shared(part) for part in node]
        else:
            return node
        return seen.setdefault(json.dumps(node), node)

    return dumped(shared(tree)), "same"


MUTATIONS: tuple[Callable[..., tuple[Any, str | None]], ...] = (
    value,
    value,
    value,
    removed,
    moved,
    misspelt,
    bytes_flipped,
    cut,
    markup,
    restyled,
    aliased,
)


# Files made to break a loader; all of them must be refused

RUN = f'["touch ${CANARY}"]'
TAGS = (
    f"!!python/object/apply:os.system {RUN}",
    f"!!python/object/new:os.system {RUN}",
    f"!!python/object/apply:subprocess.check_output [[touch, {CANARY}]]",
    "!!python/name:os.system",
    "!!python/module:antigravity",
    f"!!python/tuple {RUN}",
    "!secret x",
    '!!binary "eA=="',
    "!!set {x, y}",
    '!!int "7"',
)
NAMES = ("../../../x", "/tmp/x", "a/b", "..", ".", "", "a.b", "x" * 300, "a b", "\\ud800", "\\x00")
NUMBERS = ("seed: 4294967296", "seed: -1", "seed: 0x" + "f" * 9000, "seed: 1e24", "seed: .inf")
NUMBERS += ("export: {length: 1000000}", "export: {batch: 10000000}", "benchmark: {queries: 1e9}")
STUDENTS = (
    "{kind: bilstm, hidden_dim: 0}",
    "{kind: bilstm, hidden_dim: -4}",
    "{kind: bilstm, hidden_dim: 4.5}",
    "{kind: bilstm, hidden_dim: [4]}",
    "{kind: bilstm, hidden_dim: 60000}",
    "{kind: bilstm, hidden_dim: 99999999999}",
    "{kind: bilstm, hidden_dim: 4, dropout: 2}",
    "{kind: bilstm, hidden_dim: 4, vocabulary: 3}",
    "{kind: bilstm, hidden_dim: 4, seed: 3}",
    "{kind: bilstm, hidden_dim: 4, dtype: float8}",
    "{kind: bilstm, hidden_dim: 4, name: ../../x}",
    "{kind: bilstm, hidden_dim: 4, outputs: {}}",
    "{kind: bilstm, hidden_dim: 4, heads: []}",
    "{kind: bilstm, hidden_dim: 4, embedding: {dim: 0}}",
    "{kind: bilstm, hidden_dim: 4, embedding: {dim: 4, init: vectors, vectors: /dev/zero}}",
    "{kind: bilstm, hidden_dim: 4, embedding: {dim: 4, init: vectors, vectors: no.vec}}",
    "{kind: bilstm, hidden_dim: 4, embedding: {dim: 4, init: teacher}}",
    "{kind: transformer, hidden_dim: 4, layers: 0}",
    "{kind: transformer, hidden_dim: 4, layers: 99999}",
    "{kind: transformer, hidden_dim: 30000, layers: 900}",
    "{kind: transformer, hidden_dim: 4, layers: 1, attention_heads: 3}",
    "{kind: transformer, hidden_dim: 4, layers: 1, max_positions: 9}",
    "{kind: pqrnn, bottleneck: 0}",
    "{kind: pqrnn, taps: 0}",
    "{kind: pqrnn, state: 60000}",
    "{kind: pqrnn, pooling: fofo}",
    "{kind: pqrnn, zoneout: 1}",
    "{kind: pqrnn, features: 3}",
    "{kind: pqrnn, hashing: {families: {murmur: 3}}}",
    "{kind: pqrnn, hashing: {families: {sha: 4}}}",
    "{kind: pqrnn, hashing: {families: {murmur: 1e9}}}",
    "{kind: pqrnn, hashing: {families: {murmur: 4096}, shape: true}}",
    "{kind: pqrnn, hashing: {shape: 12}}",
    "{kind: pqrnn, quantize: int1}",
    "{kind: os.system}",
    "{kind: __class__}",
    "{from: student, apply: [quantize]}",
    "{from: ../x}",
)
STAGES = (
    "{name: a, terms: [{loss: cross_entropy}], groups: []}",
    "{name: a, terms: [{loss: cross_entropy}], groups: [nobody]}",
    "{name: a, terms: [{loss: cross_entropy}], batch_size: 1e24}",
    "{name: a, terms: [{loss: cross_entropy}], batch_size: 0}",
    "{name: a, terms: [{loss: cross_entropy}], batch_size: 1000000}",
    "{name: a, terms: [{loss: cross_entropy}], accumulate: 9999999}",
    "{name: a, terms: [{loss: cross_entropy}], stop: {epochs: 99999999999}}",
    "{name: a, terms: [{loss: cross_entropy}], stop: {updates: {heads: 0}}}",
    "{name: a, terms: [{loss: cross_entropy, stream: /etc/passwd}]}",
    "{name: a, terms: [{loss: logit_mse, target_as: x}]}",
    "{name: a, terms: [{loss: soft_cross_entropy, scale: x}]}",
    "{name: a, terms: [{loss: soft_cross_entropy, scale: [1]}]}",
    "{name: a, terms: [{loss: hidden_mse, layer: '{0.__class__}'}]}",
    "{name: a, terms: [{loss: __import__}]}",
    "{name: a, terms: []}",
    "{name: ../../a, terms: [{loss: cross_entropy}]}",
)
DATA = (
    "{train: [{path: /dev/zero, format: text}]}",
    "{train: [{path: pipe, format: conll}]}",
    "{train: [{path: pipe}]}",
    "{train: [{path: .}]}",
    '{train: [{path: "a\\0b"}]}',
    "{train: [{path: nothing.conll}]}",
    "{train: [{path: recipe.yaml, format: clinc}]}",
    "{train: [{path: recipe.yaml, format: conll, options: {word: [1]}}]}",
    "{train: [{path: recipe.yaml, format: conll, options: {word_pattern: '((((('}}]}",
    "{train: [{path: recipe.yaml, format: ../x}]}",
    "{demo: {kind: tags, languages: [], train: 60, dev: 5, test: 5, transfer: 5}}",
    "{demo: {kind: tags, languages: [xx], train: 60, dev: 5, test: 5, transfer: 5}}",
    "{demo: {kind: tags, train: 99999999999}}",
)
AUGMENTATIONS = (
    "{kind: magic}",
    "{kind: slot_substitution, share: x}",
    "{kind: slot_substitution, share: 7}",
    "{kind: slot_substitution, times: 1e9}",
    "{kind: pivoting, model: {a: 1}, pivots: de}",
    "{kind: word_neighbours}",
)
SOURCES = "sources: [{path: text.txt, language: en}]"
CORPORA = (
    "{sources: []}",
    "{sources: [{path: /dev/zero}]}",
    "{sources: [{path: nothing.txt}]}",
    '{sources: [{path: "a\\0b"}]}',
    "{sources: [{path: recipe.yaml, format: clinc}]}",
    "{sources: [{path: text.txt, format: ../x}]}",
    "{sources: [{path: text.txt, language: [en]}]}",
    f"{{{SOURCES}, sections: {{a: 0.7, b: 0.7}}}}",
    f"{{{SOURCES}, sections: {{a/b: 0.1}}}}",
    f"{{{SOURCES}, sections: {{a: .nan}}}}",
    f"{{{SOURCES}, held_out: 0.5, test: 0.5}}",
    f"{{{SOURCES}, held_out: -1}}",
    f"{{{SOURCES}, held_out: 0, test: 0}}",
    f"{{{SOURCES}, joined: perhaps}}",
    f"{{{SOURCES}, balance: {{more: en, less: en, ratio: 2}}}}",
    f"{{{SOURCES}, balance: {{more: en, less: sw, ratio: 2}}}}",
    f"{{{SOURCES}, balance: {{more: en, less: sw, ratio: .inf}}}}",
)
STAGE_ON_TEXT = "name: a, stop: {monitor: loss, on: corpus_held_out}"
MASKED_LM = "{loss: masked_lm, stream: corpus}"
STAGES_ON_TEXT = (
    f"{STAGE_ON_TEXT}, terms: [{MASKED_LM}]",  # which nothing has masked
    *(
        f"{STAGE_ON_TEXT}, terms: [{MASKED_LM}], noise: [{{kind: masking, {option}}}]"
        for option in (
            "smoothing: -1",
            "smoothing: .nan",
            "smoothing: .inf",
            "smoothing: [0.7]",
            "probability: 2",
            "probability: .nan",
            "whole_words: 3",
            "shift: 1",
        )
    ),
    f"{STAGE_ON_TEXT}, terms: [{MASKED_LM}], noise: [word_dropout]",
    f"{STAGE_ON_TEXT}, terms: [{MASKED_LM}], noise: [masking], accumulate: 0",
    f"{STAGE_ON_TEXT}, terms: [{MASKED_LM}], noise: [masking], precision: float16",
    *(
        f"{STAGE_ON_TEXT}, terms: [{{stream: corpus, {term}}}], noise: [masking]"
        for term in (
            "loss: masked_lm, head: nobody",
            "loss: masked_lm, target: nothing",
            "loss: cross_entropy",
            "loss: states_mse",
            "loss: states_mse, layers: 3",
            "loss: states_mse, layers: [[1, 1, 99]]",
            "loss: states_mse, layers: [[1]]",
            "loss: states_mse, layers: [['{0}', 1, 1]]",
            "loss: attention_mse, layers: [[1, 1, 2]]",
            "loss: softened_cross_entropy, temperature: 0",
            "loss: softened_cross_entropy, temperature: .nan",
            "loss: hidden_cosine, student_signal: '{head.__class__}'",
        )
    ),
    f"{STAGE_ON_TEXT}, terms: [{{loss: masked_lm, stream: corpus_test}}], noise: [masking]",
    f"{STAGE_ON_TEXT}, terms: [{{loss: masked_lm, stream: corpus.none}}], noise: [masking]",
)
CUTS = (
    "[{kind: keep_layers, layers: 13}]",
    "[{kind: keep_layers, layers: [2, 1]}]",
    "[{kind: reduce_vocabulary, language: sw}]",
    "[{kind: reduce_vocabulary, min_share: .nan}]",
    "[{kind: reduce_vocabulary, min_sentences: 0}]",
    "[{kind: new_vocabulary, vocabulary: 2}]",
    "[{kind: new_vocabulary, vocabulary: 1.0e+300}]",
    "[quantize]",
)
DEMO = "demo: {kind: intent_slots, languages: [en], train: 60, dev: 5, test: 5, transfer: 5}"
DATA += tuple(f"{{{DEMO}, augment: {text}}}" for text in AUGMENTATIONS)
WHOLE = SMALL + STUDENT.strip("\n") + "\n" + ONE_STAGE


def set_to(key: str, written: str, text: str = WHOLE) -> str:
    """The small recipe, or another, with another value of a key or of one below it."""
    tree = YAML(typ="safe").load(text)
    *above, last = key.split(".")
    at(tree, above)[last] = "@@"
    return dumped(tree).replace("'@@'", written)


def bomb(first: str, row: str) -> str:
    rows = (row.format(i=i, nine=", ".join([f"*k{i - 1}"] * 9)) for i in range(1, 12))
    return "\n".join([first, *rows])


@cache
def specials() -> dict[str, Files]:
    """Name to the files of a case."""
    texts = {
        "bomb-lists": bomb("k0: &k0 [1]", "k{i}: &k{i} [{nine}]"),
        "bomb-text": bomb("k0: &k0 x", "k{i}: &k{i} [{nine}]"),
        "bomb-merge": bomb("k0: &k0 {a: 1}", "k{i}: &k{i} {{<<: [{nine}], b{i}: 1}}"),
        "self-merge": "a: &a\n  <<: *a\n  b: 1\n",
        "self-list": "&a [*a]",
        "self-key": "a: &a {? *a : 1}",
        "deep-flow": "[" * 5000,
        "deep-block": "".join("\n" + " " * i + "a:" for i in range(400)),
        "many-keys": "".join(f"k{i}: {i}\n" for i in range(150_000)),
        "many-keys-small": "".join(f"k{i}: {i}\n" for i in range(20_000)),
        "long-text": f"name: {'x' * 200_000}\n{WHOLE}",
        "nul": WHOLE + "name: a\0b\n",
        "escape": WHOLE + 'name: "a\\x1b[31m"\n',
        "surrogate": WHOLE + 'name: "\\ud800"\n',
        "yaml-1.1": "%YAML 1.1\n---\n" + WHOLE,
        "two-documents": WHOLE + "---\n" + WHOLE,
        "twice": WHOLE + "seed: 1\nseed: 2\n",
        "dates": WHOLE + "seed: 2020-13-45\n",
        "digits": WHOLE + "seed: " + "9" * 5000 + "\n",
        "base-itself": "base: recipe.yaml\n",
        "base-system": "base: ../../../../../../etc/passwd\n",
        "base-device": "base: /dev/zero\n",
        "base-nothing": "base: nothing\n" + WHOLE,
        "base-list": "base: [demo]\n" + WHOLE,
        "base-long": f"base: {'x' * 5000}\n" + WHOLE,
        "latin-1": "name: é\n",
    }
    texts |= {f"tag-{i}": WHOLE + f"name: {tag}\n" for i, tag in enumerate(TAGS)}
    texts |= {f"number-{i}": WHOLE + text + "\n" for i, text in enumerate(NUMBERS)}
    for i, name in enumerate(NAMES):
        texts[f"model-{i}"] = WHOLE.replace("models:\n", f'models:\n  "{name}": {{kind: bilstm}}\n')
        texts[f"head-{i}"] = set_to("models.student", f'{{kind: bilstm, heads: ["{name}"]}}')
        texts[f"stage-{i}"] = WHOLE.replace("name: joint", f'name: "{name}"')
    texts |= {f"student-{i}": set_to("models.student", text) for i, text in enumerate(STUDENTS)}
    texts |= {f"stages-{i}": set_to("distill", f"[{text}]") for i, text in enumerate(STAGES)}
    texts |= {f"data-{i}": set_to("data", text) for i, text in enumerate(DATA)}
    on_text = {
        "corpus": ("data.corpus", CORPORA),
        "text-stage": ("distill", [f"[{{student: student, {stage}}}]" for stage in STAGES_ON_TEXT]),
        "cut": ("models.student.apply", CUTS),
    }
    for name, (key, values) in on_text.items():
        for i, written in enumerate(values):
            texts[f"{name}-{i}"] = set_to(key, written, originals()["eliquare"])
    files: dict[str, Files] = {name: {"recipe.yaml": text} for name, text in texts.items()}
    files["latin-1"] = {"recipe.yaml": "name: é\n".encode("latin-1")}
    files["pipe"] = {"recipe.yaml": None}
    files["device"] = {"recipe.yaml": "-> /dev/zero"}
    files["loop"] = {"recipe.yaml": "-> recipe.yaml"}
    files["folder"] = {"recipe.yaml/x": ""}
    files["megabytes"] = {"recipe.yaml": "# " + "x" * 5_000_000}
    return files


def write_cases(folder: Path, total: int, numbers: Sequence[int], seed: int = 15) -> list[Path]:
    """The cases of these numbers below ``total``: the special ones, then mutations in turn."""
    found, wanted, rng = [], set(numbers), random.Random(seed)
    for index in range(total):
        name, files, expected, original = _case(index, rng)
        if index not in wanted:
            continue
        path = folder / f"{index:04}-{name}"
        for file, content in {"text.txt": TEXT, **files, "pipe": None}.items():
            _write(path / file, content)
        facts = {"expected": expected, "original": original}
        (path / "case.json").write_text(json.dumps(facts), "utf-8")
        found.append(path)
    return found


def _case(index: int, rng: random.Random) -> tuple[str, Files, str | None, str | None]:
    special = [*specials().items()]
    if index < len(special):
        return *special[index], "refused", None
    number = index - len(special)
    names = sorted(originals())
    name, mutate = names[number % len(names)], MUTATIONS[number % len(MUTATIONS)]
    text, expected = mutate(originals()[name], rng)
    return f"{name}-{mutate.__name__}", {"recipe.yaml": text}, expected, originals()[name]


def _write(path: Path, content: str | bytes | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        os.mkfifo(path)
    elif isinstance(content, str) and content.startswith("-> "):
        path.symlink_to(content[3:])
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def target(path: Path) -> str:
    """Load a case and do all that is done before training."""
    facts = json.loads((path / "case.json").read_text("utf-8"))
    before = sorted(path.rglob("*"))
    recipe = load_recipe(path / "recipe.yaml")
    assert parse_recipe(load_text(recipe.to_yaml(), YAML())) == recipe
    for name in (*recipe.models, *(stage.name for stage in recipe.distill)):
        assert re.fullmatch(r"[\w-]+", name), repr(name)
    if facts["expected"] == "same":
        assert recipe == parse_recipe(YAML().load(facts["original"])), "another recipe"
    _check(recipe, path)
    assert facts["expected"] != "refused", f"accepted: {recipe.to_yaml()}"
    assert [file for file in sorted(path.rglob("*")) if "run" not in file.parts] == before
    return "accepted"


def _check(recipe: Recipe, path: Path) -> None:
    import keras

    from tfdistil.console.screen import Screen
    from tfdistil.corpus.loading import load_corpus
    from tfdistil.models.checks import check_models
    from tfdistil.pipeline.run import check_stages
    from tfdistil.runs.folder import RunFolder
    from tfdistil.runs.run import Run

    demo = recipe.data.demo
    if demo is not None and demo.train + demo.dev + demo.test + demo.transfer > 2000:
        return  # allowed, and too much for a test
    scratch = recipe.models["teacher"].scratch
    if scratch is not None and scratch.layers > 12:
        return
    keras.utils.clear_session()
    folder = RunFolder(path / "run", recipe)
    folder.remember(base=str(path))
    check_models(recipe, path)
    work = Run(folder, load_corpus(recipe, path), Screen())
    check_stages(work)
