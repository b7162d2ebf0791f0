"""The files that a command passes through."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.count_files import PACKAGE, count, touched

PAGE = PACKAGE.parents[1] / "docs" / "architecture.md"


def test_files_are_counted_where_a_function_ran_and_not_where_one_was_only_imported(tmp_path: Path) -> None:
    files = touched(tmp_path, "books")
    assert {"cli/books.py", "ingestion/records.py", "database/engine.py"} <= set(files)
    assert not {"drafting/extractive.py", "errors.py", "ingestion/ingest.py"} & set(files)
    assert all((PACKAGE / file).is_file() and not file.endswith("__init__.py") for file in files)


@pytest.mark.soak
def test_the_paths_are_no_longer_than_the_page_says() -> None:
    rows = re.findall(r"^\| (a question|a lesson): .+ \| (\d+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    told = {path: int(most) for path, most in rows}
    for path, files in count().items():
        print(f"\n{path}: {len(files)} modules")
        assert len(files) <= told[path]
