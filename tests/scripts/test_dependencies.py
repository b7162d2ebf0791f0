"""The supply chain: every licence is known and allowed, the bill of materials lists every pinned package, and a wheel is the same
bytes wherever and whenever it is built."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from scripts import dependencies

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"\]\(([^):#]+)")
"""Without a scheme: another page, or a picture."""


def test_every_licence_is_known_and_allowed() -> None:
    listed = dependencies.components(dependencies.EVERYTHING)
    assert len(listed) > 100
    assert {one.name: one.licence for one in listed if not one.allowed} == {}


def test_a_licence_that_is_not_allowed_is_found() -> None:
    def allowed(licence: str) -> bool:
        return dependencies.Component(name="x", version="1", hashes=(), licence=licence).allowed

    assert [allowed(one) for one in ("MIT", "GPL-3.0-only", "GPL-3.0-only OR MIT", "MIT AND GPL-3.0-only", "unknown: x")] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_the_page_is_not_stale() -> None:
    assert dependencies.PAGE.read_text("utf-8") == dependencies.page()


def test_the_bill_of_materials_lists_what_is_pinned(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "scripts.dependencies", "sbom", str(tmp_path / "sbom.json")], cwd=ROOT, check=True)
    bom = json.loads((tmp_path / "sbom.json").read_text("utf-8"))
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    pinned = dict(re.findall(r"^([\w.-]+)==([^ ;\\]+)", dependencies.EVERYTHING.read_text("utf-8"), re.MULTILINE))
    listed = {one["name"] for one in bom["components"]}
    assert set(pinned) - listed == dependencies.BUILD & set(pinned)
    references = [one["bom-ref"] for one in bom["components"]]
    assert len(set(references)) == len(references)
    assert all(one["hashes"] and one["licenses"][0]["expression"] for one in bom["components"])
    assert bom["dependencies"][0]["dependsOn"] == references


def test_a_wheel_is_the_same_bytes_wherever_and_whenever_it_is_built(tmp_path: Path) -> None:
    made = []
    for number, place in enumerate(("one", "somewhere/else")):
        tree = tmp_path / place
        for name in ("src/bythebook", "docs", "pyproject.toml", "LICENSE", *PAGES):
            source = ROOT / name
            copied = (
                shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__")) if source.is_dir() else None
            )
            if copied is None:
                shutil.copy(source, tree / name)
        for path in tree.rglob("*"):
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / f"dist-{number}")]
        subprocess.run(
            command, cwd=tree, check=True, capture_output=True, env={**os.environ, "TZ": ("UTC", "Asia/Tokyo")[number]}
        )
        (wheel,) = (tmp_path / f"dist-{number}").iterdir()
        made.append((wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()))
        with ZipFile(wheel) as packed:
            brought = {name.partition("/share/doc/bythebook/")[2] for name in packed.namelist()}
    assert made[0] == made[1]
    assert brought > {*PAGES, *LINK.findall((ROOT / "README.md").read_text("utf-8"))}


@pytest.mark.parametrize("name", ["runtime.txt", "server.txt", "dev.txt", "uv.txt"])
def test_everything_that_is_installed_is_pinned_with_a_hash(name: str) -> None:
    found = list(dependencies.PINNED.finditer((ROOT / "requirements" / name).read_text("utf-8")))
    assert found
    assert [one["name"] for one in found if "--hash=sha256:" not in one["hashes"]] == []
