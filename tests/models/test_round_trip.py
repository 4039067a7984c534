"""Every model that a run makes of a checkpoint is again one of `transformers`' file format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML
from safetensors import safe_open
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing

from tfdistil.corpus.loading import load_corpus
from tfdistil.distill.schedule import Schedule
from tfdistil.encoders.config import EncoderConfig
from tfdistil.encoders.tokenizer import save_tokenizer
from tfdistil.models.graph import Models
from tfdistil.models.record import ModelRecord, save_checkpoint
from tfdistil.recipe.loading import parse_recipe
from tfdistil.text.pretrained import bert_tokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = [a + b for a in "bdgklmnrst" for b in "aeio"]
DRAWN = np.random.default_rng(0).integers(0, 20, (60, 5))
TEXT = [" ".join(WORDS[word] for word in line) for line in DRAWN]
RECIPE = """
task: text
data: {corpus: {sources: [{path: text.txt, language: xx}], held_out: 0.1, test: 0.1}}
models:
  teacher:
    {checkpoint: FOLDER, heads: {logits: mlm}, fine_tune: false, attention: true, max_length: 16}
  MODELS
distill: [{name: s, student: made, teacher: null, noise: [masking], TERMS}]
deliver: {made: {checkpoint: true}}
"""
MLM = "terms: [{loss: masked_lm, stream: corpus}]"
CASCADE = """
- name: to_three
  student: three
  terms:
    - {loss: attention_mse, stream: corpus, layers: [[1, 1, 2], [2, 2, 3], [3, 3, 4]]}
    - {loss: states_mse, stream: corpus, layers: [[1, 1, 2], [2, 2, 3], [3, 3, 4]]}
  stop: &stop {updates: 2, every: 2, monitor: loss, on: corpus_held_out}
- name: to_two
  student: made
  teacher: three
  terms:
    - {loss: attention_mse, stream: corpus, layers: [[1, 1, 2], [2, 2, 3]]}
    - {loss: states_mse, stream: corpus, layers: [[1, 1, 2], [2, 2, 3]]}
  stop: *stop
"""
"""Four layers become three and two, each trained; the embeddings learn, too."""


def chain(*transforms: str) -> str:
    return f"made: {{from: teacher, apply: [{', '.join(transforms)}]}}"


REDUCED = "{kind: reduce_vocabulary, language: xx}"
CASES = {
    "layers": ("bert-mlm", chain("keep_layers"), 2),
    "layers of DistilBERT": ("distilbert-mlm", chain("{kind: keep_layers, layers: [1, 3]}"), 2),
    "layers of XLM-R": ("xlm-roberta-mlm", chain("{kind: keep_layers, layers: -3}"), 3),
    "fewer pieces": ("bert-mlm", chain(REDUCED), 4),
    "fewer pieces of XLM-R": ("xlm-roberta-mlm", chain(REDUCED), 4),
    "fewer layers and pieces": ("xlm-roberta-mlm", chain("keep_layers", REDUCED), 2),
    "new pieces": ("bert-mlm", chain("{kind: new_vocabulary, vocabulary: 70}"), 4),
    "cascade": (
        "bert-mlm",
        "three: {from: teacher, apply: [{kind: keep_layers, layers: 3}]}\n"
        "  made: {from: three, apply: [{kind: keep_layers, layers: 2}]}",
        2,
    ),
}


def word_pieces(size: int) -> Tokenizer:
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]
    pieces += [f"##{letter}" for letter in LETTERS] + WORDS
    assert len(pieces) == size
    return bert_tokenizer({piece: i for i, piece in enumerate(pieces)}, lowercase=True)


def unigram(size: int) -> Tokenizer:
    """Ids as XLM-R has them: special pieces first, the one that masks last."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *LETTERS, *[f"▁{word}" for word in WORDS]]
    pieces += [a + b for a in LETTERS for b in "xq"][: size - len(pieces) - 1]
    pieces.append("<mask>")
    assert len(pieces) == size
    scores = [(piece, -1.0 if len(piece) > 1 else -9.0) for piece in pieces]
    tokenizer = Tokenizer(Unigram(scores, unk_id=3, byte_fallback=False))
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return tokenizer


