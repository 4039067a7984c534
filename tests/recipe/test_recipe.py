"""Recipes: what is right loads, what is wrong says where."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tfdistil.errors import RecipeError
from tfdistil.printable import printable
from tfdistil.recipe.loading import (
    SHIPPED,
    load_recipe,
    load_tree,
    look_up,
    override,
    parse_recipe,
)
from tfdistil.recipe.recipe import Recipe
from tfdistil.recipe.schema.data import TaskSpec
from tfdistil.recipe.schema.models import EncoderSpec, StudentSpec, kinds_of
from tfdistil.recipe.schema.stages import OptimizerSpec, StageSpec, StopSpec, TermSpec
from tfdistil.recipe.schema.tuning import FineTuneSpec

LINES = """\
name: small
task: tags
data:
  train:
    - path: a.conll
      language: no
models:
  teacher:
    scratch: {layers: 1}
    fine_tune:
      epochs: 2
  student:
    kind: bilstm
    hidden_dim: 4
    heads: [labels, logits]
distill:
  - name: first
    terms:
      - {loss: logit_mse, head: logits}
  - name: second
    optimizer: {learning_rate: 1e-4}
    terms:
      - {loss: cross_entropy, stream: [train, transfer]}
seed: 7
"""
WHOLE = [path for path in SHIPPED.glob("*.yaml") if "demo:" in path.read_text("utf-8")]


@pytest.fixture
def write(tmp_path):
    """Writes a recipe file and gives its path."""

    def to_file(text: str) -> Path:
        path = tmp_path / "r.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def changed(old: str, new: str) -> str:
    assert old in LINES, f"{old!r} is not in the recipe, so nothing would be tested"
    return LINES.replace(old, new, 1)


def message_of(path: Path, assignments=()) -> str:
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, assignments)
    return str(caught.value).replace(str(path), "r.yaml")


def test_a_recipe_is_typed_and_has_its_defaults(write):
    recipe = load_recipe(write(LINES))
    assert recipe.task.kind == "tags"  # a bare word is the task's kind
    assert recipe.task.continuation is False
    assert isinstance(recipe.models["teacher"], EncoderSpec)
    assert isinstance(recipe.models["student"], StudentSpec)
    assert recipe.root_spec("student").options == {"hidden_dim": 4}
    assert recipe.models["teacher"].fine_tune == FineTuneSpec(epochs=2)
    assert [stage.name for stage in recipe.distill] == ["first", "second"]
    assert recipe.distill[0].stop == StopSpec()
    assert recipe.distill[1].terms[0].pool == ("train", "transfer")
    assert recipe.seed == 7


def test_yaml_1_2_numbers_and_words(write):
    recipe = load_recipe(write(LINES + "baseline: false\n"))
    assert recipe.distill[1].optimizer.learning_rate == 1e-4  # YAML 1.1 reads 1e-4 as text
    assert recipe.data.train[0].language == "no"  # Norwegian; YAML 1.1 reads False
    assert recipe.baseline is False
    tree = YAML(typ="safe").load("a: on\nb: 1e-4\nc: 010\nd: yes")
    assert tree == {"a": "on", "b": 1e-4, "c": 10, "d": "yes"}


def test_keys_beyond_the_named_ones_are_options_of_the_objective(write):
    text = changed("{loss: logit_mse, head: logits}", "{loss: logit_mse, head: logits, scale: 2.5}")
    assert load_recipe(write(text)).distill[0].terms[0].options == {"scale": 2.5}


def test_the_recipe_is_immutable(write):
    with pytest.raises(ValueError, match="frozen"):
        load_recipe(write(LINES)).seed = 8


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("seed: 7", "sed: 7", 24, ["unknown key `sed`"]),
        ("kind: bilstm", "kinds: bilstm", 13, ["unknown key `models.student.kinds`"]),
        ("language: no", "lang: no", 6, ["unknown key `data.train.0.lang`"]),
        ("{learning_rate: 1e-4}", "{hi: 1e-4}", 21, ["unknown key `distill.1.optimizer.hi`"]),
        ("seed: 7", "seed: seven", 24, ["`seed`", "valid integer", "'seven'"]),
        ("seed: 7", "seed: 7.5", 24, ["`seed`", "7.5"]),
        ("seed: 7", "seed: -1", 24, ["`seed`", "greater than or equal to 0", "-1"]),
        ("seed: 7", "seed: [7]", 24, ["`seed`", "valid integer"]),
        ("task: tags", "task: parse", 2, ["`task.kind`", "'tags'", "'parse'"]),
        (
            "hidden_dim: 4\n",
            "hidden_dim: 4\n    embedding: {init: lsa}\n",
            15,
            ["embedding.init", "'svd'"],
        ),
        (
            "{learning_rate: 1e-4}",
            "{learning_rate: 0}",
            21,
            ["optimizer.learning_rate", "greater than 0", "got 0"],
        ),
        ("{learning_rate: 1e-4}", "{warmup: 1}", 21, ["optimizer.warmup", "less than 1"]),
        ("{learning_rate: 1e-4}", "1e-4", 21, ["distill.1.optimizer", "0.0001"]),
        ("name: first", "name: a b", 17, ["distill.0.name", "'a b'"]),
        ("terms:\n      - {loss: logit_mse, head: logits}", "terms: []", 18, ["distill.0.terms"]),
        ("{loss: logit_mse, head: logits}", "{head: logits}", 19, ["terms.0.loss", "required"]),
        ("{loss: logit_mse, head: logits}", "logit_mse", 19, ["distill.0.terms.0", "'logit_mse'"]),
        ("scratch: {layers: 1}", "checkpoint: x\n    scratch: {layers: 1}", 8, ["not both"]),
        ("scratch: {layers: 1}", "max_length: 32", 8, ["`models.teacher`", "not neither"]),
        ("scratch: {layers: 1}", "scratch: {layers: 0}", 9, ["scratch.layers", "got 0"]),
        ("    - path: a.conll", "    - demo: a.conll", 5, ["`data.train.0.path`", "required"]),
        ("kind: bilstm", "kind: bilstm\n    head_input: projection", 12, ["projection: true"]),
        ("hidden_dim: 4", "projection_activation: linear", 12, ["projection: true"]),
        ("    terms:", "    stop: {on: transfer_held_out}\n    terms:", 18, ["monitor: loss"]),
        ("data:", "data:\n  test_fraction: 1", 4, ["data.test_fraction", "less than 1"]),
        (
            "data:",
            "data:\n  test_fraction: 0.9",
            3,
            ["dev_fraction (0.1) and test_fraction (0.9) leave"],
        ),
        (
            "data:",
            "data:\n  test_fraction: 0.1\n  test: [{path: b.conll}]",
            3,
            ["either test: files or test_fraction:"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write, old, new, line, words):
    message = message_of(write(changed(old, new)))
    assert message.startswith(f"r.yaml:{line}: "), message
    for word in words:
        assert word in message


@pytest.mark.parametrize("name", ["train", "dev", "test", "transfer"])
def test_the_built_in_corpus_stands_alone(name):
    demo = {"kind": "tags", "train": 4, "dev": 4, "test": 4, "transfer": 4}
    data = {"demo": demo, name: [{"path": "a.txt"}]}
    with pytest.raises(RecipeError, match=f"give either {name}: files or demo:, not both"):
        parse_recipe({"base": "demo", "task": "tags", "data": data})


def test_there_is_a_train_set_to_split_a_test_set_off():
    demo = {"demo": {"kind": "tags"}, "test_fraction": 0.1}
    with pytest.raises(RecipeError, match="test_fraction is a share of train: files"):
        parse_recipe({"task": "tags", "data": demo, "models": {"teacher": {"scratch": {}}}})


def test_a_key_of_fine_tune_is_named_with_its_line(write):
    message = message_of(write(changed("epochs: 2", "epochs: 2\n      epochz: 3")))
    assert message == "r.yaml:12: unknown key `models.teacher.fine_tune.epochz`"


@pytest.mark.parametrize("value", ["no", "true", "", "[1]"])
def test_fine_tune_is_a_mapping_auto_or_false(write, value):
    message = message_of(write(changed("fine_tune:\n      epochs: 2", f"fine_tune: {value}")))
    assert message.startswith("r.yaml:10: `models.teacher.fine_tune`: Input should be a mapping, ")


@pytest.mark.parametrize("stream", ["[]", '""'])
def test_a_stream_of_no_sets_is_refused(write, stream):
    message = message_of(write(changed("stream: [train, transfer]", f"stream: {stream}")))
    assert message.startswith("r.yaml:23: `distill.1.terms.0.stream`: a stream draws from at least")


@pytest.mark.parametrize("stream", ["5", "{train: 1}"])
def test_a_stream_is_a_name_or_a_list(write, stream):
    message = message_of(write(changed("stream: [train, transfer]", f"stream: {stream}")))
    assert message.startswith("r.yaml:23: `distill.1.terms.0.stream`: Input should be the name of")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("seed: 7", "seed: true", "seed"),
        ("seed: 7", 'seed: "7"', "seed"),
        ("{learning_rate: 1e-4}", "{learning_rate: true}", "distill.1.optimizer.learning_rate"),
        ("{learning_rate: 1e-4}", '{clip: "1"}', "distill.1.optimizer.clip"),
        ("name: second", "name: second\n    stop: {patience: true}", "distill.1.stop.patience"),
    ],
)
def test_true_and_text_are_no_numbers(write, old, new, key):
    message = message_of(write(changed(old, new)))
    assert f"`{key}`: Input should be a valid " in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (
            "{learning_rate: 1e-4}",
            "{learning_rate: .inf}",
            "21: `distill.1.optimizer.learning_rate`",
        ),
        ("{learning_rate: 1e-4}", "{clip: .nan}", "21: `distill.1.optimizer.clip`"),
        ("hidden_dim: 4", "dropout: .nan", "14: `models.student.dropout`"),
        (
            "{loss: logit_mse, head: logits}",
            "{loss: logit_mse, head: logits, layers: [[1, -.inf]]}",
            "19: `distill.0.terms.0.layers`",
        ),
        ("language: no", "options: {a: {b: .inf}}", "6: `data.train.0.options.a`"),
    ],
)
def test_numbers_are_finite(write, old, new, place):
    message = message_of(write(changed(old, new)))
    assert message.startswith(f"r.yaml:{place}: Input should be a finite number")


@pytest.mark.parametrize("kind", ["classes", "pair"])
def test_a_continuation_label_needs_tags(write, kind):
    text = changed("task: tags", f"task: {{kind: {kind}, continuation: true}}")
    assert message_of(write(text)).startswith("r.yaml:2: `task`: continuation: true needs a task")


@pytest.mark.parametrize("kind", ["classes", "pair"])
def test_a_scheme_needs_tags(write, kind):
    text = changed("task: tags", f"task: {{kind: {kind}, scheme: iobes}}")
    assert message_of(write(text)).startswith("r.yaml:2: `task`: scheme: iobes needs a task with")
    assert TaskSpec(kind=kind).options == {}
    assert TaskSpec(kind="tags").options == {"continuation": False, "scheme": "iob2"}


def test_intents_with_slots_may_have_a_continuation_label(write):
    text = changed("task: tags", "task: {kind: intent_slots, continuation: true}")
    assert load_recipe(write(text)).task.continuation


@pytest.mark.parametrize("task", ["tags", "intent_slots", "classes", "pair"])
def test_few_sentences_of_each_class_need_classes(write, task):
    """With tags alone all sentences would be of one class, and few be kept in all."""
    text = changed("task: tags", f"task: {task}").replace(
        "data:\n", "data:\n  low_resource: {per: class}\n"
    )
    if task != "tags":
        assert load_recipe(write(text)).data.low_resource.per == "class"
        return
    message = message_of(write(text))
    assert "data.low_resource.per: class" in message
    assert "task tags" in message
    assert "per: language" in message


def test_updates_by_layer_group(write):
    logits = "{loss: logit_mse, head: logits}"
    text = changed(
        logits, f"{logits}\n    unfreeze: top_down\n    stop: {{updates: {{heads: 5, encoder: 9}}}}"
    )
    assert load_recipe(write(text)).distill[0].stop.updates == {"heads": 5, "encoder": 9}
    twice = load_recipe(write(text), ["distill.first.stop.updates.encoder=2"])
    assert twice.distill[0].stop.updates == {"heads": 5, "encoder": 2}
    at_once = message_of(write(text.replace("top_down", "at_once")))
    assert at_once.startswith("r.yaml:17: `distill.0`: stop.updates by layer group needs unfreeze")


@pytest.mark.parametrize("model", ["teacher", "student"])
def test_a_window_has_room_for_words(write, model):
    with pytest.raises(RecipeError, match=rf"`models\.{model}\.max_length`: .* equal to 8; got 7"):
        load_recipe(write(LINES), [f"models.{model}.max_length=7"])
    assert load_recipe(write(LINES), [f"models.{model}.max_length=8"])


@pytest.mark.parametrize(
    ("value", "place", "reason"),
    [
        ("0", "stop.updates", "greater than or equal to 1"),
        ("[5, 9]", "stop.updates", "Input should be a number of updates, or layer groups to them"),
        ("{heads: many}", "stop.updates.heads", "valid integer"),
    ],
)
def test_updates_of_the_wrong_kind(write, value, place, reason):
    logits = "{loss: logit_mse, head: logits}"
    text = changed(logits, f"{logits}\n    unfreeze: top_down\n    stop: {{updates: {value}}}")
    message = message_of(write(text))
    assert f"`distill.0.{place}`" in message
    assert reason in message


def test_weights_are_given_or_learned(write):
    term = "{loss: cross_entropy, stream: [train, transfer]"
    text = changed(
        f"      - {term}}}", f"      - {term}, weight: 0.5}}\n    weighting: uncertainty"
    )
    message = message_of(write(text))
    assert message.startswith("r.yaml:20: `distill.1`: weighting: uncertainty learns the weights")
    assert message.endswith("remove weight: from cross_entropy")
    learned = load_recipe(write(text.replace("weight: 0.5", "weight: 1"))).distill[1]
    assert learned.weighting == "uncertainty"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: second", "name: first", ["unique", "first, first"]),
        ("  student:\n", "  pupil:\n", ["has the student 'student'", "pupil"]),
        ("head: logits}", "head: logit}", ["'first'", "'logit'", "'labels', 'logits'"]),
        ("name: second", "name: second\n    teacher: nobody", ["'second'", "'nobody'"]),
        (
            "name: second",
            "name: second\n    student: teacher",
            ["r.yaml:21", "'teacher' as its student and as its teacher; set teacher: null"],
        ),
        (
            "  student:\n",
            "  baseline: {kind: bilstm}\n  student:\n",
            [":12:", "'baseline' is the model that baseline: true makes"],
        ),
        (
            "name: second",
            "name: cool_down\n    student: teacher\n    teacher: null",
            ["'cool_down' has the name of a stage that the entry of 'teacher'"],
        ),
        ("hidden_dim: 4", "from: teacher", ["kind: or from:, not both"]),
        (
            "  student:\n",
            "  one: {from: two}\n  two: {from: one}\n  student:\n",
            [":13:", "one begins as two begins as one"],
        ),
        ("seed: 7", "seed: 7\nexport: {head: hidden}", ["export.head 'hidden'"]),
        ("hidden_dim: 4", "encoder: student", ["must be an encoder"]),
        (
            "hidden_dim: 4",
            "embedding: {of: pretrained}",
            ["student.embedding.of: pretrained needs a"],
        ),
        (
            "  student:\n",
            "  other: {from: nobody}\n  student:\n",
            [":12:", "models.other has from: 'nobody'"],
        ),
        (
            "name: second",
            "name: second\n    stop: {head: tags}",
            ["stage 'second' uses the head 'tags'", "'labels', 'logits'"],
        ),
    ],
)
def test_parts_that_do_not_fit_together(write, old, new, words):
    message = message_of(write(changed(old, new)))
    assert message.startswith("r.yaml")
    for word in words:
        assert word in message


def test_keys_of_earlier_versions_name_what_to_write(write):
    message = message_of(
        write(
            changed(
                "    kind: bilstm\n    hidden_dim: 4\n    heads: [labels, logits]",
                "    quantized: x",
            )
        )
    )
    assert message == (
        "r.yaml:13: unknown key `models.student.quantized`; write from: NAME and apply: [quantize]"
    )


@pytest.mark.parametrize(
    ("new", "old", "told"),
    [
        (
            "{learning_rate: 1e-4}",
            "{high: 1e-4}",
            "`distill.1.optimizer.high`; it is learning_rate",
        ),
        ("{learning_rate: 1e-4}", "{low: 1e-4}", "`distill.1.optimizer.low`; it is final_learning"),
        ("{layers: 1}", "{width: 8}", "`models.teacher.scratch.width`; it is hidden_dim now"),
        ("{layers: 1}", "{inner: 8}", "`models.teacher.scratch.inner`; it is intermediate_dim now"),
    ],
)
def test_an_earlier_key_names_the_one_of_today(write, new, old, told):
    assert f"unknown key {told}" in message_of(write(changed(new, old)))


def test_null_takes_a_model_of_the_base_away(write):
    write(LINES)
    own = Path(write(LINES)).with_name("own.yaml")
    deliver = "deliver: {teacher: {checkpoint: true}}"
    own.write_text(f"base: r.yaml\nmodels: {{student: null}}\ndistill: []\n{deliver}\n", "utf-8")
    assert [*load_recipe(own).models] == ["teacher"]


def test_null_takes_a_delivery_of_the_base_away(write):
    base = Path(write(LINES + "deliver: {student: {tflite: true}}\n"))
    own = base.with_name("own.yaml")
    own.write_text("base: r.yaml\ndeliver: {student: null, teacher: {checkpoint: true}}\n", "utf-8")
    assert [*load_recipe(own).deliver] == ["teacher"]


def test_null_does_not_take_all_deliveries_away(write):
    base = Path(write(LINES + "deliver: {student: {tflite: true}}\n"))
    own = base.with_name("own.yaml")
    own.write_text("base: r.yaml\ndeliver: {student: null}\n", "utf-8")
    with pytest.raises(RecipeError, match=r"deliver.*takes all of them away"):
        load_recipe(own)


PIECE_BY_PIECE = ["task={kind: tags, continuation: true}", "models.student.min_sentences=3"]


@pytest.mark.parametrize("others", [PIECE_BY_PIECE[:1], PIECE_BY_PIECE[1:]])
def test_rare_pieces_may_go_where_words_are_compared(write, others):
    load_recipe(write(LINES), others)


def test_rare_pieces_may_go_where_there_is_no_teacher(write):
    alone = "distill=[{name: labels, teacher: null, terms: [{loss: cross_entropy}]}]"
    load_recipe(write(LINES), [*PIECE_BY_PIECE, alone])


def test_rare_pieces_stay_where_pieces_are_compared(write):
    with pytest.raises(RecipeError, match="min_sentences drops pieces that the teacher reads"):
        load_recipe(write(LINES), PIECE_BY_PIECE)


def test_all_problems_are_told_at_once(write):
    text = changed("seed: 7", "sed: 7").replace("hidden_dim: 4", "projection: maybe")
    message = message_of(write(text))
    assert "r.yaml:14: `models.student.projection`" in message
    assert "r.yaml:24: unknown key `sed`" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: a\nseed: [1\n", ["r.yaml:3: not valid YAML"]),
        ("seed: 1\nseed: 2\n", ["r.yaml:2: not valid YAML", "duplicate key"]),
        ("a: *nowhere\n", ["r.yaml:1: not valid YAML", "nowhere"]),
        ("- a\n", ["expected a mapping of keys"]),
        ("", ["expected a mapping of keys", "NoneType"]),
    ],
)
def test_files_that_are_no_recipes(write, text, words):
    message = message_of(write(text))
    for word in words:
        assert word in message


def test_an_override_changes_one_place_of_an_alias(write):
    shared = "    terms: &terms\n      - {loss: soft_cross_entropy}\n"
    text = LINES.replace("    terms:\n      - {loss: logit_mse, head: logits}\n", shared)
    start, end = text.index("    terms:\n      - {loss: cross"), text.index("seed: 7")
    text = text[:start] + "    terms: *terms\n" + text[end:]
    recipe = load_recipe(write(text), ["distill.first.terms.soft_cross_entropy.scale=2.0"])
    assert [stage.terms[0].options for stage in recipe.distill] == [{"scale": 2.0}, {}]
    merged = text.replace(
        "{learning_rate: 1e-4}", "{<<: {learning_rate: 1e-4}, final_learning_rate: 1e-5}"
    )
    assert load_recipe(write(merged)).distill[1].optimizer.learning_rate == 1e-4


def bomb(first: str, row: str) -> str:
    """Nine levels of nine aliases each."""
    rows = (row.format(i=i, nine=", ".join([f"*k{i - 1}"] * 9)) for i in range(1, 10))
    return "\n".join([first, *rows])


DEEP = "".join("\n" + " " * level + "a:" for level in range(60))
REFUSED = {
    "a bomb of lists": (
        bomb("k0: &k0 [1]", "k{i}: &k{i} [{nine}]"),
        "6: more than 20,000 parts, aliases unfolded",
    ),
    "a bomb of plain values": (
        bomb("k0: &k0 x", "k{i}: &k{i} [{nine}]"),
        "6: more than 20,000 parts, aliases unfolded",
    ),
    "a bomb of merges": (
        bomb("k0: &k0 {a: 1}", "k{i}: &k{i} {{<<: [{nine}], b{i}: 1}}"),
        "5: more than 20,000 parts, aliases unfolded",
    ),
    "too many keys": (
        "".join(f"k{i}: 0\n" for i in range(20_000)),
        "10000: more than 20,000 parts, aliases unfolded",
    ),
    "a merge with itself": (
        "a: &a\n  <<: *a\n",
        "2: the alias *a stands within what it stands for",
    ),
    "a list in itself": ("a: &a [*a]\n", "1: the alias *a stands within what it stands for"),
    "an anchor twice": ("a: &a 1\nb: &a 2\n", "2: the anchor &a is there twice"),
    "too deep": (DEEP, "52: more than 50 levels of mappings and lists"),
    "a python object": (
        'name: !!python/object/apply:os.system ["true"]\n',
        "1: tags (!) have no meaning here; quote what is text",
    ),
    "an unknown tag": ("name: !secret x\n", "1: tags (!) have no meaning here; quote what is text"),
    "another YAML": (
        "%YAML 1.1\n---\nbaseline: no\n",
        "2: a recipe is YAML 1.2; remove the line that begins with %YAML",
    ),
    "an escape code": ('name: "\\x1b[31m"\n', "1: text with the character '\\x1b'"),
    "half a pair": ('name: "\\ud800"\n', "1: text with the character '\\ud800'"),
    "NUL in a path": ('a: {path: "a\\0b"}\n', "1: text with the character '\\x00'"),
    "no date": ("name: 2020-13-45\n", " not valid YAML: month must be in 1..12"),
    "no character": ('name: "\\U99999999"\n', " not valid YAML: Python int too large"),
    "too many digits": ("seed: " + "9" * 5000, " not valid YAML: Exceeds the limit"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_before_it_is_built(write, case):
    text, message = REFUSED[case]
    start = time.process_time()
    assert message_of(write(text)).startswith(f"r.yaml:{message}")
    assert time.process_time() - start < 5
    if len(text) < 1000 and "---" not in text:
        (value,) = re.findall(r"\A\w+: (.*)\n?\Z", text) or [f"[{text}]"]
        with pytest.raises(RecipeError, match="--set a="):
            override({}, [f"a={value}"])


def test_a_recipe_of_megabytes_is_refused(write):
    assert message_of(write("# " + "x" * (1 << 18))) == (
        "r.yaml: more than 262,144 bytes, which is no recipe"
    )


@pytest.mark.parametrize("make", ["fifo", "device", "folder"])
def test_a_recipe_is_a_regular_file(tmp_path, make):
    path = tmp_path / "r.yaml"
    says = "not a regular file"
    if make == "fifo":
        os.mkfifo(path)
    elif make == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
        says = "Is a directory"
    assert message_of(path) == f"r.yaml: cannot be read ({says})"
    base = tmp_path / "own.yaml"
    base.write_text("base: r.yaml\n", "utf-8")
    with pytest.raises(RecipeError, match=r"r\.yaml: cannot be read"):
        load_recipe(base)


def test_paths_that_no_system_has(tmp_path, write):
    assert "cannot be read (File name too long)" in message_of(tmp_path / ("x" * 300))
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    assert "cannot be read" in message_of(write("base: loop.yaml\n"))


@pytest.mark.parametrize("name", ["../../x", "a/b", "a.b", "", "a b", "x" * 51, '"a\\n"', "."])
@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("  student:\n", "  {name}:\n    kind: bilstm\n  student:\n", "models."),
        ("[labels, logits]", "[labels, logits, {name}]", "models.student.heads.2"),
        ("name: second", "name: {name}", "distill.1.name"),
    ],
)
def test_names_become_no_paths(write, name, old, new, place):
    given = name if name else '""'
    message = message_of(write(changed(old, new.replace("{name}", given))))
    assert f"`{place}" in message
    assert "a name has 1 to 50 letters, digits, _ and -" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("heads", "place", "says"),
    [
        ("labels", "models.student.heads", "a list of names, or names each with a kind of head"),
        ("[]", "models.student.heads", "at least 1 item"),
        ("{labels: 3, logits: linear}", "models.student.heads.labels", "valid dictionary"),
        ("{labels: {kind: 3}, logits: linear}", "models.student.heads.labels.kind", "valid string"),
        ("{a/b: linear}", "models.student.heads.a/b", "a name has 1 to 50 letters"),
    ],
)
def test_heads_of_the_wrong_kind(write, heads, place, says):
    message = message_of(write(changed("[labels, logits]", heads)))
    assert f"`{place}`" in message
    assert says in message


def test_heads_by_name_and_by_kind(write):
    kinds = "{labels: linear, logits: {kind: linear}}"
    for heads in ("[labels, logits]", kinds):
        recipe = load_recipe(write(changed("[labels, logits]", heads)))
        student = recipe.root_spec("student")
        linear = {"kind": "linear"}
        assert kinds_of(student.heads) == {"labels": linear, "logits": linear}
        assert load_recipe(write(recipe.to_yaml())) == recipe


def test_names_may_be_in_any_script(write):
    text = changed("name: second", "name: zweite-Stufe_二")
    assert load_recipe(write(text)).distill[1].name == "zweite-Stufe_二"


HUGE = "0x" + "f" * 6000


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seed: 7", "seed: 4294967296", "24: `seed`: Input should be less than or equal to 42949"),
        ("seed: 7", f"seed: {HUGE}", "24: `seed`: Input should be less than or equal to 42949"),
        (
            "{learning_rate: 1e-4}",
            "{}\n    batch_size: 1e24",
            "22: `distill.1.batch_size`: Input should be",
        ),
        (
            "{learning_rate: 1e-4}",
            "{}\n    batch_size: 100000",
            "22: `distill.1.batch_size`: Input should",
        ),
        (
            "{learning_rate: 1e-4}",
            "{}\n    accumulate: 100000",
            "22: `distill.1.accumulate`: Input should",
        ),
        (
            "{learning_rate: 1e-4}",
            "{}\n    stop: {epochs: 10000000000}",
            "22: `distill.1.stop.epochs`",
        ),
        (
            "{learning_rate: 1e-4}",
            "{}\n    stop: {updates: 10000000000}",
            "22: `distill.1.stop.updates`",
        ),
        (
            "{learning_rate: 1e-4}",
            "{}\n    groups: []",
            "22: `distill.1.groups`: List should have at least",
        ),
        (
            "hidden_dim: 4",
            f"hidden_dim: {HUGE}",
            "14: `models.student.hidden_dim`: Input should be less than or",
        ),
        (
            "hidden_dim: 4",
            "hidden_dim: 2020-01-01",
            "14: `models.student.hidden_dim`: Input should be a number",
        ),
        (
            "hidden_dim: 4",
            "hidden_dim: [{1: 2}]",
            "14: `models.student.hidden_dim`: Keys should be strings",
        ),
        ("epochs: 2", "batch_size: 70000", "11: `models.teacher.fine_tune.batch_size`"),
        ("{layers: 1}", "{layers: 1000000}", "9: `models.teacher.scratch.layers`"),
        ("{layers: 1}", "{hidden_dim: 100000}", "9: `models.teacher.scratch.hidden_dim`"),
        (
            "{layers: 1}",
            "{hidden_dim: 10, heads: 4}",
            "9: `models.teacher.scratch`: hidden_dim 10 is not",
        ),
        ("{layers: 1}", "{vocabulary: 99999999}", "9: `models.teacher.scratch.vocabulary`"),
        ("language: no", "limit: 99999999999", "6: `data.train.0.limit`"),
        ("name: small", f"name: {'x' * 300}", "1: `name`: String should have at most 200"),
        ("seed: 7", "export: {length: 100000}", "24: `export.length`"),
        ("seed: 7", "benchmark: {queries: 100000000}", "24: `benchmark.queries`"),
    ],
)
def test_numbers_that_no_training_could_have(write, old, new, says):
    message = message_of(write(changed(old, new)))
    assert message.startswith(f"r.yaml:{says}")
    assert len(message) < 200


def test_the_largest_seed_is_one(write):
    assert load_recipe(write(changed("seed: 7", "seed: 4294967295"))).seed == 2**32 - 1


def test_messages_stay_short(write):
    wide = "{" + ", ".join(f"k{i}: 1" for i in range(3000)) + "}"
    message = message_of(write(changed("{learning_rate: 1e-4}", wide)))
    assert message.count("\n") == 20
    assert message.endswith("and 2980 more")
    message = message_of(write(changed("task: tags", f"task: {'x' * 200_000}")))
    assert len(message) < 500
    assert len(str(RecipeError("x" * 2_500_000))) < 4000


def test_control_characters_of_a_message_are_escaped():
    assert str(RecipeError("a\x1b[31m\u202e\ud800\nb")) == "a\\x1b[31m\\u202e\\ud800\nb"


def test_control_characters_are_refused(write):
    message = message_of(write("name: a\ntask: b\0c\n"))
    assert message == "r.yaml:2: not valid YAML: the character '\\x00'"


def test_a_missing_file_and_one_that_is_no_text(tmp_path):
    message = message_of(tmp_path / "none.yaml")
    assert (
        "cannot be read (no such file); tfdistil comes with the recipes aspect_terms, camembert"
        in message
    )
    (tmp_path / "latin.yaml").write_bytes("name: é".encode("latin-1"))
    assert "not UTF-8 (byte 6)" in message_of(tmp_path / "latin.yaml")


def test_an_override_fills_in_what_is_null():
    tree = {"data": {"low_resource": None}}
    override(tree, ["data.low_resource.samples=7"])
    assert tree == {"data": {"low_resource": {"samples": 7}}}


def test_null_takes_an_item_of_a_list_away():
    tree = {"distill": [{"name": "a", "terms": [{"loss": "x"}, {"loss": "y"}]}, {"name": "b"}]}
    override(tree, ["distill.b=null", "distill.a.terms.0=null"])
    assert tree == {"distill": [{"name": "a", "terms": [{"loss": "y"}]}]}
    with pytest.raises(RecipeError, match="no 'b' here"):
        override(tree, ["distill.b=null"])


def test_overrides_lead_through_names_and_numbers(write):
    recipe = load_recipe(
        write(LINES),
        [
            "seed=8",
            "name=no",
            "distill.second.optimizer.learning_rate=1e-3",
            "distill.0.batch_size=5",
            "distill.first.terms.0.weight=0.5",
            "data.train.0.limit=3",
            "models.student.dropout=0.1",
            "export.quantize=none",  # a part the file does not have
            "task={kind: classes}",
        ],
    )
    assert (recipe.seed, recipe.name, recipe.task.kind) == (8, "no", "classes")
    assert recipe.distill[1].optimizer.learning_rate == 1e-3
    assert recipe.distill[0].batch_size == 5
    assert recipe.distill[0].terms[0].weight == 0.5
    assert recipe.data.train[0].limit == 3
    assert recipe.root_spec("student").options == {"hidden_dim": 4, "dropout": 0.1}
    assert recipe.export.quantize == "none"


def test_a_file_is_addressed_by_its_path_dots_and_all():
    rows = [{"path": "../a.b.txt"}, {"path": "../a"}]
    tree = {"data": {"transfer": rows}}
    override(tree, ["data.transfer.../a.b.txt.limit=5", "data.transfer.../a.limit=6"])
    assert [row["limit"] for row in tree["data"]["transfer"]] == [5, 6]
    assert look_up(tree, "data.transfer.../a.b.txt.limit") == 5
    override(tree, ["data.transfer.../a.b.txt={path: c.txt}"])
    assert tree["data"]["transfer"][0] == {"path": "c.txt"}


def test_a_list_item_is_replaced_where_it_stands(write):
    tree = load_tree(write(LINES))
    override(tree, ["distill.second={name: other}"])
    assert [stage["name"] for stage in tree["distill"]] == ["first", "other"]


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("seed", ["expected key=value"]),
        ("distill.third.batch_size=2", ["no 'third' here", "first, second"]),
        ("distill.2.batch_size=2", ["no '2' here"]),
        ("name.a.b=1", ["'a' leads into a plain value"]),
        ("optimizer.learning_rate=1", ["unknown key `optimizer`"]),
        ("distill.first.optimizr.clip=1", ["unknown key `distill.0.optimizr`"]),
        ("seed=", ["`seed`", "None"]),
    ],
)
def test_overrides_that_lead_nowhere(write, assignment, words):
    message = message_of(write(LINES), [assignment])
    for word in words:
        assert word in message


@pytest.mark.parametrize("assignment", ["seed.x=1", "task.continuation=true", "name.x=1"])
def test_an_override_into_a_plain_value(write, assignment):
    assert "plain value" in message_of(write(LINES), [assignment])


@pytest.mark.parametrize("value", ["[", "a\0b", "*nowhere"])
def test_an_override_with_a_broken_value(write, value):
    message = message_of(write(LINES), [f"name={value}"])
    assert message.startswith(f"--set name={printable(value)}: not valid YAML: ")


def test_the_resolved_recipe_reads_back_equal(write):
    recipe = load_recipe(write(LINES))
    again = load_recipe(write(recipe.to_yaml()))
    assert again == recipe
    assert again.to_yaml() == recipe.to_yaml()


positive = st.floats(1e-12, 1e6, allow_nan=False)
tricky_text = st.sampled_from(
    ["no", "on", "1e-4", "~", "null", "007", "a: b", "# c", "日本", " x "]
)


@settings(deadline=None)
@given(
    st.builds(
        Recipe,
        name=tricky_text | st.text(st.characters(exclude_categories=("C",)), max_size=8),
        task=st.sampled_from(["tags", "pair"]),
        data=st.builds(
            dict,
            train=st.lists(
                st.fixed_dictionaries(
                    {"path": tricky_text},
                    optional={
                        "language": tricky_text,
                        "label_map": st.dictionaries(tricky_text, tricky_text, max_size=2),
                    },
                ),
                min_size=1,
                max_size=2,
            ),
        ),
        models=st.just(
            {"teacher": {"checkpoint": "x", "fine_tune": False}, "student": {"kind": "a", "b": 1}}
        ),
        distill=st.builds(
            StageSpec,
            name=st.from_regex(r"[a-z0-9_-]{1,6}", fullmatch=True),
            terms=st.builds(
                TermSpec, loss=tricky_text, weight=positive, layer=st.integers(0, 12)
            ).map(lambda term: [term]),
            optimizer=st.builds(
                OptimizerSpec,
                learning_rate=positive,
                final_learning_rate=positive,
                clip=st.none() | positive,
            ),
            teacher=st.none() | st.just("teacher"),
        ).map(lambda stage: [stage]),
        seed=st.integers(0, 2**31),
    )
)
def test_every_recipe_survives_yaml(recipe):
    assert parse_recipe(YAML().load(recipe.to_yaml())) == recipe


@pytest.mark.parametrize("name", sorted(path.stem for path in WHOLE))
def test_shipped_recipes_load_by_name(name):
    recipe = load_recipe(name)
    assert recipe.name == name
    assert recipe.distill


TEXT_AND_TEACHER = [
    "data.corpus.sources=[{path: text.txt, language: sl}]",
    "models.teacher.checkpoint=folder",
]


def test_camembert_fine_tunes_for_inference_as_its_table_2_says():
    pairs = ["data.train=[{path: pairs.csv}]", "models.student.checkpoint=folder"]
    recipe = load_recipe("camembert_nli", pairs)
    assert recipe.plan() == ("student",)
    assert recipe.task.kind == "pair"
    (stage,) = recipe.distill
    assert [term.loss for term in stage.terms] == ["cross_entropy"]
    assert stage.teacher is None
    adam = stage.optimizer
    assert (adam.learning_rate, adam.schedule, adam.warmup) == (2e-5, "constant", 0)
    assert (adam.epsilon, adam.weight_decay, adam.layer_decay) == (2e-7, 0, 1)
    assert adam.rates == {"embeddings": 0}
    assert (stage.batch_size, stage.accumulate, stage.stop.epochs) == (32, 1, 3)
    assert (stage.stop.patience, stage.stop.updates) == (None, None)
    assert recipe.root_spec("student").max_length == 128


@pytest.mark.parametrize(("name", "delivered"), [("eliquare", "student"), ("camembert", "six")])
def test_bases_on_text_need_text_and_a_teacher(name, delivered):
    recipe = load_recipe(name, TEXT_AND_TEACHER)
    assert recipe.plan()[-1] == recipe.main == delivered
    assert all(stage.stop.on == "corpus_held_out" for stage in recipe.distill)


def test_every_assistant_of_the_cascade_learns_the_means_of_neighbours():
    """Equation 3 of CAMeMBERT: n layers, n + 1 hidden states, each weighted with 1/n."""
    recipe = load_recipe("camembert", TEXT_AND_TEACHER)
    sections = recipe.data.corpus.sections
    for n, stage in zip(range(11, 5, -1), recipe.distill, strict=True):
        maps, states, embeddings = stage.terms
        means = [[j, j, j + 1] for j in range(n + 1)]
        assert maps.options["layers"] == states.options["layers"] == means[1:]
        assert embeddings.options["layers"] == means[:1]
        assert [term.weight for term in stage.terms] == pytest.approx([1 / n] * 3, abs=1e-5)
        assert {term.stream for term in stage.terms} == {f"corpus.{stage.student}"}
        assert stage.student in sections
        assert stage.groups == [f"layer_{layer}" for layer in range(n, 0, -1)]
        assert stage.batch_size * stage.accumulate == 256
        assert stage.stop.updates == 66666


def test_the_cascade_has_the_hyperparameters_of_the_paper():
    """Table 2 of DeGenaro and Kalita 2022, and "linear warmup throughout" for 11 layers."""
    recipe = load_recipe("camembert", TEXT_AND_TEACHER)
    assert recipe.models["teacher"].max_length == 128
    for stage in recipe.distill:
        spec = stage.optimizer
        assert (spec.learning_rate, spec.epsilon, spec.weight_decay) == (1e-7, 1e-9, 0)
        assert spec.schedule == "linear"
        assert stage.teacher_dropout
        rising = round(spec.warmup * stage.stop.updates)
        assert rising == pytest.approx(66666 if stage.student == "eleven" else 6666, abs=1)


def test_eliquare_has_the_hyperparameters_of_the_paper():
    """Section 3.3 and equation 8 of Singh, De Clercq and Lefever 2023; τ = 2."""
    (stage,) = load_recipe("eliquare", TEXT_AND_TEACHER).distill
    weights = {term.loss: term.weight for term in stage.terms}
    assert weights == {"softened_cross_entropy": 5, "hidden_cosine": 1, "masked_lm": 2}
    assert stage.terms[0].options == {"temperature": 2.0}
    (masking,) = stage.noise
    assert masking.options == {"probability": 0.15, "smoothing": 0.7}
    spec = stage.optimizer
    assert (spec.learning_rate, spec.epsilon, spec.rates) == (5e-4, 1e-6, {"positions": 0})
    assert stage.batch_size * stage.accumulate == 1600
    assert stage.stop.epochs == 10


def test_there_are_shipped_recipes():
    assert "demo" in {path.stem for path in WHOLE}


class TestBase:
    OWN = """\
