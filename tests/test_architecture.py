"""docs/architecture.md names only what exists, and lists every folder with the words of the folder's own docstring."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "src" / "bythebook"
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
FOLDERS = {path.parent.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*/__init__.py"))}
ROOT_MODULES = {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
LISTED = dict(re.findall(r"^\| `([\w/]+)` \| (.+ → .+) \|$", PAGE, re.MULTILINE))
NAMES = sorted({name for name in re.findall(r"`([a-z_]\w*(?:\.\w+)+)`", PAGE) if (PACKAGE / name.partition(".")[0]).is_dir()})


def test_every_folder_is_listed() -> None:
    assert set(LISTED) == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_described_as_it_describes_itself(folder: str) -> None:
    described = ast.get_docstring(ast.parse(FOLDERS[folder].read_text(encoding="utf-8"))) or ""
    assert described.startswith(LISTED[folder])


def test_the_root_modules_are_named() -> None:
    assert {name for name in ROOT_MODULES if f"`{name}`" in PAGE} == ROOT_MODULES


@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_exists(name: str) -> None:
    """A module, or a class or function in it, or a method."""
    place, parts = PACKAGE, name.split(".")
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if not parts:
        assert (place / "__init__.py").exists()
        return
    file = place / f"{parts.pop(0)}.py"
    assert file.exists()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for part in parts:
        found = [node for node in body if _defines(node, part)]
        assert found, f"{part} is not in {file.name}"
        body = getattr(found[0], "body", [])


def _defines(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name


def test_enough_is_named_to_find_the_way() -> None:
    assert len(NAMES) > 60


def test_the_page_is_one_page() -> None:
    assert len(PAGE.splitlines()) < 200


def test_the_readme_links_it() -> None:
    assert "](docs/architecture.md)" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
