"""What installs, what it brings along, and the files around the packages."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections import defaultdict
from importlib import import_module, metadata, resources
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
SCRIPTS = {
    "tfdistil": "tfdistil.cli.main:main",
    "tfdistil-export": "tfdistil.exporting.cli:main",
    "tfdistil-benchmark": "tfdistil.benchmarks.cli:main",
}
TRAINING = ("tensorflow", "keras", "transformers", "pydantic", "matplotlib")
IMPORTS = "import sys; {}; print([m for m in {} if m in sys.modules])"


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def files() -> list[Path]:
    """The project's own files: what git tracks or would, or all of an unpacked sdist."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:
        hidden = ("__pycache__", ".venv", "build", "dist", "runs")
        found = [p for p in ROOT.rglob("*") if not set(hidden) & {*p.relative_to(ROOT).parts}]
    return [path for path in found if path.is_file()]


@pytest.fixture(scope="module")
def setup() -> dict[str, Any]:
    """The arguments of setup.py."""
    given: dict[str, Any] = {}
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", lambda **arguments: given.update(arguments))
        os.chdir(ROOT)
        try:
            runpy.run_path(str(ROOT / "setup.py"))
        finally:
            os.chdir(before)
    return given


@pytest.fixture(scope="module")
def lock() -> dict[str, list[tuple[Version, int]]]:
    """Package to its versions, one per Python where they differ, with the number of hashes."""
    found: dict[str, list[tuple[Version, int]]] = defaultdict(list)
    for entry in re.split(r"\n(?=[A-Za-z0-9])", text_of("requirements.lock")):
        if entry.startswith("#"):
            continue
        name, version = re.match(r"([A-Za-z0-9._-]+)==([^ \\]+)", entry).groups()
        found[canonicalize_name(name)].append((Version(version), entry.count("--hash=sha256:")))
    return found


def test_console_scripts_are_declared_and_importable():
    found = {
        script.name: script.value
        for script in metadata.distribution("tfdistil").entry_points
        if script.group == "console_scripts"
    }
    assert found == SCRIPTS
    for value in SCRIPTS.values():
        module, _, function = value.partition(":")
        assert callable(getattr(import_module(module), function))
        assert f'"{value}"' in text_of("pyproject.toml")


@pytest.mark.parametrize(
    "statement",
    [
        "import tfdistil",
        "import tfdistil.exporting, tfdistil.benchmarks",
        "from tfdistil import Example, Runtime, evaluate, export",
        "import tfdistil.exporting.pack, tfdistil.exporting.inspect, tfdistil.exporting.quantize",
        "import tfdistil.benchmarks.latency, tfdistil.benchmarks.probe",
        "import tfdistil.cli.main, tfdistil.exporting.cli, tfdistil.benchmarks.cli",
    ],
)
def test_light_imports_load_no_training_library(statement, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS.format(statement, TRAINING)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_data_is_looked_at_without_the_training_stack():
    heavy = ("tensorflow", "keras", "transformers")
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS.format("import tfdistil.corpus.check", heavy)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_the_version_is_the_same_everywhere():
    import tfdistil

    (declared,) = re.findall(r'^version = "(.+)"$', text_of("pyproject.toml"), re.MULTILINE)
    assert tfdistil.__version__ == metadata.version("tfdistil") == declared
    assert re.search(rf"^## {re.escape(declared)}\b", text_of("CHANGELOG.md"), re.MULTILINE)


def test_the_names_of_the_package_are_lazy():
    import tfdistil
    import tfdistil.exporting

    assert dir(tfdistil) == tfdistil.__all__
    assert sorted(tfdistil._MODULES) == [n for n in tfdistil.__all__ if n != "__version__"]
    for name in tfdistil.__all__:
        assert getattr(tfdistil, name) is not None
    for module in (tfdistil, tfdistil.exporting):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            module.nothing  # noqa: B018


def test_package_data_is_there():
    package = resources.files("tfdistil")
    for name in ("py.typed", "recipes/demo.yaml", "report/templates/report.html.j2"):
        assert package.joinpath(name).is_file(), name


def test_every_folder_with_modules_is_a_package(setup):
    folders = {
        path.parent
        for top in ("tfdistil", "export", "benchmarks")
        for path in (ROOT / top).rglob("*.py")
    }
    found = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    mapped = {"export": "tfdistil.exporting", "benchmarks": "tfdistil.benchmarks"}
    tops = {name: name.split(".")[0] for name in found}
    packages = {name.replace(top, mapped.get(top, top), 1) for name, top in tops.items()}
    assert packages == set(setup["packages"])
    assert setup["package_dir"] == {package: folder for folder, package in mapped.items()}


def test_package_data_names_every_file_that_is_no_module(setup):
    """Recipes of benchmarks/ are for this repository: they name data beside it."""
    (patterns,) = setup["package_data"].values()
    named = {path for pattern in patterns for path in (ROOT / "tfdistil").glob(pattern)}
    others = {p for p in files() if p.is_relative_to(ROOT / "tfdistil") and p.suffix != ".py"}
    assert others <= named


def test_the_light_install_has_no_training_library(setup):
    light = {Requirement(line).name for line in setup["install_requires"]}
    assert light == {"numpy", "ai-edge-litert", "tokenizers"}
    for extra in ("train", "dev"):
        assert "tensorflow" in {Requirement(line).name for line in setup["extras_require"][extra]}


def test_the_lock_has_a_hash_for_every_package(lock):
    assert len(lock) > 30
    assert [name for name, versions in lock.items() if not all(n for _, n in versions)] == []


def test_the_lock_has_every_requirement(setup, lock):
    wanted = [*setup["install_requires"], *setup["extras_require"]["dev"]]
    assert set(setup["extras_require"]["train"]) <= set(wanted)
    wanted += re.findall(r'^requires = \["(.+)"\]$', text_of("pyproject.toml"), re.MULTILINE)
    for line in wanted:
        requirement = Requirement(line)
        versions = [version for version, _ in lock[canonicalize_name(requirement.name)]]
        assert versions, requirement.name
        assert all(version in requirement.specifier for version in versions), line


def test_the_first_screen_of_the_readme_names_the_two_commands():
    screen = "\n".join(text_of("README.md").splitlines()[:25])
    for command in ("make demo", "make test"):
        assert re.search(rf"^{command}\b", screen, re.MULTILINE)


def test_ci_runs_what_the_readme_says():
    lines = text_of(".ci/run").splitlines()
    for command in ("make test", "make lint", "make sdist-test"):
        assert command in lines
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_pre_commit_fetches_nothing():
    from ruamel.yaml import YAML

    repositories = YAML(typ="safe").load(text_of(".pre-commit-config.yaml"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].split()[0] in (".venv/bin/ruff", ".venv/bin/python", "make")


def test_no_file_names_a_place_of_one_machine():
    places = re.compile("/" + r"(?:work|root|opt|home/\w+)/(?!\*)")
    found = []
    for path in files():
        try:
            lines = path.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{n}" for n, s in enumerate(lines, 1) if places.search(s)
        ]
    assert found == []


def test_no_file_is_large():
    """Models, checkpoints and data sets are made or fetched; of vectors there is a small one."""
    lock = ROOT / "requirements.lock"
    assert [path for path in files() if path != lock and path.stat().st_size > 300_000] == []
