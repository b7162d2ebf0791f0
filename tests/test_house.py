"""The rules of the floor plan: what a newcomer may rely on when looking for something by the names of folders and files."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import SLOW

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "src" / "bythebook"
TESTS = REPOSITORY / "tests"

ROOT_MODULES = {"__init__", "__main__", "errors", "settings", "plain", "retry"}
NOUNS_IN_ING = {
    "Heading": "a heading is a thing in a book",
    "Reading": "a reading is a thing: what a reader makes of a file",
    "Rating": "a rating is a thing: what a reader says of an answer",
    "BookWarning": "a warning is a thing that is shown; the word is Python's too",
}
SHORT = 60
SHORT_WITH_ONE_IMPORTER = {
    "bythebook.books.formats.lxml.mathml": "MathML to TeX, known by those names; tested alone",
    "bythebook.drafting.openai_agents.labels": "a rule of its own with tests of its own",
    "bythebook.drafting.openai_agents.line_writer": "the second of the two things a model is asked for; the first is the drafter",
    "bythebook.embedding.cohere": "a vendor's file",
    "bythebook.embedding.dask": "a vendor's file",
    "bythebook.embedding.openai": "a vendor's file",
    "bythebook.evaluation.rank_measures": "recall, MRR and nDCG, known by those names; tested alone",
    "bythebook.followups.enumerations": "a rule of its own with tests of its own",
    "bythebook.operations.turns": "a turn outside any thread; a search need not import what answers",
}
NOT_MIRRORS = {
    "bench": "tests of bench/",
    "contract": "one file for each design document",
    "deploy": "tests of deploy/",
    "earlier_data": "data folders of earlier versions",
    "fuzz": "every parser with whatever comes",
    "live": "against real servers, where there are any",
    "page": "web/page in a real browser",
    "scripts": "tests of scripts/",
    "sample_book": "the sample book's own text",
    "support": "what tests share",
}
UNTESTED_ALONE = {
    "cli/output": "tested by what commands print",
    "evaluation/html": "tested by tests/page/test_scorecard.py, in a browser",
    "web/routes": "tested over HTTP by tests/web/test_*.py",
}


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _modules() -> dict[str, Path]:
    return {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_modules()[module].read_text(encoding="utf-8"))


@cache
def _classes() -> dict[str, list[str]]:
    """Each class name with the modules that define it."""
    defined = defaultdict(list)
    for module in _modules():
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.ClassDef):
                defined[node.name].append(module)
    return defined


@cache
def _importers() -> dict[str, set[str]]:
    """Each module with those that import it, wherever in their code."""
    importers: dict[str, set[str]] = {module: set() for module in _modules()}
    for module in _modules():
        for node in ast.walk(_tree(module)):
            for imported in _imported(node):
                if imported in importers and imported != module:
                    importers[imported].add(module)
    return importers


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


@cache
def _folders() -> dict[str, Path]:
    """Every folder with Python in it, by its path in the package, with `/`."""
    return {path.parent.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*/__init__.py"))}


def test_a_public_class_says_what_it_is() -> None:
    silent = [
        f"{module}.{node.name}"
        for module in _modules()
        for node in _tree(module).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert not silent, "a docstring of one sentence: what it is, and when one needs it"


def _contracts() -> list[dict[str, list[str]]]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, list[str]]] = project["tool"]["importlinter"]["contracts"]
    return contracts


def _layers() -> list[list[str]]:
    layers = next(contract["layers"] for contract in _contracts() if "layers" in contract)
    return [layer.split(" : ") for layer in layers]


def test_the_root_holds_what_everyone_may_use_and_nothing_else() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == ROOT_MODULES


def test_a_file_is_a_noun() -> None:
    assert [name for name, path in _modules().items() if path.stem.endswith("ing")] == []


def test_a_class_is_a_noun() -> None:
    assert {name for name in _classes() if name.endswith("ing")} == set(NOUNS_IN_ING)


def test_one_class_name_has_one_meaning() -> None:
    assert {name: modules for name, modules in _classes().items() if len(modules) > 1} == {}


def test_a_short_module_with_one_importer_has_a_reason() -> None:
    short = {
        name
        for name, path in _modules().items()
        if path.stem != "__init__"
        and len(path.read_text(encoding="utf-8").splitlines()) < SHORT
        and len(_importers()[name]) == 1
        and not _is_one_of_a_kind(name)
    }
    assert short == set(SHORT_WITH_ONE_IMPORTER)


def _is_one_of_a_kind(module: str) -> bool:
    """One file per command and one per resource: their only importer is the list of them."""
    return _importers()[module] in ({"bythebook.cli.app"}, {"bythebook.web.app"}) and module.split(".")[-2] in ("cli", "routes")


@pytest.mark.parametrize("folder", _folders())
def test_a_folder_says_what_comes_in_what_goes_out_and_what_it_may_import(folder: str) -> None:
    described = ast.get_docstring(ast.parse(_folders()[folder].read_text(encoding="utf-8"))) or ""
    what, _, imports = described.partition("\n\n")
    assert " → " in what
    named = re.search(r"^May import (.+?) and below[;.]", imports)
    assert named, described
    assert set(re.findall(r"`(\w+)`", named[1])) == set(_layer_below(folder))


def _layer_below(folder: str) -> list[str]:
    """What import-linter lets it import at most."""
    top, _, inner = folder.partition("/")
    if inner:
        return [top]
    layers = _layers()
    place = next(place for place, layer in enumerate(layers) if top in layer)
    return [name for name in layers[place + 1] if name != "settings" or f"bythebook.{top}" not in _settings_forbidden()]


def _settings_forbidden() -> list[str]:
    contract = next(one for one in _contracts() if one.get("forbidden_modules") == ["bythebook.settings"])
    return contract["source_modules"]


def test_every_folder_of_the_package_has_its_tests() -> None:
    holders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert {name for name in _folders() if name not in holders} == set(UNTESTED_ALONE)


def test_what_is_called_slow_exists() -> None:
    assert [name for name in SLOW if not (TESTS / name).exists()] == []


def test_every_folder_of_the_tests_mirrors_one_of_the_package() -> None:
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py")} - {"."}
    unlike = {name for name in folders if name not in _folders() and name.partition("/")[0] not in NOT_MIRRORS}
    assert unlike == set()
