"""The way an accelerator is timed, on the processor of both backends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

SCRIPT = """
import json, sys
from pathlib import Path
from tfdistil.benchmarks.devices.device import Job
from tfdistil.benchmarks.devices.gpu import measure_keras, model_folders
from tfdistil.benchmarks.latency import Protocol
from tfdistil.benchmarks.shapes import REFERENCES, TransformerSize
from tfdistil.benchmarks import cli

REFERENCES["tiny"] = TransformerSize(2, 16, 2, 32, 60, 40, 3)
if sys.argv[2] == "jax":
    import jax
    place = jax.devices("cpu")[0]
else:
    place = "/device:CPU:0"
job = Job([Path(sys.argv[1])], Protocol(4, 2, 2, warm_up=1), references=["tiny"])
print(json.dumps(measure_keras(model_folders(job.models), job, place, lambda line: None)))
sys.exit(cli.main([sys.argv[1], "--device", "gpu"]))
"""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A run's models, untrained: a student and a teacher."""
    from tfdistil.data.demo.generator import generate
    from tfdistil.encoders import scratch_encoder
    from tfdistil.models.record import ModelRecord, outputs_of, save_model
    from tfdistil.students import build_student
    from tfdistil.tasks import IntentSlots
    from tfdistil.text.subwords import SubwordFeaturizer
    from tfdistil.text.train_tokenizer import train_wordpiece

    examples = generate("intent_slots", "train", 20, seed=0, languages=("en",))
    tokenizer = train_wordpiece([" ".join(e.words) for e in examples], 120)
    task = IntentSlots.from_examples(examples)
    featurizer = SubwordFeaturizer.from_tokenizer(tokenizer, 32)
    size = tokenizer.get_vocab_size()
    arguments = {"kind": "bilstm", "vocabulary": size, "embedding": 4, "hidden_dim": 6, "seed": 0}
    arguments["outputs"] = outputs_of(task)
    top = tmp_path_factory.mktemp("run")
    student = ModelRecord(build_student(**arguments), featurizer, arguments)
    save_model(student, task, top / "models/student")
    encoder = scratch_encoder(
        vocabulary=size,
        hidden_dim=8,
        layers=1,
        attention_heads=2,
        intermediate_dim=16,
        max_positions=40,
        outputs=outputs_of(task),
        seed=0,
    )
    save_model(ModelRecord(encoder, featurizer, {"kind": "encoder"}), task, top / "models/teacher")
    return top


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", pytest.param("jax", marks=pytest.mark.long)])
def test_models_of_a_run_and_a_shape(run_folder, backend):
    if find_spec(backend) is None:
        pytest.skip(f"needs {backend}")
    hidden = {"KERAS_BACKEND": backend, "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(run_folder), backend],
        env={**os.environ, **hidden},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr  # of the command: no accelerator
    assert "sees no accelerator" in done.stderr.splitlines()[-1]
    found = json.loads(done.stdout.splitlines()[-1])
    assert [m["name"] for m in found["models"]] == ["student", "teacher", "tiny"]
    for model in found["models"]:
        for key, rows, calls in (
            ("online_ms", 1, 4),
            ("batch_ms", 32, 2),
            ("large_batch_ms", 256, 2),
        ):
            times = model[key]
            assert (times["batch"], times["length"], times["calls"]) == (rows, 32, calls)
            assert times["p50"] > 0
    assert found["ratios"]["teacher"]["batch"]["median"] > 0
    assert found["environment"]["backend"] == backend


def test_jax_that_is_missing_is_named_with_its_extra(tmp_path):
    (tmp_path / "model.json").touch()
    hidden = "import sys; sys.modules['jax'] = None; "
    path = [str(tmp_path), "--device", "gpu"]
    command = f"from tfdistil.benchmarks import cli; sys.exit(cli.main({path}))"
    done = subprocess.run(
        [sys.executable, "-c", hidden + command],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'tfdistil[jax]'" in done.stderr


def test_without_an_accelerator_is_one_line(tmp_path):
    (tmp_path / "model.json").touch()
    done = subprocess.run(
        [sys.executable, "-m", "tfdistil.benchmarks.cli", str(tmp_path), "--device", "gpu"],
        env={**os.environ, "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "TensorFlow sees no accelerator" in line


def test_folders_that_are_not_there(tmp_path, capsys):
    from tfdistil.benchmarks import cli

    for path, says in ((tmp_path / "a", "no such folder"), (tmp_path, "is no folder of a run")):
        assert cli.main([str(path), "--device", "gpu"]) == 2
        assert says in capsys.readouterr().err