base: %s
task: tags
data: {train: [{path: a.conll}]}
models: {teacher: {scratch: {}}, student: {hidden_dim: 7}}
"""

    def load(self, folder, base, *assignments, own=""):
        path = folder / "own.yaml"
        path.write_text(self.OWN % base + own, encoding="utf-8")
        return load_recipe(path, assignments)

    def test_what_is_missing_comes_from_it_and_from_its_own_base(self, tmp_path):
        recipe = self.load(tmp_path, "d4_2")
        student = recipe.root_spec("student")
        assert (student.options["hidden_dim"], student.options["dropout"]) == (7, 0.2)
        assert student.heads == ["labels", "logits"]
        assert [stage.name for stage in recipe.distill] == ["representation", "logits", "labels"]
        assert recipe.base is None  # the resolved recipe stands alone

    def test_it_can_be_chosen_on_the_command_line_and_overridden(self, tmp_path):
        changes = ["base=d2", "distill.joint.terms.hidden_kl.weight=10", "seed=2"]
        recipe = self.load(tmp_path, "d1", *changes)
        assert [term.weight for term in recipe.distill[0].terms] == [1, 10, 1]
        assert recipe.seed == 2

    def test_a_list_is_replaced(self, tmp_path):
        own = "distill: [{name: mine, terms: [{loss: cross_entropy}]}]\n"
        assert [s.name for s in self.load(tmp_path, "d2", own=own).distill] == ["mine"]

    def test_items_of_a_list_are_changed_by_their_names(self, tmp_path):
        own = "distill: {logits: {batch_size: 7, stop: {epochs: 3}}, labels: null}\n"
        stages = self.load(tmp_path, "d4_2", own=own).distill
        assert [stage.name for stage in stages] == ["representation", "logits"]
        base = self.load(tmp_path, "d4_2").distill
        assert stages[0] == base[0]
        assert (stages[1].batch_size, stages[1].stop.epochs) == (7, 3)
        assert stages[1].terms == base[1].terms

    def test_changes_may_share_what_they_say(self):
        shared = {"batch_size": 7}
        recipe = {
            "base": "d4_2",
            "task": "tags",
            "data": {"train": [{"path": "a.conll"}]},
            "models": {"teacher": {"scratch": {}}},
            "distill": {"logits": shared, "labels": shared},
        }
        stages = load_recipe(recipe).distill
        assert [stage.batch_size for stage in stages[1:]] == [7, 7]
        assert [stage.name for stage in stages] == ["representation", "logits", "labels"]

    def test_items_of_items(self, tmp_path):
        own = "distill: {joint: {terms: {hidden_kl: {weight: 10}}}}\n"
        terms = self.load(tmp_path, "d2", own=own).distill[0].terms
        assert [term.weight for term in terms] == [1, 10, 1]

    def test_through_a_base_that_changes_others(self, tmp_path):
        (tmp_path / "common.yaml").write_text(
            "base: d4_2\ndistill: {labels: {batch_size: 5}, logits: {batch_size: 6}}\n", "utf-8"
        )
        own = "distill: {logits: {batch_size: 7}}\n"
        stages = self.load(tmp_path, "common.yaml", own=own).distill
        assert [stage.batch_size for stage in stages[1:]] == [7, 5]

    @pytest.mark.parametrize(
        ("own", "message"),
        [
            (
                "distill: {joined: {batch_size: 7}}",
                r"own\.yaml: `distill\.joined`: d1\.yaml has none of that name in a list that has "
                "joint; give the whole list",
            ),
            ("distill: {joint: 7}", r"`distill\.joint`: expected keys to change, or null; got 7"),
            ("distill: {joint: {terms: {nix: null}}}", r"`distill\.joint\.terms\.nix`: d1\.yaml"),
        ],
    )
    def test_a_change_of_no_item(self, tmp_path, own, message):
        with pytest.raises(RecipeError, match=message):
            self.load(tmp_path, "d1", own=own + "\n")

    def test_a_list_of_names_may_become_a_mapping(self, tmp_path):
        (tmp_path / "common.yaml").write_text(
            "base: d1\nmodels: {student: {heads: [labels, logits]}}\n", "utf-8"
        )
        (tmp_path / "own.yaml").write_text(
            (self.OWN % "common.yaml").replace(
                "hidden_dim: 7", "heads: {labels: crf, logits: linear}"
            ),
            "utf-8",
        )
        heads = load_recipe(tmp_path / "own.yaml").root_spec("student").heads
        assert [*heads] == ["labels", "logits"]
        assert heads["labels"].kind == "crf"

    def test_a_file_beside_the_recipe(self, tmp_path):
        (tmp_path / "common.yaml").write_text("base: d1\nseed: 5\n", encoding="utf-8")
        recipe = self.load(tmp_path, "common.yaml")
        assert (recipe.seed, recipe.distill[0].name) == (5, "joint")

    def test_how_text_is_cut_may_come_from_another_folder(self, tmp_path):
        path = tmp_path / "own.yaml"
        path.write_text(
            "base: camembert\n"
            "data: {corpus: {sources: [{path: a.txt, language: sl}], joined: true}}\n"
            "models: {teacher: {checkpoint: folder}}\n",
            "utf-8",
        )
        corpus = load_recipe(path).data.corpus
        assert corpus.sections["eleven"] == 0.165
        assert corpus.joined
        assert [source.path for source in corpus.sources] == ["a.txt"]

    def test_errors(self, tmp_path):
        with pytest.raises(RecipeError, match=r"nothing\.yaml: cannot be read"):
            self.load(tmp_path, "nothing.yaml")
        with pytest.raises(RecipeError, match=r"base 'own\.yaml' leads back to own\.yaml"):
            self.load(tmp_path, "own.yaml")
        with pytest.raises(RecipeError, match="base 'demo' has data: of another folder"):
            self.load(tmp_path, "demo")
        (tmp_path / "list.yaml").write_text("[]", encoding="utf-8")
        with pytest.raises(RecipeError, match="expected a mapping"):
            self.load(tmp_path, "list.yaml")
        (tmp_path / "typo.yaml").write_text("base: d1\nexport: {lenght: 3}\n", "utf-8")
        with pytest.raises(RecipeError, match=r"own\.yaml: unknown key `export\.lenght`"):
            self.load(tmp_path, "typo.yaml")


def test_a_file_goes_before_a_shipped_recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("demo").write_text(LINES, encoding="utf-8")
    assert load_recipe("demo").name == "small"


def test_options_of_a_part_are_plain_numbers(tmp_path):
    path = tmp_path / "plain.yaml"
    path.write_text(
        LINES.replace("hidden_dim: 4\n", "hidden_dim: 4\n    dropout: 2.0e-1\n"), "utf-8"
    )
    options = load_recipe(path).root_spec("student").options
    assert (type(options["hidden_dim"]), type(options["dropout"])) == (int, float)
