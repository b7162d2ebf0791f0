"""docs/documents.md: what it says of the five design documents is shown by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "documents.md"
ROW = re.compile(r"^\| (?!what the|---)(?P<defined>.+?) \| (?P<here>.+?) \| (?P<test>\S+) \|$", re.MULTILINE)
ROWS = [(match["defined"], match["test"]) for match in ROW.finditer(PAGE.read_text("utf-8").replace("\\|", "¦"))]


def test_every_line_of_the_tables_is_read() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ") and "what the document" not in line]
    assert len(ROWS) == len(lines) > 100


@pytest.mark.parametrize(("defined", "named"), ROWS, ids=[f"{place}" for place in range(len(ROWS))])
def test_a_row_names_a_test_that_exists(defined: str, named: str) -> None:
    place, _, name = named.rpartition(":")
    path = TESTS / (f"contract/test_document_{place.lower()}.py" if len(place) == 1 else place)
    assert path.is_file(), f"{defined}: there is no {path}"
    assert re.search(rf"^(?:async )?def {re.escape(name)}\(", path.read_text("utf-8"), re.MULTILINE), f"{defined}: no {named}"
