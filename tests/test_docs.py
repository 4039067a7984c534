"""What the documents name exists: files, headings, code, commands, options."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from pathlib import Path

import pytest

import tfdistil
from tfdistil.benchmarks import cli as benchmark_cli
from tfdistil.cli import main as cli
from tfdistil.data.readers import READERS
from tfdistil.exporting import cli as export_cli
from tfdistil.recipe.loading import load_recipe
from tfdistil.recipe.renamed import RENAMED
from tfdistil.students import STUDENTS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
PARSERS = {
    "tfdistil": cli.parser,
    "tfdistil-export": export_cli.parser,
    "tfdistil-benchmark": benchmark_cli.parser,
}
TOP = ("tfdistil", "export", "benchmarks", "tests", "docs", ".ci")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The headings as the links to them spell them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def has_lines(text: str, block: str) -> bool:
    """Whether the lines of a block stand in a text one after the other, however indented."""
    wanted = [line.strip() for line in block.strip().splitlines()]
    lines = [line.strip() for line in text.splitlines()]
    starts = [n for n, line in enumerate(lines) if line == wanted[0]]
    return any(lines[n : n + len(wanted)] == wanted for n in starts)


@every_page
def test_links_lead_somewhere(page):
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(target)
    assert wrong == []


@every_page
def test_named_files_exist(page):
    wrong = []
    for name in re.findall(r"`([\w./-]+)`", prose(page)):
        if name.split("/")[0] not in TOP or "/" not in name:
            continue
        places = (ROOT, page.parent)
        if not any((place / name).exists() for place in places):
            wrong.append(name)
    # What a run makes: its folders have such names too.
    assert [name for name in wrong if not name.startswith("benchmark/")] == []


@every_page
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    code = " ".join(re.findall(r"`+[^`]+`+", page.read_text("utf-8")))
    assert set(re.findall(r"\bmake ([a-z][a-z-]+)", code)) <= targets


def commands(page: Path) -> list[list[str]]:
    """Lines of code blocks that call one of the commands, without pipes and redirections."""
    found = []
    for block in re.findall(
        r"^```\w*\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    ):
        for line in block.replace("\\\n", " ").splitlines():
            called = re.search(r"(?:^|\| )(tfdistil(?:-export|-benchmark)?) ([^|>#]+)", line)
            if called and not called[2].startswith(("import", "=")):
                found.append([called[1], *shlex.split(called[2])])
    return found


@every_page
def test_command_lines_parse(page, capsys):
    for program, *arguments in commands(page):
        try:
            PARSERS[program]().parse_args(arguments)
        except SystemExit:
            pytest.fail(f"{program} {' '.join(arguments)}: {capsys.readouterr().err}")


@every_page
def test_command_lines_set_keys_that_recipes_have(page):
    """Recipes of the repository are loaded with what a command sets."""
    for program, *arguments in commands(page):
        parsed = PARSERS[program]().parse_args(arguments)
        sets, recipe = getattr(parsed, "assignments", []), Path(getattr(parsed, "recipe", "-"))
        given = [text for text in arguments if re.match(r"[a-z_0-9.]+=", text)]
        stale = {text.partition("=")[0].rpartition(".")[2] for text in given} & {*RENAMED}
        assert not stale, f"{' '.join(arguments)}: {stale}"
        if recipe.parts[:2] == ("benchmarks", "recipes") and "$" not in "".join(sets):
            load_recipe(ROOT / recipe, sets)


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {max(action.option_strings or [action.dest], key=len) for action in parser._actions}


@pytest.mark.parametrize(
    ("name", "parser"), [("export", export_cli.parser), ("benchmarks", benchmark_cli.parser)]
)
def test_every_option_is_described(name, parser):
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    section = text.split("\n## Options\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`([\w-]+)`", "\n".join(re.findall(r"^\| (.+?) \|", section, re.M))))
    assert named == options(parser()) - {"--help"}


@pytest.mark.parametrize("name", ["export", "benchmarks"])
def test_the_page_names_every_module(name):
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    for path in (ROOT / name).rglob("*.py"):
        if path.name not in ("__init__.py", "cli.py"):
            assert f"`{path.relative_to(ROOT).as_posix()}`" in text


@pytest.mark.parametrize("name", ["export", "benchmarks"])
def test_json_keys_are_those_of_the_code(name):
    """Every key of the page's table of JSON is a word of the package."""
    text = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    section = text.split("\n## JSON\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    code = "".join(path.read_text("utf-8") for path in (ROOT / name).rglob("*.py"))
    keys = re.findall(r"`(\w+)(?:\[\])?`", "\n".join(rows))
    assert len(keys) >= len(rows) >= 5
    for key in keys:
        assert f'"{key}"' in code, key


@pytest.mark.parametrize("page", [PAGES[0], *PAGES[3:]], ids=lambda p: p.name)
def test_users_import_nothing_but_public_names(page):
    """CONTRIBUTING.md is for those who work on the code, and may go deeper."""
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tfdistil"):
                assert node.module == "tfdistil"
                assert {alias.name for alias in node.names} <= set(tfdistil.__all__)
            elif isinstance(node, ast.Import):
                assert [a.name for a in node.names if a.name.startswith("tfdistil.")] == []
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "tfdistil":
                assert node.attr in tfdistil.__all__


def examples() -> list[tuple[str, str]]:
    """Code of CONTRIBUTING.md under the name of the file it is from."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("name", "code"), examples(), ids=[name for name, _ in examples()])
def test_worked_examples_are_in_the_files_they_name(name, code):
    assert has_lines((ROOT / name).read_text("utf-8"), code)


def test_there_is_an_example_of_each_addition():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for what in ("reader", "objective", "schedule", "student", "head"):
        section = text.split(f"\n## Add a{'n' if what == 'objective' else ''} {what}\n")[1]
        assert len(re.findall(r"^`tests/[\w./]+`$", section.split("\n## ")[0], re.MULTILINE)) == 1
    assert len(examples()) == 12


def test_the_map_has_every_package():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n## Map\n")[1].split("\n## ")[0]
    packages = {path.parent.relative_to(ROOT) for path in (ROOT / "tfdistil").glob("*/__init__.py")}
    for package in (*packages, "export", "benchmarks", "tests", "docs"):
        assert f"| `{package}` |" in text


def test_the_readme_has_what_a_first_page_needs():
    text = (ROOT / "README.md").read_text("utf-8")
    recipes = re.findall(r"^\| \[`[\w./]+`\]\(([\w./]+\.yaml)\)", text, re.MULTILINE)
    shipped = [
        *(ROOT / "tfdistil/recipes").glob("*.yaml"),
        *(ROOT / "benchmarks/recipes").glob("*"),
    ]
    assert {ROOT / name for name in recipes} == {p for p in shipped if p.suffix == ".yaml"}
    for page in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{page.name})" in text
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    compile(code, "README.md", "exec")


def test_data_and_contributing_know_the_same_parts():
    """The lists of formats and students that people read are those of the registries."""
    data = (ROOT / "docs" / "data.md").read_text("utf-8")
    recipe = (ROOT / "docs" / "recipe.md").read_text("utf-8")
    assert all(f"### `{name}`" in data for name in READERS)
    assert all(f"| `{name}` |" in recipe for name in STUDENTS)