TOKENIZERS = {"bert-mlm": word_pieces, "distilbert-mlm": word_pieces, "xlm-roberta-mlm": unigram}


def checkpoint(source: Path, folder: Path) -> None:
    """A golden checkpoint with a tokenizer, which it has none of."""
    for name in ("config.json", "model.safetensors"):
        shutil.copyfile(source / name, folder / name)
    content = json.loads((folder / "config.json").read_text("utf-8"))
    config = EncoderConfig.from_huggingface(content)
    save_tokenizer(TOKENIZERS[source.name](config.vocabulary), folder, config)


@pytest.fixture(scope="module", params=CASES)
def produced(request, golden: Path, tmp_path_factory) -> tuple[Path, Path, ModelRecord, int]:
    """The golden checkpoint, the folder that is delivered, its model and number of layers."""
    source, models, layers = CASES[request.param]
    folder = tmp_path_factory.mktemp("run")
    (folder / "teacher").mkdir()
    checkpoint(golden / source, folder / "teacher")
    (folder / "text.txt").write_text("\n".join(TEXT) + "\n", "utf-8")
    text = RECIPE.replace("FOLDER", "teacher").replace("MODELS", models).replace("TERMS", MLM)
    tree: dict[str, Any] = YAML(typ="safe").load(text)
    if request.param == "cascade":
        tree["distill"] = YAML(typ="safe").load(CASCADE)
    recipe = parse_recipe(tree)
    corpus = load_corpus(recipe, folder)
    made = Models(recipe, corpus, folder)
    if request.param == "cascade":
        schedule = Schedule(made, corpus.sets(), corpus.task, folder, seed=1, head="logits")
        schedule.run(recipe.distill)
    save_checkpoint(made["made"], corpus.task, folder / "made")
    return golden / source, folder / "made", made["made"], layers


def tensors(path: Path) -> dict[str, tuple[int, ...]]:
    with safe_open(path / "model.safetensors", "np") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def test_its_tensors_are_those_of_the_class_at_these_sizes(produced):
    """`transformers` wrote the golden file: the same names, without layers that are left out."""
    source, folder, _, layers = produced
    before = json.loads((source / "config.json").read_text("utf-8"))
    after = json.loads((folder / "config.json").read_text("utf-8"))
    assert after["architectures"] == before["architectures"]
    sizes = {before["vocab_size"]: after["vocab_size"]}
    expected = {
        name: (sizes.get(shape[0], shape[0]), *shape[1:])
        for name, shape in tensors(source).items()
        if not any(f".layer.{number}." in name for number in range(layers, 9))
    }
    assert tensors(folder) == expected


def test_auto_classes_read_it(produced):
    from transformers import AutoConfig, AutoTokenizer

    source, folder, record, layers = produced
    config, old = AutoConfig.from_pretrained(folder), AutoConfig.from_pretrained(source)
    assert type(config) is type(old)
    assert config.num_hidden_layers == layers
    assert config.hidden_size == old.hidden_size
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert config.vocab_size == len(tokenizer) == record.model.config.vocabulary
    assert config.pad_token_id == tokenizer.pad_token_id == record.model.config.pad_id
    assert tokenizer.mask_token_id is not None
    for line in TEXT[:3]:
        (window,) = record.featurizer.encode(line.split())
        assert tokenizer(line)["input_ids"] == window.inputs["input_ids"].tolist()


def test_pytorch_gives_the_same_scores(produced):
    """Our file in `transformers`' class, which misses nothing in it and finds nothing else."""
    torch = pytest.importorskip("torch", reason="needs PyTorch (an optional job)")
    import transformers

    _, folder, record, _ = produced
    model, problems = transformers.AutoModelForMaskedLM.from_pretrained(
        folder, output_loading_info=True
    )
    assert not any(problems.values()), problems
    (window,) = record.featurizer.encode(TEXT[0].split())
    inputs = {name: window.inputs[name][None] for name in record.model.input_names}
    inputs |= {"attention_mask": np.ones_like(inputs["input_ids"])}
    with torch.no_grad():
        expected = model.eval()(**{k: torch.tensor(v).long() for k, v in inputs.items()}).logits
    ours = np.asarray(record.model(inputs)["logits/mlm"])
    np.testing.assert_allclose(ours, expected.numpy(), atol=1e-4)
