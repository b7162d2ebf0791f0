"""The files that a command passes through."""

from __future__ import annotations

from pathlib import Path

from scripts.count_files import PACKAGE, touched


def test_files_are_counted_where_a_function_ran_and_not_where_one_was_only_imported(tmp_path: Path) -> None:
    files = touched(tmp_path, "books")
    assert {"cli/books.py", "ingestion/records.py", "database/engine.py"} <= set(files)
    assert not {"drafting/extractive.py", "errors.py", "ingestion/ingest.py"} & set(files)
    assert all((PACKAGE / file).is_file() and not file.endswith("__init__.py") for file in files)
